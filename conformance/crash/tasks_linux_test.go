package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func scheduler() principal.Facts {
	return principal.Facts{PrincipalID: "principal:scheduler:assistant:daily:run", Authority: principal.System}
}

// queueTask queues a task of a running turn.
func (w *world) queueTask(ctx context.Context, t id.Turn, s id.Session) (id.Task, error) {
	n := task.Task{
		ID: w.ids.Task(), Kind: task.Process, Instance: string(w.ids.Effect()), Session: s, Turn: t, Core: "assistant", Title: "make",
		Spec: "{}", Scope: "process:" + string(w.ids.Trace()), Created: time.Now(),
	}
	_, how, err := w.store.QueueTask(ctx, n, w.record(event.TaskQueued))
	if err == nil && how != task.Accepted {
		err = fmt.Errorf("queue a task: %q", how)
	}
	return n.ID, err
}

// work claims the task that is next, works on it in the book, and ends it.
func (w *world) work(ctx context.Context, during func(k task.Task) error) error {
	c := lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: time.Now().Add(time.Minute)}
	k, found, err := w.store.ClaimTask(ctx, task.Which{}, c, w.record(event.TaskStarted))
	if err != nil || !found {
		return fmt.Errorf("claim a task: %v, %w", found, err)
	}
	w.tell("worked", k.ID)
	wrote := func(how task.Fenced, err error) error {
		if err == nil && how != task.Written {
			err = fmt.Errorf("the store answered %q", how)
		}
		return err
	}
	beat, err := w.store.BeatTask(ctx, k.ID, k.Claim, time.Now().Add(time.Minute))
	if err := wrote(beat.Fenced, err); err != nil {
		return err
	}
	if err := during(k); err != nil {
		return err
	}
	if err := wrote(w.store.AppendTaskLog(ctx, k.ID, k.Claim, "worked\n", time.Now())); err != nil {
		return err
	}
	for _, blocked := range []bool{true, false} {
		if err := wrote(w.store.BlockTask(ctx, k.ID, k.Claim, blocked)); err != nil {
			return err
		}
	}
	end := task.End{State: task.Succeeded, Summary: "done", At: time.Now()}
	if err := wrote(w.store.FinishTask(ctx, k.ID, k.Claim, end, w.record(event.TaskFinished))); err != nil {
		return err
	}
	w.tell("over", k.ID, task.Succeeded)
	return nil
}

// tasks queues two tasks of a running turn and cancels one; then a run of a schedule, bound to a turn of its own.
func (w *world) tasks(ctx context.Context, by principal.Scope, t id.Turn, s id.Session, c lease.Claim) error {
	unwanted, err := w.queueTask(ctx, t, s)
	if err != nil {
		return err
	}
	if _, how, err := w.store.CancelTask(ctx, by, "", unwanted, w.record(event.TaskCancelAsked)); err != nil || how != task.CancelDone {
		return fmt.Errorf("cancel: %q, %w", how, err)
	}
	w.tell("over", unwanted, task.Cancelled)
	wanted, err := w.queueTask(ctx, t, s)
	if err != nil {
		return err
	}
	if err := w.work(ctx, func(task.Task) error { return nil }); err != nil {
		return err
	}
	body, err := json.Marshal(provider.User("by hand"))
	if err != nil {
		return err
	}
	m := turn.Message{ID: w.ids.Message(), Turn: t, Role: "user", Body: body, At: time.Now()}
	if how, err := w.store.Tell(ctx, t, c, m, []id.Task{wanted}); err != nil || how != turn.Written {
		return fmt.Errorf("tell: %q, %w", how, err)
	}
	w.tell("heard", wanted)
	return w.fire(ctx)
}

func (w *world) fire(ctx context.Context) error {
	begin, err := w.store.SeeSchedule(ctx, "assistant", "daily", "d", time.Now().Add(-time.Hour))
	if err != nil {
		return err
	}
	due := begin.Add(time.Minute)
	n := task.Task{
		ID: w.ids.Task(), Kind: task.Fire, Instance: fmt.Sprint("assistant/daily@", due.UnixMilli()), Core: "assistant", Schedule: "daily", Due: due,
		Owner: scheduler(), Title: "daily", Spec: "{}", Scope: "schedule:assistant/daily", Created: time.Now(),
	}
	if _, how, err := w.store.FireSchedule(ctx, n, "d", begin, w.record(event.TaskQueued)); err != nil || how != task.Accepted {
		return fmt.Errorf("fire: %q, %w", how, err)
	}
	return w.work(ctx, func(k task.Task) error {
		now := time.Now()
		a := turn.Admission{
			Request: w.ids.Request(), Digest: "d", Turn: w.ids.Turn(), NewSession: w.ids.Session(), Selector: turn.Selector{Kind: turn.Fresh},
			Core: "assistant", Revision: "r", Trace: w.ids.Trace(), Input: "go", At: now, Owner: scheduler(),
			Claim: lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: now.Add(time.Minute)},
		}
		got, err := w.store.Admit(ctx, a, []event.Record{w.record(event.SessionCreated), w.record(event.TurnStarted)})
		if err != nil || got.Disposition != turn.Admitted {
			return fmt.Errorf("admit a run: %q, %w", got.Disposition, err)
		}
		if how, err := w.store.BindTask(ctx, k.ID, k.Claim, got.Session, a.Turn); err != nil || how != task.Written {
			return fmt.Errorf("bind: %q, %w", how, err)
		}
		ended := w.record(event.TurnFinished)
		ended.Turn, ended.Session = a.Turn, got.Session
		how, err := w.store.Finish(ctx, turn.Terminal{
			Turn: a.Turn, Session: got.Session, Claim: got.Claim, Outcome: turn.Failed, Reason: "by_hand", At: now,
		}, ended)
		if err != nil || how != turn.Written {
			return fmt.Errorf("finish a run: %q, %w", how, err)
		}
		return nil
	})
}

// worked holds that no task was worked on twice, that none is left with a claim, that one whose worker died is lost and
// no other, and that an end or a telling that was acknowledged is there.
func (w *world) worked(before, after state, b *book, fault func(string, ...any)) {
	for key, times := range b.worked {
		if times > 1 {
			fault("twice: task %s was worked on %d times", key, times)
		}
		if is, ok := before.tasks[key]; !ok || is.State == task.Queued {
			fault("task %s was worked on and its claim is not recorded: %q", key, is.State)
		}
	}
	for key, was := range before.tasks {
		is, want := after.tasks[key].State, was.State
		if was.State.Held() {
			want = task.Lost
		}
		if is != want {
			fault("task %s was %s and is %s, not %s", key, was.State, is, want)
		}
	}
	for key, state := range b.over {
		if is := before.tasks[key].State; is != state {
			fault("lost: task %s ended as %s and is %q", key, state, is)
		}
	}
	for key := range b.heard {
		if is := before.tasks[key]; is.Notice != task.Told || is.Told == "" {
			fault("lost: a turn was told of task %s, and it is %q", key, is.Notice)
		}
	}
}
