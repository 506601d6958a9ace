package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func resolveCases() []testCase {
	return []testCase{
		{"a tool's recovery settles what a restart left uncertain, or leaves it to the operator", resolveByRecovery},
		{"the operator settles an uncertain effect once, and its turn stays as it ended", resolveOnce},
		{"only the operator settles effects", resolveOperator},
		{"what is not uncertain is not settled", resolveCertain},
		{"an effect of nobody's session is not settled", resolveUnowned},
	}
}

// uncertain starts an effect with each recovery given, in one turn, and lets the host die.
func (w *world) uncertain(t *testing.T, recovery ...string) (live, []effect.Record) {
	t.Helper()
	l := w.start(t, alice(), bound())
	for _, r := range recovery {
		s := w.started(l)
		s.Recovery = r
		if _, err := w.Store.EffectStarted(w.ctx, s, w.record(event.EffectStarted)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	effects, err := w.Store.Effects(w.ctx, w.operator(t), l.turn)
	if err != nil || len(effects) != len(recovery) {
		t.Fatal(effects, err)
	}
	return l, effects
}

func (w *world) resolution(v effect.Verdict) effect.Resolution {
	return effect.Resolution{Verdict: v, Reason: "looked at the mailbox", At: w.Clock.Now()}
}

func resolveByRecovery(t *testing.T, w *world) {
	_, effects := w.uncertain(t, "read", "idempotent", "reconcile", "manual")
	wants := []effect.Verdict{effect.NothingToDo, effect.MayBeRepeated, "", ""}
	for i, want := range wants {
		e := effects[i]
		if e.Status != effect.Indeterminate || e.Resolution.Verdict != want || e.Resolution.By != "" {
			t.Errorf("%s: %s, %+v", e.Recovery, e.Status, e.Resolution)
		}
		if want != "" && (e.Resolution.Reason != "recovery_"+e.Recovery || !e.Resolution.At.Equal(millis(w.Clock.Now()))) {
			t.Errorf("%s: %+v", e.Recovery, e.Resolution)
		}
	}
	recs := w.events(t, turn.EventQuery{Kind: event.EffectResolved})
	if len(recs) != 2 || recs[1].Effect != effects[0].ID || recs[1].Field("verdict") != "nothing_to_do" || recs[0].Field("verdict") != "may_be_repeated" {
		t.Errorf("records %+v", recs)
	}
	for _, open := range []bool{false, true} {
		got, err := w.Store.Uncertain(w.ctx, w.operator(t), open, 0, 10)
		want := 4
		if open {
			want = 2
		}
		if err != nil || len(got) != want || got[0].ID != effects[3].ID || got[1].ID != effects[2].ID {
			t.Errorf("open %v: %+v, %v", open, got, err)
		}
	}
	if got, err := w.Store.Uncertain(w.ctx, w.operator(t), true, 0, 1); err != nil || len(got) != 1 {
		t.Errorf("%d with a limit of one, %v", len(got), err)
	}
	if _, err := w.Store.Uncertain(w.ctx, w.operator(t), true, 0, 0); err == nil {
		t.Error("a listing without a bound was given")
	}
	// An adapter that cannot say what became of its call leaves the same.
	l := w.start(t, bob(), bound())
	s := w.begin(t, l)
	if err := w.Store.EffectFinished(w.ctx, w.finished(s, effect.Indeterminate), w.record(event.EffectFinished)); err != nil {
		t.Fatal(err)
	}
	if got, found, err := w.Store.Effect(w.ctx, w.operator(t), s.Effect); err != nil || !found || got.Resolution.Verdict != effect.NothingToDo {
		t.Errorf("%+v, %v, %v", got, found, err)
	}
}

func resolveOnce(t *testing.T, w *world) {
	l, effects := w.uncertain(t, "manual", "reconcile", "idempotent")
	ended := w.turnOf(t, l.turn)
	w.Clock.Advance(time.Hour)
	for i, v := range []effect.Verdict{effect.Happened, effect.NotHappened} {
		key, op := effects[i].ID, w.operator(t)
		got, how, err := w.Store.ResolveEffect(w.ctx, op, key, w.resolution(v), w.record(event.EffectResolved))
		want := effect.Resolution{Verdict: v, Reason: "looked at the mailbox", By: op.PrincipalID(), At: millis(w.Clock.Now())}
		if err != nil || how != effect.Settled || got.Resolution != want || got.Status != effect.Indeterminate {
			t.Fatalf("%+v, %q, %v", got, how, err)
		}
		recs := w.events(t, turn.EventQuery{Kind: event.EffectResolved, Limit: 1})
		if recs[0].Effect != key || recs[0].Turn != l.turn || recs[0].Session != l.session || recs[0].Principal != op.PrincipalID() ||
			recs[0].Field("verdict") != string(v) || recs[0].Field("reason") != want.Reason {
			t.Errorf("record %+v", recs[0])
		}
		got, how, err = w.Store.ResolveEffect(w.ctx, op, key, w.resolution(effect.Happened), w.record(event.EffectResolved))
		if err != nil || how != effect.SettledBefore || got.Resolution != want {
			t.Errorf("again: %+v, %q, %v", got, how, err)
		}
		if got, found, err := w.Store.Effect(w.ctx, op, key); err != nil || !found || got.Resolution != want {
			t.Errorf("read: %+v, %v, %v", got, found, err)
		}
	}
	// What its recovery settled is settled too.
	_, how, err := w.Store.ResolveEffect(w.ctx, w.operator(t), effects[2].ID, w.resolution(effect.Happened), w.record(event.EffectResolved))
	if err != nil || how != effect.SettledBefore {
		t.Errorf("idempotent: %q, %v", how, err)
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.EffectResolved}); len(recs) != 3 {
		t.Errorf("%d records", len(recs))
	}
	if now := w.turnOf(t, l.turn); now != ended {
		t.Errorf("the turn was %+v and is %+v", ended, now)
	}
	if got, err := w.Store.Uncertain(w.ctx, w.operator(t), true, 0, 10); err != nil || len(got) != 0 {
		t.Errorf("still open: %+v, %v", got, err)
	}
}

func resolveOperator(t *testing.T, w *world) {
	l, effects := w.uncertain(t, "manual")
	own := w.scope(t, alice(), l.session)
	var refused *principal.RefusedError
	if _, _, err := w.Store.ResolveEffect(w.ctx, own, effects[0].ID, w.resolution(effect.Happened), w.record(event.EffectResolved)); !errors.As(err, &refused) {
		t.Errorf("resolve by the owner: %v", err)
	}
	if _, err := w.Store.Uncertain(w.ctx, own, true, 0, 10); !errors.As(err, &refused) {
		t.Errorf("list by the owner: %v", err)
	}
	if _, _, err := w.Store.Effect(w.ctx, own, effects[0].ID); !errors.As(err, &refused) {
		t.Errorf("read by the owner: %v", err)
	}
	if _, _, err := w.Store.ResolveEffect(w.ctx, principal.Scope{}, effects[0].ID, w.resolution(effect.Happened), w.record(event.EffectResolved)); !errors.As(err, &refused) {
		t.Errorf("resolve by nobody: %v", err)
	}
	if got, _, err := w.Store.Effect(w.ctx, w.operator(t), effects[0].ID); err != nil || got.Resolution.Verdict != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func resolveCertain(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	done, open := w.begin(t, l), w.begin(t, l)
	if err := w.Store.EffectFinished(w.ctx, w.finished(done, effect.Failed), w.record(event.EffectFinished)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []effect.Started{done, open} {
		_, how, err := w.Store.ResolveEffect(w.ctx, w.operator(t), s.Effect, w.resolution(effect.Happened), w.record(event.EffectResolved))
		if err != nil || how != effect.NotUncertain {
			t.Errorf("%q, %v", how, err)
		}
	}
	unknown := w.ids.Effect()
	if _, how, err := w.Store.ResolveEffect(w.ctx, w.operator(t), unknown, w.resolution(effect.Happened), w.record(event.EffectResolved)); err != nil || how != effect.EffectNotFound {
		t.Errorf("unknown: %q, %v", how, err)
	}
	if _, found, err := w.Store.Effect(w.ctx, w.operator(t), unknown); err != nil || found {
		t.Errorf("unknown: %v, %v", found, err)
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.LookupDenied}); len(recs) != 2 || recs[0].Field("what") != "effect" || recs[0].Field("reason") != "not_found" {
		t.Errorf("denials %+v", recs)
	}
	for name, change := range map[string]func(*effect.Resolution, *event.Record){
		"no verdict":      func(r *effect.Resolution, _ *event.Record) { r.Verdict = "" },
		"a tool's":        func(r *effect.Resolution, _ *event.Record) { r.Verdict = effect.MayBeRepeated },
		"no reason":       func(r *effect.Resolution, _ *event.Record) { r.Reason = "" },
		"a long reason":   func(r *effect.Resolution, _ *event.Record) { r.Reason = strings.Repeat("x", 301) },
		"no UTF-8":        func(r *effect.Resolution, _ *event.Record) { r.Reason = "\xff" },
		"no time":         func(r *effect.Resolution, _ *event.Record) { r.At = time.Time{} },
		"no audit record": func(_ *effect.Resolution, r *event.Record) { *r = event.Record{} },
	} {
		as, rec := w.resolution(effect.Happened), w.record(event.EffectResolved)
		change(&as, &rec)
		if _, _, err := w.Store.ResolveEffect(w.ctx, w.operator(t), open.Effect, as, rec); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.EffectResolved}); len(recs) != 0 {
		t.Errorf("records %+v", recs)
	}
}

func resolveUnowned(t *testing.T, w *world) {
	l, effects := w.uncertain(t, "manual")
	w.Disown(t, l.session)
	_, how, err := w.Store.ResolveEffect(w.ctx, w.operator(t), effects[0].ID, w.resolution(effect.Happened), w.record(event.EffectResolved))
	if err != nil || how != effect.EffectNotFound {
		t.Errorf("%q, %v", how, err)
	}
	if got, err := w.Store.Uncertain(w.ctx, w.operator(t), false, 0, 10); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.LookupDenied}); len(recs) != 1 || recs[0].Field("reason") != "missing_durable_owner" {
		t.Errorf("denials %+v", recs)
	}
}
