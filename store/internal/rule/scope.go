package rule

import (
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Accept is nil when the store named store may act for by, else a [*principal.RefusedError].
func Accept(by principal.Scope, store id.Store) error { return principal.Accept(by, string(store)) }

// AcceptOperator is [Accept] for what only the operator may do.
func AcceptOperator(by principal.Scope, store id.Store) error {
	return principal.AcceptOperator(by, string(store))
}

// SameOwner reports whether a and b are one durable owner: every fact that the owner row keeps is equal.
func SameOwner(a, b principal.Facts) bool {
	return a.Authority == b.Authority && a.PrincipalID == b.PrincipalID && a.Channel == b.Channel &&
		a.ConversationKey == b.ConversationKey && a.ParentSession == b.ParentSession && a.ParentTurn == b.ParentTurn
}

// MayUse reports whether actor may have a turn in a session of owner: its own, or any owned one for an operator.
func MayUse(actor, owner principal.Facts) bool {
	return actor.Authority == principal.Operator && owner.Authority.Valid() || SameOwner(actor, owner)
}

// Routed reports whether sessions of f are bound to a conversation.
func Routed(f principal.Facts) bool { return f.Authority == principal.Conversation }

// Reason is why an owned lookup found nothing. Only the audit record ever says it.
type Reason string

// The reasons.
const (
	ReasonNotFound      Reason = "not_found"                    // there is no such row
	ReasonNotAuthorized Reason = "not_authorized"               // there is, and it has another owner
	ReasonUnowned       Reason = "missing_durable_owner"        // there is, and nobody owns it
	ReasonLegacy        Reason = "legacy_owner_requires_repair" // there is, and whose it is nobody can say
)

// Ownership is what the owner row of a session comes to.
type Ownership int

// The ownerships.
const (
	Unowned Ownership = iota
	Legacy            // there is a row, marked as uncertain
	Owned
)

// Lookup names what was looked up: "session", "turn" or "approval", and the id as it was given.
type Lookup struct {
	What, ID string
	Within   id.Session // the one session that was looked in; empty: all that the caller reaches
}

// Why is the reason for a lookup, from what the store knows: whether the row is there, whether its session has an
// owner, and whether the caller reaches it. It is empty when nothing was denied.
func Why(exists bool, owned Ownership, reached bool) Reason {
	switch {
	case !exists:
		return ReasonNotFound
	case owned == Unowned:
		return ReasonUnowned
	case owned == Legacy:
		return ReasonLegacy
	case !reached:
		return ReasonNotAuthorized
	}
	return ""
}

// Denied is the audit record of a lookup that found nothing. It names the session in no column, so that the
// session's owner does not learn from its own audit who asked.
func Denied(principalID string, l Lookup, why Reason, e id.Event, at time.Time) event.Record {
	return Normal(event.Record{
		ID: e, At: at, Kind: event.LookupDenied, Principal: principalID,
		Fields: []event.Field{event.F("what", l.What), event.F("id", cutID(l.ID)), event.F("reason", string(why))},
	})
}

// cutID bounds an id that a caller chose freely.
func cutID(s string) string {
	if len(s) > 256 {
		return strings.ToValidUTF8(s[:256], "") + "…"
	}
	return s
}
