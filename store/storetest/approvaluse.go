package storetest

import (
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// allowed asks a question of l and allows it.
func (w *world) allowed(t testing.TB, l live, reach approval.Reach) approval.Question {
	t.Helper()
	q := w.ask(t, l)
	q, how, err := w.Store.Decide(w.ctx, w.operator(t), q.ID, allow(reach), w.Clock.Now(), w.record(event.ApprovalDecided))
	if err != nil || how != approval.Recorded {
		t.Fatal(how, err)
	}
	return q
}

// carries is the start of the effect that q was asked about.
func (w *world) carries(l live, q approval.Question) effect.Started {
	s := w.started(l)
	s.Effect, s.Tool, s.Plugin, s.Digest, s.Approval = q.Effect, q.Tool, q.Plugin, q.Digest, q.ID
	return s
}

// starts tries to start an effect and wants an answer. Only Begun leaves a row and a record.
func (w *world) starts(t testing.TB, name string, s effect.Started, want effect.Start) {
	t.Helper()
	rows := func() (int, int) {
		recs, err := w.Store.Effects(w.ctx, w.operator(t), s.Turn)
		if err != nil {
			t.Fatal(err)
		}
		return len(recs), len(w.events(t, turn.EventQuery{Kind: event.EffectStarted}))
	}
	effects, records := rows()
	how, err := w.Store.EffectStarted(w.ctx, s, w.record(event.EffectStarted))
	if err != nil || how != want {
		t.Errorf("%s: %s, %v, want %s", name, how, err, want)
	}
	if want == effect.Begun {
		effects, records = effects+1, records+1
	}
	if e, r := rows(); e != effects || r != records {
		t.Errorf("%s: %d effects and %d records, want %d and %d", name, e, r, effects, records)
	}
}

func approvalUsed(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	pending, denied := w.ask(t, l), w.ask(t, l)
	if _, how, err := w.Store.Decide(w.ctx, w.operator(t), denied.ID, denial(), w.Clock.Now(), w.record(event.ApprovalDecided)); how != approval.Recorded || err != nil {
		t.Fatal(how, err)
	}
	w.starts(t, "pending", w.carries(l, pending), effect.ApprovalMissing)
	w.starts(t, "denied", w.carries(l, denied), effect.ApprovalMissing)
	q := w.allowed(t, l, approval.Once)
	change := func(name string, change func(*effect.Started), want effect.Start) {
		t.Helper()
		s := w.carries(l, q)
		change(&s)
		w.starts(t, name, s, want)
	}
	change("unknown", func(s *effect.Started) { s.Approval = w.ids.Approval() }, effect.ApprovalMissing)
	change("another session", func(s *effect.Started) { s.Session, s.Turn = other.session, other.turn }, effect.ApprovalMissing)
	change("another tool", func(s *effect.Started) { s.Tool = "mail.read" }, effect.ApprovalOther)
	change("another plugin", func(s *effect.Started) { s.Plugin = "mail@2.0.0" }, effect.ApprovalOther)
	change("another effect", func(s *effect.Started) { s.Effect = w.ids.Effect() }, effect.ApprovalOther)
	change("another input", func(s *effect.Started) { s.Digest = "e" }, effect.ApprovalOther)
	change("at its end", func(s *effect.Started) { s.At = q.Expires }, effect.ApprovalExpired)
	w.Clock.Advance(time.Second)
	used := w.carries(l, q)
	w.starts(t, "itself", used, effect.Begun)
	got, _, err := w.Store.Question(w.ctx, w.operator(t), q.ID)
	q.Used = millis(used.At)
	if err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("%v: the question is %+v\nwant %+v", err, got, q)
	}
	change("again", func(*effect.Started) {}, effect.ApprovalUsed)
	change("again, as another effect", func(s *effect.Started) { s.Effect = w.ids.Effect() }, effect.ApprovalUsed)

	raced := w.allowed(t, l, approval.Once)
	var wg sync.WaitGroup
	begun := make(chan effect.Start, 8)
	for range cap(begun) {
		wg.Go(func() {
			how, err := w.Store.EffectStarted(w.ctx, w.carries(l, raced), w.record(event.EffectStarted))
			if err != nil {
				t.Error(err)
			}
			begun <- how
		})
	}
	wg.Wait()
	close(begun)
	count := map[effect.Start]int{}
	for how := range begun {
		count[how]++
	}
	if count[effect.Begun] != 1 || count[effect.ApprovalUsed] != 7 {
		t.Errorf("eight starts under one answer for once: %v", count)
	}
}

func allowanceUsed(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	q := w.allowed(t, l, approval.ForSession)
	later := func(change func(*effect.Started)) effect.Started {
		s := w.carries(l, q)
		s.Effect, s.Digest = w.ids.Effect(), "another"
		change(&s)
		return s
	}
	own := w.carries(l, q)
	own.Digest = "e"
	w.starts(t, "its own effect with another input", own, effect.ApprovalOther)
	w.starts(t, "its own effect", w.carries(l, q), effect.Begun)
	w.starts(t, "its own effect again", w.carries(l, q), effect.ApprovalUsed)
	for range 2 {
		w.starts(t, "a later call", later(func(*effect.Started) {}), effect.Begun)
	}
	w.starts(t, "a later call past the deadline of the answer", later(func(s *effect.Started) { s.At = q.Expires.Add(time.Hour) }), effect.Begun)
	w.starts(t, "a call of another tool", later(func(s *effect.Started) { s.Tool = "mail.read" }), effect.ApprovalOther)
}

// Who may decide: the operator, those whom the question names, else the one for whom it would run. Anybody else leaves
// it as it was, and the attempt is on record under their own name.
func whoDecides(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	carol := alice() // in the same conversation, and so in the same session
	carol.PrincipalID = "principal:conversation:chat:carol"
	people := map[string]principal.Scope{
		"alice": w.scope(t, alice(), l.session), "carol": w.scope(t, carol, l.session),
		"bob": w.scope(t, bob(), other.session), "operator": w.operator(t),
	}
	for _, c := range []struct {
		name      string
		approvers []string
		may       string
		blind     string // who is told that there is no such question
	}{
		{"nobody is named", nil, "alice operator", "bob"},
		{"bob is named", []string{bob().PrincipalID}, "bob operator", ""},
		{"carol and alice are named", []string{carol.PrincipalID, alice().PrincipalID}, "alice carol operator", "bob"},
	} {
		for name, by := range people {
			q := w.question(l)
			q.Principal, q.Approvers = alice().PrincipalID, c.approvers
			if err := w.Store.Ask(w.ctx, q, w.record(event.ApprovalAsked)); err != nil {
				t.Fatal(err)
			}
			want, state := approval.NotApprover, approval.Pending
			switch {
			case strings.Contains(c.may, name):
				want, state = approval.Recorded, approval.Allowed
			case name == c.blind:
				want = approval.NotFound
			}
			before := len(w.events(t, turn.EventQuery{Kind: event.ApprovalRefused})) + len(w.events(t, turn.EventQuery{Kind: event.LookupDenied}))
			ans := allow(approval.ForSession)
			ans.By = by.PrincipalID()
			_, how, err := w.Store.Decide(w.ctx, by, q.ID, ans, w.Clock.Now(), w.record(event.ApprovalDecided))
			now, _, errNow := w.Store.Question(w.ctx, w.operator(t), q.ID)
			if how != want || err != nil || errNow != nil || now.State != state {
				t.Errorf("%s: %s decides: %s, %v; the question is %s, %v", c.name, name, how, err, now.State, errNow)
			}
			refused := w.events(t, turn.EventQuery{Kind: event.ApprovalRefused})
			if after := len(refused) + len(w.events(t, turn.EventQuery{Kind: event.LookupDenied})); (after > before) != (want != approval.Recorded) {
				t.Errorf("%s: %s: %d records of refusals, before %d", c.name, name, after, before)
			}
			if want == approval.NotApprover && (refused[0].Principal != by.PrincipalID() || refused[0].Field("approval") != string(q.ID)) {
				t.Errorf("%s: %s: record %+v", c.name, name, refused[0])
			}
		}
	}
	q := w.question(l)
	q.Principal = alice().PrincipalID
	if err := w.Store.Ask(w.ctx, q, w.record(event.ApprovalAsked)); err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"alice", "carol"} {
		if _, how, err := w.Store.Decide(w.ctx, people[who], q.ID, allow(approval.Once), w.Clock.Now(), w.record(event.ApprovalDecided)); how != approval.NotApprover || err != nil {
			t.Errorf("%s answers in the operator's name: %s, %v", who, how, err)
		}
	}
	q = w.question(l)
	q.Principal, q.Approvers = alice().PrincipalID, []string{bob().PrincipalID}
	if err := w.Store.Ask(w.ctx, q, w.record(event.ApprovalAsked)); err != nil {
		t.Fatal(err)
	}
	for doubted := range 2 { // whose session it is nobody can say any more: then nobody who is named reads of it either
		if _, found, err := w.Store.Question(w.ctx, people["bob"], q.ID); found != (doubted == 0) || err != nil {
			t.Errorf("doubted %d times, bob reads of it: %v, %v", doubted, found, err)
		}
		w.Doubt(t, l.session)
	}
}

func allowanceRevoked(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	q, once, pending := w.allowed(t, l, approval.ForSession), w.allowed(t, l, approval.Once), w.ask(t, l)
	w.starts(t, "before", w.carries(l, q), effect.Begun)
	later := w.carries(l, q)
	later.Effect = w.ids.Effect()
	revoke := func(by principal.Scope, a approval.Question) approval.Recording {
		t.Helper()
		_, how, err := w.Store.Revoke(w.ctx, by, a.ID, w.Clock.Now(), w.record(event.ApprovalRevoked))
		if err != nil {
			t.Fatal(err)
		}
		return how
	}
	carol := alice()
	carol.PrincipalID = "principal:conversation:chat:carol"
	if how := revoke(w.scope(t, carol, l.session), q); how != approval.NotApprover {
		t.Errorf("somebody else: %s", how)
	}
	if a, b := revoke(w.operator(t), once), revoke(w.operator(t), pending); a != approval.NotAllowance || b != approval.NotAllowance {
		t.Errorf("once %s, pending %s", a, b)
	}
	w.starts(t, "after attempts", later, effect.Begun)
	w.Clock.Advance(time.Second)
	if a, b := revoke(w.operator(t), q), revoke(w.operator(t), q); a != approval.Recorded || b != approval.AlreadyDecided {
		t.Errorf("revoked %s, then %s", a, b)
	}
	later.Effect = w.ids.Effect()
	w.starts(t, "after the revocation", later, effect.ApprovalRevoked)
	got, _, err := w.Store.Question(w.ctx, w.operator(t), q.ID)
	if err != nil || !got.Revoked.Equal(millis(w.Clock.Now())) || got.State != approval.Allowed {
		t.Errorf("%+v, %v", got, err)
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.ApprovalRevoked}); len(recs) != 1 {
		t.Errorf("%d records of one revocation", len(recs))
	}
}
