package task

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
)

// Why a running task is told to end.
var (
	errUnwanted = errors.New("task: it was asked to end")
	errLost     = errors.New("task: its claim was lost")
)

// work runs one claimed task and writes its end.
func (w *Worker) work(ctx context.Context, k Task) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beating sync.WaitGroup
	quit := make(chan struct{})
	w.cfg.Log.Info("a task begins", "task", k.ID, "kind", k.Kind, "title", k.Title)
	beating.Go(func() { w.beat(run, k, cancel, quit) })
	j := &job{w: w, key: k}
	out, whole := w.await(run, k, j)
	j.close()
	close(quit)
	beating.Wait()
	switch {
	case errors.Is(context.Cause(run), errLost):
		return stood(Stale, nil)
	case !whole:
		w.cfg.Log.Warn("a task was told to end and goes on: it is lost when its claim is over", "task", k.ID, "kind", k.Kind)
		return nil
	}
	end := End{State: out.State, Reason: out.Reason, Summary: out.Summary, At: w.cfg.Clock()}
	switch {
	case end.State == Succeeded:
		end.Reason = ""
	case end.State == Cancelled && ctx.Err() != nil && !errors.Is(context.Cause(run), errUnwanted):
		end.Reason = ReasonHostClosed
	case end.State == Cancelled:
		end.Reason = ReasonCancelled
	case end.State != Failed || end.Reason == "":
		end.State, end.Reason = Failed, ReasonRunnerFault
	}
	// What was claimed has its end written, whatever becomes of ctx.
	write, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer stop()
	w.cfg.Log.Info("a task has ended", "task", k.ID, "state", end.State, "reason", end.Reason)
	return stood(w.cfg.Queue.FinishTask(write, k.ID, k.Claim, end, w.record(event.TaskFinished)))
}

// await is run, but for a runner that goes on for longer than its cleanup may take after ctx has ended: it is given up.
func (w *Worker) await(ctx context.Context, k Task, c Control) (out Outcome, whole bool) {
	done := make(chan Outcome, 1)
	go func() { done <- w.run(ctx, k, c) }() // ends with the runner
	select {
	case out = <-done:
		return out, true
	case <-ctx.Done():
	}
	patience := time.NewTimer(cleanup)
	defer patience.Stop()
	select {
	case out = <-done:
		return out, true
	case <-patience.C:
	}
	hanging := w.hanging[k.Kind]
	hanging.Add(1)
	go func() { // ends with the runner
		<-done
		hanging.Add(-1)
	}()
	return Outcome{}, false
}

// run asks the runner of the task's kind, once.
func (w *Worker) run(ctx context.Context, k Task, c Control) (out Outcome) {
	defer func() {
		if v := recover(); v != nil {
			out = Outcome{State: Failed, Reason: ReasonRunnerFault}
		}
	}()
	if k.Unwanted { // asked to end between the queue and the claim
		return Outcome{State: Cancelled, Reason: ReasonCancelled}
	}
	return w.cfg.Runners[k.Kind].Run(ctx, k, c)
}

// beat moves the task's claim on while it runs. A claim that is lost ends the task's run: another holder has decided what
// it is. One that cannot be moved because the store fails is left to run out, and ends the run then.
func (w *Worker) beat(ctx context.Context, k Task, cancel context.CancelCauseFunc, quit <-chan struct{}) {
	expires := k.Claim.Expires
	ctx = context.WithoutCancel(ctx) // a task that ends slowly keeps its claim
	tick := time.NewTicker(BeatTime)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		until := w.cfg.Clock().Add(hold)
		b, err := w.cfg.Queue.BeatTask(ctx, k.ID, k.Claim, until)
		switch {
		case err == nil && b.Fenced != Written, err != nil && !w.cfg.Clock().Before(expires):
			cancel(errLost)
			return
		case err != nil:
			w.cfg.Log.Warn("a task's claim could not be moved on", "task", k.ID, "error", err)
			continue
		case b.Unwanted:
			cancel(errUnwanted)
		}
		expires = until
	}
}

// job is the [Control] of one running task. It is safe for concurrent use.
type job struct {
	w   *Worker
	key Task

	mu     sync.Mutex // guards done, and is held while the log is written, so that it stays in order
	done   bool
	behind bool // something could not be logged, which was told
}

func (j *job) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done = true
}

// Log is [Control.Log].
func (j *job) Log(ctx context.Context, text string) {
	ctx = context.WithoutCancel(ctx) // what a task prints while it is ended belongs to it too
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, chunk := range chunks(text) {
		if j.done {
			return
		}
		how, err := j.w.cfg.Queue.AppendTaskLog(ctx, j.key.ID, j.key.Claim, chunk, j.w.cfg.Clock())
		if err := stood(how, err); err != nil {
			if !j.behind {
				j.w.cfg.Log.Warn("a task's log could not be written", "task", j.key.ID, "error", err)
			}
			j.behind = true
			return
		}
	}
}

// Bind is [Control.Bind].
func (j *job) Bind(ctx context.Context, s id.Session, t id.Turn) bool {
	how, err := j.w.cfg.Queue.BindTask(context.WithoutCancel(ctx), j.key.ID, j.key.Claim, s, t)
	return j.said("a task could not be bound to its turn", how, err)
}

// Block is [Control.Block].
func (j *job) Block(ctx context.Context, blocked bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.done {
		how, err := j.w.cfg.Queue.BlockTask(context.WithoutCancel(ctx), j.key.ID, j.key.Claim, blocked)
		j.said("whether a task waits for a person could not be noted", how, err)
	}
}

func (j *job) said(what string, how Fenced, err error) bool {
	err = stood(how, err)
	if err != nil {
		j.w.cfg.Log.Warn(what, "task", j.key.ID, "error", err)
	}
	return err == nil
}
