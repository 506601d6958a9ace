package principal

import (
	"fmt"
	"slices"
	"sync/atomic"
	"unicode/utf8"
)

// Facts are what an authenticated adapter and the durable bindings say about a principal. Each kind of authority
// has its own form: a conversation has a channel, a key and exactly one session; an operator has no route; system
// has no route and one session; a delegated agent has no route, one session and a parent.
type Facts struct {
	PrincipalID     string
	Authority       Authority
	Channel         string
	ConversationKey string
	SessionID       string
	AllowedSessions []string
	ParentSession   string // delegated agents only: whose work it is part of; it is no access to that session
	ParentTurn      string // delegated agents only: the turn that made it
	Reason          string // operators only: why, 1 to 200 runes
}

// FactsError reports facts that do not fit their authority.
type FactsError struct {
	Authority Authority
	Field     string
	Want      string
}

// Error names the field and the rule it breaks.
func (e *FactsError) Error() string {
	return fmt.Sprintf("principal: %s scope: %s must be %s", e.Authority, e.Field, e.Want)
}

// Refusal is why a scope is not accepted. Empty means it is.
type Refusal string

const (
	// RefusedNobody: the zero scope.
	RefusedNobody Refusal = "nobody"
	// RefusedForeign: the scope was issued over another store.
	RefusedForeign Refusal = "foreign_store"
	// RefusedClosed: a scope outlived the host that issued it.
	RefusedClosed Refusal = "issuer_closed"
)

// Issuer mints scopes for one open store. host/authority makes exactly one for each open store and closes it with
// the Host. It is safe for concurrent use.
type Issuer struct {
	store  string
	closed atomic.Bool // operators' authority is over
	ended  atomic.Bool // everybody's is
}

// Bounds of facts.
const (
	maxPrincipalID = 512 // bytes
	maxReason      = 200 // characters
)

// NewIssuer returns the Issuer of the store named store. Call it from host/authority alone; the layout test holds
// that.
func NewIssuer(store string) *Issuer { return &Issuer{store: store} }

// Close ends operator authority: every operator scope of this Issuer stops authorising anything, including those
// already handed out. Other scopes live on until their turn ends. It may be called more than once.
func (i *Issuer) Close() { i.closed.Store(true) }

// End ends every scope of this Issuer, when nothing runs any more under any of them. It may be called more than once.
func (i *Issuer) End() {
	i.closed.Store(true)
	i.ended.Store(true)
}

func (i *Issuer) live(a Authority) bool {
	return !i.ended.Load() && (a != Operator || !i.closed.Load())
}

// Issue mints a scope from facts, which are copied. Facts that do not fit their authority are a [*FactsError].
func (i *Issuer) Issue(f Facts) (Scope, error) {
	if err := f.check(); err != nil {
		return Scope{}, err
	}
	if !i.live(f.Authority) {
		return Scope{}, &FactsError{f.Authority, "host", "open (it was closed)"}
	}
	f.AllowedSessions = slices.Clone(f.AllowedSessions)
	slices.Sort(f.AllowedSessions)
	f.AllowedSessions = slices.Compact(f.AllowedSessions)
	return Scope{&grant{issuer: i, facts: f}}, nil
}

// CheckOwner is nil for facts that may own a session: they fit their authority, and name no session yet. Otherwise it
// is a [*FactsError].
func (f Facts) CheckOwner() error {
	bad := func(field, want string) error { return &FactsError{f.Authority, field, want} }
	switch {
	case !f.Authority.Valid():
		return bad("authority", "conversation, operator, system or delegated_agent")
	case f.PrincipalID == "" || len(f.PrincipalID) > maxPrincipalID:
		return bad("principal_id", "1 to 512 bytes")
	case f.SessionID != "" || len(f.AllowedSessions) != 0:
		return bad("session_id", "empty: the store resolves it")
	}
	if f.Authority == Operator {
		if n := utf8.RuneCountInString(f.Reason); n < 1 || n > maxReason {
			return bad("reason", "1 to 200 characters")
		}
	} else if f.Reason != "" {
		return bad("reason", "empty")
	}
	if f.Authority == Conversation {
		if at, err := ParseKey(f.ConversationKey); err != nil || at.Channel != f.Channel {
			return bad("channel and conversation_key", "set, and a canonical key of that channel")
		}
	} else if f.Channel != "" || f.ConversationKey != "" {
		return bad("channel and conversation_key", "empty")
	}
	if f.Authority == DelegatedAgent {
		if f.ParentSession == "" || f.ParentTurn == "" {
			return bad("parent_session and parent_turn", "set")
		}
	} else if f.ParentSession != "" || f.ParentTurn != "" {
		return bad("parent_session and parent_turn", "empty")
	}
	return nil
}

// check is nil for facts that a scope may be made of.
func (f Facts) check() error {
	owner := f
	owner.SessionID, owner.AllowedSessions = "", nil
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	free := f.SessionID == "" && len(f.AllowedSessions) == 0
	bound := f.SessionID != "" && len(f.AllowedSessions) == 1 && f.AllowedSessions[0] == f.SessionID
	switch {
	case bound && f.ParentSession == f.SessionID:
		return &FactsError{f.Authority, "parent_session", "another session"}
	case bound || free && f.Authority == Operator:
		return nil
	}
	return &FactsError{f.Authority, "session_id", "exactly the one allowed session"}
}
