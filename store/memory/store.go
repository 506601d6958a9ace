package memory

import (
	"slices"
	"sync"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Config says where a Store reads time and makes ids. Both are required.
type Config struct {
	Clock func() time.Time
	IDs   *id.Source
}

// Store is a store that lives as long as its value. It is safe for concurrent use.
type Store struct {
	id    id.Store
	clock func() time.Time
	ids   *id.Source

	mu         sync.Mutex // guards everything below
	sessions   map[id.Session]*session
	bindings   map[route]id.Session
	turns      map[id.Turn]*running
	requests   map[request]*running
	messages   map[id.Message]bool
	owed       map[id.Turn]debt // why what a turn gave to be written behind is not there
	effects    map[id.Effect]*effect.Record
	begun      []*effect.Record // in the order they were stored
	questions  map[id.Approval]*approval.Question
	asked      []*approval.Question // in the order they were asked
	deliveries map[id.Delivery]*outbox.Delivery
	outgoing   []*outbox.Delivery // in the order they were queued
	tasks      map[id.Task]*work
	queued     []*work // in the order they were queued
	cursors    map[scheduleKey]cursor
	events     []event.Record // in the order they were appended
	eventIDs   map[id.Event]bool
	grants     map[string]map[capability.Grant]bool
	values     map[sandbox.KVScope]map[string]value // by scopes without a turn
	retired    map[sandbox.KVScope]int64            // the highest version that was deleted

	calibrations map[string]prompt.Calibration
	observed     map[id.Decision]bool

	admitted int // turns admitted so far: orders sessions and recoveries
}

// session is one session with what belongs to it.
type session struct {
	row      turn.Session
	owner    *principal.Facts // nil when nobody owns it
	legacy   bool             // whose it is nobody can say
	fence    int64
	held     *running // the running turn, which holds the lease; nil when idle
	turns    []*running
	messages []turn.Message
	order    int // as made

	compacting compacting
}

// ownership is whether somebody owns the session, and certainly; a nil one has no owner.
func (one *session) ownership() rule.Ownership {
	switch {
	case one == nil || one.owner == nil:
		return rule.Unowned
	case one.legacy:
		return rule.Legacy
	}
	return rule.Owned
}

// running is one turn; it keeps its type after it has ended.
type running struct {
	rec       turn.Record
	authority principal.Authority
	principal string
	claim     lease.Claim // zero when the turn has ended
	effects   []*effect.Record
	questions []*approval.Question
	order     int
	unwanted  bool // somebody asked for its end
	steps     int  // the last of which its model reported
	spent     turn.Usage
}

type route struct{ channel, key string }

type request struct {
	authority principal.Authority
	principal string
	key       id.Request
}

type value struct {
	data    []byte
	version int64
}

// New returns an empty store with an identity of its own.
func New(cfg Config) *Store {
	return &Store{
		id: cfg.IDs.Store(), clock: cfg.Clock, ids: cfg.IDs,
		sessions: map[id.Session]*session{}, bindings: map[route]id.Session{},
		turns: map[id.Turn]*running{}, requests: map[request]*running{}, messages: map[id.Message]bool{}, owed: map[id.Turn]debt{},
		effects: map[id.Effect]*effect.Record{}, questions: map[id.Approval]*approval.Question{}, deliveries: map[id.Delivery]*outbox.Delivery{},
		tasks: map[id.Task]*work{}, cursors: map[scheduleKey]cursor{},
		eventIDs: map[id.Event]bool{}, grants: map[string]map[capability.Grant]bool{},
		values: map[sandbox.KVScope]map[string]value{}, retired: map[sandbox.KVScope]int64{}, calibrations: map[string]prompt.Calibration{}, observed: map[id.Decision]bool{},
	}
}

// StoreID is the identity of this store.
func (s *Store) StoreID() id.Store { return s.id }

// Close does nothing; it is here so that a Store stands where a durable one does.
func (s *Store) Close() error { return nil }

// reached is the owner predicate: the session is there, somebody owns it, and by reaches it.
func (s *Store) reached(by principal.Scope, key id.Session) bool {
	one, ok := s.sessions[key]
	return ok && one.ownership() == rule.Owned && (by.CrossSession() || slices.Contains(by.AllowedSessions(), string(key)))
}

// deny writes why an exact lookup found nothing.
func (s *Store) deny(by principal.Scope, l rule.Lookup, key id.Session, exists bool) {
	if why := rule.Why(exists, s.sessions[key].ownership(), s.reached(by, key) && (l.Within == "" || key == l.Within)); why != "" {
		s.audit(rule.Denied(by.PrincipalID(), l, why, s.ids.Event(), s.clock()))
	}
}

// audit appends a record. The caller has checked with [Store.fresh] that every id is new.
func (s *Store) audit(r event.Record) {
	r = rule.Normal(r)
	s.eventIDs[r.ID] = true
	s.events = append(s.events, r)
}

// Disown takes a session's owner away. No port can; it shows a test what a damaged or imported database looks like.
func (s *Store) Disown(key id.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[key]
	if !ok {
		return
	}
	one.owner = nil
	for r, bound := range s.bindings {
		if bound == key {
			delete(s.bindings, r)
		}
	}
}

// Doubt makes a session's owner uncertain, as a migration does that finds it ambiguous.
func (s *Store) Doubt(key id.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.sessions[key]; ok {
		one.legacy = true
	}
	for r, bound := range s.bindings {
		if bound == key {
			delete(s.bindings, r)
		}
	}
}
