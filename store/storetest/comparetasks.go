package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"pgregory.net/rapid"
)

// queued is an answer to a new task.
type queued struct {
	task task.Task
	how  task.Queueing
}

// queueTask asks for a task, often of an instance or scope that another one has.
func (p *pair) queueTask(rt *rapid.T) {
	l, r := one(rt, "turn", p.turns), p.l.record(event.TaskQueued)
	n := p.l.newTask(l)
	n.Instance = fmt.Sprint("eff_", rapid.IntRange(0, 6).Draw(rt, "instance"))
	n.Scope = one(rt, "scope", []string{"", "a", "b", "c"})
	got := p.both(rt, "QueueTask", func(w *world) (any, error) {
		k, how, err := w.Store.QueueTask(w.ctx, n, r)
		return queued{k, how}, err
	}).(queued)
	if got.how == task.Accepted {
		p.tasks = append(p.tasks, got.task)
	}
}

func (p *pair) fireSchedule(rt *rapid.T) {
	digest, now := one(rt, "digest", []string{"d1", "d1", "d1", "d2"}), p.l.Clock.Now()
	after := p.both(rt, "SeeSchedule", func(w *world) (any, error) {
		return w.Store.SeeSchedule(w.ctx, "assistant", "daily", digest, now)
	}).(time.Time)
	n, r := p.l.newFire(after.Add(time.Duration(rapid.IntRange(-1, 3).Draw(rt, "minutes"))*time.Minute)), p.l.record(event.TaskQueued)
	got := p.both(rt, "FireSchedule", func(w *world) (any, error) {
		k, how, err := w.Store.FireSchedule(w.ctx, n, digest, after, r)
		return queued{k, how}, err
	}).(queued)
	if got.how == task.Accepted {
		p.tasks = append(p.tasks, got.task)
	}
}

func (p *pair) claimTask(rt *rapid.T) {
	c, r := lease.Claim{
		Token: p.ids.Lease(), Epoch: one(rt, "epoch", []id.Epoch{p.epoch, p.epoch, "epo_before"}),
		Expires: p.l.Clock.Now().Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "seconds")) * time.Second),
	}, p.l.record(event.TaskStarted)
	of := task.Which{Kind: one(rt, "kind", []task.Kind{"", "", task.Process, task.Fire})}
	if len(p.tasks) > 0 && rapid.IntRange(0, 3).Draw(rt, "one alone") == 0 {
		of.Only = one(rt, "only", p.tasks).ID
	}
	got := p.both(rt, "ClaimTask", func(w *world) (any, error) {
		row, is, err := w.Store.ClaimTask(w.ctx, of, c, r)
		return found{row, is}, err
	}).(found)
	if got.is {
		p.run = append(p.run, got.row.(task.Task))
	}
}

// stepTask writes under the claim of a task that was claimed, sometimes under another's.
func (p *pair) stepTask(rt *rapid.T) {
	k := one(rt, "claimed", p.run)
	if rapid.IntRange(0, 4).Draw(rt, "foreign claim") == 0 {
		k.Claim = one(rt, "claim of", p.run).Claim
	}
	now, r, blocked := p.l.Clock.Now(), p.l.record(event.TaskFinished), rapid.Bool().Draw(rt, "blocked")
	text := strings.Repeat("line\n", rapid.IntRange(0, 300).Draw(rt, "lines"))
	e := task.End{State: one(rt, "state", []task.State{task.Succeeded, task.Failed, task.Cancelled, "odd"}), Summary: "s", At: now}
	if e.State != task.Succeeded {
		e.Reason = "because"
	}
	l := one(rt, "turn", p.turns)
	what := one(rt, "step", []string{"beat", "block", "log", "log", "bind", "finish"})
	p.both(rt, what, func(w *world) (any, error) {
		switch what {
		case "beat":
			return w.Store.BeatTask(w.ctx, k.ID, k.Claim, now.Add(time.Minute))
		case "block":
			return w.Store.BlockTask(w.ctx, k.ID, k.Claim, blocked)
		case "log":
			return w.Store.AppendTaskLog(w.ctx, k.ID, k.Claim, text, now)
		case "bind":
			return w.Store.BindTask(w.ctx, k.ID, k.Claim, l.session, l.turn)
		default:
			return w.Store.FinishTask(w.ctx, k.ID, k.Claim, e, r)
		}
	})
}

func (p *pair) recoverTasks(rt *rapid.T) {
	epoch := one(rt, "epoch", []id.Epoch{p.epoch, p.epoch, "epo_next"})
	p.both(rt, "RecoverTasks", func(w *world) (any, error) { return w.Store.RecoverTasks(w.ctx, epoch, w.Clock.Now()) })
}

type cancelling struct {
	task task.Task
	how  task.Cancelling
}

func (p *pair) cancelTask(rt *rapid.T) {
	k, by, r := one(rt, "task", append(p.tasks, task.Task{ID: "tsk_unknown"})), p.scope(rt), p.l.record(event.TaskCancelAsked)
	p.both(rt, "CancelTask", func(w *world) (any, error) {
		got, how, err := w.Store.CancelTask(w.ctx, by(w), "", k.ID, r)
		return cancelling{got, how}, err
	})
}

// tellTasks tells a turn of what it has not heard, or of some task.
func (p *pair) tellTasks(rt *rapid.T) {
	l, by := one(rt, "turn", p.turns), p.scope(rt)
	news := p.both(rt, "Untold", func(w *world) (any, error) { return w.Store.Untold(w.ctx, by(w), l.session, 2) }).([]turn.Notice)
	of := []id.Task{one(rt, "task", append(p.tasks, task.Task{ID: "tsk_unknown"})).ID}
	if len(news) > 0 {
		of = nil
		for _, n := range news {
			of = append(of, n.Task)
		}
	}
	m := p.l.message(l, "user", `{"told":true}`)
	p.both(rt, "Tell", func(w *world) (any, error) { return w.Store.Tell(w.ctx, l.turn, l.claim, m, of) })
}

func (p *pair) readTask(rt *rapid.T) {
	k, by := one(rt, "task", append(p.tasks, task.Task{ID: "tsk_unknown"})), p.scope(rt)
	lines := rapid.IntRange(1, 40).Draw(rt, "lines")
	p.both(rt, "Task", func(w *world) (any, error) {
		row, is, err := w.Store.Task(w.ctx, by(w), "", k.ID)
		return found{row, is}, err
	})
	p.both(rt, "TaskLog", func(w *world) (any, error) {
		row, is, err := w.Store.TaskLog(w.ctx, by(w), "", k.ID, lines, 1000)
		return found{row, is}, err
	})
}
