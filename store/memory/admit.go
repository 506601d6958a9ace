package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Admit decides and writes a whole admission; see [turn.Journal].
func (s *Store) Admit(ctx context.Context, a turn.Admission, r []event.Record) (turn.Admittance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, err := s.admit(a, r)
	if err != nil {
		return turn.Admittance{}, fmt.Errorf("memory: admit turn %s: %w", a.Turn, err)
	}
	return got, nil
}

// Requested is the turn that this principal asked for under a key before; see [turn.Journal].
func (s *Store) Requested(ctx context.Context, owner principal.Facts, key id.Request) (turn.Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := s.requests[request{owner.Authority, owner.PrincipalID, key}]
	if !ok {
		return turn.Record{}, false, nil
	}
	return before.rec, true, nil
}

func (s *Store) admit(a turn.Admission, r []event.Record) (turn.Admittance, error) {
	now := s.clock()
	if err := rule.Admission(a, r, now); err != nil {
		return turn.Admittance{}, err
	}
	if before, ok := s.requests[request{a.Owner.Authority, a.Owner.PrincipalID, a.Request}]; ok {
		if before.rec.Digest != a.Digest {
			return turn.Admittance{Disposition: turn.Conflict}, nil
		}
		return turn.Admittance{Disposition: turn.Duplicate, Session: before.rec.Session, Existing: before.rec}, nil
	}
	key, why := s.resolve(a)
	if why != "" {
		l := rule.Lookup{What: "session", ID: string(key)}
		s.audit(rule.Denied(a.Owner.PrincipalID, l, why, s.ids.Event(), now))
		return turn.Admittance{Disposition: turn.SessionNotFound}, nil
	}
	one := s.sessions[key]
	if one != nil && !one.row.Ended.IsZero() {
		return turn.Admittance{Disposition: turn.SessionOver}, nil
	}
	if one != nil && one.held != nil && !one.held.claim.Expired(now) {
		return turn.Admittance{Disposition: turn.Busy}, nil
	}
	got := turn.Admittance{Disposition: turn.Admitted, Session: key, Claim: a.Claim, Created: one == nil}
	if got.Created {
		got.Session = a.NewSession
	}
	recs := rule.Admitted(a, got, r)
	if err := s.unused(a, got.Created, recs); err != nil {
		return turn.Admittance{}, err
	}
	if one != nil && one.held != nil {
		s.orphan(one.held, rule.ReasonLeaseExpired, now)
	}
	if got.Created {
		one = s.found(a)
	}
	if rule.Routed(a.Owner) && (got.Created || a.Selector.Kind == turn.Resume) {
		s.bindings[route{a.Owner.Channel, a.Owner.ConversationKey}] = got.Session
	}
	got.Claim = s.start(a, one)
	s.keepMessages(got.Session, a.Messages)
	for _, rec := range recs {
		s.audit(rec)
	}
	return got, nil
}

// resolve finds the session that a wants; empty when one is to be made. A reason means that the session is named
// and not the actor's to use.
func (s *Store) resolve(a turn.Admission) (id.Session, rule.Reason) {
	key := a.Selector.Session
	if a.Selector.Kind == turn.Bound {
		key = s.bound(a.Owner)
	}
	if key == "" {
		return "", ""
	}
	one, exists := s.sessions[key]
	owned := one.ownership()
	return key, rule.Why(exists, owned, owned == rule.Owned && rule.MayUse(a.Owner, *one.owner))
}

func (s *Store) bound(f principal.Facts) id.Session {
	if !rule.Routed(f) {
		return ""
	}
	return s.bindings[route{f.Channel, f.ConversationKey}]
}

// unused refuses ids that are taken.
func (s *Store) unused(a turn.Admission, created bool, recs []event.Record) error {
	if _, taken := s.turns[a.Turn]; taken {
		return errors.New("the turn id is taken")
	}
	if _, taken := s.sessions[a.NewSession]; created && taken {
		return errors.New("the session id is taken")
	}
	if err := s.newMessages(a.Messages); err != nil {
		return err
	}
	return s.fresh(recs...)
}

// fresh refuses audit records that say nothing or whose id is taken.
func (s *Store) fresh(recs ...event.Record) error {
	seen := map[id.Event]bool{}
	for _, r := range recs {
		if err := rule.Audit(r); err != nil {
			return err
		}
		if s.eventIDs[r.ID] || seen[r.ID] {
			return fmt.Errorf("the audit record id %s is taken", r.ID)
		}
		seen[r.ID] = true
	}
	return nil
}

func (s *Store) found(a turn.Admission) *session {
	owner := principal.Facts{
		Authority: a.Owner.Authority, PrincipalID: a.Owner.PrincipalID, Channel: a.Owner.Channel,
		ConversationKey: a.Owner.ConversationKey, ParentSession: a.Owner.ParentSession, ParentTurn: a.Owner.ParentTurn,
	}
	one := &session{
		row:   turn.Session{ID: a.NewSession, Core: a.Core, Owner: owner, Title: rule.Title(a.Input), Created: rule.Millis(a.At)},
		owner: &owner, order: len(s.sessions),
	}
	s.sessions[a.NewSession] = one
	return one
}

func (s *Store) start(a turn.Admission, one *session) (claim lease.Claim) {
	one.fence++
	one.row.Turns++
	one.row.LastTurn = rule.Millis(a.At)
	claim = a.Claim
	claim.Fence, claim.Expires = one.fence, rule.Millis(a.Claim.Expires)
	s.admitted++
	t := &running{
		rec: turn.Record{
			ID: a.Turn, Session: one.row.ID, Request: a.Request, Digest: a.Digest, Core: a.Core, Revision: a.Revision,
			State: turn.Running, Input: a.Input, Trace: a.Trace, Started: rule.Millis(a.At),
		},
		authority: a.Owner.Authority, principal: a.Owner.PrincipalID, claim: claim, order: s.admitted,
	}
	one.held, one.turns = t, append(one.turns, t)
	s.turns[a.Turn] = t
	s.requests[request{t.authority, t.principal, a.Request}] = t
	return claim
}

// BoundSession is the session that a Bound admission of this owner would continue in; see [turn.Journal].
func (s *Store) BoundSession(ctx context.Context, f principal.Facts) (id.Session, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.bound(f)
	one, ok := s.sessions[key]
	if !ok || one.ownership() != rule.Owned || !rule.MayUse(f, *one.owner) {
		return "", false, nil
	}
	return key, true, nil
}

// Owner returns the durable owner of a session, its session fields filled; see [authority.Bindings].
func (s *Store) Owner(ctx context.Context, key id.Session) (principal.Facts, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[key]
	if !ok || one.ownership() != rule.Owned {
		return principal.Facts{}, false, nil
	}
	f := *one.owner
	f.SessionID, f.AllowedSessions = string(key), []string{string(key)}
	return f, true, nil
}
