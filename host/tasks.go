package host

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/exec"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// openTasks makes lost what earlier hosts ran and, if this host works, starts its worker and its scheduler.
func (h *Host) openTasks(ctx context.Context) error {
	h.endTasks, h.stopTasks = func() {}, func() {}
	lost, err := h.cfg.Store.RecoverTasks(ctx, h.epoch, h.cfg.Clock())
	if err != nil {
		return fmt.Errorf("host: recover tasks of an earlier host: %w", err)
	}
	for _, r := range lost {
		h.cfg.Log.Warn("a task of an earlier host is lost", "task", r.Task, "kind", r.Kind)
	}
	if !h.cfg.Work && !h.cfg.Schedules && h.cfg.WorkOn == "" {
		return nil
	}
	h.tasks = task.NewWorker(task.Config{
		Queue: h.cfg.Store, Only: h.cfg.WorkOn, IDs: h.ids, Epoch: h.epoch, Clock: h.cfg.Clock, Log: h.cfg.Log,
		Runners: map[task.Kind]task.Runner{task.Process: programRunner{h}, task.Fire: fireRunner{h}},
	})
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { h.tasks.Run(work) })
	if h.cfg.Schedules {
		running.Go(func() { h.scheduler().Run(work) })
	}
	h.endTasks, h.stopTasks = end, running.Wait
	return nil
}

// queueTask writes a task that an effect asks for. Whoever works is woken.
func (h *Host) queueTask(ctx context.Context, call effect.Call, t task.Task) (task.Task, task.Queueing, error) {
	t.ID, t.Created = h.ids.Task(), h.cfg.Clock()
	r := event.Record{ID: h.ids.Event(), At: t.Created, Kind: event.TaskQueued, Effect: call.Effect, Trace: call.Turn.Trace()}
	got, how, err := h.cfg.Store.QueueTask(ctx, t, r)
	if err == nil && how == task.Accepted && h.tasks != nil {
		h.tasks.Wake()
	}
	return got, how, err
}

// taskTools are the tools with which a model looks after its tasks.
func (h *Host) taskTools() task.Tools {
	return task.Tools{Records: h.cfg.Store, IDs: h.ids, Clock: h.cfg.Clock}
}

// programRunner runs background programs.
type programRunner struct{ h *Host }

// Run restores the authority under which the task was queued, from the owner that its session has now, and holds the program
// to what its core says now.
func (r programRunner) Run(ctx context.Context, t task.Task, c task.Control) task.Outcome {
	ready, err := r.h.prepare(ctx, t.Core)
	if err != nil {
		return r.h.taskFailed(ctx, "core_unusable", err.Error())
	}
	for _, text := range []string{exec.Capability, task.Capability} {
		need, err := capability.Parse(text)
		if err != nil || !ready.core.Capabilities().Meets(need) {
			return r.h.taskFailed(ctx, "capability_missing", fmt.Sprintf("core %s has the capability %s no longer", t.Core, text))
		}
	}
	bound, err := r.h.restore(ctx, ready, t)
	var unowned *authority.UnownedError
	switch {
	case errors.As(err, &unowned):
		return r.h.taskFailed(ctx, task.ReasonOwnerChanged, err.Error())
	case err != nil:
		return r.h.taskFailed(ctx, "authority_unavailable", err.Error())
	}
	session, found, err := r.h.cfg.Store.Session(ctx, bound.Principal(), t.Session)
	if err != nil {
		return r.h.taskFailed(ctx, "session_unreadable", err.Error())
	}
	if !found || !session.Ended.IsZero() {
		return r.h.taskFailed(ctx, turn.RejectEnded, fmt.Sprintf("session %s was ended, so that nothing begins in it any more", t.Session))
	}
	hide, err := r.h.hidden(ctx, redact.Set{})
	if err != nil {
		return r.h.taskFailed(ctx, "secrets_unreadable", err.Error())
	}
	return ready.programs.Background(ctx, bound, t, c, hide)
}

// restore is the binding that a task runs under: the scope of its captured owner, which the resolver issues only while the
// session has that owner still.
func (h *Host) restore(ctx context.Context, ready prepared, t task.Task) (binding.Turn, error) {
	workspace, err := exec.Workspace(t)
	if err != nil {
		return binding.Turn{}, err
	}
	actor := t.Owner
	if actor.Authority == principal.Operator {
		actor.Reason = "background task " + string(t.ID)
		issued := event.Record{
			ID: h.ids.Event(), At: h.cfg.Clock(), Kind: event.OperatorIssued, Principal: actor.PrincipalID, Session: t.Session, Turn: t.Turn,
			Fields: []event.Field{event.F("reason", actor.Reason)},
		}
		if err := h.cfg.Store.Record(ctx, issued); err != nil {
			return binding.Turn{}, fmt.Errorf("host: record the authority of a task: %w", err)
		}
	}
	scope, err := h.resolver.Session(ctx, actor, t.Session)
	if err != nil {
		return binding.Turn{}, err
	}
	key := id.Request(t.ID)
	token := func() binding.Token {
		return binding.Token{ID: h.ids.Token(), Request: key, Turn: t.Turn, Session: t.Session}
	}
	return binding.New(binding.Spec{
		Request: key, Turn: t.Turn, Session: t.Session, Principal: scope, Workspace: workspace,
		Core:  binding.Core{ID: ready.core.ID(), Revision: ready.core.Revision(), Capabilities: ready.core.Capabilities()},
		Route: token(), Admission: token(), Cancellation: token(), Trace: h.ids.Trace(),
	})
}

// taskFailed is the end of a task that could not do what it was to. One that was told to end, also by a host that closes and
// whose authority is over with that, has not failed.
func (h *Host) taskFailed(ctx context.Context, reason, words string) task.Outcome {
	if ctx.Err() != nil {
		return task.Outcome{State: task.Cancelled, Reason: task.ReasonCancelled}
	}
	return h.taskUncertain(ctx, reason, words)
}

// taskUncertain is the end of a task of which it is not known what it did: that it was told to end takes nothing of that back.
func (h *Host) taskUncertain(ctx context.Context, reason, words string) task.Outcome {
	return task.Outcome{State: task.Failed, Reason: reason, Summary: h.Hidden(context.WithoutCancel(ctx)).Text(redact.ForDurable, words)}
}
