// Package principal owns the immutable authority under which everything in the host is done: who is acting, by
// which kind of authority, in which conversation, over which sessions.
//
// A [Scope] is opaque and its zero value authorises nothing. Only an [Issuer] mints one, and only host/authority
// holds an Issuer, so that neither a payload nor a plugin can build authority out of fields. A Scope is not a
// capability grant: what may be done is package capability's, whose rows may be touched is this package's.
//
// Who acts in a conversation is a [Sender], and where is a [Place], whose canonical spelling is the conversation's key.
//
// It refuses: facts that do not fit their kind of authority (see [Facts]), keys in any but their one spelling, scopes
// that another store issued, operator scopes after the Issuer was closed, and all after it was ended. Nothing here survives a crash; a restarted host issues anew from
// durable ownership. Source: Host Runtime Contracts, PrincipalScope.
package principal

import "slices"

// Authority is the kind of standing a principal has. The four are the contract's own words.
type Authority string

const (
	// Conversation is a channel user in the one session bound to the conversation.
	Conversation Authority = "conversation"
	// Operator is the person at this machine; issued for a stated reason, and ended by closing the host.
	Operator Authority = "operator"
	// System is the host's own schedule, limited to the session it runs.
	System Authority = "system"
	// DelegatedAgent is a child agent in its own session; it inherits nothing of its parent's.
	DelegatedAgent Authority = "delegated_agent"
)

// Valid reports whether a is one of the four.
func (a Authority) Valid() bool {
	switch a {
	case Conversation, Operator, System, DelegatedAgent:
		return true
	}
	return false
}

// Scope is one principal's authority. It is immutable, safe to copy and share, and its zero value is nobody.
type Scope struct{ of *grant }

// grant is what a Scope points at. It is never changed after issue, which is what makes copies of a Scope safe.
type grant struct {
	issuer *Issuer
	facts  Facts
}

// Zero reports whether s is nobody.
func (s Scope) Zero() bool { return s.of == nil }

// PrincipalID is the stable name of who acts, for example "principal:operator:local". Empty for nobody.
func (s Scope) PrincipalID() string { return s.facts().PrincipalID }

// Authority is the kind of standing. Empty for nobody.
func (s Scope) Authority() Authority { return s.facts().Authority }

// Channel is the transport of a conversation principal, else empty.
func (s Scope) Channel() string { return s.facts().Channel }

// ConversationKey is the canonical conversation of a conversation principal, else empty.
func (s Scope) ConversationKey() string { return s.facts().ConversationKey }

// SessionID is the session that the scope is bound to; operator scopes may have none.
func (s Scope) SessionID() string { return s.facts().SessionID }

// ParentSession is the session whose work a delegated agent does, else empty. It is lineage and no access.
func (s Scope) ParentSession() string { return s.facts().ParentSession }

// ParentTurn is the turn that made a delegated agent, else empty.
func (s Scope) ParentTurn() string { return s.facts().ParentTurn }

// AllowedSessions are the sessions whose rows the scope may touch, as a fresh copy. For an operator it is not the
// whole truth: an operator reaches every session that has an owner (see [Scope.Allows]).
func (s Scope) AllowedSessions() []string { return slices.Clone(s.facts().AllowedSessions) }

// Allows reports whether the scope may touch rows of session. It is arithmetic on the scope alone: a store still
// puts the owner predicate into its SQL, because only the store knows who owns the row.
func (s Scope) Allows(session string) bool {
	if s.of == nil || session == "" || !s.of.issuer.live(s.of.facts.Authority) {
		return false
	}
	return s.of.facts.Authority == Operator || slices.Contains(s.of.facts.AllowedSessions, session)
}

// CrossSession reports whether the scope reaches beyond its own sessions, which only a live operator's does.
func (s Scope) CrossSession() bool {
	return s.of != nil && s.of.facts.Authority == Operator && s.of.issuer.live(Operator)
}

// RefusedBy says why the store named store must not act for s, or empty when it may. Every store method that takes
// a Scope asks this before it builds SQL, so that a scope kept past its host, or brought from another database,
// reaches nothing.
func (s Scope) RefusedBy(store string) Refusal {
	switch {
	case s.of == nil:
		return RefusedNobody
	case s.of.issuer.store != store:
		return RefusedForeign
	case !s.of.issuer.live(s.of.facts.Authority):
		return RefusedClosed
	}
	return ""
}

func (s Scope) facts() Facts {
	if s.of == nil {
		return Facts{}
	}
	return s.of.facts
}

// String names the principal for a log line. It shows no more than an audit record would.
func (s Scope) String() string {
	if s.of == nil {
		return "nobody"
	}
	return s.of.facts.PrincipalID
}
