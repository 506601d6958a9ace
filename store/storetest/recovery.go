package storetest

import (
	"math"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func recoveryCases() []testCase {
	return []testCase{
		{"a restart ends what the dead host left", recoverAfterRestart},
		{"recovery leaves living and ended turns alone", recoverSpares},
		{"recovery ends turns whose claim ran out", recoverExpired},
		{"a recovered session takes turns again, with a higher fence", recoveredGoesOn},
		{"a recovered turn says what its model reported before", recoveredSpent},
	}
}

func recoverAfterRestart(t *testing.T, w *world) {
	quiet, busy, unsure := w.start(t, alice(), bound()), w.start(t, bob(), bound()), w.start(t, talker("carol"), bound())
	if err := w.Store.EffectFinished(w.ctx, w.finished(w.begin(t, unsure), effect.Indeterminate), w.record(event.EffectFinished)); err != nil {
		t.Fatal(err)
	}
	over, open := w.begin(t, busy), w.begin(t, busy)
	if err := w.Store.EffectFinished(w.ctx, w.finished(over, effect.Succeeded), w.record(event.EffectFinished)); err != nil {
		t.Fatal(err)
	}
	q := w.ask(t, busy)
	got, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now())
	if err != nil || len(got) != 3 {
		t.Fatalf("recovered %+v, %v", got, err)
	}
	for i, want := range []turn.Recovered{
		{Turn: quiet.turn, Session: quiet.session, Outcome: turn.Lost},
		{Turn: busy.turn, Session: busy.session, Outcome: turn.Indeterminate, Effects: 1},
		{Turn: unsure.turn, Session: unsure.session, Outcome: turn.Indeterminate}, // of its effect nobody knew before
	} {
		if got[i] != want {
			t.Errorf("recovered %+v, want %+v", got[i], want)
		}
		rec := w.turnOf(t, want.Turn)
		if rec.Outcome != want.Outcome || rec.Reason != "host_restarted" || !rec.Finished.Equal(millis(w.Clock.Now())) {
			t.Errorf("turn %+v", rec)
		}
		recs := w.events(t, turn.EventQuery{Turn: want.Turn, Kind: event.TurnRecovered})
		if len(recs) != 1 || recs[0].Field("outcome") != string(want.Outcome) || recs[0].Session != want.Session {
			t.Errorf("records %+v", recs)
		}
	}
	effects, err := w.Store.Effects(w.ctx, w.operator(t), busy.turn)
	if err != nil || len(effects) != 2 || effects[0].Status != effect.Succeeded || effects[1].ID != open.Effect ||
		effects[1].Status != effect.Indeterminate || effects[1].Reason != "host_restarted" {
		t.Errorf("effects %+v, %v", effects, err)
	}
	asked, found, err := w.Store.Question(w.ctx, w.operator(t), q.ID)
	if err != nil || !found || asked.State != approval.Expired {
		t.Errorf("question %+v, %v", asked, err)
	}
	if again, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now()); len(again) != 0 || err != nil {
		t.Errorf("recovered again: %+v, %v", again, err)
	}
	if how := w.finish(t, busy, turn.Completed); how != turn.AlreadyEnded {
		t.Errorf("the dead host's finish was %q", how)
	}
}

func recoverSpares(t *testing.T, w *world) {
	done := w.ended(t, alice(), bound())
	alive := w.start(t, bob(), bound())
	w.begin(t, alive)
	before := w.turnOf(t, done.turn)
	if got, err := w.Store.Recover(w.ctx, w.epoch, w.Clock.Now()); len(got) != 0 || err != nil {
		t.Fatalf("recovered %+v, %v", got, err)
	}
	if rec := w.turnOf(t, done.turn); rec != before {
		t.Errorf("an ended turn changed: %+v", rec)
	}
	if how := w.finish(t, alive, turn.Completed); how != turn.Written {
		t.Errorf("finish of a living turn: %q", how)
	}
}

func recoverExpired(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	if how, err := w.Store.Extend(w.ctx, other.session, other.claim, w.Clock.Now().Add(time.Hour)); how != turn.Written || err != nil {
		t.Fatal(how, err)
	}
	at := w.Clock.Now().Add(time.Minute)
	if got, err := w.Store.Recover(w.ctx, w.epoch, at.Add(-time.Millisecond)); len(got) != 0 || err != nil {
		t.Fatalf("before the expiry: %+v, %v", got, err)
	}
	got, err := w.Store.Recover(w.ctx, w.epoch, at)
	if err != nil || len(got) != 1 || got[0].Turn != l.turn || got[0].Outcome != turn.Lost {
		t.Fatalf("recovered %+v, %v", got, err)
	}
	if rec := w.turnOf(t, l.turn); rec.Reason != "lease_expired" {
		t.Errorf("reason %q", rec.Reason)
	}
}

func recoveredGoesOn(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	if _, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	next := w.start(t, alice(), bound())
	if next.session != l.session || next.claim.Fence != l.claim.Fence+1 {
		t.Errorf("next %+v after %+v", next, l)
	}
}

// recoveredSpent has turns in the middle of their work when they are recovered: one that a restart finds, and one whose session
// is wanted. The clock was set back in the first, and the model of the second says more than can be added up.
func recoveredSpent(t *testing.T, w *world) {
	l, other, idle := w.start(t, alice(), bound()), w.start(t, bob(), bound()), w.start(t, talker("carol"), bound())
	w.Clock.Advance(-4 * time.Minute)
	for step := 1; step <= 3; step++ {
		o := w.observation(l)
		o.Step, o.Usage = step, provider.Usage{Input: 100, Output: 10, CacheRead: 30, CacheWrite: 1, Reported: step != 2}
		if step == 2 {
			o.Usage = provider.Usage{}
		}
		for range 2 { // the second time says nothing more
			if _, err := w.observe(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Clock.Advance(5 * time.Minute)
	for range 3 {
		o := w.observation(other)
		o.Usage.Input = math.MaxInt64 / 2
		if _, err := w.observe(o); err != nil {
			t.Fatal(err)
		}
	}
	if next := w.start(t, bob(), bound()); next.session != other.session { // its claim is over
		t.Fatalf("another session: %+v", next)
	}
	if rec := w.turnOf(t, other.turn); rec.State != "lost" || rec.Steps != 1 || rec.Usage.Input != 3<<40 {
		t.Errorf("whose session was wanted: %+v", rec)
	}
	if _, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	if rec := w.turnOf(t, l.turn); rec.Steps != 3 || rec.Usage != (turn.Usage{Input: 200, Output: 20, CacheRead: 60, CacheWrite: 2}) {
		t.Errorf("after a restart: %+v", rec)
	}
	if rec := w.turnOf(t, idle.turn); rec.Steps != 0 || rec.Usage != (turn.Usage{}) {
		t.Errorf("of one that asked nobody: %+v", rec)
	}
}
