package effect

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/failpoint"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// recordTime is what the journal may take after the effect's own context has ended.
const recordTime = 10 * time.Second

// invoke is step 7: effect.started becomes durable, then the adapter runs once. What it says is held against the
// host's own clock and context, and a success against the output schema and bound.
func (r *Runtime) invoke(ctx context.Context, p *passage) verdict {
	if ctx.Err() != nil {
		return verdict{status: Cancelled, reason: "cancelled", why: "cancelled before it started", model: "cancelled"}
	}
	p.worked = true
	t := &p.entry.tool
	started := Started{
		Effect: p.req.ID, Turn: p.turn.ID(), Session: p.turn.Session(), CallID: p.result.CallID, Tool: t.Name,
		Plugin: p.entry.label, Recovery: t.Recovery, Digest: p.digest,
		Arguments: p.shown.Durable.Shared(), Approval: p.result.Approval, Grants: p.granted.Strings(), At: p.now,
	}
	how, err := r.journal.EffectStarted(ctx, started, r.event(p, event.EffectStarted, event.F("digest", p.digest)))
	if err != nil {
		return verdict{
			status: Denied, reason: "not_recorded", remedy: "portcullis store check",
			why:   fmt.Sprintf("the start of %s could not be recorded, so it did not run: `portcullis store check`", t.Name),
			model: "the host could not record the call, so it did not run",
		}
	}
	if how != Begun {
		return notBegun(how, t)
	}
	p.result.Started = true
	p.outcome = r.call(ctx, p, p.now)
	p.result.Stats = p.outcome.Stats
	return p.sure(p.judge())
}

// Reasons of an effect of which a request went out: it was not answered, or it was and the tool said nothing after that.
const (
	reasonUnanswered = "request_unanswered"
	reasonAnswered   = "request_answered"
)

// sure is v, unless the other side may have done what the tool could not see the end of: to be stopped takes nothing back
// that was sent, and a tool's own "no" after a silence is no word on what came of it. Nor does it take back what was answered.
// There a tool's own "no" stands, for it saw the answer, and says beside it that something may have been changed.
func (p *passage) sure(v verdict) verdict {
	t, out := &p.entry.tool, &p.outcome
	if !v.stops() || v.status == Indeterminate || t.Recovery == wire.RecoveryRead {
		return v
	}
	reason, what := "", ""
	switch {
	case out.Unanswered:
		reason, what = reasonUnanswered, "a request of it that may have changed something went out, and no whole answer came"
	case !out.Changed:
		return v
	case out.Status == Failed && out.Fault != nil:
		v.why += "; before that a request of it that may have changed something was answered"
		v.model += " (before that a request of it that may have changed something was answered: look before you repeat it)"
		return v
	default:
		reason, what = reasonAnswered, "a request of it that may have changed something was answered, and it ended before it could say what came of it"
	}
	return verdict{
		status: Indeterminate, reason: reason, model: dontRepeat, why: t.Name + " may or may not have happened: " + what + "; " + v.why,
	}
}

// dontRepeat is what a model is told of an uncertain effect.
const dontRepeat = "it is not known whether this happened; do not repeat it"

// notBegun is a call that its approval or its grants do not carry any more: nothing was started.
func notBegun(how Start, t *Tool) verdict {
	if how == SessionEnded {
		return verdict{status: Denied, reason: string(how), why: t.Name + " did not run: the session was ended", model: "the session was ended; it did not run"}
	}
	if how == GrantRevoked {
		return verdict{
			status: Denied, reason: string(how), remedy: "portcullis plugin inspect " + t.Plugin,
			why:   fmt.Sprintf("%s did not run: a grant of plugin %s was taken back meanwhile: `portcullis plugin inspect %s`", t.Name, t.Plugin, t.Plugin),
			model: "the operator took a capability of the tool back; it did not run",
		}
	}
	words := map[Start]string{
		ApprovalExpired: "its approval expired before it could start",
		ApprovalUsed:    "its approval was used already, and it was good for once",
		ApprovalRevoked: "its approval was taken back",
	}[how]
	if words == "" {
		words = "there is no approval of this very call"
	}
	return verdict{status: Denied, reason: string(how), why: t.Name + " did not run: " + words, model: "the approval does not cover this call; it did not run"}
}

// call runs the adapter under the effect's deadline. A panic in an adapter is the host's fault and leaves unknown what
// happened outside.
func (r *Runtime) call(ctx context.Context, p *passage, now time.Time) (out Outcome) {
	t := &p.entry.tool
	call := r.asked(p, now)
	call.Plan = p.planned
	ctx, stop := context.WithTimeout(ctx, call.Deadline.Sub(now))
	defer stop()
	defer func() {
		if v := recover(); v != nil {
			out = Outcome{Status: Indeterminate, Reason: "adapter_panic", Detail: fmt.Sprint(v)}
		}
	}()
	if err := failpoint.Hit("effect.invoke"); err != nil {
		return Outcome{Status: Failed, Reason: "injected", Detail: err.Error()}
	}
	out = t.Adapter.Invoke(ctx, call)
	if err := failpoint.Hit("effect.invoked"); err != nil {
		return Outcome{Status: Indeterminate, Reason: "injected", Detail: err.Error()}
	}
	return out
}

// asked is the call as an adapter sees it, when it begins now.
func (r *Runtime) asked(p *passage, now time.Time) Call {
	t := p.entry.tool
	limit := t.Timeout
	if until := p.secrets.Until(); !until.IsZero() { // a value that has expired is in nobody's hands
		limit = min(limit, until.Sub(now))
	}
	return Call{
		Effect: p.req.ID, Tool: t.Name, Arguments: p.args.Bytes(), Read: p.args.read, Reader: p.reader, Turn: p.turn,
		Deadline: now.Add(limit), Output: t.Output, Grants: p.granted, Secrets: p.secrets, Redactor: p.catalog.Redactor,
		Setup: p.catalog.delegates,
		Progress: func(g wire.Progress) {
			if p.req.Progress != nil {
				g.Message = p.catalog.Redactor().Text(redact.ForOperator, g.Message)
				p.req.Progress(p.req.ID, g)
			}
		},
	}
}

// judge turns an adapter's outcome into the effect's end.
func (p *passage) judge() verdict {
	t, out := &p.entry.tool, &p.outcome
	stop := func(status Status, reason, why, model string) verdict {
		return verdict{status: status, reason: reason, why: why, model: model}
	}
	switch out.Status {
	case Succeeded:
		return p.judgeResult()
	case TimedOut:
		ran := out.Duration // the plugin's own limit may be shorter than the effect's
		if ran <= 0 {
			ran = t.Timeout
		}
		return stop(TimedOut, "deadline", fmt.Sprintf("%s did not finish and was stopped after %s", t.Name, ran.Round(time.Millisecond)), "the tool took too long and was stopped")
	case Cancelled:
		return stop(Cancelled, "cancelled", t.Name+" was cancelled and has ended", "cancelled")
	case Indeterminate:
		return stop(Indeterminate, reasonOr(out.Reason, "indeterminate"), t.Name+" may or may not have happened: "+out.Detail, dontRepeat)
	case Denied, Failed, Invalid, NotFound:
		if out.Status == Denied && out.Reason == ReasonOperandChanged && p.planned != nil {
			return operandChanged(t.Name)
		}
		if out.Fault != nil {
			words := string(out.Fault.Code) + ": " + out.Fault.Message
			v := stop(Failed, reasonOr(out.Reason, "fault_"+string(out.Fault.Code)), t.Name+" answered "+words, words)
			if v.remedy = out.Remedy; v.remedy != "" {
				v.why += "; to change that: " + typed(v.remedy)
			}
			return v
		}
		return stop(Failed, reasonOr(out.Reason, "failed"), t.Name+" failed: "+out.Detail, "the tool failed ("+reasonOr(out.Reason, "failed")+")")
	default:
		return stop(Indeterminate, "adapter_status", fmt.Sprintf("the adapter of %s answered %q", t.Name, out.Status), dontRepeat)
	}
}

// typed is a remedy inside a sentence: what is a command alone stands between backticks.
func typed(remedy string) string {
	if strings.HasPrefix(remedy, "portcullis ") {
		return "`" + remedy + "`"
	}
	return remedy
}

// judgeResult is rule D7 for what every adapter must share: a success has a result, in bounds, strict JSON, and it
// fits the declared schema.
func (p *passage) judgeResult() verdict {
	t, out := &p.entry.tool, &p.outcome
	bad := func(reason, why string) verdict {
		return verdict{status: Failed, reason: reason, why: t.Name + " " + why, model: "the tool gave an unusable result (" + reason + ")"}
	}
	switch {
	case len(out.Result) == 0:
		return bad("output_missing", "ended without a result")
	case len(out.Result) > t.Output:
		return bad("output_too_large", fmt.Sprintf("gave %d bytes, the limit is %d", len(out.Result), t.Output))
	}
	read, err := out.reading(p.reader)
	if err != nil {
		return bad("output_not_json", "gave a result that is not strict JSON: "+tidy(err))
	}
	p.answer = read
	schema, err := p.entry.output()
	if err != nil {
		return bad("schema_unusable", fmt.Sprintf("has an output schema that cannot be used: %v", err))
	}
	if schema != nil {
		if faults := schema.check(&read); len(faults) > 0 {
			return bad("output_schema", "gave a result that does not fit its schema: "+join(faults))
		}
	}
	return pass(strconv.Itoa(len(out.Result)) + " bytes in " + out.Duration.Round(time.Microsecond).String())
}

func reasonOr(reason, standard string) string {
	if reason == "" {
		return standard
	}
	return reason
}

// record is step 8: the five views, then the durable end. The end is written even when ctx has ended.
func (r *Runtime) record(ctx context.Context, p *passage) verdict {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer stop()
	p.fill()
	kind := event.EffectFinished
	if !p.result.Started {
		kind = event.EffectDenied
	}
	err := r.journal.EffectFinished(ctx, Finished{
		Effect: p.req.ID, Turn: p.turn.ID(), Session: p.turn.Session(), CallID: p.result.CallID, Tool: p.result.Tool,
		Plugin: p.result.Plugin, Status: p.result.Status, Started: p.result.Started, Reason: p.result.Reason,
		Durable: p.result.Views.Durable.Shared(), At: p.now, Duration: p.outcome.Duration,
	}, r.event(p, kind, event.F("status", string(p.result.Status)), event.F("reason", p.result.Reason)))
	if err == nil {
		return pass("recorded as " + string(p.result.Status))
	}
	lost := verdict{status: Denied, reason: "not_recorded", model: "the host could not record this call"}
	if p.result.Started {
		lost.status, lost.reason, lost.model = Indeterminate, "end_not_recorded", dontRepeat
	}
	lost.remedy = "portcullis store check"
	lost.why = fmt.Sprintf("the end of %s could not be recorded (%v): `portcullis store check`", p.result.Tool, err)
	p.end = lost
	p.fill()
	return lost
}

// fill writes the passage's end into the result: status, words and views. A redactor that fails changes all views and
// words, and the reason, and leaves the status what it is: whether the effect happened is not the redactor's to say.
func (p *passage) fill() {
	res, set := &p.result, p.set()
	res.Status, res.Reason, res.Sentence, res.Remedy = Succeeded, "", "", ""
	if p.end.stops() {
		p.end.reason = set.Short(redact.ForEvent, p.end.reason, maxReason)
		res.Status, res.Reason, res.Remedy = p.end.status, p.end.reason, p.end.remedy
		res.Sentence = set.Short(redact.ForOperator, p.end.why, maxWords)
	}
	views, err := p.views(set)
	if err == nil {
		res.Views = views
		return
	}
	res.Views = redact.Failed()
	res.Reason, res.Remedy, res.Sentence = "redaction_failed", "", "the result could not be redacted, so nothing of it is shown"
}

// Bounds of what is said of an effect that has no result, in bytes. They are applied to what was redacted: a value that
// was cut through before would not be found.
const (
	maxReason = 64
	maxWords  = 2048
)

// views are the five views of the result, or of the words that stand in for one. The model gets words of its own: no
// command, no path, nothing of what others own.
func (p *passage) views(set redact.Set) (redact.Views, error) {
	if !p.end.stops() {
		return p.catalog.views(p.catalog.bounds, redact.Document(p.answer))
	}
	bounds := wordBounds()
	build := func(raw redact.Raw) (redact.Views, error) {
		if p.catalog == nil {
			return redact.Build(set, bounds, raw)
		}
		return p.catalog.views(bounds, raw)
	}
	status := string(p.end.status)
	forModel, err := build(redact.JSON(denial{status, p.end.reason, p.end.model}.raw()))
	if err != nil {
		return redact.Views{}, err
	}
	all, err := build(redact.JSON(denial{status, p.end.reason, p.end.why}.raw()))
	all.Model = forModel.Model
	return all, err
}

func wordBounds() redact.Bounds {
	b := redact.DefaultBounds()
	for _, l := range []*redact.Limit{&b.Model, &b.Operator, &b.Event, &b.Durable, &b.Debug} {
		l.String = min(l.String, maxWords)
	}
	return b
}

func (r *Runtime) event(p *passage, kind event.Kind, more ...event.Field) event.Record {
	fields := append(make([]event.Field, 0, 4+len(more)), event.F("tool", p.result.Tool), event.F("plugin", p.result.Plugin), event.F("from", string(p.req.From)))
	if p.result.Approval != "" {
		fields = append(fields, event.F("approval", string(p.result.Approval)))
	}
	return event.Record{
		ID: r.ids.Event(), At: p.now, Kind: kind, Principal: p.turn.Principal().PrincipalID(),
		Session: p.turn.Session(), Turn: p.turn.ID(), Effect: p.req.ID, Trace: p.turn.Trace(), Fields: append(fields, more...),
	}
}
