package storetest

import (
	"errors"
	"testing"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func cancelCases() []testCase {
	return []testCase{
		{"a request to end a turn is noted once and ends nothing by itself", cancelOnce},
		{"only who reaches a turn asks for its end", cancelOwners},
	}
}

func (w *world) requestCancel(t *testing.T, by principal.Scope, key id.Turn) turn.Cancelling {
	t.Helper()
	how, err := w.Store.RequestCancel(w.ctx, by, key, w.record(event.TurnCancelAsked))
	if err != nil {
		t.Fatal(err)
	}
	return how
}

func (w *world) cancelRequested(t *testing.T, key id.Turn, want bool) {
	t.Helper()
	if asked, err := w.Store.CancelRequested(w.ctx, key); err != nil || asked != want {
		t.Errorf("asked for the end of %s: %v, %v, want %v", key, asked, err, want)
	}
}

func cancelOnce(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	w.cancelRequested(t, l.turn, false)
	for _, want := range []turn.Cancelling{turn.CancelNoted, turn.CancelNotedBefore, turn.CancelNotedBefore} {
		if how := w.requestCancel(t, w.scope(t, alice(), l.session), l.turn); how != want {
			t.Errorf("%q, want %q", how, want)
		}
		w.cancelRequested(t, l.turn, true)
	}
	w.cancelRequested(t, other.turn, false)
	w.cancelRequested(t, "trn_unknown", false)
	if recs := w.events(t, turn.EventQuery{Kind: event.TurnCancelAsked}); len(recs) != 1 {
		t.Errorf("records %+v", recs)
	}
	if rec := w.turnOf(t, l.turn); rec.State != turn.Running {
		t.Errorf("the turn is %s", rec.State)
	}
	if how := w.finish(t, l, turn.Cancelled); how != turn.Written {
		t.Fatal(how)
	}
	if how := w.requestCancel(t, w.operator(t), l.turn); how != turn.CancelEnded {
		t.Errorf("of an ended turn: %q", how)
	}
	next := w.start(t, alice(), bound())
	w.cancelRequested(t, next.turn, false)
	if _, err := w.Store.RequestCancel(w.ctx, w.operator(t), next.turn, event.Record{}); err == nil {
		t.Error("a request without a record was taken")
	}
	if how := w.requestCancel(t, w.operator(t), next.turn); how != turn.CancelNoted {
		t.Errorf("by the operator: %q", how)
	}
}

func cancelOwners(t *testing.T, w *world) {
	l, theirs := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	for _, key := range []id.Turn{l.turn, "trn_unknown"} {
		if how := w.requestCancel(t, w.scope(t, bob(), theirs.session), key); how != turn.CancelNoTurn {
			t.Errorf("%s: %q", key, how)
		}
	}
	var refused *principal.RefusedError
	if _, err := w.Store.RequestCancel(w.ctx, principal.Scope{}, l.turn, w.record(event.TurnCancelAsked)); !errors.As(err, &refused) {
		t.Errorf("by nobody: %v", err)
	}
	w.Disown(t, l.session)
	if how := w.requestCancel(t, w.operator(t), l.turn); how != turn.CancelNoTurn {
		t.Errorf("of nobody's session: %q", how)
	}
	w.cancelRequested(t, l.turn, false)
	if recs := w.events(t, turn.EventQuery{Kind: event.LookupDenied}); len(recs) != 3 {
		t.Errorf("denials %+v", recs)
	}
}
