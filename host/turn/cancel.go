package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// CancelResult is the answer to a cancel request.
type CancelResult string

// The answers. They are the same whoever asks again.
const (
	CancelDone      CancelResult = "ended"     // the turn has its terminal state now
	CancelTooLate   CancelResult = "was_ended" // it had one before
	CancelNotFound  CancelResult = "not_found" // unknown, or not the caller's
	CancelRequested CancelResult = "requested" // it runs in another process, which ends it within [CancelPoll]
)

// CancelPoll is how often a process looks whether another one asked for the end of a turn that it runs.
const CancelPoll = time.Second

// Cancel ends a running turn and waits until its terminal state is written or ctx ends. The request is durable before the
// turn is told, so that a host that dies meanwhile leaves a cancelled turn. A turn that another process runs is asked to
// end and not waited for. The scope must reach the turn's session. It never cancels anything but this turn. The turn is
// cancelled when nothing of it is left running, and indeterminate when an effect may or may not have happened.
func (x *Execution) Cancel(ctx context.Context, history History, by principal.Scope, t id.Turn) (CancelResult, error) {
	rec, found, err := history.Turn(ctx, by, t)
	if err != nil {
		return "", fmt.Errorf("turn: look up %s: %w", t, err)
	}
	if !found {
		return CancelNotFound, nil
	}
	x.mu.Lock()
	r, live := x.active[t]
	x.mu.Unlock()
	if !live {
		if rec.State == Running {
			return x.askElsewhere(ctx, by, rec)
		}
		return CancelTooLate, nil
	}
	how, err := x.request(ctx, by, rec)
	switch {
	case errors.As(err, new(*principal.RefusedError)):
		return "", err
	case err != nil: // a store that stands still keeps nobody from ending a turn
		r.cancel(errUnnoted)
	case how == CancelNoTurn:
		return CancelNotFound, nil
	default:
		r.cancel(errRequested)
	}
	select {
	case <-r.done:
		return CancelDone, nil
	case <-ctx.Done():
		return "", fmt.Errorf("turn: wait for %s to end: %w", t, context.Cause(ctx))
	}
}

// noteTime is what a note of a turn's end may wait for the store. The turn's end needs the same store.
const noteTime = 2 * time.Second

// request notes that by wants t to end, before anything ends: whoever kills the host after that finds the turn cancelled.
// It does not depend on how long ctx lasts.
func (x *Execution) request(ctx context.Context, by principal.Scope, t Record) (Cancelling, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer stop()
	how, err := x.cfg.Journal.RequestCancel(ctx, by, t.ID, CancelRecord(x.cfg.IDs.Event(), x.cfg.Clock(), by, t))
	if err != nil {
		return "", fmt.Errorf("turn: ask for the end of %s: %w", t.ID, err)
	}
	return how, nil
}

// note puts on record that a turn ends for another reason than a request: who asked for it is gone, or the host is closed.
// The turn is told at the same moment, for a call that is stopped sooner does less; its end is written after the note. The
// function it returns waits for that. What the store does not take is not noted, and the turn ends all the same.
func (x *Execution) note(inner context.Context, a *admitted) (wait func()) {
	done := make(chan struct{})
	unused := context.AfterFunc(inner, func() {
		defer close(done)
		why := "caller_gone"
		switch cause := context.Cause(inner); {
		case errors.Is(cause, errRequested):
			return
		case errors.Is(cause, errUnnoted):
			why = "request"
		case errors.Is(cause, errClosed):
			why = "host_closed"
		}
		ctx, stop := context.WithTimeout(context.WithoutCancel(inner), noteTime)
		defer stop()
		_, _ = x.cfg.Journal.NoteCancel(ctx, a.turn, a.claim, event.Record{
			ID: x.cfg.IDs.Event(), At: x.cfg.Clock(), Kind: event.TurnCancelAsked, Principal: a.req.Actor.PrincipalID,
			Session: a.session, Turn: a.turn, Trace: a.trace, Fields: []event.Field{event.F("why", why)},
		})
	})
	return func() {
		if !unused() {
			<-done
		}
	}
}

// askElsewhere asks the process that runs a turn to end it.
func (x *Execution) askElsewhere(ctx context.Context, by principal.Scope, t Record) (CancelResult, error) {
	how, err := x.request(ctx, by, t)
	if err != nil {
		return "", err
	}
	switch how {
	case CancelNoted, CancelNotedBefore:
		return CancelRequested, nil
	case CancelEnded:
		return CancelTooLate, nil
	}
	return CancelNotFound, nil
}

// CancelRecord is the audit record of a request by by that t shall end.
func CancelRecord(name id.Event, at time.Time, by principal.Scope, t Record) event.Record {
	return event.Record{
		ID: name, At: at, Kind: event.TurnCancelAsked, Principal: by.PrincipalID(), Session: t.Session, Turn: t.ID, Trace: t.Trace,
	}
}

// EndRecord is the audit record of by ending session s.
func EndRecord(name id.Event, at time.Time, by principal.Scope, s id.Session, reason string) event.Record {
	return event.Record{
		ID: name, At: at, Kind: event.SessionEnded, Principal: by.PrincipalID(), Session: s, Fields: []event.Field{event.F("reason", reason)},
	}
}

// heed cancels a turn of this process when another one asks for its end. The function it returns ends the looking.
func (x *Execution) heed(ctx context.Context, t id.Turn, cancel context.CancelCauseFunc) (stop func()) {
	ctx, quit := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(CancelPoll)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			// What cannot be read now is read at the next tick: the turn has its own time anyway.
			if asked, err := x.cfg.Journal.CancelRequested(ctx, t); err == nil && asked {
				cancel(errRequested)
				return
			}
		}
	}()
	return func() { quit(); <-done }
}
