package storetest

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"pgregory.net/rapid"
)

// Opener opens an empty store; the function it returns closes it.
type Opener func(t testing.TB) (Harness, func())

// Compare walks two stores through the same random sequences of calls and fails at the first answer in which they
// differ. Everything drawn is from small sets, so that keys collide, claims go stale and sessions are contended for.
// PORTCULLIS_COMPARE sets the number of sequences; without it there are few.
func Compare(t *testing.T, left, right Opener) {
	n := checks(t)
	rapid.Check(t, func(rt *rapid.T) {
		l, closeLeft := left(t)
		defer closeLeft()
		r, closeRight := right(t)
		defer closeRight()
		p := &pair{t: t, l: newWorld(t, l), r: newWorld(t, r)}
		p.ids = id.NewSource(l.Clock.Now, rand.New(rand.NewSource(1))) // the same ids whenever a sequence is replayed
		p.epoch = p.ids.Epoch()
		for _, w := range []*world{p.l, p.r} {
			w.ids, w.epoch = p.ids, p.epoch
		}
		rt.Repeat(map[string]func(*rapid.T){
			"admit": p.admit, "append": p.append, "finish": p.finish, "extend": p.extend, "start effect": p.startEffect,
			"finish effect": p.finishEffect, "resolve": p.resolve, "reconcile": p.reconcile, "ask": p.ask, "decide": p.decide, "revoke": p.revoke, "recover": p.recover, "cancel": p.cancel, "note cancel": p.noteCancel, "end": p.end, "advance": p.advance,
			"requested": p.requested, "observe": p.observe, "keep value": p.keepValue, "grant": p.grant, "record": p.record, "read": p.read, "disown": p.disown,
			"claim delivery": p.claimDelivery, "step delivery": p.stepDelivery, "recover deliveries": p.recoverDeliveries, "rule on delivery": p.ruleDelivery,
			"queue task": p.queueTask, "fire schedule": p.fireSchedule, "claim task": p.claimTask, "step task": p.stepTask, "recover tasks": p.recoverTasks,
			"cancel task": p.cancelTask, "tell of tasks": p.tellTasks, "read task": p.readTask,
		})
		p.everything(rt)
	})
	t.Logf("compare: %d sequences", n)
}

// checks sets how many sequences rapid draws, and returns it.
func checks(t *testing.T) int {
	t.Helper()
	text := "25"
	if more := os.Getenv("PORTCULLIS_COMPARE"); more != "" {
		text = more
	}
	n, err := strconv.Atoi(text)
	if err == nil {
		err = flag.Set("rapid.checks", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pair is two stores and what was put into both.
type pair struct {
	t         *testing.T
	l, r      *world
	ids       *id.Source
	epoch     id.Epoch
	requests  []id.Request
	turns     []live
	effects   []effect.Started
	questions []approval.Question
	disowned  map[id.Session]bool
	decisions []id.Decision
	owed      []id.Delivery
	held      []outbox.Delivery
	tasks     []task.Task
	run       []task.Task // as they were claimed
}

// both calls both stores and returns what they agree on.
func (p *pair) both(rt *rapid.T, what string, call func(w *world) (any, error)) any {
	a, errA := call(p.l)
	b, errB := call(p.r)
	if (errA == nil) != (errB == nil) {
		rt.Fatalf("%s: one store failed\n left: %v\nright: %v", what, errA, errB)
	}
	if a, b = anonymous(a), anonymous(b); !reflect.DeepEqual(a, b) {
		rt.Fatalf("%s: the answers differ\n left: %+v\nright: %+v", what, a, b)
	}
	return a
}

// anonymous blanks the ids that each store makes for its own records.
func anonymous(v any) any {
	if recs, ok := v.([]event.Record); ok {
		for i := range recs {
			recs[i].ID = ""
		}
	}
	return v
}

func one[T any](rt *rapid.T, what string, from []T) T {
	if len(from) == 0 {
		rt.Skip("none yet")
	}
	return rapid.SampledFrom(from).Draw(rt, what)
}

func (p *pair) person(rt *rapid.T) principal.Facts {
	return one(rt, "person", []principal.Facts{alice(), bob(), operatorFacts()})
}

// session draws one that is there, or one that is not.
func (p *pair) session(rt *rapid.T) id.Session {
	known := []id.Session{"ses_unknown"}
	for _, l := range p.turns {
		known = append(known, l.session)
	}
	return one(rt, "session", known)
}

// scope draws who asks: a person in the session, or an operator.
func (p *pair) scope(rt *rapid.T) func(w *world) principal.Scope {
	f, s := p.person(rt), p.session(rt)
	return func(w *world) principal.Scope {
		if f.Authority == principal.Operator {
			return w.operator(p.t)
		}
		return w.scope(p.t, f, s)
	}
}

// live draws a turn, sometimes under the claim of another.
func (p *pair) live(rt *rapid.T) live {
	l := one(rt, "turn", p.turns)
	if rapid.IntRange(0, 4).Draw(rt, "foreign claim") == 0 {
		l.claim = one(rt, "claim of", p.turns).claim
	}
	return l
}

func (p *pair) admit(rt *rapid.T) {
	sel := turn.Selector{Kind: one(rt, "select", []turn.Select{turn.Bound, turn.Bound, turn.Fresh, turn.Resume})}
	if sel.Kind == turn.Resume {
		sel.Session = p.session(rt)
	}
	a := p.l.admission(p.person(rt), sel)
	if len(p.requests) > 0 && rapid.IntRange(0, 3).Draw(rt, "old key") == 0 {
		a.Request = one(rt, "request", p.requests)
	}
	a.Digest = one(rt, "digest", []string{"d1", "d1", "d2"})
	a.Claim.Epoch = one(rt, "epoch", []id.Epoch{p.epoch, p.epoch, "epo_before"})
	r := p.l.records()
	got := p.both(rt, "Admit", func(w *world) (any, error) { return w.Store.Admit(w.ctx, a, r) }).(turn.Admittance)
	p.requests = append(p.requests, a.Request)
	if got.Disposition == turn.Admitted {
		p.turns = append(p.turns, live{a.Turn, got.Session, got.Claim})
	}
}

func (p *pair) append(rt *rapid.T) {
	l := p.live(rt)
	var m []turn.Message
	for range rapid.IntRange(1, 3).Draw(rt, "messages") {
		body := one(rt, "body", []string{`{}`, `"some text"`, `[1,2,3]`, `{"a":{"b":"c"}}`})
		m = append(m, p.l.message(l, one(rt, "role", []string{"user", "assistant", "tool"}), body))
	}
	p.both(rt, "Append", func(w *world) (any, error) { return w.Store.Append(w.ctx, l.turn, l.claim, m) })
}

func (p *pair) finish(rt *rapid.T) {
	l := p.live(rt)
	end := p.l.terminal(l, one(rt, "outcome", []turn.Outcome{turn.Completed, turn.Completed, turn.NeedsUser, turn.Failed, turn.Cancelled, turn.Indeterminate, "odd"}))
	if rapid.IntRange(0, 9).Draw(rt, "elsewhere") == 0 {
		end.Session = p.session(rt)
	}
	if rapid.Bool().Draw(rt, "owes") && end.Reply != "" {
		to := one(rt, "to", []principal.Facts{alice(), bob()})
		end.Deliveries = []turn.Delivery{{ID: p.ids.Delivery(), Channel: to.Channel, Conversation: to.ConversationKey, Body: end.Reply}}
		p.owed = append(p.owed, end.Deliveries[0].ID)
	}
	r := p.l.record(event.TurnFinished)
	p.both(rt, "Finish", func(w *world) (any, error) { return w.Store.Finish(w.ctx, end, r) })
}

func (p *pair) extend(rt *rapid.T) {
	l := p.live(rt)
	until := p.l.Clock.Now().Add(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
	p.both(rt, "Extend", func(w *world) (any, error) { return w.Store.Extend(w.ctx, l.session, l.claim, until) })
}

func (p *pair) startEffect(rt *rapid.T) {
	s := p.l.started(p.live(rt))
	s.Recovery = one(rt, "recovery", []string{"read", "idempotent", "reconcile", "manual"})
	if len(p.effects) > 0 && rapid.IntRange(0, 9).Draw(rt, "again") == 0 {
		s.Effect = one(rt, "effect", p.effects).Effect
	}
	if len(p.questions) > 0 && rapid.Bool().Draw(rt, "under an approval") {
		q := one(rt, "approval", p.questions)
		s.Approval, s.Digest = q.ID, one(rt, "digest", []string{q.Digest, q.Digest, q.Digest, "e"})
		s.Tool, s.Plugin = one(rt, "tool", []string{q.Tool, q.Tool, q.Tool, "x"}), q.Plugin
		if rapid.Bool().Draw(rt, "its own effect") {
			s.Effect, s.Session, s.Turn = q.Effect, q.Session, q.Turn
		}
	}
	r := p.l.record(event.EffectStarted)
	p.both(rt, "EffectStarted", func(w *world) (any, error) { return w.Store.EffectStarted(w.ctx, s, r) })
	p.effects = append(p.effects, s)
}

func (p *pair) finishEffect(rt *rapid.T) {
	f := p.l.finished(one(rt, "effect", p.effects), one(rt, "status", []effect.Status{
		effect.Succeeded, effect.Denied, effect.Failed, effect.Cancelled, effect.Indeterminate, effect.NotFound,
	}))
	if f.Started = rapid.IntRange(0, 3).Draw(rt, "not started") != 0; !f.Started {
		f.Effect = p.ids.Effect()
	}
	r := p.l.record(event.EffectFinished)
	p.both(rt, "EffectFinished", func(w *world) (any, error) { return nil, w.Store.EffectFinished(w.ctx, f, r) })
}

type settling struct {
	effect effect.Record
	how    effect.Settling
}

func (p *pair) resolve(rt *rapid.T) {
	e, by := one(rt, "effect", p.effects).Effect, p.scope(rt)
	as := effect.Resolution{Reason: one(rt, "reason", []string{"looked", ""}), At: p.l.Clock.Now()}
	as.Verdict = one(rt, "verdict", []effect.Verdict{effect.Happened, effect.NotHappened, effect.NothingToDo})
	r := p.l.record(event.EffectResolved)
	p.both(rt, "ResolveEffect", func(w *world) (any, error) {
		got, how, err := w.Store.ResolveEffect(w.ctx, by(w), e, as, r)
		return settling{got, how}, err
	})
}

// reconcile settles an effect as its tool says, or as another would.
func (p *pair) reconcile(rt *rapid.T) {
	e := one(rt, "effect", p.effects)
	as := effect.Resolution{
		Verdict: one(rt, "verdict", []effect.Verdict{effect.Happened, effect.NotHappened}), At: p.l.Clock.Now(),
		Reason:    one(rt, "reason", []string{effect.ReasonCommitted, effect.ReasonNotFound}),
		By:        effect.ReconciledBy(one(rt, "plugin", []string{e.Plugin, e.Plugin, "other@1.0.0"})),
		Reference: one(rt, "reference", []string{"", "msg-1"}),
	}
	r := p.l.record(event.EffectResolved)
	p.both(rt, "Unsettled", func(w *world) (any, error) { return w.Store.Unsettled(w.ctx, e.Turn) })
	p.both(rt, "Reconciled", func(w *world) (any, error) { return w.Store.Reconciled(w.ctx, e.Effect, as, r) })
}

func (p *pair) ask(rt *rapid.T) {
	q := p.l.question(p.live(rt))
	q.Cacheable = rapid.Bool().Draw(rt, "cacheable")
	q.Principal = one(rt, "for", []string{alice().PrincipalID, bob().PrincipalID, "principal:test"})
	q.Approvers = one(rt, "approvers", [][]string{nil, nil, {bob().PrincipalID}})
	r := p.l.record(event.ApprovalAsked)
	p.both(rt, "Ask", func(w *world) (any, error) { return nil, w.Store.Ask(w.ctx, q, r) })
	p.questions = append(p.questions, q)
}

type decision struct {
	question approval.Question
	how      approval.Recording
}

func (p *pair) decide(rt *rapid.T) {
	q, by := one(rt, "question", p.questions), p.scope(rt)
	ans := one(rt, "answer", []approval.Answer{
		denial(), allow(approval.Once), allow(approval.ForSession), {State: approval.Expired}, {State: "perhaps"},
	})
	own := rapid.Bool().Draw(rt, "in one's own name")
	now := p.l.Clock.Now().Add(time.Duration(rapid.IntRange(-60, 60).Draw(rt, "seconds")) * time.Second)
	r := p.l.record(event.ApprovalDecided)
	p.both(rt, "Decide", func(w *world) (any, error) {
		ans := ans
		if own && ans.By != "" {
			ans.By = by(w).PrincipalID()
		}
		got, how, err := w.Store.Decide(w.ctx, by(w), q.ID, ans, now, r)
		return decision{got, how}, err
	})
}

func (p *pair) revoke(rt *rapid.T) {
	q, by := one(rt, "question", p.questions), p.scope(rt)
	r := p.l.record(event.ApprovalRevoked)
	p.both(rt, "Revoke", func(w *world) (any, error) {
		got, how, err := w.Store.Revoke(w.ctx, by(w), q.ID, w.Clock.Now(), r)
		return decision{got, how}, err
	})
}

func (p *pair) recover(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "rarely") != 0 {
		rt.Skip("not now")
	}
	epoch := one(rt, "epoch", []id.Epoch{p.epoch, p.epoch, "epo_next"})
	p.both(rt, "Recover", func(w *world) (any, error) { return w.Store.Recover(w.ctx, epoch, w.Clock.Now()) })
}

func (p *pair) cancel(rt *rapid.T) {
	l, by := p.live(rt), p.scope(rt)
	r := p.l.record(event.TurnCancelAsked)
	p.both(rt, "RequestCancel", func(w *world) (any, error) { return w.Store.RequestCancel(w.ctx, by(w), l.turn, r) })
	p.both(rt, "CancelRequested", func(w *world) (any, error) { return w.Store.CancelRequested(w.ctx, l.turn) })
}

func (p *pair) noteCancel(rt *rapid.T) {
	l := p.live(rt)
	r := p.l.record(event.TurnCancelAsked)
	r.Principal, r.Turn = "principal:conversation:telegram:1", l.turn
	p.both(rt, "NoteCancel", func(w *world) (any, error) { return w.Store.NoteCancel(w.ctx, l.turn, l.claim, r) })
}

func (p *pair) end(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "rarely") != 0 {
		rt.Skip("not now")
	}
	l, by := p.live(rt), p.scope(rt)
	r := p.l.record(event.SessionEnded)
	p.both(rt, "EndSession", func(w *world) (any, error) { return w.Store.EndSession(w.ctx, by(w), l.session, r) })
}

func (p *pair) advance(rt *rapid.T) {
	d := time.Duration(rapid.IntRange(1, 40_000).Draw(rt, "milliseconds")) * time.Millisecond
	p.l.Clock.Advance(d)
	p.r.Clock.Advance(d)
}

type kept struct {
	value   string
	version int64
	ok      bool
	entries any
	more    bool
}

func (p *pair) keepValue(rt *rapid.T) {
	s := scopeOf(one(rt, "plugin", []string{"notes", "calc"}), one(rt, "principal", []string{"alice", "bob"}))
	if len(p.turns) > 0 {
		s.Turn = one(rt, "turn", p.turns).turn
	}
	key := one(rt, "key", []string{"a", "ab", "b", "", "\xff"})
	var condition *int64
	if rapid.Bool().Draw(rt, "conditional") {
		condition = at(rapid.Int64Range(0, 3).Draw(rt, "version"))
	}
	value := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "value")
	limit := rapid.IntRange(0, 3).Draw(rt, "limit")
	act := one(rt, "act", []string{"set", "set", "delete", "get", "list"})
	p.both(rt, act, func(w *world) (any, error) {
		var k kept
		var err error
		switch act {
		case "set":
			k.version, k.ok, err = w.Store.Set(w.ctx, s, key, value, condition)
		case "delete":
			k.ok, err = w.Store.Delete(w.ctx, s, key, condition)
		case "get":
			var v []byte
			v, k.version, err = w.Store.Get(w.ctx, s, key)
			k.value = string(v)
		case "list":
			k.entries, k.more, err = w.Store.List(w.ctx, s, key, "a", limit)
			k.entries = fmt.Sprint(k.entries)
		}
		return k, err
	})
}

func (p *pair) grant(rt *rapid.T) {
	by := p.scope(rt)
	g := grant(p.t, one(rt, "grant", []string{"kv", "fs.read", "net.fetch:*"}))
	add := rapid.Bool().Draw(rt, "add")
	r := p.l.record(event.PluginGranted)
	p.both(rt, "grant", func(w *world) (any, error) {
		if add {
			return w.Store.GrantPlugin(w.ctx, by(w), "calc", g, r)
		}
		return w.Store.RevokePlugin(w.ctx, by(w), "calc", g, r)
	})
	p.both(rt, "PluginGrants", func(w *world) (any, error) {
		got, err := w.Store.PluginGrants(w.ctx, "calc")
		return got.Strings(), err
	})
}

func (p *pair) record(rt *rapid.T) {
	r := p.l.record(one(rt, "kind", []event.Kind{event.EgressDecided, event.PluginInstalled, ""}))
	r.Session = p.session(rt)
	r.Fields = []event.Field{event.F("n", rapid.String().Draw(rt, "text"))}
	p.both(rt, "Record", func(w *world) (any, error) { return nil, w.Store.Record(w.ctx, r) })
}

func (p *pair) disown(rt *rapid.T) {
	s := p.session(rt)
	if rapid.IntRange(0, 4).Draw(rt, "rarely") != 0 || s == "ses_unknown" || p.disowned[s] {
		rt.Skip("not now")
	}
	if p.disowned == nil {
		p.disowned = map[id.Session]bool{}
	}
	p.disowned[s] = true
	take := func(w *world) func(testing.TB, id.Session) { return w.Disown }
	if rapid.Bool().Draw(rt, "doubt") {
		take = func(w *world) func(testing.TB, id.Session) { return w.Doubt }
	}
	take(p.l)(p.t, s)
	take(p.r)(p.t, s)
}
