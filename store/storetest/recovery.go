package storetest

import (
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func recoveryCases() []testCase {
	return []testCase{
		{"a restart ends what the dead host left", recoverAfterRestart},
		{"recovery leaves living and ended turns alone", recoverSpares},
		{"recovery ends turns whose claim ran out", recoverExpired},
		{"a recovered session takes turns again, with a higher fence", recoveredGoesOn},
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
