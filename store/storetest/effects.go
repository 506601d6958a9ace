package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func effectCases() []testCase {
	return []testCase{
		{"an effect is started, then finished once", effectOnce},
		{"an effect that never started is one whole row", effectNeverStarted},
		{"the records of an effect name it", effectNamed},
		{"effects come in the order they were asked for", effectOrder},
		{"malformed effects write nothing", effectMalformed},
	}
}

func effectNamed(t *testing.T, w *world) {
	var all []effect.Started
	for range 3 {
		s := w.begin(t, w.start(t, alice(), fresh()))
		if err := w.Store.EffectFinished(w.ctx, w.finished(s, effect.Succeeded), w.record(event.EffectFinished)); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
		w.Clock.Advance(time.Second)
	}
	for _, kind := range []event.Kind{event.EffectStarted, event.EffectFinished} {
		got := w.events(t, turn.EventQuery{Kind: kind})
		if len(got) != len(all) {
			t.Fatalf("%s: %+v", kind, got)
		}
		for i, r := range got { // newest first
			if s := all[len(all)-1-i]; r.Effect != s.Effect || r.Turn != s.Turn || r.Session != s.Session {
				t.Errorf("%s: %+v, want %s of %s", kind, r, s.Effect, s.Turn)
			}
		}
	}
}

func effectOnce(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	s := w.begin(t, l)
	want := effect.Record{
		ID: s.Effect, Turn: l.turn, Session: l.session, CallID: s.CallID, Tool: s.Tool, Plugin: s.Plugin, Recovery: s.Recovery,
		Digest: s.Digest, Arguments: s.Arguments, Started: true, StartedAt: millis(s.At),
	}
	check := func() {
		t.Helper()
		got, err := w.Store.Effects(w.ctx, w.operator(t), l.turn)
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Fatalf("effects %+v, %v, want %+v", got, err, want)
		}
	}
	check()
	if _, err := w.Store.EffectStarted(w.ctx, s, w.record(event.EffectStarted)); err == nil {
		t.Error("one effect started twice")
	}
	w.Clock.Advance(time.Second)
	f := w.finished(s, effect.Failed)
	f.Reason = "guest_trap"
	if err := w.Store.EffectFinished(w.ctx, f, w.record(event.EffectFinished)); err != nil {
		t.Fatal(err)
	}
	want.Status, want.Reason, want.Durable = f.Status, f.Reason, f.Durable
	want.FinishedAt, want.Duration = millis(f.At), 12*time.Millisecond
	check()
	for _, status := range []effect.Status{effect.Succeeded, effect.Failed} {
		if err := w.Store.EffectFinished(w.ctx, w.finished(s, status), w.record(event.EffectFinished)); err == nil {
			t.Errorf("one effect finished twice, the second time %s", status)
		}
	}
	check()
	if recs := w.events(t, turn.EventQuery{Kind: event.EffectFinished}); len(recs) != 1 {
		t.Errorf("%d records for one end", len(recs))
	}
}

func effectNeverStarted(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	f := w.finished(w.started(l), effect.Denied)
	f.Started, f.Durable, f.Reason = false, nil, "capability"
	if err := w.Store.EffectFinished(w.ctx, f, w.record(event.EffectDenied)); err != nil {
		t.Fatal(err)
	}
	want := effect.Record{
		ID: f.Effect, Turn: l.turn, Session: l.session, CallID: f.CallID, Tool: f.Tool, Plugin: f.Plugin, Status: f.Status,
		Reason: f.Reason, FinishedAt: millis(f.At), Duration: 12 * time.Millisecond,
	}
	got, err := w.Store.Effects(w.ctx, w.operator(t), l.turn)
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Fatalf("effects %+v, %v", got, err)
	}
	f.Started = true
	if err := w.Store.EffectFinished(w.ctx, f, w.record(event.EffectFinished)); err == nil {
		t.Error("an effect that never started was finished")
	}
	if how := w.finish(t, l, turn.Completed); how != turn.Written {
		t.Errorf("finish %q", how)
	}
}

func effectOrder(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	var want []string
	for range 5 {
		want = append(want, string(w.begin(t, l).Effect))
	}
	got, err := w.Store.Effects(w.ctx, w.operator(t), l.turn)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d effects, %v", len(got), err)
	}
	for i := range got {
		if string(got[i].ID) != want[i] {
			t.Errorf("effect %d is %s, want %s", i, got[i].ID, want[i])
		}
	}
}

func effectMalformed(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	for name, change := range map[string]func(*effect.Started, *event.Record){
		"unknown turn":    func(s *effect.Started, _ *event.Record) { s.Turn = w.ids.Turn() },
		"another session": func(s *effect.Started, _ *event.Record) { s.Session = other.session },
		"no tool":         func(s *effect.Started, _ *event.Record) { s.Tool = "" },
		"no recovery":     func(s *effect.Started, _ *event.Record) { s.Recovery = "" },
		"bad arguments":   func(s *effect.Started, _ *event.Record) { s.Arguments = []byte("{") },
		"no record":       func(_ *effect.Started, r *event.Record) { *r = event.Record{} },
	} {
		s, r := w.started(l), w.record(event.EffectStarted)
		change(&s, &r)
		if _, err := w.Store.EffectStarted(w.ctx, s, r); err == nil {
			t.Errorf("started: %s was taken", name)
		}
	}
	open := w.begin(t, l)
	for name, change := range map[string]func(*effect.Finished, *event.Record){
		"unknown effect":            func(f *effect.Finished, _ *event.Record) { f.Effect = w.ids.Effect() },
		"another turn":              func(f *effect.Finished, _ *event.Record) { f.Turn = other.turn },
		"another session":           func(f *effect.Finished, _ *event.Record) { f.Session = other.session },
		"unknown status":            func(f *effect.Finished, _ *event.Record) { f.Status = "ok" },
		"no status":                 func(f *effect.Finished, _ *event.Record) { f.Status = "" },
		"durable view is no JSON":   func(f *effect.Finished, _ *event.Record) { f.Durable = []byte("no") },
		"not started and succeeded": func(f *effect.Finished, _ *event.Record) { f.Effect, f.Started = w.ids.Effect(), false },
		"whole row, id is taken":    func(f *effect.Finished, _ *event.Record) { f.Started, f.Status = false, effect.Denied },
		"no record":                 func(_ *effect.Finished, r *event.Record) { *r = event.Record{} },
	} {
		f, r := w.finished(open, effect.Succeeded), w.record(event.EffectFinished)
		change(&f, &r)
		if err := w.Store.EffectFinished(w.ctx, f, r); err == nil {
			t.Errorf("finished: %s was taken", name)
		}
	}
	got, err := w.Store.Effects(w.ctx, w.operator(t), l.turn)
	if err != nil || len(got) != 1 || got[0].Status != "" {
		t.Errorf("effects %+v, %v", got, err)
	}
}

// millis is t as stores keep it.
func millis(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }
