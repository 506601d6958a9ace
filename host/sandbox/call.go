package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/tetratelabs/wazero/sys"
)

// errDeadline and errClosing are the causes this package ends a call with.
var (
	errDeadline = fmt.Errorf("sandbox: the call's deadline passed: %w", context.DeadlineExceeded)
	errClosing  = errors.New("sandbox: the host is closing")
)

// Call runs one entry point once, in an instance that is as initialisation left
// it and that no other call is in. It returns soon after ctx or the deadline ends, whatever the guest
// and the ports do, and never panics. Calling a plugin from inside a host
// function of another call is refused: the context knows.
func (p *Plugin) Call(ctx context.Context, export string, input []byte, opt CallOptions) Outcome {
	begun := p.engine.cfg.Clock()
	out := p.admit(ctx, export, input, opt)
	out.Stats.Duration = p.engine.cfg.Clock().Sub(begun)
	return out
}

func refused(reason string) Outcome { return Outcome{Status: Refused, Reason: reason} }

// admit refuses what cannot run, waits for a slot and runs the rest.
func (p *Plugin) admit(ctx context.Context, export string, input []byte, opt CallOptions) Outcome {
	switch {
	case ctx.Value(insideKey{}) != nil:
		return refused("reentrant")
	case !slices.Contains(p.spec.exports, export) || initializes(export):
		return refused("unknown_export")
	case int64(len(input)) > p.spec.limits.Input:
		return refused("input_too_large")
	case p.closed.Load() || !p.engine.begin():
		return refused("closed")
	}
	limit := p.spec.limits.Deadline
	if opt.Timeout > 0 {
		limit = min(limit, opt.Timeout)
	}
	if !endsSoonEnough(ctx, limit) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errDeadline)
		defer cancel()
	}
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)

	if ctx.Err() != nil {
		p.engine.running.Done()
		return Outcome{Status: ended(ctx), Reason: "not_started"}
	}
	if !p.engine.acquire(ctx, p.share) {
		p.engine.running.Done()
		if ctx.Err() == nil {
			return refused("closed")
		}
		return Outcome{Status: ended(ctx), Reason: "not_started"}
	}
	run := func(answer func(Outcome)) {
		defer p.engine.running.Done()
		defer p.engine.release(p.share)
		p.run(ctx, abort, export, input, opt, answer)
	}
	if p.alone { // nothing that it waits for could outlast ctx: no goroutine needs to be left behind
		var out Outcome
		run(func(o Outcome) { out = o })
		return out
	}
	done := make(chan Outcome, 1)
	go run(func(o Outcome) { done <- o })
	select {
	case out := <-done:
		return out
	case <-ctx.Done():
	case <-p.engine.closing:
		abort(errClosing)
	}
	grace := time.NewTimer(p.engine.cfg.Grace)
	defer grace.Stop()
	select {
	case out := <-done:
		return out
	case <-grace.C:
		return Outcome{Status: ended(ctx), Reason: "abandoned", Entered: true, Abandoned: true}
	}
}

// sameMoment is how much later the caller's own deadline may be to serve as the call's. The gate sets both to one
// moment, and reads the clock in between.
const sameMoment = time.Millisecond

// endsSoonEnough reports a context that ends by itself when limit has passed, give or take a moment: a timer less for
// each call that comes through the gate.
func endsSoonEnough(ctx context.Context, limit time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= limit+sameMoment
}

// ended names the end of a context: by the host's own deadline or the caller's,
// or by anything else.
func ended(ctx context.Context) Status {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return TimedOut
	}
	return Cancelled
}

// run does all of one call. It always answers once, even when a port panics or
// ends the goroutine, and then brings the instance back to its snapshot.
func (p *Plugin) run(ctx context.Context, abort context.CancelCauseFunc, export string, input []byte, opt CallOptions, answer func(Outcome)) {
	code, err := p.engine.enter(ctx, p.module)
	if err != nil {
		answer(p.unready(ctx, err))
		return
	}
	// Code that was to be freed meanwhile is freed here; an error of that is the
	// engine's, and the call has its outcome.
	defer func() { _ = p.engine.leave(ctx, p.module) }()
	outputLimit := p.spec.limits.Output
	if opt.OutputLimit > 0 {
		outputLimit = min(outputLimit, opt.OutputLimit)
	}
	opt.Abilities &= p.spec.granted
	st := newCallState(p, NewSession(p.spec.limits, opt, p.engine.cfg.Clock, p.engine.cfg.Rand), outputLimit)
	st.closing, st.abort = p.engine.closing, abort
	out := Outcome{Status: HostFailure, Reason: "host_panic", Entered: true}
	defer func() {
		if r := recover(); r != nil {
			out.Err = fmt.Errorf("sandbox: panic while running %s: %v", p.spec.name, r)
		}
		st.mem.settle()
		if st.instance == nil {
			answer(out)
			return
		}
		if !p.alone { // then the caller goes on before the instance is back
			p.pool.expect(st.instance)
			defer p.pool.arrived(st.instance)
		}
		answer(out)
		p.pool.put(ctx, st.instance, out.Status == OK)
	}()
	rc, err := p.enter(ctx, code, export, input, st)
	st.session.Close()
	out = st.outcome(ctx, rc, err)
}

// unready is the outcome of a call for which there was no code: the plugin was
// loaded, and its code has gone from the disk and could not be made again.
func (p *Plugin) unready(ctx context.Context, err error) Outcome {
	switch {
	case errors.Is(err, ErrClosed) || p.closed.Load():
		return refused("closed")
	case ctx.Err() != nil:
		return Outcome{Status: ended(ctx), Reason: "not_started"}
	}
	return Outcome{Status: HostFailure, Reason: "no_code", Err: p.engine.uncompiled(ctx, p.spec.name, err)}
}

// enter finds an instance and calls. The instance is st's, whatever comes of it.
func (p *Plugin) enter(ctx context.Context, code *machine, export string, input []byte, st *callState) (uint32, error) {
	ctx = context.WithValue(ctx, stateKey{}, st)
	defer func() { st.fuel = st.fuelUsed() }()
	if err := p.ready(ctx, code, st); err != nil {
		return 0, err
	}
	if !st.giveInput(input) {
		return 0, &trapError{status: OutOfMemory, reason: "input_does_not_fit"}
	}
	st.entered = true
	st.begin()
	res, err := st.instance.function(export).Call(ctx)
	st.heed() // closing ends a sleep, and a guest may end with it
	if err != nil {
		return 0, err
	}
	return uint32(res[0]), nil
}

// outcome reads how the call ended from the host's own facts, in the order of
// their weight: the context, the rule this package saw broken, the engine, the
// return code, the output.
func (st *callState) outcome(ctx context.Context, rc uint32, err error) Outcome {
	out := Outcome{Entered: st.entered, Stats: st.session.Stats(), Logs: st.session.Logs(), Unanswered: st.session.unanswered(), Changed: st.session.changed()}
	out.Stats.MemoryPeak = int64(st.mem.peak)
	out.Stats.Fuel = st.fuel
	switch {
	case ctx.Err() != nil:
		out.Status = ended(ctx)
	case st.trap != nil:
		out.Status, out.Reason = st.trap.status, st.trap.reason
	case err != nil:
		out.Status, out.Reason = broken(err)
	case rc != 0:
		out.Status, out.Reason = GuestError, fmt.Sprintf("rc_%d", rc)
	case !st.outputSet:
		out.Status = NoOutput
	default:
		out.Status, out.Output = OK, st.output
		return out
	}
	out.Err = err
	out.Text = st.words()
	if st.mem.refused && (out.Status == Trap || out.Status == Exited || out.Status == GuestError) {
		out.Status = OutOfMemory
		if st.mem.crowded {
			out.Reason = "total_memory"
		}
	}
	return out
}

// broken is how a call ended whose entry point did not return.
func broken(err error) (Status, string) {
	var exit *sys.ExitError
	var own *trapError
	switch {
	case errors.As(err, &own):
		return own.status, own.reason
	case errors.As(err, &exit):
		return Exited, fmt.Sprintf("exit_%d", exit.ExitCode())
	}
	return Trap, "engine"
}

// words is what the guest said of its failure: its error text, else its stderr, of
// which both ends are shown when it is long: some write the reason before a stack,
// others last.
func (st *callState) words() string {
	if len(st.errorText) > 0 {
		return fit(st.errorText, maxErrorText, known(st.session.opt.Redactor), redact.ForOperator)
	}
	text := bytes.TrimSpace(st.stderr.text())
	if len(text) <= maxErrorText {
		return escape(text, maxErrorText)
	}
	return escape(text, maxErrorText/2) + escapeEnd(text, maxErrorText/2)
}
