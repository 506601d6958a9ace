package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"pgregory.net/rapid"
)

// modelCursor is how far a schedule is dealt with, as long as its file is the one of digest.
type modelCursor struct {
	digest string
	at     time.Time
}

// queuesTask asks for a task, often of an instance or a folder that another one has; now and then for more than a session may have.
func (m *model) queuesTask(rt *rapid.T) {
	t, many := one(rt, "turn", m.order), 1
	if rapid.IntRange(0, 5).Draw(rt, "many") == 0 {
		many = task.MaxOpen + 1
	}
	for range many {
		n := m.newTask(t.live)
		if n.Scope = ""; many == 1 {
			n.Scope = one(rt, "scope", []string{"", "process:", "process:/a", "process:/a/b", "process:/a.b", "process:/c"})
			n.Instance = fmt.Sprint("eff_", rapid.IntRange(0, 9).Draw(rt, "instance"))
			n.Session = one(rt, "session of", []*modelTurn{t, t, t, one(rt, "another turn", m.order)}).session
		}
		want := m.queueing(n, n.Session == t.session && t.outcome == "" && !m.over(t.claim) && !m.ended[t.session])
		got, how, err := m.Store.QueueTask(m.ctx, n, m.record(event.TaskQueued))
		fails(rt, "QueueTask", err, false)
		m.same(rt, "QueueTask", how, want)
		m.keepsTask(got, how)
	}
}

// queueing is how a new task must be taken.
func (m *model) queueing(n task.Task, owned bool) task.Queueing {
	open := 0
	for _, k := range m.tasks {
		if k.Instance == n.Instance {
			return task.Duplicate
		}
	}
	if !owned {
		return task.NoOwner
	}
	for _, k := range m.tasks {
		switch {
		case k.State.Ended():
		case k.Scope != "" && n.Scope != "" && (k.Scope == n.Scope || strings.HasPrefix(k.Scope, n.Scope+"/") || strings.HasPrefix(n.Scope, k.Scope+"/")):
			return task.ScopeBusy
		case n.Session != "" && k.Session == n.Session:
			open++
		}
	}
	if open >= task.MaxOpen {
		return task.TooMany
	}
	return task.Accepted
}

func (m *model) keepsTask(got task.Task, how task.Queueing) {
	if how == task.Accepted {
		m.tasks = append(m.tasks, &got)
	}
}

// firesSchedule is one look at a schedule, with a cursor that may have moved on since, or a run by hand.
func (m *model) firesSchedule(rt *rapid.T) {
	digest, now := one(rt, "digest", []string{"d1", "d1", "d1", "d2"}), m.Clock.Now()
	if m.cursor.digest != digest || m.cursor.at.After(millis(now.Add(time.Minute))) {
		m.cursor = modelCursor{digest, millis(now)}
	}
	after, err := m.Store.SeeSchedule(m.ctx, "assistant", "daily", digest, now)
	fails(rt, "SeeSchedule", err, false)
	m.same(rt, "the cursor of a schedule", after.UnixMilli(), m.cursor.at.UnixMilli())
	after = after.Add(-time.Duration(one(rt, "seconds behind", []int{0, 0, 0, 1})) * time.Second)
	n := m.newFire(after.Add(time.Duration(rapid.IntRange(-1, 3).Draw(rt, "minutes")) * time.Minute))
	if rapid.IntRange(0, 5).Draw(rt, "by hand") == 0 {
		after = time.Time{}
	}
	want := m.queueing(n, true)
	if want != task.Duplicate && !after.IsZero() && (!after.Equal(m.cursor.at) || !n.Due.After(after)) {
		want = task.Passed
	}
	got, how, err := m.Store.FireSchedule(m.ctx, n, digest, after, m.record(event.TaskQueued))
	fails(rt, "FireSchedule", err, false)
	m.same(rt, "FireSchedule", how, want)
	if m.keepsTask(got, how); how == task.Accepted && !after.IsZero() {
		m.cursor.at = got.Due
	}
}

// claimsTask takes what has been queued longest, of those that may be taken.
func (m *model) claimsTask(rt *rapid.T) {
	c := lease.Claim{
		Token: m.ids.Lease(), Epoch: one(rt, "epoch", []id.Epoch{m.epoch, m.epoch, "epo_before"}),
		Expires: m.Clock.Now().Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "seconds")) * time.Second),
	}
	of := task.Which{Kind: one(rt, "kind", []task.Kind{"", "", task.Process, task.Fire})}
	if len(m.tasks) > 0 && rapid.IntRange(0, 3).Draw(rt, "one alone") == 0 {
		of.Only = one(rt, "only", m.tasks).ID
	}
	var want *task.Task
	for _, k := range m.tasks {
		if k.State == task.Queued && (of.Kind == "" || k.Kind == of.Kind) && (of.Only == "" || k.ID == of.Only) {
			want = k
			break
		}
	}
	got, is, err := m.Store.ClaimTask(m.ctx, of, c, m.record(event.TaskStarted))
	fails(rt, "ClaimTask", err, false)
	m.same(rt, "ClaimTask found one", is, want != nil)
	if !is {
		return
	}
	m.same(rt, "the task that was claimed", got.ID, want.ID)
	m.same(rt, "a task is claimed once in its life", got.Claim.Fence, int64(1))
	want.State, want.Claim = task.Running, c
	want.Claim.Fence = 1
	m.worked = append(m.worked, *want)
}

// stepsTask writes under the claim of a task that was claimed, sometimes under another's.
func (m *model) stepsTask(rt *rapid.T) {
	held := one(rt, "claimed", m.worked)
	is, claim := m.taskIn(held.ID), held.Claim
	switch rapid.IntRange(0, 9).Draw(rt, "foreign claim") {
	case 0:
		claim = one(rt, "claim of", m.worked).Claim
	case 1:
		claim.Token = m.ids.Lease()
	case 2:
		claim.Epoch = "epo_other"
	case 3:
		claim.Fence++
	}
	mine := is.State.Held() && claim.Token == is.Claim.Token && claim.Epoch == is.Claim.Epoch && claim.Fence == is.Claim.Fence && !m.over(is.Claim)
	want, how := task.Stale, task.Fenced("")
	if mine {
		want = task.Written
	}
	var err error
	switch one(rt, "step", []string{"beat", "block", "log", "bind", "bind", "finish", "finish"}) {
	case "beat":
		until := m.Clock.Now().Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "seconds")) * time.Second)
		var b task.Beat
		b, err = m.Store.BeatTask(m.ctx, is.ID, claim, until)
		if how = b.Fenced; mine {
			is.Claim.Expires = until
			m.same(rt, "a beat says whether the task is wanted", b.Unwanted, is.Unwanted)
		}
	case "block":
		blocked := rapid.Bool().Draw(rt, "blocked")
		if how, err = m.Store.BlockTask(m.ctx, is.ID, claim, blocked); mine {
			is.State = map[bool]task.State{true: task.Blocked, false: task.Running}[blocked]
		}
	case "log":
		if how, err = m.Store.AppendTaskLog(m.ctx, is.ID, claim, "a line\n", m.Clock.Now()); mine {
			is.LogLines++
		}
	case "bind":
		t := one(rt, "turn", m.order)
		if rapid.IntRange(0, 2).Draw(rt, "a turn of its own") > 0 {
			t = m.runs(rt, one(rt, "run as", []principal.Facts{is.Owner, is.Owner, scheduler("another")}))
		}
		if m.owner[t.session] != is.Owner.PrincipalID || is.Kind != task.Fire || is.Session != "" {
			want = task.Stale
		}
		if how, err = m.Store.BindTask(m.ctx, is.ID, claim, t.session, t.turn); want == task.Written {
			is.Session, is.Turn = t.session, t.turn
		}
	case "finish":
		end := task.End{State: one(rt, "end", []task.State{task.Succeeded, task.Failed, task.Cancelled}), At: m.Clock.Now()}
		if end.State != task.Succeeded {
			end.Reason = "because"
		}
		if how, err = m.Store.FinishTask(m.ctx, is.ID, claim, end, m.record(event.TaskFinished)); mine {
			endsTask(is, end.State)
		}
	}
	fails(rt, "a step of a task", err, false)
	m.same(rt, "a step of a task", how, want)
}

// endsTask ends a task. The session of a program is to be told, and that of a run was there itself.
func endsTask(k *task.Task, as task.State) {
	if k.State = as; k.Kind == task.Process {
		k.Notice = task.Waiting
	}
}

// runs admits a turn of its own session for whoever owns a task.
func (m *model) runs(rt *rapid.T, who principal.Facts) *modelTurn {
	a := m.admission(who, fresh())
	got, err := m.Store.Admit(m.ctx, a, m.records())
	fails(rt, "admit a run", err, false)
	if who.Authority == principal.Conversation {
		m.bound[who.PrincipalID] = got.Session
	}
	return m.admitted(rt, a, got)
}

func (m *model) taskIn(key id.Task) *task.Task {
	return m.tasks[slices.IndexFunc(m.tasks, func(k *task.Task) bool { return k.ID == key })]
}

func (m *model) recoversTasks(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "rarely") != 0 {
		rt.Skip("not now")
	}
	epoch := one(rt, "epoch", []id.Epoch{m.epoch, m.epoch, "epo_next"})
	var want []task.Recovered
	for _, k := range m.tasks {
		if k.State.Held() && (k.Claim.Epoch != epoch || m.over(k.Claim)) {
			endsTask(k, task.Lost)
			want = append(want, task.Recovered{Task: k.ID, Kind: k.Kind})
		}
	}
	slices.SortFunc(want, func(a, b task.Recovered) int { return cmp.Compare(a.Task, b.Task) })
	got, err := m.Store.RecoverTasks(m.ctx, epoch, m.Clock.Now())
	fails(rt, "RecoverTasks", err, false)
	m.same(rt, "RecoverTasks", fmt.Sprint(got), fmt.Sprint(want))
	if len(want) > 0 {
		m.answers["a task is lost"]++
	}
}

// someone draws who looks after tasks: the operator, or the person whose scope reaches one session.
func (m *model) someone(rt *rapid.T) (by principal.Scope, reaches func(id.Session) bool) {
	if rapid.Bool().Draw(rt, "the operator") {
		return m.operator(m.t), func(id.Session) bool { return true }
	}
	s := m.session(rt)
	return m.scope(m.t, alice(), s), func(of id.Session) bool { return of != "" && of == s }
}

// cancelsTask asks for a task's end, and reads it, as somebody who may not reach it.
func (m *model) cancelsTask(rt *rapid.T) {
	k, want := one(rt, "task", append(m.tasks, &task.Task{ID: "tsk_unknown"})), task.CancelNoted
	by, reaches := m.someone(rt)
	known := k.ID != "tsk_unknown" && reaches(k.Session)
	switch {
	case !known:
		want = task.CancelNoTask
	case k.State.Ended():
		want = task.CancelEnded
	case k.Unwanted:
		want = task.CancelBefore
	case k.State == task.Queued:
		want, k.Unwanted = task.CancelDone, true
		endsTask(k, task.Cancelled)
	default:
		k.Unwanted = true
	}
	_, how, err := m.Store.CancelTask(m.ctx, by, "", k.ID, m.record(event.TaskCancelAsked))
	fails(rt, "CancelTask", err, false)
	m.same(rt, "CancelTask", how, want)
	_, found, err := m.Store.Task(m.ctx, by, "", k.ID)
	fails(rt, "Task", err, false)
	m.same(rt, "a task is seen by its owner and the operator", found, known)
}

// tellsOfTasks tells a turn of what its session has not heard, or of some task that it has nothing to hear of.
func (m *model) tellsOfTasks(rt *rapid.T) {
	t, l := m.turnUnder(rt)
	by, reaches := m.someone(rt)
	var want, of []id.Task
	for _, k := range m.tasks {
		if k.Session == t.session && k.Notice == task.Waiting && reaches(t.session) && len(want) < 2 {
			want = append(want, k.ID)
		}
	}
	news, err := m.Store.Untold(m.ctx, by, t.session, 2)
	fails(rt, "Untold", err, false)
	for _, n := range news {
		of = append(of, n.Task)
	}
	m.same(rt, "Untold", fmt.Sprint(of), fmt.Sprint(want))
	if len(m.tasks) > 0 && (len(of) == 0 || rapid.IntRange(0, 4).Draw(rt, "another") == 0) {
		of = append(of, one(rt, "task", m.tasks).ID)
	}
	if len(of) == 0 {
		return
	}
	fenced, told := m.fenced(t, l.claim), map[id.Task]bool{}
	refused := false
	for _, key := range of {
		k := m.taskIn(key)
		refused = refused || told[key] || k.Session != t.session || k.Notice != task.Waiting
		told[key] = true
	}
	refused = refused && fenced == turn.Written
	how, err := m.Store.Tell(m.ctx, l.turn, l.claim, m.message(l, "user", `{"told":true}`), of)
	if fails(rt, "Tell", err, refused); refused {
		return
	}
	if m.same(rt, "Tell", how, fenced); how == turn.Written {
		t.messages++
		for _, key := range of {
			m.taskIn(key).Notice, m.taskIn(key).Told = task.Told, t.turn
		}
	}
}

// endsSession ends a session, after which nothing starts in it.
func (m *model) endsSession(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "rarely") != 0 {
		rt.Skip("not now")
	}
	s, want := m.session(rt), turn.Ended
	by, reaches := m.someone(rt)
	switch {
	case s == "ses_unknown" || !reaches(s):
		want = turn.EndNoSession
	case m.ended[s]:
		want = turn.EndedBefore
	default:
		m.ended[s] = true
		if m.bound[m.owner[s]] == s {
			delete(m.bound, m.owner[s])
		}
		at := m.running(s)
		if at != nil {
			at.cancelled = true
		}
		for _, q := range m.questions {
			switch {
			case at != nil && q.Turn == at.turn && q.State == approval.Pending:
				q.State = approval.Expired
			case q.Session == s && q.Reach == approval.ForSession && q.Revoked.IsZero():
				q.Revoked = m.Clock.Now()
			}
		}
	}
	how, err := m.Store.EndSession(m.ctx, by, s, m.record(event.SessionEnded))
	fails(rt, "EndSession", err, false)
	m.same(rt, "EndSession", how, want)
}

// agreesOnTasks compares the tasks.
func (m *model) agreesOnTasks(rt *rapid.T) {
	all, err := m.Store.Tasks(m.ctx, m.operator(m.t), "", "", 0, 500)
	fails(rt, "list tasks", err, false)
	m.same(rt, "tasks", len(all), len(m.tasks))
	for _, k := range m.tasks {
		got := m.taskOf(m.t, k.ID)
		m.same(rt, "state of a task", got.State, k.State)
		m.same(rt, "session of a task", got.Session, k.Session)
		m.same(rt, "turn of a task", got.Turn, k.Turn)
		m.same(rt, "a task is wanted", got.Unwanted, k.Unwanted)
		m.same(rt, "notice of a task", got.Notice, k.Notice)
		m.same(rt, "who was told of a task", got.Told, k.Told)
		m.same(rt, "lines that a task logged", got.LogLines, k.LogLines)
	}
}
