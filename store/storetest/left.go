package storetest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
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

// asksFor stores what a model asks for, by the ids of its calls, and what the tools said; nil: nothing of it yet.
func (w *world) asksFor(t *testing.T, l live, calls []string, results []string) {
	t.Helper()
	asked := provider.Message{Role: provider.RoleAssistant}
	for _, c := range calls {
		asked.Parts = append(asked.Parts, provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: c, Name: "mail_send", Arguments: []byte(`{"a":1}`)}})
	}
	said := []provider.Message{asked}
	if results != nil {
		var all []provider.ToolResult
		for _, c := range results {
			all = append(all, provider.ToolResult{CallID: c, Content: "ok"})
		}
		said = append(said, provider.ToolResults(all...))
	}
	for _, m := range said {
		body, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Store.AppendBehind(w.ctx, l.turn, l.claim, []turn.Message{w.message(l, string(m.Role), string(body))}); err != nil {
			t.Fatal(err)
		}
	}
}

// ran is one call of l, to its end; an empty status: it has none.
func (w *world) ran(t *testing.T, l live, call, recovery string, status effect.Status) {
	t.Helper()
	s := w.started(l)
	s.CallID, s.Recovery, s.Tool = call, recovery, "mail."+call
	if _, err := w.Store.EffectStarted(w.ctx, s, w.record(event.EffectStarted)); err != nil {
		t.Fatal(err)
	}
	if status == "" {
		return
	}
	if err := w.Store.EffectFinished(w.ctx, w.finished(s, status), w.record(event.EffectFinished)); err != nil {
		t.Fatal(err)
	}
}

func (w *world) recovers(t *testing.T) {
	t.Helper()
	if _, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
}

// endings are the tools that l is told of with how they ended.
func endings(l prompt.Left) (out []string) {
	for _, e := range l.Effects {
		out = append(out, e.Tool+" "+e.Ended)
	}
	return out
}

func leftUnanswered(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	w.asksFor(t, l, []string{"one", "same"}, []string{"one", "same"})
	w.ran(t, l, "one", "manual", effect.Succeeded)
	w.ran(t, l, "same", "manual", effect.Succeeded)
	w.asksFor(t, l, []string{"two", "look", "three", "same", "four", "five"}, nil)
	w.ran(t, l, "two", "manual", effect.Succeeded)
	w.ran(t, l, "look", "read", effect.Succeeded)
	w.ran(t, l, "three", "idempotent", effect.Failed)
	w.ran(t, l, "same", "reconcile", effect.TimedOut)
	w.ran(t, l, "four", "manual", "")
	w.recovers(t)
	want := []string{"mail.four ", "mail.same timed_out", "mail.three failed", "mail.two succeeded"}
	direct := func() {
		d := w.start(t, alice(), bound())
		end := w.terminal(d, turn.Completed)
		end.Steps = 0
		if how, err := w.Store.Finish(w.ctx, end, w.record(event.TurnFinished)); err != nil || how != turn.Written {
			t.Fatal(how, err)
		}
	}
	for i := range 3 { // until a turn has an answer
		next := w.start(t, alice(), bound())
		got := w.left(t, next)
		if !slices.Equal(endings(got), want) || got.More {
			t.Fatalf("turn %d is told %q, want %q", i, endings(got), want)
		}
		if e := got.Effects[3]; string(e.Result) != `{"ok":true}` || string(e.Arguments) != `{"a":1}` || e.Settled != "" {
			t.Errorf("%+v", e)
		}
		if e := got.Effects[1]; len(e.Result) != 0 {
			t.Errorf("of what failed the model is told %s", e.Result)
		}
		if few, err := w.Store.Left(w.ctx, w.scope(t, alice(), next.session), next.session, next.turn, 2); err != nil || !slices.Equal(endings(few), want[:2]) || !few.More {
			t.Errorf("of two: %q, more %v, %v", endings(few), few.More, err)
		}
		w.finish(t, next, []turn.Outcome{turn.Failed, turn.Cancelled, turn.Completed}[i])
		if i == 0 {
			direct() // no model was told
		}
	}
	if got := w.left(t, w.start(t, alice(), bound())); !slices.Equal(endings(got), want[:1]) {
		t.Errorf("after an answer it is told %q", endings(got))
	}
	// A turn that is given up, and one whose calls were all answered.
	for _, results := range [][]string{nil, {"six"}} {
		g := w.start(t, bob(), fresh())
		w.asksFor(t, g, []string{"six"}, nil)
		w.ran(t, g, "six", "manual", effect.Succeeded)
		want := []string{"mail.six succeeded"}
		if results != nil {
			body, err := json.Marshal(provider.ToolResults(provider.ToolResult{CallID: "six", Content: "ok"}))
			if err != nil {
				t.Fatal(err)
			}
			if how, err := w.Store.Append(w.ctx, g.turn, g.claim, []turn.Message{w.message(g, "tool", string(body))}); err != nil || how != turn.Written {
				t.Fatal(how, err)
			}
			want = nil
		}
		w.finish(t, g, turn.Indeterminate)
		next := w.start(t, bob(), turn.Selector{Kind: turn.Resume, Session: g.session})
		got, err := w.Store.Left(w.ctx, w.scope(t, bob(), g.session), g.session, next.turn, prompt.MaxLeft)
		if err != nil || !slices.Equal(endings(got), want) || got.CutOff {
			t.Errorf("with the results %q it is told %+v, %v", results, got, err)
		}
		other := w.start(t, alice(), fresh())
		if got, err := w.Store.Left(w.ctx, w.scope(t, alice(), other.session), g.session, next.turn, prompt.MaxLeft); err != nil || len(got.Effects) != 0 {
			t.Errorf("another is told %+v, %v", got, err)
		}
	}
}

// lookedThrough is how many of the newest messages of a session are looked through for calls that none answers.
const lookedThrough = 512

// leftLongAgo has a call that no message answers behind as many messages as are looked through, and behind one fewer.
func leftLongAgo(t *testing.T, w *world) {
	for _, c := range []struct {
		between int // messages of the turn after it
		want    []string
	}{
		{lookedThrough - 1, []string{"mail.one succeeded"}},
		{lookedThrough, nil},
	} {
		l := w.start(t, alice(), fresh())
		w.asksFor(t, l, []string{"one"}, nil)
		w.ran(t, l, "one", "manual", effect.Succeeded)
		w.finish(t, l, turn.Failed)
		resume := turn.Selector{Kind: turn.Resume, Session: l.session}
		long := w.start(t, alice(), resume)
		for range c.between {
			if err := w.Store.AppendBehind(w.ctx, long.turn, long.claim, []turn.Message{w.message(long, "user", `{"role":"user"}`)}); err != nil {
				t.Fatal(err)
			}
		}
		w.finish(t, long, turn.Failed)
		if got := w.left(t, w.start(t, alice(), resume)); !slices.Equal(endings(got), c.want) {
			t.Errorf("%d messages later it is told %q, want %q", c.between, endings(got), c.want)
		}
	}
}
