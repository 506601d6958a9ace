package task_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// hourly is due at each full hour.
func hourly(after, now time.Time) (time.Time, bool) {
	last := now.Truncate(time.Hour)
	return last, last.After(after)
}

func (w *world) schedule() task.Schedule {
	return task.Schedule{Core: "assistant", ID: "hourly", Title: "look", Prompt: "look", Enabled: true, Digest: "d1", Latest: hourly}
}

// look runs so many schedulers over the store and returns what ends them.
func (w *world) look(n int, schedules func() []task.Schedule) (end func()) {
	return w.lookBy(time.Now, n, schedules)
}

// lookBy is look with a clock of the schedulers' own.
func (w *world) lookBy(clock func() time.Time, n int, schedules func() []task.Schedule) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range n {
		s := task.NewScheduler(task.SchedulerConfig{
			Queue: w.store, IDs: w.ids, Clock: clock, Log: w.log, Wake: func() {},
			Schedules: func(context.Context) ([]task.Schedule, error) { return schedules(), nil },
			Owner: func(core, schedule, run string) (principal.Facts, error) {
				who, err := principal.SchedulerID(core, schedule, run)
				return principal.Facts{PrincipalID: who, Authority: principal.System}, err
			},
		})
		running.Go(func() { s.Run(ctx) })
	}
	return func() { cancel(); running.Wait() }
}

func (w *world) fired() []task.Task {
	w.t.Helper()
	all, err := w.store.Tasks(w.t.Context(), w.by, "", "", 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// finish ends the run that is queued.
func (w *world) finish() {
	w.t.Helper()
	c := lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: time.Now().Add(time.Minute)}
	k, found, err := w.store.ClaimTask(w.t.Context(), task.Which{}, c, w.record(event.TaskStarted))
	if err != nil || !found {
		w.t.Fatal(found, err)
	}
	e := task.End{State: task.Succeeded, At: time.Now()}
	if how, err := w.store.FinishTask(w.t.Context(), k.ID, k.Claim, e, w.record(event.TaskFinished)); how != task.Written || err != nil {
		w.t.Fatal(how, err)
	}
}

func TestADueTimeIsFiredOnceWhoeverLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		end := w.look(3, func() []task.Schedule { return []task.Schedule{w.schedule()} })
		defer end()
		pass(30 * time.Minute)
		if n := len(w.fired()); n != 0 {
			t.Errorf("%d runs before one was due", n)
		}
		for hour := 1; hour <= 3; hour++ {
			pass(time.Hour)
			w.finish()
			if n := len(w.fired()); n != hour {
				t.Errorf("%d runs in %d hours", n, hour)
			}
		}
		if k := w.fired()[0]; k.Owner.Authority != principal.System || k.Session != "" || k.Kind != task.Fire || k.Due.Minute() != 0 {
			t.Errorf("%+v", k)
		}
	})
}

func TestWhatWasMissedComesToOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		all := func() []task.Schedule { return []task.Schedule{w.schedule()} }
		seen := w.look(1, all)
		pass(time.Second)
		seen()
		pass(10 * time.Hour) // nobody looks
		end := w.look(2, all)
		pass(30 * time.Minute)
		end()
		got := w.fired()
		if len(got) != 1 || time.Since(got[0].Due) > time.Hour {
			t.Errorf("%d runs: %+v", len(got), got)
		}
	})
}

// A clock that stood four years ahead for a minute costs no run of the years until then, and makes none twice.
func TestAClockThatWasAheadSilencesNoSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		end := w.lookBy(clock, 2, func() []task.Schedule { return []task.Schedule{w.schedule()} })
		defer end()
		pass(65 * time.Minute)
		w.finish()
		ahead.Store(int64(4 * 365 * 24 * time.Hour))
		pass(time.Minute)
		w.finish()
		ahead.Store(0)
		pass(time.Minute)
		if n := len(w.fired()); n != 2 {
			t.Fatalf("%d runs until the clock was right again", n)
		}
		for hour := 1; hour <= 5; hour++ {
			pass(time.Hour)
			if n := len(w.fired()); n != 2+hour {
				t.Fatalf("%d runs in the %d hours since", n-2, hour)
			}
			w.finish()
		}
		due := map[time.Time]bool{}
		for _, k := range w.fired() {
			if due[k.Due] {
				t.Errorf("what was due at %s ran twice", k.Due)
			}
			due[k.Due] = true
		}
	})
}

// While a run is open, no further one is queued; what it misses comes to one run.
func TestAScheduleHasOneOpenRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		end := w.look(1, func() []task.Schedule { return []task.Schedule{w.schedule()} })
		defer end()
		pass(5 * time.Hour)
		if n := len(w.fired()); n != 1 || w.log.count("still open") != 1 {
			t.Errorf("%d runs, log %q", n, w.log.all)
		}
		w.finish()
		pass(time.Minute)
		if got := w.fired(); len(got) != 2 || time.Since(got[0].Due) > time.Hour {
			t.Errorf("%d runs afterwards", len(got))
		}
	})
}

func TestAScheduleThatIsOffOrChangedFiresNothingOfBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var mu sync.Mutex // guards is
		is := w.schedule()
		end := w.look(1, func() []task.Schedule { mu.Lock(); defer mu.Unlock(); return []task.Schedule{is} })
		defer end()
		change := func(digest string, enabled bool) {
			mu.Lock()
			defer mu.Unlock()
			is.Digest, is.Enabled = digest, enabled
		}
		pass(10 * time.Minute)
		change("off", false)
		pass(5 * time.Hour)
		change("on", true)
		pass(10 * time.Minute)
		if n := len(w.fired()); n != 0 {
			t.Errorf("%d runs of the time when it was off", n)
		}
		pass(time.Hour)
		if n := len(w.fired()); n != 1 {
			t.Errorf("%d runs in the hour after", n)
		}
	})
}

func TestRunsThatShareASessionAreOnePrincipal(t *testing.T) {
	for session, same := range map[string]bool{"": false, "news": true} {
		a, b := task.FireSpec{Session: session}.Run("tsk_a"), task.FireSpec{Session: session}.Run("tsk_b")
		if (a == b) != same {
			t.Errorf("session %q: %s and %s", session, a, b)
		}
	}
	if a, b := (task.FireSpec{Session: "a"}).Run("tsk_a"), (task.FireSpec{Session: "b"}).Run("tsk_a"); a == b || a == "tsk_a" {
		t.Errorf("two sessions: %s and %s", a, b)
	}
}
