package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/prompt"
)

// left is what the turn of l is told.
func (w *world) left(t *testing.T, l live) prompt.Left {
	t.Helper()
	got, err := w.Store.Left(w.ctx, w.scope(t, alice(), l.session), l.session, l.turn, prompt.MaxLeft)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func settledAs(l prompt.Left) (out []string) {
	for _, e := range l.Effects {
		out = append(out, e.Settled)
	}
	return out
}

func leftByTurns(t *testing.T, w *world) {
	lost, effects := w.uncertain(t, "read", "idempotent", "manual", "reconcile")
	if got := w.left(t, lost); got.CutOff || len(got.Effects) != 0 {
		t.Errorf("the turn itself is told %+v", got)
	}
	next := w.start(t, alice(), bound())
	if next.session != lost.session {
		t.Fatal("another session")
	}
	got := w.left(t, next)
	if !got.CutOff || got.More || !slices.Equal(settledAs(got), []string{"", "", "may_be_repeated"}) {
		t.Fatalf("%+v", got)
	}
	if e := got.Effects[0]; e.Tool != effects[3].Tool || string(e.Arguments) != `{"a":1}` || !e.Started.Equal(effects[3].StartedAt) {
		t.Errorf("%+v", e)
	}
	// The first turn of a conversation has none before it.
	if got := w.left(t, w.start(t, alice(), fresh())); got.CutOff || len(got.Effects) != 0 {
		t.Errorf("a fresh session is told %+v", got)
	}
}

func leftOnce(t *testing.T, w *world) {
	_, effects := w.uncertain(t, "manual", "reconcile", "manual")
	w.Clock.Advance(time.Minute)
	if _, how, err := w.Store.ResolveEffect(w.ctx, w.operator(t), effects[0].ID, w.resolution(effect.NotHappened), w.record(event.EffectResolved)); err != nil || how != effect.Settled {
		t.Fatal(how, err)
	}
	if how, err := w.Store.Reconciled(w.ctx, effects[1].ID, said(w, effects[1], effect.Happened, "msg-1"), w.record(event.EffectResolved)); err != nil || how != effect.Settled {
		t.Fatal(how, err)
	}
	w.Clock.Advance(time.Minute)
	for i, want := range [][]string{{"", "happened", "not_happened"}, {""}, {"happened"}, nil} {
		l := w.start(t, alice(), bound())
		got := w.left(t, l)
		if !slices.Equal(settledAs(got), want) || got.CutOff != (i == 0) {
			t.Errorf("turn %d is told %+v, want %q", i+1, got, want)
		}
		if i == 0 && got.Effects[1].Reference != "msg-1" {
			t.Errorf("%+v", got.Effects[1])
		}
		if how := w.finish(t, l, "completed"); how != "written" {
			t.Fatal(how)
		}
		w.Clock.Advance(time.Minute)
		if i == 1 {
			if _, how, err := w.Store.ResolveEffect(w.ctx, w.operator(t), effects[2].ID, w.resolution(effect.Happened), w.record(event.EffectResolved)); err != nil || how != effect.Settled {
				t.Fatal(how, err)
			}
			w.Clock.Advance(time.Minute)
		}
	}
}

func leftBounds(t *testing.T, w *world) {
	recoveries := make([]string, prompt.MaxLeft+1)
	for i := range recoveries {
		recoveries[i] = "manual"
	}
	lost, _ := w.uncertain(t, recoveries...)
	next := w.start(t, alice(), bound())
	if got := w.left(t, next); len(got.Effects) != prompt.MaxLeft || !got.More {
		t.Errorf("%d, more %v", len(got.Effects), got.More)
	}
	other := w.start(t, bob(), bound())
	got, err := w.Store.Left(w.ctx, w.scope(t, bob(), other.session), lost.session, next.turn, prompt.MaxLeft)
	if err != nil || got.CutOff || len(got.Effects) != 0 {
		t.Errorf("another is told %+v, %v", got, err)
	}
	for _, limit := range []int{0, prompt.MaxLeft + 1} {
		if _, err := w.Store.Left(w.ctx, w.scope(t, alice(), next.session), next.session, next.turn, limit); err == nil {
			t.Errorf("a limit of %d was taken", limit)
		}
	}
	if _, err := w.Store.Left(w.ctx, w.operator(t), next.session, next.turn, 1); err != nil {
		t.Errorf("the operator: %v", err)
	}
}
