package task_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// world is a memory store in a bubble whose clock only moves when nothing runs.
type world struct {
	t       *testing.T
	store   *memory.Store
	ids     *id.Source
	epoch   id.Epoch
	by      principal.Scope
	log     *lines
	turn    id.Turn
	session id.Session
}

type lines struct {
	mu  sync.Mutex // guards all
	all []string
}

func (l *lines) Info(msg string, args ...any) { l.Warn(msg, args...) }

func (l *lines) Warn(msg string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprint(append([]any{msg, " "}, args...)...))
}

func (l *lines) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		n += strings.Count(line, text)
	}
	return n
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, ids: id.NewSource(time.Now, rand.Reader), log: &lines{}}
	w.store, w.epoch = memory.New(memory.Config{Clock: time.Now, IDs: w.ids}), w.ids.Epoch()
	var err error
	w.by, err = principal.NewIssuer(string(w.store.StoreID())).Issue(principal.Facts{
		PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	a := turn.Admission{
		Request: w.ids.Request(), Digest: "d", Turn: w.ids.Turn(), NewSession: w.ids.Session(), Selector: turn.Selector{Kind: turn.Fresh},
		Owner: principal.Facts{PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test"},
		Core:  "assistant", Revision: "r", Input: "hello", At: time.Now(),
		Claim: lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: time.Now().Add(24 * time.Hour)},
	}
	got, err := w.store.Admit(t.Context(), a, []event.Record{w.record(event.SessionCreated), w.record(event.TurnStarted)})
	if err != nil || got.Disposition != turn.Admitted {
		t.Fatal(got, err)
	}
	w.turn, w.session = a.Turn, got.Session
	return w
}

func (w *world) record(k event.Kind) event.Record {
	return event.Record{ID: w.ids.Event(), At: time.Now(), Kind: k}
}

func (w *world) queue() id.Task {
	w.t.Helper()
	n := task.Task{
		ID: w.ids.Task(), Kind: task.Process, Instance: string(w.ids.Effect()), Session: w.session, Turn: w.turn, Core: "assistant",
		Title: "make", Spec: "{}", Created: time.Now(),
	}
	if _, how, err := w.store.QueueTask(w.t.Context(), n, w.record(event.TaskQueued)); how != task.Accepted || err != nil {
		w.t.Fatal(how, err)
	}
	return n.ID
}

// fire queues a run of a schedule.
func (w *world) fire() id.Task {
	w.t.Helper()
	n := task.Task{
		ID: w.ids.Task(), Kind: task.Fire, Instance: "assistant/hourly", Core: "assistant", Schedule: "hourly", Due: time.Now(), Title: "look",
		Owner: principal.Facts{PrincipalID: "principal:scheduler:assistant:hourly:x", Authority: principal.System},
		Spec:  "{}", Scope: "schedule:assistant/hourly", Created: time.Now(),
	}
	if _, how, err := w.store.FireSchedule(w.t.Context(), n, "", time.Time{}, w.record(event.TaskQueued)); how != task.Accepted || err != nil {
		w.t.Fatal(how, err)
	}
	return n.ID
}

func (w *world) is(key id.Task) task.Task {
	w.t.Helper()
	got, found, err := w.store.Task(w.t.Context(), w.by, "", key)
	if err != nil || !found {
		w.t.Fatal(found, err)
	}
	return got
}

type runner func(ctx context.Context, t task.Task, c task.Control) task.Outcome

func (r runner) Run(ctx context.Context, t task.Task, c task.Control) task.Outcome {
	return r(ctx, t, c)
}

// run starts a worker over q, and returns what ends it and waits.
func (w *world) run(q task.Queue, r runner, epoch id.Epoch) (end func()) {
	worker := task.NewWorker(task.Config{
		Queue: q, Runners: map[task.Kind]task.Runner{task.Process: r}, Most: 2, IDs: w.ids, Epoch: epoch, Clock: time.Now, Log: w.log,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { worker.Run(ctx) })
	return func() { cancel(); running.Wait() }
}

// pass lets so much time go by, and all that is due in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func succeeds(context.Context, task.Task, task.Control) task.Outcome {
	return task.Outcome{State: task.Succeeded, Summary: "fine"}
}

func waits(ctx context.Context, _ task.Task, _ task.Control) task.Outcome {
	<-ctx.Done()
	return task.Outcome{State: task.Cancelled}
}

func TestTasksRunOnceInOrderAndSoManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var keys []id.Task
		for range 5 {
			keys = append(keys, w.queue())
		}
		var mu sync.Mutex // guards what follows
		var order []id.Task
		now, most := 0, 0
		end := w.run(w.store, func(ctx context.Context, k task.Task, c task.Control) task.Outcome {
			mu.Lock()
			order, now = append(order, k.ID), now+1
			most = max(most, now)
			mu.Unlock()
			c.Log(ctx, "working\n")
			time.Sleep(10 * time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return succeeds(ctx, k, c)
		}, w.epoch)
		pass(5 * time.Minute)
		end()
		for _, pair := range [][]id.Task{order[:2], order[2:4]} { // two begin in the same moment
			slices.Sort(pair)
		}
		slices.Sort(keys[:2])
		slices.Sort(keys[2:4])
		if fmt.Sprint(order) != fmt.Sprint(keys) || most != 2 {
			t.Errorf("ran %v, %d at once, want %v", order, most, keys)
		}
		for _, key := range keys {
			is := w.is(key)
			log, _, err := w.store.TaskLog(t.Context(), w.by, "", key, 10, 100)
			if is.State != task.Succeeded || is.Summary != "fine" || is.Reason != "" || log != "working\n" || err != nil {
				t.Errorf("%+v, log %q, %v", is, log, err)
			}
		}
	})
}

// Programs that take every place of theirs hold up no schedule.
func TestEachKindHasItsOwnPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for range 5 {
			w.queue()
		}
		worker := task.NewWorker(task.Config{
			Queue: w.store, Runners: map[task.Kind]task.Runner{task.Process: runner(waits), task.Fire: runner(succeeds)}, Most: 2, IDs: w.ids,
			Epoch: w.epoch, Clock: time.Now, Log: w.log,
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { worker.Run(ctx) })
		pass(time.Minute)
		fire := w.fire()
		worker.Wake()
		synctest.Wait()
		if is := w.is(fire); is.State != task.Succeeded {
			t.Errorf("%+v", is)
		}
		cancel()
		running.Wait()
	})
}

// A worker that is there for one task leaves every other to others, from the first to the last.
func TestAWorkerForOneTaskLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		others := []id.Task{w.queue(), w.queue()}
		mine := w.fire()
		worker := task.NewWorker(task.Config{
			Queue: w.store, Runners: map[task.Kind]task.Runner{task.Process: runner(waits), task.Fire: runner(succeeds)}, Only: mine, IDs: w.ids,
			Epoch: w.epoch, Clock: time.Now, Log: w.log,
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { worker.Run(ctx) })
		pass(time.Minute)
		cancel()
		running.Wait()
		if is := w.is(mine); is.State != task.Succeeded {
			t.Errorf("%+v", is)
		}
		for _, key := range others {
			if is := w.is(key); is.State != task.Queued {
				t.Errorf("%+v", is)
			}
		}
	})
}

// A task that runs for longer than a claim is good keeps it, and no look for claims that are over takes it away.
func TestALongTaskKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		key, ran := w.queue(), 0
		end := w.run(w.store, func(ctx context.Context, k task.Task, c task.Control) task.Outcome {
			ran++
			time.Sleep(10 * time.Minute)
			return succeeds(ctx, k, c)
		}, w.epoch)
		pass(11 * time.Minute)
		end()
		if is := w.is(key); is.State != task.Succeeded || ran != 1 {
			t.Errorf("ran %d times: %+v", ran, is)
		}
	})
}

// slow is a store that no beat reaches.
type slow struct{ task.Queue }

func (slow) BeatTask(context.Context, id.Task, lease.Claim, time.Time) (task.Beat, error) {
	return task.Beat{}, fmt.Errorf("the disk is full")
}

// Whose claim ran out is told to end, and what he says afterwards counts for nothing.
func TestAStaleCompletionIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		key := w.queue()
		var told time.Duration
		began := time.Now()
		end := w.run(slow{w.store}, func(ctx context.Context, k task.Task, c task.Control) task.Outcome {
			<-ctx.Done()
			told = time.Since(began)
			time.Sleep(time.Minute)
			return succeeds(ctx, k, c)
		}, w.epoch)
		pass(5 * time.Minute)
		end()
		if is := w.is(key); is.State != task.Lost || is.Reason != task.ReasonLeaseExpired || is.Summary != "" || told > 2*time.Minute || w.log.count("the claim was lost") != 1 {
			t.Errorf("told after %s: %+v, %q", told, is, w.log.all)
		}
	})
}

func TestACancelledTaskEndsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		running := w.queue()
		end := w.run(w.store, waits, w.epoch)
		pass(10 * time.Second)
		for _, want := range []task.Cancelling{task.CancelNoted, task.CancelBefore} {
			if _, how, err := w.store.CancelTask(t.Context(), w.by, "", running, w.record(event.TaskCancelAsked)); how != want || err != nil {
				t.Fatal(how, err)
			}
		}
		pass(task.BeatTime)
		if is := w.is(running); is.State != task.Cancelled || is.Reason != task.ReasonCancelled {
			t.Errorf("%+v", is)
		}
		end()
	})
}

// A shutdown begins nothing more, ends what runs, and writes that down.
func TestNothingBeginsAfterAShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		keys := []id.Task{w.queue(), w.queue(), w.queue()}
		began := 0
		var mu sync.Mutex // guards began
		end := w.run(w.store, func(ctx context.Context, k task.Task, c task.Control) task.Outcome {
			mu.Lock()
			began++
			mu.Unlock()
			return waits(ctx, k, c)
		}, w.epoch)
		pass(time.Minute)
		end()
		for _, key := range keys[:2] {
			if is := w.is(key); is.State != task.Cancelled || is.Reason != task.ReasonHostClosed {
				t.Errorf("%+v", is)
			}
		}
		if is := w.is(keys[2]); is.State != task.Queued || began != 2 {
			t.Errorf("%d began: %+v", began, is)
		}
	})
}

func TestWhatADeadHostRanIsLostAndNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		key := w.queue()
		c := lease.Claim{Token: w.ids.Lease(), Epoch: "epo_dead", Expires: time.Now().Add(time.Hour)}
		if _, found, err := w.store.ClaimTask(t.Context(), task.Which{}, c, w.record(event.TaskStarted)); !found || err != nil {
			t.Fatal(found, err)
		}
		ran := 0
		end := w.run(w.store, func(ctx context.Context, k task.Task, c task.Control) task.Outcome {
			ran++
			return succeeds(ctx, k, c)
		}, w.epoch)
		pass(time.Hour)
		end()
		if is := w.is(key); is.State != task.Lost || is.Reason != task.ReasonHostGone || ran != 0 || w.log.count("is lost") != 1 {
			t.Errorf("ran %d times: %+v, %q", ran, is, w.log.all)
		}
	})
}

func TestARunnerThatBreaksDownFailsItsTask(t *testing.T) {
	for name, c := range map[string]struct {
		run  runner
		want string
	}{
		"panic": {func(context.Context, task.Task, task.Control) task.Outcome { panic("broken") }, task.ReasonRunnerFault},
		"says lost": {func(context.Context, task.Task, task.Control) task.Outcome {
			return task.Outcome{State: task.Lost, Reason: "x"}
		}, task.ReasonRunnerFault},
		"no reason": {func(context.Context, task.Task, task.Control) task.Outcome { return task.Outcome{State: task.Failed} }, task.ReasonRunnerFault},
		"has failed": {func(context.Context, task.Task, task.Control) task.Outcome {
			return task.Outcome{State: task.Failed, Reason: "exit_code"}
		}, "exit_code"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				key := w.queue()
				end := w.run(w.store, c.run, w.epoch)
				pass(time.Minute)
				end()
				if is := w.is(key); is.State != task.Failed || is.Reason != c.want {
					t.Errorf("%+v", is)
				}
			})
		})
	}
}

// An append of more lines than a log keeps leaves the newest of them.
func TestALogOfEmptyLinesKeepsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		key := w.queue()
		end := w.run(w.store, func(ctx context.Context, k task.Task, c task.Control) task.Outcome {
			c.Log(ctx, strings.Repeat("\n", task.MaxLogLines+1000)+"end\n")
			return succeeds(ctx, k, c)
		}, w.epoch)
		pass(time.Minute)
		end()
		log, _, err := w.store.TaskLog(t.Context(), w.by, "", key, task.MaxLogLines, task.MaxLogBytes)
		if is := w.is(key); err != nil || is.LogLines != task.MaxLogLines+1001 || !strings.HasSuffix(log, "\nend\n") || strings.Count(log, "\n") < task.MaxLogLines/2 {
			t.Errorf("%d lines, %d bytes are kept, %v", is.LogLines, len(log), err)
		}
	})
}

func TestALogIsCutIntoAppendsBehindItsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		key := w.queue()
		text := strings.Repeat("é", 3*task.MaxChunk) + "\n" + strings.Repeat("line\n", 5000) + "\xff"
		end := w.run(w.store, func(ctx context.Context, k task.Task, c task.Control) task.Outcome {
			c.Log(ctx, "")
			c.Log(ctx, text)
			return succeeds(ctx, k, c)
		}, w.epoch)
		pass(time.Minute)
		end()
		is := w.is(key)
		log, _, err := w.store.TaskLog(t.Context(), w.by, "", key, task.MaxLogLines, task.MaxLogBytes)
		if err != nil || is.State != task.Succeeded || is.LogLines != 5001 || !strings.HasSuffix(log, "line\n\uFFFD") || w.log.count("log") != 0 {
			t.Errorf("%+v, %d bytes, %v, %q", is, len(log), err, w.log.all)
		}
	})
}

// A model reads what a task made, and not what the host tells the operator of one that did not run.
func TestAModelReadsOnlyWhatTheTaskSaid(t *testing.T) {
	for _, c := range []struct {
		state  task.State
		reason string
		own    bool
	}{
		{task.Succeeded, "", true},
		{task.Failed, task.ReasonExitCode, true},
		{task.Failed, task.ReasonTimedOut, true},
		{task.Failed, task.ReasonNeedsUser, true},
		{task.Failed, "program_not_listed", false},
		{task.Failed, "core_unusable", false},
		{task.Failed, task.ReasonOwnerChanged, false},
		{task.Failed, "turn_failed", false},
		{task.Lost, task.ReasonLeaseExpired, false},
	} {
		k := task.Task{State: c.state, Reason: c.reason, Summary: "add git to process.programs in cores/runner/agent.yaml"}
		if got := k.Said(); (got == k.Summary) != c.own || !c.own && strings.Contains(got, "agent.yaml") {
			t.Errorf("%s, %s: the model reads %q", c.state, c.reason, got)
		}
	}
}

// A runner that heeds no context holds no place, no shutdown and no claim: its task is lost, and what it says later changes nothing.
func TestARunnerThatHeedsNoEndIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		keys := []id.Task{w.queue(), w.queue(), w.queue(), w.queue()}
		release := make(chan struct{})
		end := w.run(w.store, func(ctx context.Context, k task.Task, c task.Control) task.Outcome {
			<-release
			return task.Outcome{State: task.Succeeded}
		}, w.epoch)
		pass(time.Second)
		for _, key := range keys[:2] {
			if _, how, err := w.store.CancelTask(t.Context(), w.by, "", key, w.record(event.TaskCancelAsked)); how != task.CancelNoted || err != nil {
				t.Fatal(how, err)
			}
		}
		pass(3 * time.Minute)
		for _, key := range keys[:2] {
			if is := w.is(key); is.State != task.Lost || is.Reason != task.ReasonLeaseExpired {
				t.Errorf("%+v", is)
			}
		}
		if is := w.is(keys[3]); is.State != task.Queued { // two go on already, and the third may have begun before the second did
			t.Errorf("%+v", is)
		}
		close(release)
		pass(2 * time.Second)
		for _, key := range keys[:2] {
			if is := w.is(key); is.State != task.Lost {
				t.Errorf("%+v", is)
			}
		}
		for _, key := range keys[2:] {
			if is := w.is(key); is.State != task.Succeeded {
				t.Errorf("%+v", is)
			}
		}
		end()
	})
}

func TestAShutdownWaitsForNoRunnerThatHeedsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		key := w.queue()
		release := make(chan struct{})
		defer close(release)
		end := w.run(w.store, func(context.Context, task.Task, task.Control) task.Outcome {
			<-release
			return task.Outcome{State: task.Succeeded}
		}, w.epoch)
		pass(time.Second)
		began := time.Now()
		end()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the shutdown took %s", took)
		}
		if _, err := w.store.RecoverTasks(t.Context(), w.ids.Epoch(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if is := w.is(key); is.State != task.Lost || is.Reason != task.ReasonHostGone {
			t.Errorf("%+v", is)
		}
	})
}
