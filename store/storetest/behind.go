package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func behindCases() []testCase {
	return []testCase{
		{"messages of an admission and an end are theirs", messagesOfBothEnds},
		{"messages written behind come before the next write", behindBeforeNext},
		{"messages that cannot be stored are told once", behindLost},
		{"messages under a claim that is over are told", behindStale},
	}
}

func (w *world) bodies(t *testing.T, l live) []string {
	t.Helper()
	got, err := w.Store.Window(w.ctx, w.operator(t), l.session, 100, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range got {
		out = append(out, m.Role+" "+string(m.Body))
	}
	return out
}

func messagesOfBothEnds(t *testing.T, w *world) {
	a, r := w.admission(alice(), bound()), w.records()
	first := live{turn: a.Turn}
	a.Messages = []turn.Message{w.message(first, "user", `"in"`)}
	got, err := w.Store.Admit(w.ctx, a, r)
	if err != nil || got.Disposition != turn.Admitted {
		t.Fatalf("%+v, %v", got, err)
	}
	l := live{a.Turn, got.Session, got.Claim}
	if got := w.bodies(t, l); !slices.Equal(got, []string{`user "in"`}) {
		t.Errorf("after the admission: %q", got)
	}
	again, err := w.Store.Admit(w.ctx, a, w.records())
	if err != nil || again.Disposition != turn.Duplicate {
		t.Fatalf("%+v, %v", again, err)
	}
	end := w.terminal(l, turn.Completed)
	end.Messages = []turn.Message{a.Messages[0]}
	if how, err := w.Store.Finish(w.ctx, end, w.record(event.TurnFinished)); err == nil {
		t.Errorf("an end with a message id that is taken: %q", how)
	}
	end.Messages = []turn.Message{w.message(live{turn: w.ids.Turn()}, "assistant", `"out"`)}
	if how, err := w.Store.Finish(w.ctx, end, w.record(event.TurnFinished)); err == nil {
		t.Errorf("an end with another turn's message: %q", how)
	}
	end.Messages = []turn.Message{w.message(l, "assistant", `"out"`)}
	if how, err := w.Store.Finish(w.ctx, end, w.record(event.TurnFinished)); err != nil || how != turn.Written {
		t.Fatalf("%q, %v", how, err)
	}
	if got := w.bodies(t, l); !slices.Equal(got, []string{`user "in"`, `assistant "out"`}) {
		t.Errorf("after the end: %q", got)
	}
}

func behindBeforeNext(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	behind := func(l live, role, body string) {
		t.Helper()
		if err := w.Store.AppendBehind(w.ctx, l.turn, l.claim, []turn.Message{w.message(l, role, body)}); err != nil {
			t.Fatal(err)
		}
	}
	behind(l, "assistant", `1`)
	behind(other, "assistant", `"theirs"`)
	behind(l, "tool", `2`)
	w.begin(t, l)
	if got := w.bodies(t, l); !slices.Equal(got, []string{`assistant 1`, `tool 2`}) {
		t.Errorf("after the effect began: %q", got)
	}
	behind(l, "tool", `3`)
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, []turn.Message{w.message(l, "assistant", `4`)}); err != nil || how != turn.Written {
		t.Fatalf("%q, %v", how, err)
	}
	behind(l, "tool", `5`)
	if how := w.finish(t, l, turn.Failed); how != turn.Written {
		t.Fatalf("finish %q", how)
	}
	if got := w.bodies(t, l); !slices.Equal(got, []string{`assistant 1`, `tool 2`, `tool 3`, `assistant 4`, `tool 5`}) {
		t.Errorf("after the end: %q", got)
	}
	if how := w.finish(t, other, turn.Failed); how != turn.Written {
		t.Fatalf("finish %q", how)
	}
	if got := w.bodies(t, other); !slices.Equal(got, []string{`assistant "theirs"`}) {
		t.Errorf("the other turn: %q", got)
	}
	if err := w.Store.AppendBehind(w.ctx, l.turn, l.claim, nil); err == nil {
		t.Error("no message was taken")
	}
}

func behindLost(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	m := w.message(l, "assistant", `1`)
	for range 2 {
		if err := w.Store.AppendBehind(w.ctx, l.turn, l.claim, []turn.Message{m}); err != nil {
			t.Fatal(err)
		}
	}
	e := w.started(l)
	if _, err := w.Store.EffectStarted(w.ctx, e, w.record(event.EffectStarted)); !errors.Is(err, turn.ErrMessagesLost) {
		t.Errorf("an effect began: %v", err)
	}
	if how, err := w.Store.Finish(w.ctx, w.terminal(l, turn.Completed), w.record(event.TurnFinished)); !errors.Is(err, turn.ErrMessagesLost) {
		t.Errorf("finish %q, %v", how, err)
	}
	if how := w.finish(t, l, turn.Failed); how != turn.Written {
		t.Errorf("the second finish %q", how)
	}
	if got := w.bodies(t, l); !slices.Equal(got, []string{`assistant 1`}) {
		t.Errorf("%q", got)
	}
}

func behindStale(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	w.Clock.Advance(time.Hour)
	if err := w.Store.AppendBehind(w.ctx, l.turn, l.claim, []turn.Message{w.message(l, "assistant", `1`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.EffectStarted(w.ctx, w.started(l), w.record(event.EffectStarted)); !errors.Is(err, turn.ErrMessagesLost) {
		t.Errorf("an effect began: %v", err)
	}
	if how := w.finish(t, l, turn.Completed); how != turn.Stale {
		t.Errorf("finish %q", how)
	}
}
