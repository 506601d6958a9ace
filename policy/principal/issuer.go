package principal

import (
	"fmt"
	"slices"
	"sync/atomic"
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
	ParentSession   string // delegated agents only
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
	// RefusedClosed: an operator scope outlived the host that issued it.
	RefusedClosed Refusal = "issuer_closed"
)

// Issuer mints scopes for one open store. host/authority makes exactly one for each open store and closes it with
// the Host. It is safe for concurrent use.
type Issuer struct {
	store  string
	closed atomic.Bool
}

// NewIssuer returns the Issuer of the store named store. Call it from host/authority alone; the layout test holds
// that.
func NewIssuer(store string) *Issuer { return &Issuer{store: store} }

// Close ends operator authority: every operator scope of this Issuer stops authorising anything, including those
// already handed out. Other scopes live on until their turn ends. It may be called more than once.
func (i *Issuer) Close() { i.closed.Store(true) }

func (i *Issuer) live(a Authority) bool { return a != Operator || !i.closed.Load() }

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

func (f Facts) check() error {
	bad := func(field, want string) error { return &FactsError{f.Authority, field, want} }
	routed := f.Channel != "" || f.ConversationKey != ""
	bound := f.SessionID != "" && len(f.AllowedSessions) == 1 && f.AllowedSessions[0] == f.SessionID
	if !f.Authority.Valid() {
		return bad("authority", "conversation, operator, system or delegated_agent")
	}
	if f.PrincipalID == "" || len(f.PrincipalID) > 512 {
		return bad("principal_id", "1 to 512 bytes")
	}
	if f.Authority != Operator && f.Reason != "" {
		return bad("reason", "empty")
	}
	if f.Authority != DelegatedAgent && f.ParentSession != "" {
		return bad("parent_session", "empty")
	}
	switch f.Authority {
	case Conversation:
		if f.Channel == "" || f.ConversationKey == "" {
			return bad("channel and conversation_key", "set")
		}
		if !bound {
			return bad("session_id", "exactly the one allowed session")
		}
	case Operator:
		if n := len([]rune(f.Reason)); n < 1 || n > 200 {
			return bad("reason", "1 to 200 characters")
		}
		if routed {
			return bad("channel and conversation_key", "empty")
		}
	case System, DelegatedAgent:
		if routed {
			return bad("channel and conversation_key", "empty")
		}
		if !bound {
			return bad("session_id", "exactly the one allowed session")
		}
		if f.Authority == DelegatedAgent && (f.ParentSession == "" || f.ParentSession == f.SessionID) {
			return bad("parent_session", "set, and another session")
		}
	}
	return nil
}
