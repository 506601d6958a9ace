package authority

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// OperatorID is the principal id of the person at this machine. There is one.
const OperatorID = "principal:operator:local"

// Resolver issues scopes for one open store. It is safe for concurrent use.
type Resolver struct {
	bindings Bindings
	audit    Audit
	clock    func() time.Time
	ids      *id.Source
	issuer   *principal.Issuer
}

// NewResolver returns the Resolver of the store behind b. Close it with the Host, before anything that can fail.
func NewResolver(b Bindings, a Audit, clock func() time.Time, ids *id.Source) *Resolver {
	return &Resolver{bindings: b, audit: a, clock: clock, ids: ids, issuer: principal.NewIssuer(string(b.StoreID()))}
}

// Close ends operator authority. It never fails and may be called again.
func (r *Resolver) Close() { r.issuer.Close() }

// End ends every scope, when no turn runs any more. It never fails and may be called again.
func (r *Resolver) End() { r.issuer.End() }

// Accept is nil when by is an operator's scope that this host issued and has not ended: for what changes the home and
// no row of a session. Otherwise it is a [*principal.RefusedError].
func (r *Resolver) Accept(by principal.Scope) error {
	return principal.AcceptOperator(by, string(r.bindings.StoreID()))
}

// Operator issues an operator scope for a reason of 1 to 200 characters, white space squeezed. The audit row is
// written first; if it cannot be, there is no scope. A bad reason is a [*principal.FactsError].
func (r *Resolver) Operator(ctx context.Context, reason string) (principal.Scope, error) {
	facts := OperatorFacts(reason)
	scope, err := r.issuer.Issue(facts)
	if err != nil {
		return principal.Scope{}, err
	}
	rec := event.Record{
		ID: r.ids.Event(), At: r.clock(), Kind: event.OperatorIssued, Principal: facts.PrincipalID,
		Fields: []event.Field{event.F("reason", facts.Reason)},
	}
	if err := r.audit.Record(ctx, rec); err != nil {
		return principal.Scope{}, fmt.Errorf("authority: record operator scope: %w", err)
	}
	return scope, nil
}

// Schedule are the facts of one run of a schedule of a core. Its authority reaches the session of the run and no other.
func (r *Resolver) Schedule(core, schedule, run string) (principal.Facts, error) {
	who, err := principal.SchedulerID(core, schedule, run)
	if err != nil {
		return principal.Facts{}, fmt.Errorf("authority: name a scheduled run: %w", err)
	}
	return principal.Facts{PrincipalID: who, Authority: principal.System}, nil
}

// Child are the facts of the child agent that an effect of a turn makes. The child owns the session that it is admitted
// to; of its parent's it has the names, for the record, and no access. A parent that this store does not act for is a
// [*principal.RefusedError]; one whose session has no durable owner, an [*UnownedError].
func (r *Resolver) Child(ctx context.Context, parent principal.Scope, t id.Turn, e id.Effect) (principal.Facts, error) {
	if err := principal.Accept(parent, string(r.bindings.StoreID())); err != nil {
		return principal.Facts{}, err
	}
	session := id.Session(parent.SessionID())
	_, found, err := r.bindings.Owner(ctx, session)
	if err != nil {
		return principal.Facts{}, fmt.Errorf("authority: read owner of %s: %w", session, err)
	}
	if !found || !parent.Allows(string(session)) {
		return principal.Facts{}, &UnownedError{session}
	}
	who, err := principal.DelegatedID(string(session), string(e))
	if err != nil {
		return principal.Facts{}, fmt.Errorf("authority: name a child of %s: %w", session, err)
	}
	return principal.Facts{
		PrincipalID: who, Authority: principal.DelegatedAgent, ParentSession: string(session), ParentTurn: string(t),
	}, nil
}

// OperatorFacts are the facts of the operator acting for a reason.
func OperatorFacts(reason string) principal.Facts {
	return principal.Facts{PrincipalID: OperatorID, Authority: principal.Operator, Reason: strings.Join(strings.Fields(reason), " ")}
}

// UnownedError reports a session that is unknown or has no durable owner; callers outside learn only that it was
// not found.
type UnownedError struct{ Session id.Session }

// Error says what the caller may know.
func (e *UnownedError) Error() string {
	return fmt.Sprintf("session %s not found: `portcullis sessions list` shows yours", e.Session)
}

// Session issues the scope under which a turn of session s runs for actor, bound to that session. The actor must be the
// durable owner, or an operator who acts for a reason; an unknown session and a foreign one are the same
// [*UnownedError]. For an operator the caller has put principal_scope.operator_issued on record with the admission.
func (r *Resolver) Session(ctx context.Context, actor principal.Facts, s id.Session) (principal.Scope, error) {
	owner, found, err := r.bindings.Owner(ctx, s)
	if err != nil {
		return principal.Scope{}, fmt.Errorf("authority: read owner of %s: %w", s, err)
	}
	if !found || !mayAct(actor, owner) {
		return principal.Scope{}, r.denied(ctx, actor, s, found)
	}
	actor.SessionID, actor.AllowedSessions = string(s), []string{string(s)}
	scope, err := r.issuer.Issue(actor)
	if err != nil {
		return principal.Scope{}, fmt.Errorf("authority: issue scope for %s: %w", s, err)
	}
	return scope, nil
}

// denied puts on record that actor asked for a session that is not its own, and why; the answer says neither.
func (r *Resolver) denied(ctx context.Context, actor principal.Facts, s id.Session, owned bool) error {
	why := "not_authorized"
	if !owned {
		why = "missing_durable_owner"
	}
	rec := event.Record{
		ID: r.ids.Event(), At: r.clock(), Kind: event.LookupDenied, Principal: actor.PrincipalID,
		Fields: []event.Field{event.F("what", "session"), event.F("id", string(s)), event.F("reason", why)},
	}
	if err := r.audit.Record(ctx, rec); err != nil {
		return fmt.Errorf("authority: record a denied session: %w", err)
	}
	return &UnownedError{s}
}

// Suppose issues a scope for a session that is not in the store, so that an explanation can ask policy what it would
// ask of a real one. It is no operator authority and reaches that one session only, which has no rows.
func (r *Resolver) Suppose(s id.Session) (principal.Scope, error) {
	return r.SupposeAs(s, principal.Operator)
}

// SupposeAs is [Resolver.Suppose] for an example of a kind of authority. The operator's is the system's under the
// operator's name, which is no operator authority.
func (r *Resolver) SupposeAs(s id.Session, as principal.Authority) (principal.Scope, error) {
	f := principal.Facts{Authority: as, SessionID: string(s), AllowedSessions: []string{string(s)}}
	switch as {
	case principal.Operator:
		f.PrincipalID, f.Authority = OperatorID, principal.System
	case principal.Conversation:
		f.PrincipalID = "principal:conversation:example:somebody"
		f.Channel, f.ConversationKey = "example", "example:dm:somebody"
	case principal.System:
		f.PrincipalID = "principal:scheduler:example:some:run"
	case principal.DelegatedAgent:
		f.PrincipalID, f.ParentSession, f.ParentTurn = "principal:delegated_agent:example", "ses_example", "trn_example"
	}
	return r.issuer.Issue(f)
}

func mayAct(actor, owner principal.Facts) bool {
	if actor.Authority == principal.Operator {
		return owner.Authority.Valid()
	}
	return actor.Authority == owner.Authority && actor.PrincipalID == owner.PrincipalID &&
		actor.Channel == owner.Channel && actor.ConversationKey == owner.ConversationKey &&
		actor.ParentSession == owner.ParentSession && actor.ParentTurn == owner.ParentTurn
}
