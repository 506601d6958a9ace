package storetest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func (w *world) newFire(due time.Time) task.Task {
	return task.Task{
		ID: w.ids.Task(), Kind: task.Fire, Instance: fmt.Sprint("assistant/daily@", due.UnixMilli()), Core: "assistant", Schedule: "daily", Due: due,
		Owner: scheduler("daily"), Title: "daily", Spec: `{"prompt":"go"}`, Scope: "schedule:assistant/daily", Created: w.Clock.Now(),
	}
}

func scheduler(run string) principal.Facts {
	return principal.Facts{PrincipalID: "principal:scheduler:assistant:daily:" + run, Authority: principal.System}
}

func scheduleOnce(t *testing.T, w *world) {
	begin, err := w.Store.SeeSchedule(w.ctx, "assistant", "daily", "d1", w.Clock.Now())
	if err != nil || !begin.Equal(millis(w.Clock.Now())) {
		t.Fatal(begin, err)
	}
	w.Clock.Advance(time.Hour)
	if again, err := w.Store.SeeSchedule(w.ctx, "assistant", "daily", "d1", w.Clock.Now()); err != nil || !again.Equal(begin) {
		t.Fatalf("its cursor moved by itself to %s, %v", again, err)
	}
	due := begin.Add(30 * time.Minute)
	fire := func(n task.Task, digest string, after time.Time) (task.Task, task.Queueing) {
		t.Helper()
		got, how, err := w.Store.FireSchedule(w.ctx, n, digest, after, w.record(event.TaskQueued))
		if err != nil {
			t.Fatal(err)
		}
		return got, how
	}
	for name, how := range map[string]func() task.Queueing{
		"another digest": func() task.Queueing { _, how := fire(w.newFire(due), "d2", begin); return how },
		"another cursor": func() task.Queueing { _, how := fire(w.newFire(due), "d1", begin.Add(time.Second)); return how },
		"not after it":   func() task.Queueing { _, how := fire(w.newFire(begin), "d1", begin); return how },
	} {
		if got := how(); got != task.Passed {
			t.Errorf("%s: %q", name, got)
		}
	}
	k, how := fire(w.newFire(due), "d1", begin)
	if how != task.Accepted || !k.Due.Equal(due) || k.Session != "" || !reflect.DeepEqual(k.Owner, scheduler("daily")) {
		t.Fatalf("%q, %+v", how, k)
	}
	if got, how := fire(w.newFire(due), "d1", begin); how != task.Duplicate || got.ID != k.ID { // the other process
		t.Errorf("the same due time again: %q, %s", how, got.ID)
	}
	next := w.newFire(due.Add(time.Minute))
	if _, how := fire(next, "d1", due); how != task.ScopeBusy {
		t.Errorf("while it is open: %q", how)
	}
	if at, err := w.Store.SeeSchedule(w.ctx, "assistant", "daily", "d1", w.Clock.Now()); err != nil || !at.Equal(due) {
		t.Errorf("the cursor is at %s, %v", at, err)
	}
	k = w.take(t)
	if how, err := w.endTask(k, task.Succeeded); how != task.Written || err != nil {
		t.Fatal(how, err)
	}
	if is := w.taskOf(t, k.ID); is.Notice != task.NoNotice {
		t.Errorf("a run of a schedule owes a notice: %+v", is)
	}
	hand := w.newFire(w.Clock.Now())
	hand.Instance += " by hand"
	k, how = fire(hand, "", time.Time{})
	if how != task.Accepted {
		t.Errorf("by hand: %q", how)
	}
	if at, err := w.Store.SeeSchedule(w.ctx, "assistant", "daily", "d1", w.Clock.Now()); err != nil || !at.Equal(due) {
		t.Errorf("a run by hand moved the cursor to %s, %v", at, err)
	}
	if _, how, err := w.Store.CancelTask(w.ctx, w.operator(t), "", k.ID, w.record(event.TaskCancelAsked)); how != task.CancelDone || err != nil {
		t.Errorf("the operator cancels a run without a session: %q, %v", how, err)
	}
	if _, how := fire(next, "d1", due); how != task.Accepted {
		t.Errorf("afterwards: %q", how)
	}
}

func scheduleChanged(t *testing.T, w *world) {
	begin, err := w.Store.SeeSchedule(w.ctx, "assistant", "daily", "d1", w.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(time.Hour)
	now, err := w.Store.SeeSchedule(w.ctx, "assistant", "daily", "d2", w.Clock.Now())
	if err != nil || !now.Equal(begin.Add(time.Hour)) {
		t.Errorf("changed: %s, %v", now, err)
	}
	if other, err := w.Store.SeeSchedule(w.ctx, "other", "daily", "d1", w.Clock.Now()); err != nil || !other.Equal(now) {
		t.Errorf("another core's: %s, %v", other, err)
	}
	for _, bad := range [][3]string{{"", "s", "d"}, {"c", "", "d"}, {"c", "s", ""}} {
		if _, err := w.Store.SeeSchedule(w.ctx, bad[0], bad[1], bad[2], w.Clock.Now()); err == nil {
			t.Errorf("%q", bad)
		}
	}
}

// The host's clock stood in another year and was put right: what was fired meanwhile stays fired.
func scheduleAhead(t *testing.T, w *world) {
	see := func(now time.Time) time.Time {
		t.Helper()
		at, err := w.Store.SeeSchedule(w.ctx, "assistant", "daily", "d1", now)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	now := millis(w.Clock.Now())
	begin, due := see(now), now.Add(4*365*24*time.Hour)
	fire := func(due, after time.Time) task.Queueing {
		t.Helper()
		_, how, err := w.Store.FireSchedule(w.ctx, w.newFire(due), "d1", after, w.record(event.TaskQueued))
		if err != nil {
			t.Fatal(err)
		}
		return how
	}
	if how := fire(due, begin); how != task.Accepted {
		t.Fatal(how)
	}
	if how, err := w.endTask(w.take(t), task.Succeeded); how != task.Written || err != nil {
		t.Fatal(how, err)
	}
	if at := see(due.Add(-time.Minute)); !at.Equal(due) {
		t.Errorf("a clock that is a minute behind moved it to %s", at)
	}
	right := now.Add(time.Hour)
	if at := see(right); !at.Equal(right) {
		t.Fatalf("the cursor is at %s", at)
	}
	if at := see(right.Add(-time.Second)); !at.Equal(right) {
		t.Errorf("another's look a second before moved it to %s", at)
	}
	if how := fire(due, right); how != task.Duplicate {
		t.Errorf("what was fired of the wrong time: %q", how)
	}
	if how := fire(right.Add(time.Minute), due); how != task.Passed {
		t.Errorf("after the old cursor: %q", how)
	}
	if how := fire(right.Add(time.Minute), right); how != task.Accepted {
		t.Errorf("the next: %q", how)
	}
}

func scheduleBound(t *testing.T, w *world) {
	begin, err := w.Store.SeeSchedule(w.ctx, "assistant", "daily", "d1", w.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, how, err := w.Store.FireSchedule(w.ctx, w.newFire(begin.Add(time.Minute)), "d1", begin, w.record(event.TaskQueued)); how != task.Accepted || err != nil {
		t.Fatal(how, err)
	}
	k := w.take(t)
	own, foreign, sibling := w.start(t, scheduler("daily"), fresh()), w.start(t, alice(), fresh()), w.start(t, scheduler("other"), fresh())
	for name, l := range map[string]live{"another's": foreign, "another run's": sibling, "an unknown": {session: "ses_unknown", turn: "trn_unknown"}, "another turn's": {session: own.session, turn: foreign.turn}} {
		if how, err := w.Store.BindTask(w.ctx, k.ID, k.Claim, l.session, l.turn); how != task.Stale || err != nil {
			t.Errorf("%s session: %q, %v", name, how, err)
		}
	}
	if _, found, err := w.Store.Task(w.ctx, w.scope(t, scheduler("daily"), own.session), "", k.ID); found || err != nil {
		t.Errorf("a task without a session is shown to one: %v", err)
	}
	if s, err := w.Store.ScheduleSession(w.ctx, "assistant", "daily", scheduler("daily").PrincipalID); s != "" || err != nil {
		t.Errorf("a session before there is one: %q, %v", s, err)
	}
	if how, err := w.Store.BindTask(w.ctx, k.ID, k.Claim, own.session, own.turn); how != task.Written || err != nil {
		t.Fatal(how, err)
	}
	if how, err := w.Store.BindTask(w.ctx, k.ID, k.Claim, own.session, own.turn); how != task.Stale || err != nil {
		t.Errorf("bound twice: %q, %v", how, err)
	}
	if s, err := w.Store.ScheduleSession(w.ctx, "assistant", "daily", scheduler("daily").PrincipalID); s != own.session || err != nil {
		t.Errorf("its session: %q, %v", s, err)
	}
	if s, err := w.Store.ScheduleSession(w.ctx, "assistant", "daily", scheduler("other").PrincipalID); s != "" || err != nil {
		t.Errorf("another run's session: %q, %v", s, err)
	}
	if is := w.taskOf(t, k.ID); is.Session != own.session || is.Turn != own.turn {
		t.Errorf("%+v", is)
	}
}
