package crash

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// shownTask is what `tasks show --json` says.
type shownTask struct {
	ID       string
	Session  string
	State    task.State
	Reason   string
	Schedule string
	Due      time.Time
	Turn     string
	Notice   task.Notice
}

func (p program) tasks(t *testing.T) []shownTask {
	t.Helper()
	var all struct{ Tasks []shownTask }
	p.answer(t, &all, "tasks", "list")
	return all.Tasks
}

// until looks again and again, for half a minute at most, until is says so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); <-tick.C {
		if is() {
			return
		}
	}
	t.Fatal(what + ": it does not come to it")
}

// TestAKilledBackgroundProgram kills the host that runs a program in the background. The program ends with it, its task is lost
// and keeps its log, the next host runs it no second time, and the session's next turn is told.
func TestAKilledBackgroundProgram(t *testing.T) {
	p := newProgram(t, newOutside(t).URL)
	p.core(t, "actor", "steps:\n  - say: idle\n", ", process.exec, task.control", "process: {programs: [cat]}\nworkspace: workspace\n")
	fifo := filepath.Join(p.home, "workspace", "lines")
	if err := errors.Join(os.MkdirAll(filepath.Dir(fifo), 0o700), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	p.write(t, "start.yaml", "version: 1\nsteps:\n  - call: [{tool: task.start, args: {argv: [cat, lines]}}]\n  - say: started\n")
	asks := p.begin(t, nil, nil, "run", "start", "--json", "--script", filepath.Join(p.dir, "start.yaml"), "--approve", "wait=60s")
	var open struct{ Approvals []struct{ ID string } }
	until(t, "a question", func() bool { p.answer(t, &open, "approvals", "list"); return len(open.Approvals) == 1 })
	p.must(t, "approvals", "allow", open.Approvals[0].ID)
	if killed, err := asks.wait(); killed || err != nil {
		t.Fatalf("start a task: %v\n%s", err, &asks.stderr)
	}
	serves := p.begin(t, nil, nil, "serve")
	to, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the program to read
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for n := range 1000 { // a few are held back until more come, as a secret may be in two pieces
		if _, err := fmt.Fprintf(to, "line %d\n", n); err != nil {
			t.Fatal(err)
		}
	}
	queued := p.tasks(t)[0]
	key := queued.ID
	log := func() string {
		var kept struct{ Log string }
		p.answer(t, &kept, "tasks", "logs", key, "--limit", "4000")
		return kept.Log
	}
	logged := ""
	until(t, "a line of its log", func() bool { logged = log(); return strings.HasPrefix(logged, "line 0\nline 1\n") })
	serves.kill()
	serves.killed(t)
	until(t, "the end of the program", func() bool { _, err := to.WriteString("more\n"); return errors.Is(err, syscall.EPIPE) })

	again := p.begin(t, nil, nil, "serve")
	until(t, "the next host", func() bool { return p.tasks(t)[0].State.Ended() })
	again.kill()
	again.killed(t)
	p.must(t, "run", "nothing", "--session", queued.Session)
	if _, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); !errors.Is(err, syscall.ENXIO) {
		t.Errorf("the program runs again: %v", err)
	}
	all := p.tasks(t)
	if len(all) != 1 || all[0].State != task.Lost || all[0].Reason != task.ReasonHostGone || all[0].Notice != task.Told {
		t.Errorf("afterwards: %+v", all)
	}
	if is := log(); !strings.HasPrefix(is, logged) {
		t.Errorf("its log had %d bytes and has %q", len(logged), is)
	}
}

// TestAScheduleThatWasMissedRunsOnce has a schedule come due five times while no host lives, and kills the one host that runs
// it. The five come to one run, of the last; it is lost and not run again, though the schedule after it runs.
func TestAScheduleThatWasMissedRunsOnce(t *testing.T) {
	world := newOutside(t)
	p := newProgram(t, world.URL)
	now := time.Now().UTC()
	due := now.Add(-30 * time.Minute).Truncate(time.Minute) // the next time is half an hour away too
	for life, name := range []string{"first", "second"} {
		p.core(t, name, p.calling("outside.act", life+1), "")
		p.write(t, "home/cores/"+name+"/agent/schedules/hourly.yaml", fmt.Sprintf("cron: %d * * * *\ntimezone: UTC\nprompt: act\n", due.Minute()))
	}
	p.missed(t, "first", now.Add(-5*time.Hour))
	p.missed(t, "second", now)

	first := p.begin(t, nil, func(l *begun) { world.when(1, 1, l.kill) }, "serve")
	first.killed(t)
	p.missed(t, "second", now.Add(-5*time.Hour))
	// Schedules are looked through in the order of their cores: when the second has acted, the first was passed by.
	p.begin(t, nil, func(l *begun) { world.when(2, 1, l.kill) }, "serve").killed(t)
	p.must(t, "run", "nothing")

	all := p.tasks(t)
	if len(all) != 2 {
		t.Fatalf("%d runs: %+v", len(all), all)
	}
	for _, k := range all {
		if k.State != task.Lost || k.Reason != task.ReasonHostGone || !k.Due.Equal(due) {
			t.Errorf("%+v, and it was due at %s", k, due)
		}
		is := p.show(t, k.Turn)
		if is.State != turn.State(turn.Indeterminate) || len(is.Effects) != 1 || is.Effects[0].Status != effect.Indeterminate || !strings.Contains(is.Left[0], "outside.act was running") {
			t.Errorf("its turn is %+v", is)
		}
	}
	for life := 1; life <= 2; life++ {
		if got := world.happened(life, 1); got != 1 {
			t.Errorf("run %d acted %d times", life, got)
		}
	}
}

// missed makes a core's schedule one that a host, which is gone, looked at last at this time.
func (p program) missed(t *testing.T, of string, at time.Time) {
	t.Helper()
	c, err := core.Load(t.Context(), p.home, of)
	if err != nil {
		t.Fatal(err)
	}
	w, err := openWorld(t.Context(), filepath.Join(p.home, "portcullis.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Schedules() {
		for _, digest := range []string{"another", s.Digest()} { // one that has changed begins anew
			if _, err := w.store.SeeSchedule(t.Context(), of, s.ID, digest, at); err != nil {
				t.Error(err)
			}
		}
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
}
