package storetest

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"pgregory.net/rapid"
)

// Model walks one store through random sequences of calls beside a model of it: a few maps and the rules of the contract,
// written down a second time and in the plainest way. [Compare] finds where two stores differ; this finds where both are
// wrong. PORTCULLIS_COMPARE sets the number of sequences.
func Model(t *testing.T, open Opener) {
	n, answers := checks(t), map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		h, done := open(t)
		defer done()
		m := &model{
			t: t, world: newWorld(t, h), answers: answers, bound: map[string]id.Session{}, owner: map[id.Session]string{}, fences: map[id.Session]int64{},
			turns: map[id.Turn]*modelTurn{}, keys: map[string]*modelTurn{}, effects: map[id.Effect]*modelEffect{},
			questions: map[id.Approval]*approval.Question{}, values: map[string]modelValue{}, retired: map[string]int64{},
			owed: map[id.Delivery]*outbox.Delivery{}, ended: map[id.Session]bool{},
		}
		m.ids = id.NewSource(h.Clock.Now, rand.New(rand.NewSource(1))) // the same ids whenever a sequence is replayed
		m.epoch = m.ids.Epoch()
		rt.Repeat(map[string]func(*rapid.T){
			"admit": m.admits, "append": m.appends, "finish": m.finishes, "extend": m.extends, "cancel": m.cancels, "note cancel": m.notesCancel, "recover": m.recovers,
			"start effect": m.startsEffect, "finish effect": m.finishesEffect, "resolve": m.resolves,
			"ask": m.asks, "decide": m.decides, "revoke": m.revokes, "keep value": m.keepsValue, "advance": m.advances,
			"claim delivery": m.claimsDelivery, "step delivery": m.stepsDelivery, "recover deliveries": m.recoversDeliveries,
			"rule on delivery": m.rulesOnDelivery,
			"queue task":       m.queuesTask, "fire schedule": m.firesSchedule, "claim task": m.claimsTask, "step task": m.stepsTask, "recover tasks": m.recoversTasks,
			"cancel task": m.cancelsTask, "tell of tasks": m.tellsOfTasks, "end session": m.endsSession,
		})
		m.agrees(rt)
	})
	total, kinds := 0, 0
	for _, a := range everyAnswer {
		total += answers[a]
		if answers[a] > 0 {
			kinds++
		} else if n >= 10_000 {
			t.Errorf("no sequence came to the answer %q", a)
		}
	}
	t.Logf("model: %d sequences, %d answers of %d of %d kinds", n, total, kinds, len(everyAnswer))
}

// everyAnswer is what ten thousand sequences must come to: a model that is never led into a corner proves little.
var everyAnswer = []string{
	"Admit admitted", "Admit duplicate", "Admit conflict", "Admit busy", "Admit not_found", "Append written", "Append stale",
	"Append already_ended", "Extend written", "Extend stale", "Finish written", "Finish stale", "Finish already_ended",
	"RequestCancel noted", "RequestCancel noted_before", "RequestCancel was_ended",
	"NoteCancel written", "NoteCancel stale", "NoteCancel already_ended",
	"Decide recorded", "Decide already_decided", "Decide expired", "Revoke recorded", "Revoke not_allowance", "Revoke already_decided",
	"EffectStarted begun", "EffectStarted approval_missing", "EffectStarted approval_used", "EffectStarted approval_revoked",
	"EffectStarted approval_other", "EffectStarted approval_expired",
	"ResolveEffect settled", "ResolveEffect settled_before", "ResolveEffect not_uncertain",
	"a step of a delivery written", "a step of a delivery stale", "RequeueDelivery recorded", "RequeueDelivery not_thus",
	"DropDelivery recorded", "DropDelivery not_thus",
	"Admit ended", "EffectStarted session_ended", "EndSession ended", "EndSession ended_before", "EndSession not_found",
	"QueueTask accepted", "QueueTask duplicate", "QueueTask scope_busy", "QueueTask too_many", "QueueTask no_owner",
	"FireSchedule accepted", "FireSchedule duplicate", "FireSchedule scope_busy", "FireSchedule passed",
	"a step of a task written", "a step of a task stale", "a task is lost",
	"CancelTask cancelled", "CancelTask noted", "CancelTask noted_before", "CancelTask was_ended", "CancelTask not_found",
	"Tell written", "Tell stale", "Tell already_ended",
}

// model is what the store should hold.
type model struct {
	t *testing.T
	*world
	answers   map[string]int        // how often the store gave each
	bound     map[string]id.Session // of each person
	owner     map[id.Session]string
	fences    map[id.Session]int64
	turns     map[id.Turn]*modelTurn
	order     []*modelTurn          // as they were admitted
	keys      map[string]*modelTurn // "<person> <request key>"
	requests  []id.Request
	effects   map[id.Effect]*modelEffect
	started   []id.Effect
	questions map[id.Approval]*approval.Question
	asked     []id.Approval
	values    map[string]modelValue
	retired   map[string]int64 // of each scope: the highest version that is gone
	owed      map[id.Delivery]*outbox.Delivery
	queue     []*outbox.Delivery // as they were made
	held      []outbox.Delivery  // as they were claimed
	ended     map[id.Session]bool
	tasks     []*task.Task // as they were queued
	worked    []task.Task  // as they were claimed
	cursor    modelCursor  // of the one schedule
}

type modelTurn struct {
	live
	person    principal.Facts
	digest    string
	outcome   turn.Outcome // empty: it runs
	messages  int
	cancelled bool
}

type modelEffect struct {
	effect.Started
	status  effect.Status // empty: open
	verdict effect.Verdict
}

type modelValue struct {
	value   string
	version int64
}

// over reports whether a claim has ended by its own time.
func (m *model) over(c lease.Claim) bool { return !c.Expires.After(m.Clock.Now()) }

// running is the turn that runs in a session, nil when none does.
func (m *model) running(s id.Session) *modelTurn {
	for _, t := range m.order {
		if t.session == s && t.outcome == "" {
			return t
		}
	}
	return nil
}

// fenced is how a write of t under c must be taken.
func (m *model) fenced(t *modelTurn, c lease.Claim) turn.Fenced {
	switch {
	case t.outcome != "":
		return turn.AlreadyEnded
	case c.Token != t.claim.Token || c.Epoch != t.claim.Epoch || c.Fence != t.claim.Fence || m.over(t.claim):
		return turn.Stale
	}
	return turn.Written
}

// end ends t with what is open under it. An empty outcome is that of a turn whose host is gone.
func (m *model) end(t *modelTurn, as turn.Outcome) (open int) {
	unsure := false
	for _, e := range m.effects {
		if e.Turn == t.turn && e.status == "" {
			open++
			m.uncertain(e)
		}
		unsure = unsure || e.Turn == t.turn && e.status == effect.Indeterminate
	}
	for _, q := range m.questions {
		if q.Turn == t.turn && q.State == approval.Pending {
			q.State = approval.Expired
		}
	}
	switch {
	case as != "":
	case unsure:
		as = turn.Indeterminate
	case t.cancelled:
		as = turn.Cancelled
	default:
		as = turn.Lost
	}
	t.outcome = as
	return open
}

// uncertain ends e as nobody knows how; a tool that says that this does no harm settles it.
func (m *model) uncertain(e *modelEffect) {
	e.status = effect.Indeterminate
	switch e.Recovery {
	case "read":
		e.verdict = effect.NothingToDo
	case "idempotent":
		e.verdict = effect.MayBeRepeated
	}
}

// same fails when the store's answer is not the model's. Answers that are words are counted.
func (m *model) same(rt *rapid.T, what string, got, want any) {
	rt.Helper()
	if got != want {
		rt.Fatalf("%s: the store says %v, the model %v", what, got, want)
	}
	if reflect.ValueOf(got).Kind() == reflect.String {
		m.answers[fmt.Sprint(what, " ", got)]++
	}
}

// fails fails unless the store refused exactly when the model does.
func fails(rt *rapid.T, what string, err error, want bool) {
	rt.Helper()
	if (err != nil) != want {
		rt.Fatalf("%s: the store says %v, the model that it is refused: %v", what, err, want)
	}
}

// agrees compares all that an operator can read.
func (m *model) agrees(rt *rapid.T) {
	by, ends := m.operator(m.t), map[id.Turn]int{}
	for _, k := range []event.Kind{event.TurnFinished, event.TurnRecovered} {
		recs := m.events(m.t, turn.EventQuery{Kind: k})
		for _, r := range recs {
			ends[r.Turn]++
		}
	}
	messages := map[id.Session]int{}
	for _, t := range m.order {
		rec := m.turnOf(m.t, t.turn)
		m.same(rt, fmt.Sprint("outcome of ", t.turn), rec.Outcome, t.outcome)
		m.same(rt, "session of a turn", rec.Session, t.session)
		m.same(rt, "a turn has one end in the audit exactly when it has ended", ends[t.turn] == 1, t.outcome != "")
		messages[t.session] += t.messages
		effects, err := m.Store.Effects(m.ctx, by, t.turn)
		fails(rt, "list effects", err, false)
		n := 0
		for _, e := range effects {
			n++
			want := m.effects[e.ID]
			if want == nil || want.Turn != t.turn {
				rt.Fatalf("effect %s of %s is not in the model", e.ID, t.turn)
			}
			m.same(rt, "status of an effect", e.Status, want.status)
			m.same(rt, "what is settled about an effect", e.Resolution.Verdict, want.verdict)
		}
		for _, e := range m.effects {
			if e.Turn == t.turn {
				n--
			}
		}
		m.same(rt, "effects of a turn", n, 0)
	}
	for s, n := range messages {
		window, err := m.Store.Window(m.ctx, by, s, 1000, 1<<20)
		fails(rt, "window", err, false)
		m.same(rt, "messages of a session", len(window), n)
	}
	for _, q := range m.questions {
		got, found, err := m.Store.Question(m.ctx, by, q.ID)
		fails(rt, "read a question", err, !found)
		m.same(rt, "state of a question", got.State, q.State)
		m.same(rt, "a question was used", got.Used.IsZero(), q.Used.IsZero())
		m.same(rt, "an answer was taken back", got.Revoked.IsZero(), q.Revoked.IsZero())
	}
	for _, d := range m.queue {
		got, found, err := m.Store.Delivery(m.ctx, by, d.ID)
		fails(rt, "read a delivery", err, !found)
		m.same(rt, "state of a delivery", got.State, d.State)
		m.same(rt, "attempts of a delivery", got.Attempts, d.Attempts)
	}
	all, err := m.Store.Deliveries(m.ctx, by, "", 0, 500)
	fails(rt, "list deliveries", err, false)
	m.same(rt, "deliveries", len(all), len(m.queue))
	m.agreesOnTasks(rt)
}
