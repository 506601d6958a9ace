// Package binding owns Turn: everything one turn is bound to, frozen at admission (the contract's
// TurnExecutionContext).
//
// A Turn is built once, after authority is resolved and the session lease is held, and is then handed to every
// downstream operation; there is no "current session" anywhere else. It refuses bindings that disagree: a principal
// that may not touch the session, a capability snapshot of another core revision, a token that names another
// request, turn or session. It carries identities only: no store, client, secret, cache or live control object.
// Nothing here survives a crash; the durable part of it is the turn's row.
// Source: Host Runtime Contracts, TurnExecutionContext.
package binding

import (
	"fmt"
	"maps"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Token is an identity that is good for one request, turn and session together, and cannot be reused in another.
type Token struct {
	ID      id.Token
	Request id.Request
	Turn    id.Turn
	Session id.Session
}

// Core is the pinned revision of one Agent Core with the capabilities it declares. The snapshot belongs to this
// revision: neither can change during a turn.
type Core struct {
	ID           string // for example "assistant"
	Revision     string // content digest of the core's tree, "sha256:<hex>"
	Capabilities capability.Snapshot
}

// Spec is what [New] freezes into a Turn. All fields but Interaction and Workspace are required.
type Spec struct {
	Request      id.Request
	Turn         id.Turn
	Session      id.Session
	Principal    principal.Scope
	Core         Core
	Workspace    string // absolute folder that file effects are confined to; empty: no files
	Route        Token
	Admission    Token
	Cancellation Token
	Trace        id.Trace
	Interaction  map[string]string // bounded, redacted facts about how the request came; see limits below
}

// Limits of Interaction: pairs, and bytes of a name and of a value.
const (
	MaxInteraction      = 16
	MaxInteractionName  = 64
	MaxInteractionValue = 256
)

// Turn is what one turn is bound to. It is immutable; copies share nothing that can change. The zero Turn is
// bound to nothing and no effect accepts it.
type Turn struct{ spec *Spec }

// MismatchError reports bindings that disagree. It is an invariant fault of the host, never a user's mistake.
type MismatchError struct{ Field, Why string }

// Error names the binding and the disagreement.
func (e *MismatchError) Error() string { return fmt.Sprintf("binding: %s %s", e.Field, e.Why) }

// New freezes s. Bindings that disagree, or a missing one, are a [*MismatchError].
func New(s Spec) (Turn, error) {
	for field, text := range map[string]string{
		"request": string(s.Request), "turn": string(s.Turn), "session": string(s.Session),
		"core id": s.Core.ID, "core revision": s.Core.Revision, "trace": string(s.Trace),
	} {
		if text == "" {
			return Turn{}, &MismatchError{field, "is missing"}
		}
	}
	if !s.Principal.Allows(string(s.Session)) {
		return Turn{}, &MismatchError{"principal", "does not authorise the session"}
	}
	for _, t := range []struct {
		name  string
		token Token
	}{{"route", s.Route}, {"admission", s.Admission}, {"cancellation", s.Cancellation}} {
		if t.token.ID == "" {
			return Turn{}, &MismatchError{t.name + " token", "is missing"}
		}
		if t.token.Request != s.Request || t.token.Turn != s.Turn || t.token.Session != s.Session {
			return Turn{}, &MismatchError{t.name + " token", "names another request, turn or session"}
		}
	}
	if len(s.Interaction) > MaxInteraction {
		return Turn{}, &MismatchError{"interaction", fmt.Sprintf("has %d entries, limit %d", len(s.Interaction), MaxInteraction)}
	}
	for name, value := range s.Interaction {
		if len(name) > MaxInteractionName || len(value) > MaxInteractionValue || !utf8.ValidString(name+value) {
			return Turn{}, &MismatchError{"interaction", "has an entry that is too long or not UTF-8"}
		}
	}
	s.Interaction = maps.Clone(s.Interaction)
	return Turn{&s}, nil
}

// Zero reports whether t is bound to nothing.
func (t Turn) Zero() bool { return t.spec == nil }

func (t Turn) get() Spec {
	if t.spec == nil {
		return Spec{}
	}
	return *t.spec
}

// Request is the stable request key.
func (t Turn) Request() id.Request { return t.get().Request }

// ID is the turn's own id.
func (t Turn) ID() id.Turn { return t.get().Turn }

// Session is the session that history is read from and replies go to.
func (t Turn) Session() id.Session { return t.get().Session }

// Principal is the authority that every operation of the turn runs under.
func (t Turn) Principal() principal.Scope { return t.get().Principal }

// Core is the pinned core revision and its capability snapshot.
func (t Turn) Core() Core { return t.get().Core }

// Workspace is the absolute folder of file effects, or empty.
func (t Turn) Workspace() string { return t.get().Workspace }

// Route is the identity that delivery of this turn's replies is bound to.
func (t Turn) Route() Token { return t.get().Route }

// Admission is the identity of the admission lease.
func (t Turn) Admission() Token { return t.get().Admission }

// Cancellation is the identity that a cancel request must name.
func (t Turn) Cancellation() Token { return t.get().Cancellation }

// Trace is the trace id of the turn.
func (t Turn) Trace() id.Trace { return t.get().Trace }

// Interaction returns one fact about how the request came, or empty.
func (t Turn) Interaction(name string) string { return t.get().Interaction[name] }

// Same reports whether both are the very binding that admission made: an equal copy built elsewhere is not it.
func (t Turn) Same(o Turn) bool { return t.spec != nil && t.spec == o.spec }
