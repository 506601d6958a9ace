package host_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// fire queues a run of a schedule of the home, as the command does.
func (h *home) fire(name string) id.Task {
	h.t.Helper()
	ids := id.NewSource(time.Now, rand.Reader)
	resolver := authority.NewResolver(h.store, h.store, time.Now, ids)
	c, err := host.ScheduleIn(h.t.Context(), h.dir, "assistant", name)
	if err != nil {
		h.t.Fatal(err)
	}
	s := task.NewScheduler(task.SchedulerConfig{Queue: h.store, Owner: resolver.Schedule, IDs: ids, Clock: time.Now, Wake: func() {}})
	got, how, err := s.FireNow(h.t.Context(), host.ScheduleOf("assistant", c, redact.Set{}))
	if err != nil || how != task.Accepted {
		h.t.Fatal(how, err)
	}
	return got.ID
}

func (h *home) until(by principal.Scope, key id.Task, is func(task.Task) bool) task.Task {
	h.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var got task.Task
	for range 1500 {
		var found bool
		var err error
		if got, found, err = h.store.Task(h.t.Context(), by, "", key); err != nil || !found {
			h.t.Fatal(found, err)
		}
		if is(got) {
			return got
		}
		<-tick.C
	}
	h.t.Fatalf("it stays so: %+v", got)
	return got
}

// A run of a schedule is a turn under system authority that reaches its own session and no other; runs go on in one session
// when the schedule names one.
func TestASchedulesTurnReachesItsOwnSessionAlone(t *testing.T) {
	h := newHome(t)
	h.core("repeat: true\nsteps: [{say: done for today}]\n", nil)
	h.write("cores/assistant/agent/schedules/daily.yaml", "cron: '0 0 1 1 *'\ntimezone: UTC\nprompt: look\n")
	h.write("cores/assistant/agent/schedules/news.yaml", "cron: '0 0 1 1 *'\ntimezone: UTC\nprompt: read\nsession: news\n")
	running := h.open(func(c *host.Config) { c.Work = true })
	by, err := running.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	sessions := map[string][]id.Session{}
	for _, name := range []string{"daily", "news", "daily", "news"} {
		is := h.until(by, h.fire(name), func(k task.Task) bool { return k.State.Ended() })
		if is.State != task.Succeeded || is.Summary != "done for today" || is.Session == "" || is.Turn == "" || is.Notice != task.NoNotice {
			t.Fatalf("%+v", is)
		}
		rec, found, err := h.store.Turn(t.Context(), by, is.Turn)
		if err != nil || !found || rec.Session != is.Session || rec.Outcome != turn.Completed {
			t.Errorf("its turn: %+v, %v", rec, err)
		}
		owner, found, err := h.store.Owner(t.Context(), is.Session)
		if err != nil || !found || owner.Authority != principal.System || owner.PrincipalID != is.Owner.PrincipalID {
			t.Errorf("owner %+v, %v", owner, err)
		}
		sessions[name] = append(sessions[name], is.Session)
	}
	if how, err := running.EndSession(t.Context(), by, sessions["news"][0], "enough"); err != nil || how != turn.Ended {
		t.Fatal(how, err)
	}
	if is := h.until(by, h.fire("news"), func(k task.Task) bool { return k.State.Ended() }); is.State != task.Succeeded || is.Session == sessions["news"][0] {
		t.Errorf("after its session was ended: %+v", is)
	}
	if d, n := sessions["daily"], sessions["news"]; d[0] == d[1] || n[0] != n[1] || d[0] == n[0] {
		t.Errorf("sessions %v", sessions)
	}
}

// A host that is there for one task leaves the others queued, whatever they are.
func TestAHostForOneTaskLeavesTheOthers(t *testing.T) {
	h := newHome(t)
	h.core("repeat: true\nsteps: [{say: done}]\n", nil)
	for _, name := range []string{"first", "second"} {
		h.write("cores/assistant/agent/schedules/"+name+".yaml", "cron: '0 0 1 1 *'\ntimezone: UTC\nprompt: look\n")
	}
	other, mine := h.fire("first"), h.fire("second")
	running := h.open(func(c *host.Config) { c.WorkOn = mine })
	by, err := running.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if is := h.until(by, mine, func(k task.Task) bool { return k.State.Ended() }); is.State != task.Succeeded {
		t.Errorf("%+v", is)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	by, err = principal.NewIssuer(string(h.store.StoreID())).Issue(principal.Facts{PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	is, found, err := h.store.Task(t.Context(), by, "", other)
	if err != nil || !found || is.State != task.Queued {
		t.Errorf("the other: %+v, %v, %v", is, found, err)
	}
}

// A run that nobody watches says what it was not allowed to do.
func TestARunSaysThatCallsWereDenied(t *testing.T) {
	h := newHome(t)
	h.core("steps: [{call: [{tool: user.ask, args: {question: which one?}}]}, {say: done}]\n", nil)
	h.write("cores/assistant/agent/schedules/daily.yaml", "cron: '0 0 1 1 *'\ntimezone: UTC\nprompt: look\n")
	running := h.open(func(c *host.Config) { c.Work = true })
	by, err := running.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	is := h.until(by, h.fire("daily"), func(k task.Task) bool { return k.State.Ended() })
	if is.State != task.Succeeded || is.Summary != "done\n[calls of it that were denied: 1]" {
		t.Errorf("%+v", is)
	}
}

func TestARunThatAsksHasFailed(t *testing.T) {
	h := newHome(t)
	h.core("steps: [{call: [{tool: user.ask, args: {question: which one?}}]}]\n", []string{"tool.call:user.ask"})
	h.write("cores/assistant/agent/schedules/daily.yaml", "cron: '0 0 1 1 *'\ntimezone: UTC\nprompt: look\n")
	running := h.open(func(c *host.Config) { c.Work = true })
	by, err := running.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	is := h.until(by, h.fire("daily"), func(k task.Task) bool { return k.State.Ended() })
	if is.State != task.Failed || is.Reason != "needs_user" {
		t.Errorf("%+v", is)
	}
}

// A run that waits for a person says so, and goes on when somebody has decided.
func TestARunThatWaitsForAPersonIsBlocked(t *testing.T) {
	h := newHome(t)
	h.core("steps: [{call: [{tool: user.ask, args: {question: which one?}}]}]\n", []string{"tool.call:user.ask"}, "approval: {tools: {user.ask: prompt}}")
	h.write("cores/assistant/agent/schedules/daily.yaml", "cron: '0 0 1 1 *'\ntimezone: UTC\nprompt: look\n")
	running := h.open(func(c *host.Config) { c.Work, c.Wait, c.Prompter = true, time.Minute, nil })
	by, err := running.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	key := h.fire("daily")
	h.until(by, key, func(k task.Task) bool { return k.State == task.Blocked })
	asked, err := running.Approvals().Questions(t.Context(), by, approval.Pending, 0, 10)
	if err != nil || len(asked) != 1 {
		t.Fatal(len(asked), err)
	}
	if _, how, err := running.Decide(t.Context(), by, asked[0].ID, true, approval.Once, "yes"); err != nil || how != approval.Recorded {
		t.Fatal(how, err)
	}
	if is := h.until(by, key, func(k task.Task) bool { return k.State.Ended() }); is.Reason != "needs_user" {
		t.Errorf("%+v", is)
	}
}

// A run whose child waits for a person says so too, until each of its questions is answered.
func TestARunWhoseChildrenWaitForAPersonIsBlocked(t *testing.T) {
	h := newHome(t, "calc")
	h.helper("steps: [{call: [{tool: calc.eval, args: {expression: 1+1}}]}, {say: done}]\n", "tool.call:*")
	h.core("steps: [{call: [{tool: agents.spawn, args: {core: helper, task: add}}]}, {say: done}]\n",
		[]string{"tool.call:*", "agents.spawn:helper"}, "approval: {tools: {calc.eval: prompt}}")
	h.write("cores/assistant/agent/schedules/daily.yaml", "cron: '0 0 1 1 *'\ntimezone: UTC\nprompt: look\n")
	running := h.open(func(c *host.Config) { c.Work, c.Wait, c.Prompter = true, time.Minute, nil })
	by, err := running.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	key := h.fire("daily")
	blocked := h.until(by, key, func(k task.Task) bool { return k.State == task.Blocked || k.State.Ended() })
	asked, err := running.Approvals().Questions(t.Context(), by, approval.Pending, 0, 10)
	if err != nil || len(asked) != 1 || blocked.State != task.Blocked || asked[0].Turn == blocked.Turn {
		t.Fatalf("%+v, %+v, %v", blocked, asked, err)
	}
	if _, how, err := running.Decide(t.Context(), by, asked[0].ID, true, approval.Once, "yes"); err != nil || how != approval.Recorded {
		t.Fatal(how, err)
	}
	if is := h.until(by, key, func(k task.Task) bool { return k.State.Ended() }); is.State != task.Succeeded {
		t.Errorf("%+v", is)
	}
}

// unbound is a store that knows no claim on a run that is to be bound.
type unbound struct{ host.Store }

func (unbound) BindTask(context.Context, id.Task, lease.Claim, id.Session, id.Turn) (task.Fenced, error) {
	return task.Stale, nil
}

// A run ends when its task does not know of its turn, and one whose host closes is cancelled.
func TestARunThatIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*host.Config)
		state  task.State
		reason string
	}{
		"not bound":       {func(c *host.Config) { c.Store = unbound{c.Store} }, task.Failed, "run_not_bound"},
		"the host closes": {func(*host.Config) {}, task.Cancelled, task.ReasonHostClosed},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.core("steps: [{say: done}]\n", nil)
			h.write("cores/assistant/agent.yaml", strings.ReplaceAll(h.read("cores/assistant/agent.yaml"), "{provider: scripted, script: script.yaml}", "{provider: slow, name: slow}"))
			h.write("cores/assistant/agent/schedules/daily.yaml", "cron: '0 0 1 1 *'\ntimezone: UTC\nprompt: look\n")
			begun := make(chan struct{}, 1)
			key := h.fire("daily")
			running := h.open(func(c *host.Config) {
				c.Work, c.Models = true, map[string]provider.Model{"slow": lingering{begun: begun}}
			}, c.change)
			if name == "the host closes" {
				<-begun
				if err := running.Close(); err != nil {
					t.Fatal(err)
				}
			}
			by, err := principal.NewIssuer(string(h.store.StoreID())).Issue(principal.Facts{PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test"})
			if err != nil {
				t.Fatal(err)
			}
			if is := h.until(by, key, func(k task.Task) bool { return k.State.Ended() }); is.State != c.state || is.Reason != c.reason {
				t.Errorf("%+v", is)
			}
		})
	}
}

// A host that keeps schedules fires what is due by the clock that it was given, and one that does not fires nothing.
func TestAHostFiresWhatIsDue(t *testing.T) {
	h := newHome(t)
	h.core("repeat: true\nsteps: [{say: done}]\n", nil)
	due := time.Now().UTC().Add(-30 * time.Minute).Truncate(time.Minute) // the next time is half an hour away too: none comes meanwhile
	cron := fmt.Sprintf("cron: '%d * * * *'\ntimezone: UTC\nprompt: look\n", due.Minute())
	h.write("cores/assistant/agent/schedules/often.yaml", cron)
	h.write("cores/assistant/agent/schedules/never.yaml", cron+"enabled: false\n")
	h.write("cores/broken/agent.yaml", "schema_version: 2\n")
	past := due.Add(-5 * time.Hour)
	for _, name := range []string{"often", "never"} { // seen five hours before
		s, err := host.ScheduleIn(t.Context(), h.dir, "assistant", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.store.SeeSchedule(t.Context(), "assistant", name, s.Digest(), past); err != nil {
			t.Fatal(err)
		}
	}
	idle := h.open(func(c *host.Config) { c.Work = true })
	by, err := idle.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := h.store.Tasks(t.Context(), by, "", "", 0, 10); err != nil || len(all) != 0 {
		t.Fatalf("%d tasks, %v", len(all), err)
	}
	if err := idle.Close(); err != nil {
		t.Fatal(err)
	}
	working := h.open(func(c *host.Config) { c.Schedules = true })
	if by, err = working.Operator(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	var all []task.Task
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1500 {
		if all, err = h.store.Tasks(t.Context(), by, "", "", 0, 10); err != nil || len(all) > 0 {
			break
		}
		<-tick.C
	}
	if err != nil || len(all) == 0 || all[len(all)-1].Schedule != "often" || !all[0].Due.Equal(due) {
		t.Fatalf("%+v, %v", all, err)
	}
	h.until(by, all[0].ID, func(k task.Task) bool { return k.State == task.Succeeded })
	if n := len(all); n != 1 {
		t.Errorf("the times that were missed come to %d runs", n)
	}
}
