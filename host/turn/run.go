package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Run runs one turn and returns how it ended. Before turn.started a refusal is a [*RejectedError]. After it every
// ending is a Result; only a terminal state that could not be written is an [*InfrastructureError]. When ctx ends,
// the turn is wound up and its state persisted first; then ctx's error is returned beside the Result.
func (x *Execution) Run(ctx context.Context, req Request, obs Observer) (Result, error) {
	req.Direct, req.call = false, nil
	return x.pass(ctx, req, obs, (*work).converse)
}

// pass is the life of every turn: the body is what happens between turn.started and the terminal state.
func (x *Execution) pass(ctx context.Context, req Request, obs Observer, body func(*work, context.Context) ending) (Result, error) {
	if !x.begin() {
		return Result{}, closed(req.Key)
	}
	defer x.drain.Done()
	named := req.Key != ""
	if !named {
		req.Key = x.cfg.IDs.Request()
	}
	req, digest, err := req.freeze()
	if err != nil {
		return Result{}, err
	}
	if !named {
		return x.anew(ctx, req, digest, obs, body)
	}
	before, err := x.askedBefore(ctx, req, digest)
	switch {
	case err != nil:
		return Result{}, err
	case before == nil:
		return x.anew(ctx, req, digest, obs, body)
	case before.State != Running:
		return recorded(*before), nil
	}
	// It runs: whoever asks again waits behind it as for any turn, and hears how it ended. Where there is no waiting, that it runs.
	res, err := x.anew(ctx, req, digest, obs, body)
	var no *RejectedError
	if errors.As(err, &no) && no.Reason != RejectCancelled && no.Reason != RejectClosed {
		if before, err = x.askedBefore(ctx, req, digest); err == nil && before != nil {
			return recorded(*before), nil
		}
		return Result{}, no
	}
	return res, err
}

// askedBefore is the turn that was admitted before under the request's key. It is found whatever became of its core since, and
// however many turns wait. The admission looks again, for what comes at the same time.
func (x *Execution) askedBefore(ctx context.Context, req Request, digest string) (*Record, error) {
	rec, found, err := x.cfg.Journal.Requested(ctx, req.Actor, req.Key)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, &RejectedError{req.Key, RejectCancelled, "cancelled before it was started"}
	case err != nil:
		return nil, &InfrastructureError{req.Key, "", "look up the request key", err}
	case !found:
		return nil, nil
	case rec.Digest != digest:
		return nil, conflict(req.Key)
	}
	return &rec, nil
}

// conflict is the refusal of a key that stands for something else.
func conflict(key id.Request) error {
	return &RejectedError{key, RejectConflict, "this request key was used for another request: use a new key"}
}

// anew plans and admits a turn and runs it, unless one was admitted under its key meanwhile.
func (x *Execution) anew(ctx context.Context, req Request, digest string, obs Observer, body func(*work, context.Context) ending) (Result, error) {
	plan, err := x.cfg.Planner.Plan(ctx, req)
	if err != nil {
		return Result{}, rejected(req.Key, err)
	}
	plan, generation, leave, err := x.within(req, plan.bounded())
	if err != nil {
		return Result{}, err
	}
	defer leave()
	a, before, err := x.admit(ctx, req, digest, plan)
	if err != nil {
		return Result{}, err
	}
	if before != nil {
		return recorded(*before), nil
	}
	defer a.release()
	a.generation = generation
	return x.admittedRun(ctx, a, obs, body)
}

// admittedRun runs a turn that has its row. Whatever happens in it, exactly one terminal state is written.
func (x *Execution) admittedRun(ctx context.Context, a *admitted, obs Observer, body func(*work, context.Context) ending) (Result, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	live := &running{
		turn: a.turn, session: a.session, cancel: cancel, done: make(chan struct{}),
		family: family{generation: a.generation, maxSteps: a.plan.MaxSteps, ends: a.started.Add(a.plan.Timeout)},
	}
	noted := x.note(inner, a)
	x.enlist(a.turn, live)
	defer x.delist(a.turn)
	defer x.heed(inner, a.turn, cancel)()
	if obs.Started != nil {
		obs.Started(a.turn, a.session)
	}
	timed, stop := context.WithTimeoutCause(inner, a.plan.Timeout, errTurnTime)
	defer stop()

	var told telling
	w := &work{x: x, a: a, live: live, obs: obs.until(&told)}
	end, whole := w.wait(timed, body)
	if whole {
		end = w.settle(timed, end)
	} else { // w is still somebody's
		told.end()
		w = x.givenUp(a, live)
	}
	noted()
	res, err := x.finish(ctx, a, w, end)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return res, err
}

// errTurnTime is the cause of a context that the turn's own time bound ended.
var errTurnTime = errors.New("turn: its time is over")

// ending is how the work came to its end.
type ending struct {
	outcome  Outcome
	reason   string
	sentence string
	reply    string
}

// owes is the reply that the turn owes whoever asked: a failed or cancelled one owes none, whatever the model said. It may
// still be shown where it was asked.
func (e ending) owes() string {
	switch e.outcome {
	case Completed, NeedsUser, Indeterminate:
		return e.reply
	}
	return ""
}

func failed(reason, sentence string) ending {
	return ending{outcome: Failed, reason: reason, sentence: sentence}
}

// work is one turn under way.
type work struct {
	x       *Execution
	a       *admitted
	live    *running
	obs     Observer
	bound   binding.Turn
	catalog *effect.Catalog
	tools   []provider.ToolDefinition
	names   map[string]string // wire name to tool name
	current []provider.Message

	conversation *prompt.Conversation
	degraded     bool // a report of the model could not be kept
	effects      []effect.Summary
	usage        Usage
	steps        int
	closing      []Message // written with the terminal state
}

// do is everything between turn.started and the terminal state. A panic in it is the host's own fault; the turn still
// gets its one terminal state.
func (w *work) do(ctx context.Context, body func(*work, context.Context) ending) (end ending) {
	defer func() {
		if v := recover(); v != nil {
			end = failed("host_fault", "the host broke an invariant of its own; please report this")
		}
	}()
	var err error
	if w.bound, err = w.x.bind(ctx, w.a); err != nil {
		return failed("binding_failed", err.Error())
	}
	w.catalog, err = w.x.cfg.Effects.Prepare(ctx, w.bound, w.a.plan.Setup)
	if err != nil {
		return failed("catalog_failed", err.Error())
	}
	defer w.catalog.Close()
	w.define()
	return body(w, ctx)
}

// converse asks the model until it answers or a bound is reached.
func (w *work) converse(ctx context.Context) ending {
	if end, ok := w.recall(ctx); !ok {
		return end
	}
	if end, ok := w.hear(ctx); !ok {
		return end
	}
	for w.steps < w.a.plan.MaxSteps {
		end, done := w.step(ctx)
		if done {
			return end
		}
	}
	return failed("step_limit", fmt.Sprintf("the agent used all its %d steps without an answer: raise limits.max_steps or ask for less", w.a.plan.MaxSteps))
}

// settle turns an ending that a dead context brought about into what it really was. The context decides, not the
// words of whatever failed because of it. An effect that may have happened outranks everything.
func (w *work) settle(ctx context.Context, end ending) ending {
	for _, e := range w.effects {
		if e.Status == effect.Indeterminate {
			return ending{outcome: Indeterminate, reason: "effect_indeterminate", sentence: fmt.Sprintf("%s may or may not have happened (%s): check, then decide by hand", e.Tool, e.ID), reply: end.reply}
		}
	}
	if ctx.Err() == nil || end.outcome == Completed || end.outcome == NeedsUser {
		return end
	}
	if errors.Is(context.Cause(ctx), errTurnTime) {
		return failed("turn_timeout", fmt.Sprintf("the turn's time of %s is over: raise limits.turn_timeout or ask for less", w.a.plan.Timeout))
	}
	return ending{outcome: Cancelled, reason: "cancelled", sentence: "cancelled; nothing is left running"}
}

// finish writes the one terminal state. It has its own time: a cancelled turn must be on record too.
func (x *Execution) finish(ctx context.Context, a *admitted, w *work, end ending) (Result, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer stop()
	w.degraded = w.degraded || w.conversation.Degraded()
	end, now, err := x.terminal(ctx, a, w, end)
	if errors.Is(err, prompt.ErrReportLost) && !errors.Is(err, ErrMessagesLost) { // it takes nothing from the answer
		w.degraded = true
		end, now, err = x.terminal(ctx, a, w, end)
	}
	if errors.Is(err, ErrMessagesLost) { // the turn still has its end, and it is not a success
		w.closing = nil
		end, now, err = x.terminal(ctx, a, w, failed("message_not_stored", fmt.Sprintf("what was said could not be stored: %v", err)))
	}
	if err != nil {
		x.endLater(a, w.live)
		return Result{}, &InfrastructureError{a.req.Key, a.turn, "write the terminal state", err}
	}
	return Result{&result{
		turn: a.turn, session: a.session, request: a.req.Key, core: a.plan.Core.ID, revision: a.plan.Core.Revision,
		outcome: end.outcome, reason: end.reason, sentence: w.told(redact.ForOperator, end.sentence), reply: end.reply,
		effects: w.effects, usage: w.usage, steps: w.steps, duration: now.Sub(a.started),
	}}, nil
}

// terminal writes the terminal state that end is.
func (x *Execution) terminal(ctx context.Context, a *admitted, w *work, end ending) (ending, time.Time, error) {
	now := x.cfg.Clock()
	rec := event.Record{
		ID: x.cfg.IDs.Event(), At: now, Kind: event.TurnFinished, Principal: a.req.Actor.PrincipalID,
		Session: a.session, Turn: a.turn, Trace: a.trace,
		Fields: []event.Field{
			event.F("outcome", string(end.outcome)), event.F("reason", end.reason),
			event.F("steps", fmt.Sprint(w.steps)), event.F("effects", fmt.Sprint(len(w.effects))),
			event.F("context", contextWord(w.degraded)),
			event.F("why", w.told(redact.ForEvent, end.sentence)),
		},
	}
	owed := x.deliveries(a, end)
	how, err := x.cfg.Journal.Finish(ctx, Terminal{
		Turn: a.turn, Session: a.session, Claim: a.claim, Outcome: end.outcome, Reason: end.reason, Reply: end.owes(),
		Steps: w.steps, Usage: w.usage, Messages: w.closing, Deliveries: owed, At: now,
	}, rec)
	if err == nil && how != Written {
		end, err = x.cutOff(ctx, w.live, how)
		return end, now, err
	}
	if err == nil && x.cfg.Owed != nil {
		for _, d := range owed {
			x.cfg.Owed(d.Channel)
		}
	}
	return end, now, err
}

// recorded is the Result of a turn that had been admitted before.
func recorded(r Record) Result {
	out := &result{
		turn: r.ID, session: r.Session, request: r.Request, core: r.Core, revision: r.Revision,
		outcome: r.Outcome, reason: r.Reason, reply: r.Reply, usage: r.Usage, steps: r.Steps, duplicate: true,
	}
	if !r.Finished.IsZero() {
		out.duration = r.Finished.Sub(r.Started)
	}
	if r.State == Running {
		out.outcome, out.reason = Indeterminate, "still_running"
		out.sentence = fmt.Sprintf("this request is already running as %s: `portcullis turns show %s`", r.ID, r.ID)
	}
	return Result{out}
}

// bounded applies the ceilings that no core can widen.
func (p Plan) bounded() Plan {
	if p.MaxSteps <= 0 || p.MaxSteps > MaxSteps {
		p.MaxSteps = MaxSteps
	}
	if p.Timeout <= 0 {
		p.Timeout = DefaultTimeout
	}
	p.Timeout = min(p.Timeout, MaxTimeout).Round(time.Millisecond)
	return p
}

func contextWord(degraded bool) string {
	if degraded {
		return "degraded"
	}
	return ""
}
