package storetest

import (
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func taskCases() []testCase {
	return []testCase{
		{"a task is queued by a running turn, for the owner of its session", taskQueued},
		{"malformed tasks write nothing", taskMalformed},
		{"one task for an instance, one open task for a write scope", taskOnce},
		{"folders of which one holds the other are one write scope", taskNested},
		{"a session has so many open tasks and no more", taskBounded},
		{"tasks begin in the order they were queued, each once", taskClaimed},
		{"a task is only its claim's", taskFenced},
		{"a claim that is over finishes nothing, and a beat keeps it", taskBeaten},
		{"what a dead host ran is lost, and nobody runs it again", taskLost},
		{"cancelling is durable and may be repeated", taskCancelled},
		{"a task waits for a person and goes on", taskBlocked},
		{"a task whose session changed its owner tells nobody", taskDisowned},
		{"the end of a task is told once, with its message", taskTold},
		{"tasks are read by their owner and the operator", taskOwned},
		{"a log keeps its end, in lines and bytes", taskLogged},
		{"a due time is fired once, whoever looks", scheduleOnce},
		{"a schedule that changed begins anew", scheduleChanged},
		{"a cursor from a wrong clock is pulled back", scheduleAhead},
		{"a run of a schedule is bound to its own session", scheduleBound},
		{"racing claims take each task once", taskRace},
	}
}

func (w *world) newTask(l live) task.Task {
	return task.Task{
		ID: w.ids.Task(), Kind: task.Process, Instance: string(w.ids.Effect()), Session: l.session, Turn: l.turn, Core: "assistant",
		Title: "make", Spec: `{"argv":["make"]}`, Digest: "d", Scope: "process:" + string(w.ids.Trace()), Created: w.Clock.Now(),
	}
}

func (w *world) queue(t testing.TB, n task.Task) task.Task {
	t.Helper()
	got, how, err := w.Store.QueueTask(w.ctx, n, w.record(event.TaskQueued))
	if err != nil || how != task.Accepted {
		t.Fatalf("queue: %q, %v", how, err)
	}
	return got
}

// task starts a turn of f and queues a task of it.
func (w *world) task(t testing.TB, f principal.Facts) (task.Task, live) {
	t.Helper()
	l := w.start(t, f, fresh())
	return w.queue(t, w.newTask(l)), l
}

func (w *world) claim(d time.Duration) lease.Claim {
	return lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: w.Clock.Now().Add(d)}
}

func (w *world) take(t testing.TB) task.Task {
	t.Helper()
	got, found, err := w.Store.ClaimTask(w.ctx, task.Which{}, w.claim(time.Minute), w.record(event.TaskStarted))
	if err != nil || !found {
		t.Fatalf("claim: %v, %v", found, err)
	}
	return got
}

func (w *world) taskOf(t testing.TB, key id.Task) task.Task {
	t.Helper()
	got, found, err := w.Store.Task(w.ctx, w.operator(t), "", key)
	if err != nil || !found {
		t.Fatalf("task %s: %v, %v", key, found, err)
	}
	return got
}

func (w *world) endTask(k task.Task, to task.State) (task.Fenced, error) {
	e := task.End{State: to, Summary: "exit code 0", At: w.Clock.Now()}
	if to != task.Succeeded {
		e.Reason = "because"
	}
	return w.Store.FinishTask(w.ctx, k.ID, k.Claim, e, w.record(event.TaskFinished))
}

func taskQueued(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	n := w.newTask(l)
	n.Owner = bob() // what a caller says of it counts for nothing
	got := w.queue(t, n)
	want := n
	want.Owner, want.State, want.Created = alice(), task.Queued, millis(n.Created)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(w.taskOf(t, n.ID), want) {
		t.Errorf("queued %+v\nwant %+v", w.taskOf(t, n.ID), want)
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.TaskQueued}); len(recs) != 1 || recs[0].Field("task") != string(n.ID) || recs[0].Session != l.session {
		t.Errorf("records %+v", recs)
	}
	other := w.start(t, bob(), bound())
	for name, change := range map[string]func(*task.Task){
		"another's turn":     func(n *task.Task) { n.Turn = other.turn },
		"another session":    func(n *task.Task) { n.Session = other.session },
		"an unknown session": func(n *task.Task) { n.Session = "ses_unknown" },
	} {
		n := w.newTask(l)
		change(&n)
		if _, how, err := w.Store.QueueTask(w.ctx, n, w.record(event.TaskQueued)); how != task.NoOwner || err != nil {
			t.Errorf("%s: %q, %v", name, how, err)
		}
	}
	w.endSession(t, w.operator(t), other.session, turn.Ended)
	if _, how, err := w.Store.QueueTask(w.ctx, w.newTask(other), w.record(event.TaskQueued)); how != task.NoOwner || err != nil {
		t.Errorf("by a turn that runs in a session which was ended: %q, %v", how, err)
	}
	w.finish(t, l, turn.Completed)
	if _, how, err := w.Store.QueueTask(w.ctx, w.newTask(l), w.record(event.TaskQueued)); how != task.NoOwner || err != nil {
		t.Errorf("after its turn: %q, %v", how, err)
	}
}

func taskMalformed(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	for name, change := range map[string]func(*task.Task){
		"no id":           func(n *task.Task) { n.ID = "" },
		"no instance":     func(n *task.Task) { n.Instance = "" },
		"no session":      func(n *task.Task) { n.Session = "" },
		"no turn":         func(n *task.Task) { n.Turn = "" },
		"no core":         func(n *task.Task) { n.Core = "" },
		"no title":        func(n *task.Task) { n.Title = "" },
		"a long title":    func(n *task.Task) { n.Title = strings.Repeat("x", task.MaxTitle+1) },
		"no spec":         func(n *task.Task) { n.Spec = "" },
		"a long spec":     func(n *task.Task) { n.Spec = strings.Repeat("x", task.MaxSpec+1) },
		"not UTF-8":       func(n *task.Task) { n.Spec = "\xff" },
		"of a schedule":   func(n *task.Task) { n.Schedule = "daily" },
		"another kind":    func(n *task.Task) { n.Kind = task.Fire },
		"no kind":         func(n *task.Task) { n.Kind = "" },
		"a time is due":   func(n *task.Task) { n.Due = w.Clock.Now() },
		"no time of made": func(n *task.Task) { n.Created = time.Time{} },
	} {
		n := w.newTask(l)
		change(&n)
		if _, how, err := w.Store.QueueTask(w.ctx, n, w.record(event.TaskQueued)); err == nil {
			t.Errorf("%s: %q", name, how)
		}
	}
	if _, _, err := w.Store.QueueTask(w.ctx, w.newTask(l), event.Record{}); err == nil {
		t.Error("a task without a record was queued")
	}
	if all, err := w.Store.Tasks(w.ctx, w.operator(t), "", "", 0, 10); len(all) != 0 || err != nil {
		t.Errorf("%d tasks, %v", len(all), err)
	}
	k := w.queue(t, w.newTask(l))
	k = w.take(t)
	for name, e := range map[string]task.End{
		"lost":             {State: task.Lost, Reason: "x", At: w.Clock.Now()},
		"queued":           {State: task.Queued, Reason: "x", At: w.Clock.Now()},
		"no reason":        {State: task.Failed, At: w.Clock.Now()},
		"a reason to succ": {State: task.Succeeded, Reason: "x", At: w.Clock.Now()},
		"no time":          {State: task.Succeeded},
	} {
		if how, err := w.Store.FinishTask(w.ctx, k.ID, k.Claim, e, w.record(event.TaskFinished)); err == nil {
			t.Errorf("%s: %q", name, how)
		}
	}
	if is := w.taskOf(t, k.ID); is.State != task.Running {
		t.Errorf("a refused end ended it: %s", is.State)
	}
}

func taskOnce(t *testing.T, w *world) {
	k, l := w.task(t, alice())
	again := w.newTask(l)
	again.Instance = k.Instance
	if got, how, err := w.Store.QueueTask(w.ctx, again, w.record(event.TaskQueued)); how != task.Duplicate || got.ID != k.ID || err != nil {
		t.Errorf("the same instance: %q, %s, %v", how, got.ID, err)
	}
	busy := w.newTask(l)
	busy.Scope = k.Scope
	try := func() task.Queueing {
		_, how, err := w.Store.QueueTask(w.ctx, busy, w.record(event.TaskQueued))
		if err != nil {
			t.Fatal(err)
		}
		return how
	}
	if how := try(); how != task.ScopeBusy {
		t.Errorf("the same scope while it is queued: %q", how)
	}
	k = w.take(t)
	if how := try(); how != task.ScopeBusy {
		t.Errorf("the same scope while it runs: %q", how)
	}
	if how, err := w.endTask(k, task.Succeeded); how != task.Written || err != nil {
		t.Fatal(how, err)
	}
	if how := try(); how != task.Accepted {
		t.Errorf("the same scope afterwards: %q", how)
	}
	for range 2 { // no scope is no scope to be busy
		n := w.newTask(l)
		n.Scope = ""
		w.queue(t, n)
	}
}

// A task that writes to a folder writes to all that is in it.
func taskNested(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	for _, c := range []struct {
		open, asked string
		want        task.Queueing
	}{
		{"process:/w/a", "process:/w/a/b", task.ScopeBusy},
		{"process:/w/a", "process:/w/a/b/c", task.ScopeBusy},
		{"process:/w/a/b/c", "process:/w/a", task.ScopeBusy},
		{"process:/w/a", "process:", task.ScopeBusy}, // the whole machine
		{"process:", "process:/w", task.ScopeBusy},
		{"process:/w/a", "process:/w/ab", task.Accepted},
		{"process:/w/a", "process:/w/a.b", task.Accepted},
		{"process:/w/a", "process:/w/a0", task.Accepted},
		{"process:/w/a%", "process:/w/ab/c", task.Accepted},
		{"process:/w/a_", "process:/w/ab/c", task.Accepted},
		{"process:/w/a", "process:/v", task.Accepted},
		{"schedule:a/b", "process:a/b/c", task.Accepted},
	} {
		open, asked := w.newTask(l), w.newTask(l)
		open.Scope, asked.Scope = c.open, c.asked
		first := w.queue(t, open)
		got, how, err := w.Store.QueueTask(w.ctx, asked, w.record(event.TaskQueued))
		if err != nil || how != c.want {
			t.Errorf("%s while %s is open: %q, %v, want %q", c.asked, c.open, how, err, c.want)
		}
		for _, k := range []task.Task{first, got} {
			if k.ID == "" {
				continue
			}
			if _, how, err := w.Store.CancelTask(w.ctx, w.operator(t), "", k.ID, w.record(event.TaskCancelAsked)); err != nil || how != task.CancelDone {
				t.Fatal(how, err)
			}
		}
	}
}

func taskBounded(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	for range task.MaxOpen {
		w.queue(t, w.newTask(l))
	}
	if _, how, err := w.Store.QueueTask(w.ctx, w.newTask(l), w.record(event.TaskQueued)); how != task.TooMany || err != nil {
		t.Errorf("one more: %q, %v", how, err)
	}
	w.task(t, bob())
	if how, err := w.endTask(w.take(t), task.Failed); how != task.Written || err != nil {
		t.Fatal(how, err)
	}
	w.queue(t, w.newTask(l))
}

func taskClaimed(t *testing.T, w *world) {
	first, l := w.task(t, alice())
	second := w.queue(t, w.newTask(l))
	for _, want := range []task.Task{first, second} {
		got := w.take(t)
		if got.ID != want.ID || got.State != task.Running || got.Claim.Fence != 1 || got.Started.IsZero() {
			t.Errorf("claimed %+v, want %s", got, want.ID)
		}
	}
	if _, found, err := w.Store.ClaimTask(w.ctx, task.Which{}, w.claim(time.Minute), w.record(event.TaskStarted)); found || err != nil {
		t.Errorf("a third: %v, %v", found, err)
	}
	first, second = w.queue(t, w.newTask(l)), w.queue(t, w.newTask(l))
	fire, how, err := w.Store.FireSchedule(w.ctx, w.newFire(w.Clock.Now()), "", time.Time{}, w.record(event.TaskQueued))
	if how != task.Accepted || err != nil {
		t.Fatal(how, err)
	}
	for _, c := range []struct {
		of   task.Which
		want id.Task
	}{
		{task.Which{Only: "tsk_unknown"}, ""},
		{task.Which{Kind: task.Process, Only: fire.ID}, ""},
		{task.Which{Kind: task.Fire}, fire.ID},
		{task.Which{Kind: task.Fire}, ""},
		{task.Which{Only: second.ID}, second.ID},
		{task.Which{Only: second.ID}, ""},
		{task.Which{Kind: task.Process}, first.ID},
	} {
		got, found, err := w.Store.ClaimTask(w.ctx, c.of, w.claim(time.Minute), w.record(event.TaskStarted))
		if got.ID != c.want || found != (c.want != "") || err != nil {
			t.Errorf("of %+v: claimed %s, want %q: %v", c.of, got.ID, c.want, err)
		}
	}
	for name, c := range map[string]lease.Claim{"over": w.claim(0), "no token": {Epoch: w.epoch, Expires: w.Clock.Now().Add(time.Hour)}, "no epoch": {Token: "lse_x", Expires: w.Clock.Now().Add(time.Hour)}} {
		if _, _, err := w.Store.ClaimTask(w.ctx, task.Which{}, c, w.record(event.TaskStarted)); err == nil {
			t.Errorf("a claim that is %s", name)
		}
	}
}

// writes are all that a claim covers.
func (w *world) writes(k task.Task) map[string]func() (task.Fenced, error) {
	return map[string]func() (task.Fenced, error){
		"beat": func() (task.Fenced, error) {
			b, err := w.Store.BeatTask(w.ctx, k.ID, k.Claim, w.Clock.Now().Add(time.Hour))
			return b.Fenced, err
		},
		"block":  func() (task.Fenced, error) { return w.Store.BlockTask(w.ctx, k.ID, k.Claim, true) },
		"log":    func() (task.Fenced, error) { return w.Store.AppendTaskLog(w.ctx, k.ID, k.Claim, "x\n", w.Clock.Now()) },
		"finish": func() (task.Fenced, error) { return w.endTask(k, task.Succeeded) },
	}
}

func taskFenced(t *testing.T, w *world) {
	w.task(t, alice())
	k := w.take(t)
	for name, change := range map[string]func(*lease.Claim){
		"token": func(c *lease.Claim) { c.Token = "lse_other" },
		"epoch": func(c *lease.Claim) { c.Epoch = "epo_other" },
		"fence": func(c *lease.Claim) { c.Fence++ },
		"zero":  func(c *lease.Claim) { *c = lease.Claim{} },
	} {
		other := k
		change(&other.Claim)
		for what, write := range w.writes(other) {
			if how, err := write(); how != task.Stale || err != nil {
				t.Errorf("%s with another %s: %q, %v", what, name, how, err)
			}
		}
	}
	if is := w.taskOf(t, k.ID); is.State != task.Running || is.LogBytes != 0 || is.Claim != k.Claim {
		t.Errorf("%+v", is)
	}
	if how, err := w.endTask(k, task.Succeeded); how != task.Written || err != nil {
		t.Fatal(how, err)
	}
	is := w.taskOf(t, k.ID)
	if is.State != task.Succeeded || is.Summary != "exit code 0" || is.Ended.IsZero() || is.Claim.Token != "" || is.Notice != task.Waiting {
		t.Errorf("%+v", is)
	}
	for what, write := range w.writes(k) {
		if how, err := write(); how != task.Stale || err != nil {
			t.Errorf("%s after the end: %q, %v", what, how, err)
		}
	}
	if !reflect.DeepEqual(w.taskOf(t, k.ID), is) {
		t.Error("a write after the end changed it")
	}
}

func taskBeaten(t *testing.T, w *world) {
	w.task(t, alice())
	k := w.take(t) // for a minute
	w.Clock.Advance(50 * time.Second)
	if b, err := w.Store.BeatTask(w.ctx, k.ID, k.Claim, w.Clock.Now().Add(time.Minute)); b != (task.Beat{Fenced: task.Written}) || err != nil {
		t.Fatalf("%+v, %v", b, err)
	}
	w.Clock.Advance(50 * time.Second)
	if lost, err := w.Store.RecoverTasks(w.ctx, w.epoch, w.Clock.Now()); len(lost) != 0 || err != nil {
		t.Fatalf("a claim that was beaten is lost: %v, %v", lost, err)
	}
	if _, err := w.Store.BeatTask(w.ctx, k.ID, k.Claim, w.Clock.Now()); err == nil {
		t.Error("a beat to now")
	}
	w.Clock.Advance(10 * time.Second)
	for what, write := range w.writes(k) {
		if how, err := write(); how != task.Stale || err != nil {
			t.Errorf("%s under a claim that is over: %q, %v", what, how, err)
		}
	}
	if is := w.taskOf(t, k.ID); is.State != task.Running {
		t.Errorf("%+v", is)
	}
}

func taskLost(t *testing.T, w *world) {
	for name, c := range map[string]struct {
		epoch id.Epoch
		later time.Duration
		why   string
	}{
		"another epoch": {"epo_next", 0, task.ReasonHostGone},
		"expired":       {w.epoch, time.Minute, task.ReasonLeaseExpired},
	} {
		w.task(t, alice())
		k := w.take(t)
		if lost, err := w.Store.RecoverTasks(w.ctx, w.epoch, w.Clock.Now()); len(lost) != 0 || err != nil {
			t.Fatalf("%s: one that runs is lost: %v, %v", name, lost, err)
		}
		w.Clock.Advance(c.later)
		lost, err := w.Store.RecoverTasks(w.ctx, c.epoch, w.Clock.Now())
		if len(lost) != 1 || lost[0] != (task.Recovered{Task: k.ID, Kind: task.Process}) || err != nil {
			t.Fatalf("%s: %v, %v", name, lost, err)
		}
		if is := w.taskOf(t, k.ID); is.State != task.Lost || is.Reason != c.why || is.Notice != task.Waiting || is.Claim.Token != "" {
			t.Errorf("%s: %+v", name, is)
		}
		if _, found, err := w.Store.ClaimTask(w.ctx, task.Which{}, w.claim(time.Minute), w.record(event.TaskStarted)); found || err != nil {
			t.Errorf("%s: a lost task was claimed: %v", name, err)
		}
		if how, err := w.endTask(k, task.Succeeded); how != task.Stale || err != nil {
			t.Errorf("%s: its late worker: %q, %v", name, how, err)
		}
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.TaskLost}); len(recs) != 2 {
		t.Errorf("%d records", len(recs))
	}
}

func taskCancelled(t *testing.T, w *world) {
	k, l := w.task(t, alice())
	by := w.scope(t, alice(), l.session)
	cancel := func(by principal.Scope, key id.Task) (task.Task, task.Cancelling) {
		t.Helper()
		got, how, err := w.Store.CancelTask(w.ctx, by, "", key, w.record(event.TaskCancelAsked))
		if err != nil {
			t.Fatal(err)
		}
		return got, how
	}
	if got, how := cancel(by, k.ID); how != task.CancelDone || got.State != task.Cancelled || got.Reason != task.ReasonCancelled || got.Notice != task.Waiting {
		t.Errorf("queued: %q, %+v", how, got)
	}
	if _, found, err := w.Store.ClaimTask(w.ctx, task.Which{}, w.claim(time.Minute), w.record(event.TaskStarted)); found || err != nil {
		t.Errorf("a cancelled task was claimed: %v", err)
	}
	if _, how := cancel(by, k.ID); how != task.CancelEnded {
		t.Errorf("again: %q", how)
	}
	second := w.queue(t, w.newTask(l))
	running := w.take(t)
	if running.ID != second.ID {
		t.Fatal(running.ID)
	}
	if got, how := cancel(w.operator(t), second.ID); how != task.CancelNoted || got.State != task.Running || !got.Unwanted {
		t.Errorf("running: %q, %+v", how, got)
	}
	if _, how := cancel(by, second.ID); how != task.CancelBefore {
		t.Errorf("again: %q", how)
	}
	if b, err := w.Store.BeatTask(w.ctx, second.ID, running.Claim, w.Clock.Now().Add(time.Hour)); !b.Unwanted || err != nil {
		t.Errorf("its worker is not told: %+v, %v", b, err)
	}
	stranger := w.start(t, bob(), bound())
	for _, key := range []id.Task{second.ID, "tsk_unknown"} {
		if got, how := cancel(w.scope(t, bob(), stranger.session), key); how != task.CancelNoTask || got.ID != "" {
			t.Errorf("a stranger's cancel of %s: %q, %+v", key, how, got)
		}
	}
	if n := len(w.events(t, turn.EventQuery{Kind: event.TaskCancelAsked})) + len(w.events(t, turn.EventQuery{Kind: event.TaskCancelled})); n != 2 {
		t.Errorf("%d records of two requests", n)
	}
}

func taskBlocked(t *testing.T, w *world) {
	w.task(t, alice())
	k := w.take(t)
	for _, blocked := range []bool{true, true, false, true} {
		if how, err := w.Store.BlockTask(w.ctx, k.ID, k.Claim, blocked); how != task.Written || err != nil {
			t.Fatal(how, err)
		}
		if is := w.taskOf(t, k.ID); (is.State == task.Blocked) != blocked || is.Claim != k.Claim {
			t.Errorf("%+v", is)
		}
	}
	if how, err := w.endTask(k, task.Failed); how != task.Written || err != nil {
		t.Fatal(how, err)
	}
}

func taskDisowned(t *testing.T, w *world) {
	for name, change := range map[string]func(testing.TB, id.Session){"disowned": w.Disown, "doubted": w.Doubt} {
		_, l := w.task(t, alice())
		k := w.take(t)
		w.finish(t, l, turn.Completed)
		change(t, l.session)
		if how, err := w.endTask(k, task.Succeeded); how != task.Written || err != nil {
			t.Fatalf("%s: %q, %v", name, how, err)
		}
		recs := w.events(t, turn.EventQuery{Kind: event.TaskFinished})
		if recs[0].Field("state") != string(task.Failed) || recs[0].Field("reason") != task.ReasonOwnerChanged {
			t.Errorf("%s: %+v", name, recs[0])
		}
		if _, found, err := w.Store.Task(w.ctx, w.operator(t), "", k.ID); found || err != nil {
			t.Errorf("%s: a task of nobody's session is shown: %v", name, err)
		}
	}
}

func taskRace(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	for range task.MaxOpen {
		w.queue(t, w.newTask(l))
	}
	var (
		mu    sync.Mutex // guards taken
		taken = map[id.Task]int{}
		all   sync.WaitGroup
	)
	for range 4 {
		all.Go(func() {
			for {
				k, found, err := w.Store.ClaimTask(w.ctx, task.Which{}, w.claim(time.Minute), w.record(event.TaskStarted))
				if err != nil {
					t.Error(err)
				}
				if err != nil || !found {
					return
				}
				mu.Lock()
				taken[k.ID]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(taken) != task.MaxOpen {
		t.Errorf("%d tasks were taken, of %d", len(taken), task.MaxOpen)
	}
	for key, n := range taken {
		if n != 1 {
			t.Errorf("%s was taken %d times", key, n)
		}
	}
}
