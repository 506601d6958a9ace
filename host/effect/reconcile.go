package effect

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Reconciler is an [Adapter] that can say what became of an earlier call whose end nobody saw.
type Reconciler interface {
	Adapter
	// Reconcile asks once. call is the earlier call with its id and the exact arguments that were approved, and [Call.Looks]
	// is set: whatever runs for it must not change anything. It must not run the call again, and ends soon after ctx does.
	Reconcile(ctx context.Context, call Call) Reconciliation
}

// Answer is what a tool says about an earlier call of it.
type Answer string

// The answers. Anything but the first two leaves the effect uncertain.
const (
	AnswerCommitted Answer = "committed"
	AnswerNotFound  Answer = "not_found"
	AnswerUnknown   Answer = "unknown"
)

// Reconciliation is what an adapter found out.
type Reconciliation struct {
	Answer    Answer
	Reference string // of AnswerCommitted, may be empty; the plugin's own words, at most [wire.MaxReference] bytes
	Reason    string // stable code of AnswerUnknown
	Detail    string // words for the operator; may hold guest text
	Logs      []wire.LogRecord
}

// Unsettled is an uncertain effect whose tool can say what became of it, with what it ran under.
type Unsettled struct {
	Record
	Request  id.Request
	Core     string
	Revision string // of the core, which pins the plugins with their content
	Trace    id.Trace
	Actor    principal.Facts // who the turn acted for, without session fields and reason
}

// Reconciliations are the uncertain effects whose tools can say what became of them. It is for the host that recovers, and
// takes no scope. Each method is one transaction.
type Reconciliations interface {
	// Unsettled lists the effects of a turn that are uncertain, open and of recovery reconcile, in the order they were asked for.
	Unsettled(ctx context.Context, t id.Turn) ([]Unsettled, error)
	// Reconciled settles one as its tool said, with the record r. as.By is "plugin:" and the plugin that ran it.
	Reconciled(ctx context.Context, e id.Effect, as Resolution, r event.Record) (Settling, error)
}

// Reasons of what a tool settled, and of what it did not. An adapter has more.
const (
	ReasonCommitted = "reconciled_committed"
	ReasonNotFound  = "reconciled_not_found"

	ReasonToolGone      = "tool_gone"      // the core does not have the tool any more
	ReasonToolChanged   = "tool_changed"   // another plugin or version offers it, or it is not of that recovery any more
	ReasonArguments     = "arguments_gone" // a part of them was secret and not kept, so nobody can ask about this very call
	ReasonWorkspaceGone = "workspace_gone" // it worked on files, and in which workspace is not kept
	ReasonCannotTell    = "cannot_tell"    // the adapter has no way to ask
	ReasonNotAllowed    = "not_allowed"    // the call would be denied today
	ReasonNoSecret      = "no_secret"      // a credential that asking needs is not available
	ReasonNotRecorded   = "not_recorded"   // what the tool said could not be stored
	reasonAdapterPanic  = "adapter_panic"  // the host's own fault
	reasonBadAnswer     = "adapter_status" // the same
)

// Reconciled is how asking about an uncertain effect ended.
type Reconciled struct {
	Answer     Answer
	Resolution Resolution // what is settled now; empty when nothing is
	Reason     string     // stable code; of AnswerUnknown why
	Sentence   string     // for the operator: why it stays uncertain; redacted
	Before     bool       // it was settled while the tool was asked, so that its answer counts for nothing: the first word stands
}

// byPlugin names a plugin as who settled an effect.
const byPlugin = "plugin:"

// ReconciledBy is the [Resolution.By] of what plugin, "<id>@<version>", says.
func ReconciledBy(plugin string) string { return byPlugin + plugin }

// Reconcile asks the tool of an uncertain effect what became of it, under what the call ran under: turn must be a binding of
// its own turn, principal and core revision, and catalog that turn's. The tool only looks, and nothing is run again. What
// the tool says for certain is settled; everything else leaves the effect to a person, and why is on record.
func (r *Runtime) Reconcile(ctx context.Context, u Unsettled, turn binding.Turn, catalog *Catalog) Reconciled {
	p := &passage{
		req: Request{ID: u.ID, CallID: u.CallID, Catalog: catalog, From: FromHost}, turn: turn, catalog: catalog,
		began: r.clock(), result: Result{ID: u.ID, Tool: u.Tool, Plugin: u.Plugin},
	}
	p.now = p.began
	got := r.inquire(ctx, p, u)
	r.pass(p)
	return r.settle(ctx, p, u, got)
}

// inquire is the gate for a question: steps 1 to 4 and 6 as they were for the call, which was approved already.
func (r *Runtime) inquire(ctx context.Context, p *passage, u Unsettled) Reconciliation {
	unknown := func(reason, detail string) Reconciliation {
		return Reconciliation{Answer: AnswerUnknown, Reason: reason, Detail: detail}
	}
	ref, ok := p.catalog.Resolve(u.Tool)
	if !ok {
		return unknown(ReasonToolGone, "the core does not have "+u.Tool+" any more")
	}
	p.req.Ref, p.entry = ref, ref.entry
	t := &p.entry.tool
	asked, can := t.Adapter.(Reconciler)
	switch {
	case p.entry.label != u.Plugin || t.Recovery != wire.RecoveryReconcile:
		return unknown(ReasonToolChanged, fmt.Sprintf("%s is of %s now and was of %s", u.Tool, t.Provenance, u.Plugin))
	case !can:
		return unknown(ReasonCannotTell, u.Tool+" has no way to be asked")
	case t.Files:
		return unknown(ReasonWorkspaceGone, u.Tool+" works on files, and in which workspace it ran is not kept")
	}
	args, err := ParseArguments(u.Arguments)
	if err != nil || args.Digest() != u.Digest {
		return unknown(ReasonArguments, "a part of the arguments was hidden or cut when they were recorded, so nobody can ask about this very call")
	}
	p.args, p.digest = args, args.Digest()
	if p.needs, err = needsOf(*t, args.read); err != nil {
		return unknown(ReasonNotAllowed, err.Error())
	}
	if v := r.standing(ctx, p); v.stops() {
		return unknown(ReasonNotAllowed, v.why)
	}
	if p.policy = p.catalog.rule(p.entry, p.needs, p.granted); p.policy.Action == policy.Deny {
		return unknown(ReasonNotAllowed, p.policy.Why)
	}
	if v := r.bindSecrets(ctx, p); v.stops() {
		return unknown(ReasonNoSecret, v.why)
	}
	return r.look(ctx, p, asked)
}

// look asks the adapter under the effect's deadline.
func (r *Runtime) look(ctx context.Context, p *passage, asked Reconciler) (got Reconciliation) {
	now := r.clock()
	call := r.asked(p, now)
	call.Looks, call.Progress = true, func(wire.Progress) {}
	ctx, stop := context.WithTimeout(ctx, call.Deadline.Sub(now))
	defer stop()
	defer func() {
		if v := recover(); v != nil {
			got = Reconciliation{Answer: AnswerUnknown, Reason: reasonAdapterPanic, Detail: fmt.Sprint(v)}
		}
	}()
	got = asked.Reconcile(ctx, call)
	p.outcome.Logs = got.Logs
	if got.Answer != AnswerCommitted && got.Answer != AnswerNotFound && got.Answer != AnswerUnknown {
		got = Reconciliation{Answer: AnswerUnknown, Reason: reasonBadAnswer, Detail: fmt.Sprintf("the adapter answered %q", got.Answer)}
	}
	return got
}

// settle writes down what was said, or why it stays unknown. What cannot be written was not said.
func (r *Runtime) settle(ctx context.Context, p *passage, u Unsettled, got Reconciliation) Reconciled {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer stop()
	set, now := p.set(), r.clock()
	if got.Answer == AnswerUnknown {
		return r.unsettled(ctx, p, got)
	}
	as := Resolution{Verdict: NotHappened, Reason: ReasonNotFound, By: ReconciledBy(u.Plugin), At: now}
	if got.Answer == AnswerCommitted {
		as.Verdict, as.Reason = Happened, ReasonCommitted
		as.Reference = set.Short(redact.ForModel, got.Reference, wire.MaxReference)
	}
	how, err := r.reconciliations.Reconciled(ctx, u.ID, as, r.event(p, event.EffectResolved))
	switch {
	case err != nil:
		return r.unsettled(ctx, p, Reconciliation{Reason: ReasonNotRecorded, Detail: "what it said could not be stored: `portcullis store check`"})
	case how == SettledBefore:
		return Reconciled{Answer: got.Answer, Reason: string(how), Before: true}
	case how != Settled:
		return r.unsettled(ctx, p, Reconciliation{Reason: ReasonNotRecorded, Detail: "what it said could not be stored: the effect is not an uncertain one"})
	}
	return Reconciled{Answer: got.Answer, Resolution: as, Reason: as.Reason}
}

// unsettled records that an effect stays uncertain.
func (r *Runtime) unsettled(ctx context.Context, p *passage, got Reconciliation) Reconciled {
	set := p.set()
	out := Reconciled{
		Answer: AnswerUnknown, Reason: set.Short(redact.ForEvent, reasonOr(got.Reason, "unknown"), maxReason),
		Sentence: set.Short(redact.ForOperator, got.Detail, maxWords),
	}
	// That it cannot be recorded changes nothing: the effect is as uncertain as it was.
	_ = r.audit.Record(ctx, r.event(p, event.EffectUnsettled, event.F("reason", out.Reason)))
	return out
}
