package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// scheduler fires what the cores of the home are due.
func (h *Host) scheduler() *task.Scheduler {
	return task.NewScheduler(task.SchedulerConfig{
		Queue: h.cfg.Store, Schedules: h.Scheduled, Owner: h.resolver.Schedule, IDs: h.ids, Clock: h.cfg.Clock, Log: h.cfg.Log, Wake: h.tasks.Wake,
	})
}

// Scheduled are the schedules of every core of the home, enabled or not. A core that cannot be read has none, which the
// log says.
func (h *Host) Scheduled(ctx context.Context) ([]task.Schedule, error) {
	all, err := core.List(ctx, h.cfg.Home)
	if err != nil {
		return nil, err
	}
	var out []task.Schedule
	hide := sync.OnceValue(func() redact.Set { return h.Hidden(ctx) }) // it reads what is kept, and most homes have no schedule
	for _, one := range all {
		if one.Err != nil {
			if _, told := h.unread.LoadOrStore(one.ID+one.Err.Error(), true); !told {
				h.cfg.Log.Warn("the schedules of a core cannot be read", "core", one.ID, "error", one.Err)
			}
			continue
		}
		for _, s := range one.Core.Schedules() {
			out = append(out, ScheduleOf(one.ID, s, hide()))
		}
	}
	return out, nil
}

// ScheduleOf is a schedule of a core as a [task.Scheduler] takes it: what it keeps of the texts hides what hide says, as a turn
// hides its input.
func ScheduleOf(coreID string, s core.Schedule, hide redact.Set) task.Schedule {
	return task.Schedule{
		Core: coreID, ID: s.ID, Title: hide.Text(redact.ForDurable, s.Prompt), Prompt: hide.Text(redact.ForModel, s.Prompt), Session: s.Session, Enabled: s.Enabled,
		Digest: s.Digest(), Latest: s.Latest,
	}
}

// fireRunner runs the turns of schedules.
type fireRunner struct{ h *Host }

// Run runs one turn under system authority that reaches the session of the run and no other.
func (r fireRunner) Run(ctx context.Context, t task.Task, c task.Control) task.Outcome {
	h := r.h
	var told task.FireSpec
	if err := json.Unmarshal([]byte(t.Spec), &told); err != nil {
		return h.taskFailed(ctx, "task_unreadable", err.Error())
	}
	owner, err := h.resolver.Schedule(t.Core, t.Schedule, told.Run(t.ID))
	if err != nil || owner.PrincipalID != t.Owner.PrincipalID || owner.Authority != t.Owner.Authority {
		return h.taskFailed(ctx, task.ReasonOwnerChanged, fmt.Sprintf("the run is another's: %v", err))
	}
	selector := turn.Selector{Kind: turn.Fresh}
	if told.Session != "" {
		before, err := h.cfg.Store.ScheduleSession(ctx, t.Core, t.Schedule, owner.PrincipalID)
		if err != nil {
			return h.taskFailed(ctx, "session_unreadable", err.Error())
		}
		if before != "" {
			selector = turn.Selector{Kind: turn.Resume, Session: before}
		}
	}
	req := turn.Request{Key: id.Request(t.ID), Actor: owner, Selector: selector, Core: t.Core, Input: told.Prompt}
	res, err := h.fire(ctx, req, c)
	var rejected *turn.RejectedError
	if errors.As(err, &rejected) && rejected.Reason == turn.RejectEnded && selector.Kind == turn.Resume {
		req.Selector = turn.Selector{Kind: turn.Fresh} // the session that runs share was ended: they go on in another one
		res, err = h.fire(ctx, req, c)
	}
	return h.fired(ctx, res, err)
}

// fired is what the end of a turn is of its run. What is uncertain stays so, also when the run was told to end.
func (h *Host) fired(ctx context.Context, res turn.Result, err error) task.Outcome {
	var rejected *turn.RejectedError
	switch {
	case res.Outcome() == turn.Completed: // whatever was asked meanwhile
	case res.Outcome() == turn.Indeterminate || res.Outcome() == turn.Lost: // also when it was told to end
		return h.taskUncertain(ctx, "turn_"+string(res.Outcome()), res.Sentence())
	case errors.Is(err, errNotBound):
		return h.taskFailed(ctx, "run_not_bound", "the turn of the run could not be noted at its task, so it was ended")
	case res.Turn() == "" && !errors.As(err, &rejected):
		return h.taskUncertain(ctx, "turn_uncertain", err.Error())
	case ctx.Err() != nil:
		return task.Outcome{State: task.Cancelled, Reason: task.ReasonCancelled}
	case rejected != nil:
		return h.taskFailed(ctx, rejected.Reason, rejected.Sentence)
	}
	reply := h.Hidden(ctx).Text(redact.ForDurable, res.Reply()) + denied(res)
	switch res.Outcome() {
	case turn.Completed:
		return task.Outcome{State: task.Succeeded, Summary: reply}
	case turn.NeedsUser:
		return task.Outcome{State: task.Failed, Reason: task.ReasonNeedsUser, Summary: "it asked, and nobody is there to answer a run of a schedule: " + reply}
	case turn.Cancelled:
		return task.Outcome{State: task.Cancelled, Reason: task.ReasonCancelled}
	}
	return h.taskFailed(ctx, "turn_"+string(res.Outcome()), res.Sentence())
}

// denied says how many calls of a turn were denied: a run that nobody watches may call itself done without them.
func denied(res turn.Result) string {
	n := 0
	for _, e := range res.Effects() {
		if e.Status == effect.Denied {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n[calls of it that were denied: %d]", n)
}

// errNotBound is why a run ends that its task does not know of.
var errNotBound = errors.New("host: the run could not be noted at its task")

// fire runs the turn of a run, which its task is bound to as soon as it has begun. One that cannot be is ended: its claim is
// over, or the store fails.
func (h *Host) fire(ctx context.Context, req turn.Request, c task.Control) (turn.Result, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var running id.Turn
	defer func() { h.fires.Delete(running) }()
	return h.turns.Run(ctx, req, turn.Observer{Started: func(key id.Turn, s id.Session) {
		running = key
		h.fires.Store(key, &waits{at: c})
		if !c.Bind(ctx, s, key) {
			end(errNotBound)
		}
	}})
}

// NoScheduleError reports a schedule that a core does not have.
type NoScheduleError struct{ Core, Schedule string }

// Error names both and what to type.
func (e *NoScheduleError) Error() string {
	return fmt.Sprintf("core %s has no schedule %q: `portcullis schedules list` shows them", e.Core, e.Schedule)
}

// ScheduleIn is one schedule of a core of a home. One that is not there is a [*NoScheduleError]; faults of the core are
// [core.LoadErrors].
func ScheduleIn(ctx context.Context, home, coreID, name string) (core.Schedule, error) {
	c, err := core.Load(ctx, home, coreID)
	if err != nil {
		return core.Schedule{}, err
	}
	for _, s := range c.Schedules() {
		if s.ID == name {
			return s, nil
		}
	}
	return core.Schedule{}, &NoScheduleError{coreID, name}
}
