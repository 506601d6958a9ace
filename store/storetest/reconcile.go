package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func reconcileCases() []testCase {
	return []testCase{
		{"what a turn left unsettled is listed with what it ran under", reconcileList},
		{"a tool settles its own uncertain effect once", reconcileOnce},
		{"only the plugin that ran an effect speaks for it, where its tool can tell", reconcileSpeaks},
		{"what no tool can say is not taken", reconcileForm},
		{"what is of nobody's session is asked about by nobody", reconcileUnowned},
	}
}

func said(w *world, e effect.Record, v effect.Verdict, reference string) effect.Resolution {
	as := effect.Resolution{Verdict: v, Reason: effect.ReasonNotFound, By: effect.ReconciledBy(e.Plugin), Reference: reference, At: w.Clock.Now()}
	if v == effect.Happened {
		as.Reason = effect.ReasonCommitted
	}
	return as
}

func reconcileList(t *testing.T, w *world) {
	l, effects := w.uncertain(t, "reconcile", "manual", "reconcile", "idempotent")
	got, err := w.Store.Unsettled(w.ctx, l.turn)
	if err != nil || len(got) != 2 || got[0].ID != effects[0].ID || got[1].ID != effects[2].ID {
		t.Fatalf("%+v, %v", got, err)
	}
	rec := w.turnOf(t, l.turn)
	for _, u := range got {
		if u.Request != rec.Request || u.Core != rec.Core || u.Revision != rec.Revision || u.Trace != rec.Trace || u.Actor.PrincipalID != alice().PrincipalID || u.Actor.ConversationKey != alice().ConversationKey || u.Session != l.session {
			t.Errorf("it ran under %+v, and the turn is %+v", u, rec)
		}
		if u.Digest != "d" || string(u.Arguments) != `{"a":1}` {
			t.Errorf("%+v", u.Record)
		}
	}
	// What an operator did in somebody's session was the operator's.
	op := w.start(t, operatorFacts(), turn.Selector{Kind: turn.Resume, Session: l.session})
	s := w.started(op)
	s.Recovery = "reconcile"
	if _, err := w.Store.EffectStarted(w.ctx, s, w.record(event.EffectStarted)); err != nil {
		t.Fatal(err)
	}
	if open, err := w.Store.Unsettled(w.ctx, op.turn); err != nil || len(open) != 0 {
		t.Errorf("while it runs: %+v, %v", open, err)
	}
	if _, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	open, err := w.Store.Unsettled(w.ctx, op.turn)
	if err != nil || len(open) != 1 || open[0].Actor.Authority != operatorFacts().Authority || open[0].Actor.PrincipalID != operatorFacts().PrincipalID {
		t.Errorf("%+v, %v", open, err)
	}
	if none, err := w.Store.Unsettled(w.ctx, w.ids.Turn()); err != nil || len(none) != 0 {
		t.Errorf("of no turn: %+v, %v", none, err)
	}
}

func reconcileOnce(t *testing.T, w *world) {
	l, effects := w.uncertain(t, "reconcile", "reconcile", "reconcile")
	ended := w.turnOf(t, l.turn)
	w.Clock.Advance(time.Minute)
	for i, v := range []effect.Verdict{effect.Happened, effect.NotHappened} {
		reference := ""
		if v == effect.Happened {
			reference = "msg-1"
		}
		as := said(w, effects[i], v, reference)
		if how, err := w.Store.Reconciled(w.ctx, effects[i].ID, as, w.record(event.EffectResolved)); err != nil || how != effect.Settled {
			t.Fatalf("%s: %q, %v", v, how, err)
		}
		as.At = millis(w.Clock.Now())
		got, _, err := w.Store.Effect(w.ctx, w.operator(t), effects[i].ID)
		if err != nil || got.Status != effect.Indeterminate || got.Resolution != as {
			t.Errorf("%+v, %v", got, err)
		}
		recs := w.events(t, turn.EventQuery{Kind: event.EffectResolved, Limit: 1})
		if recs[0].Effect != effects[i].ID || recs[0].Principal != as.By || recs[0].Turn != l.turn ||
			recs[0].Field("verdict") != string(v) || recs[0].Field("reference") != reference {
			t.Errorf("record %+v", recs[0])
		}
		again := said(w, effects[i], effect.NotHappened, "")
		if how, err := w.Store.Reconciled(w.ctx, effects[i].ID, again, w.record(event.EffectResolved)); err != nil || how != effect.SettledBefore {
			t.Errorf("again: %q, %v", how, err)
		}
	}
	// A person is as good.
	if _, how, err := w.Store.ResolveEffect(w.ctx, w.operator(t), effects[2].ID, w.resolution(effect.Happened), w.record(event.EffectResolved)); err != nil || how != effect.Settled {
		t.Fatal(how, err)
	}
	if how, err := w.Store.Reconciled(w.ctx, effects[2].ID, said(w, effects[2], effect.NotHappened, ""), w.record(event.EffectResolved)); err != nil || how != effect.SettledBefore {
		t.Errorf("after a person: %q, %v", how, err)
	}
	if open, err := w.Store.Unsettled(w.ctx, l.turn); err != nil || len(open) != 0 {
		t.Errorf("still open: %+v, %v", open, err)
	}
	if now := w.turnOf(t, l.turn); now != ended {
		t.Errorf("the turn was %+v and is %+v", ended, now)
	}
}

func reconcileSpeaks(t *testing.T, w *world) {
	l, effects := w.uncertain(t, "reconcile", "manual")
	other := said(w, effects[0], effect.Happened, "")
	other.By = effect.ReconciledBy("other@1.0.0")
	person := said(w, effects[0], effect.Happened, "")
	person.By = w.operator(t).PrincipalID()
	for name, one := range map[string]struct {
		e  effect.Record
		as effect.Resolution
	}{
		"another plugin": {effects[0], other}, "a person's name": {effects[0], person},
		"a tool that cannot tell": {effects[1], said(w, effects[1], effect.Happened, "")},
	} {
		if how, err := w.Store.Reconciled(w.ctx, one.e.ID, one.as, w.record(event.EffectResolved)); err == nil {
			t.Errorf("%s settled it: %q", name, how)
		}
	}
	if got, err := w.Store.Effects(w.ctx, w.operator(t), l.turn); err != nil || got[0].Resolution.Verdict != "" || got[1].Resolution.Verdict != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if how, err := w.Store.Reconciled(w.ctx, w.ids.Effect(), said(w, effects[0], effect.Happened, ""), w.record(event.EffectResolved)); err != nil || how != effect.EffectNotFound {
		t.Errorf("of no effect: %q, %v", how, err)
	}
}

func reconcileForm(t *testing.T, w *world) {
	_, effects := w.uncertain(t, "reconcile")
	for name, change := range map[string]func(*effect.Resolution, *event.Record){
		"a recovery's verdict":        func(r *effect.Resolution, _ *event.Record) { r.Verdict = effect.MayBeRepeated },
		"no verdict":                  func(r *effect.Resolution, _ *event.Record) { r.Verdict = "" },
		"another reason":              func(r *effect.Resolution, _ *event.Record) { r.Reason = "because" },
		"the reason of the other":     func(r *effect.Resolution, _ *event.Record) { r.Reason = effect.ReasonNotFound },
		"a long reference":            func(r *effect.Resolution, _ *event.Record) { r.Reference = strings.Repeat("x", 257) },
		"a reference that is no text": func(r *effect.Resolution, _ *event.Record) { r.Reference = "\xff" },
		"no time":                     func(r *effect.Resolution, _ *event.Record) { r.At = time.Time{} },
		"no audit record":             func(_ *effect.Resolution, r *event.Record) { *r = event.Record{} },
		"a reference to what was not": func(r *effect.Resolution, _ *event.Record) {
			r.Verdict, r.Reason = effect.NotHappened, effect.ReasonNotFound
		},
	} {
		as, rec := said(w, effects[0], effect.Happened, "msg-1"), w.record(event.EffectResolved)
		change(&as, &rec)
		if how, err := w.Store.Reconciled(w.ctx, effects[0].ID, as, rec); err == nil {
			t.Errorf("%s was taken: %q", name, how)
		}
	}
	person := w.resolution(effect.Happened)
	person.Reference = "msg-1"
	if _, _, err := w.Store.ResolveEffect(w.ctx, w.operator(t), effects[0].ID, person, w.record(event.EffectResolved)); err == nil {
		t.Error("a person gave a plugin's reference")
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.EffectResolved}); len(recs) != 0 {
		t.Errorf("records %+v", recs)
	}
}

func reconcileUnowned(t *testing.T, w *world) {
	l, _ := w.uncertain(t, "reconcile")
	w.Disown(t, l.session)
	if got, err := w.Store.Unsettled(w.ctx, l.turn); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
