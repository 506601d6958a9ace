package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func cancelCases() []testCase {
	return []testCase{
		{"a request to end a turn is noted once and ends nothing by itself", cancelOnce},
		{"only who reaches a turn asks for its end", cancelOwners},
		{"who runs a turn notes that its end came, under its claim and once", cancelNoted},
		{"a restart ends a turn as cancelled whose end was asked for", cancelOutlives},
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

// noteCancel notes that the end of l came from where it runs.
func (w *world) noteCancel(t *testing.T, l live, want turn.Fenced) {
	t.Helper()
	r := w.record(event.TurnCancelAsked)
	r.Session, r.Turn = l.session, l.turn
	if how, err := w.Store.NoteCancel(w.ctx, l.turn, l.claim, r); err != nil || how != want {
		t.Errorf("note the end of %s: %q, %v, want %q", l.turn, how, err, want)
	}
}

func cancelNoted(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	w.noteCancel(t, live{l.turn, l.session, other.claim}, turn.Stale)
	w.cancelRequested(t, l.turn, false)
	nobody := w.record(event.TurnCancelAsked)
	nobody.Turn, nobody.Principal = l.turn, ""
	elsewhere := w.record(event.TurnCancelAsked)
	elsewhere.Turn = other.turn
	unknown := w.record(event.TurnCancelAsked)
	unknown.Turn = "trn_unknown"
	for _, r := range []event.Record{nobody, elsewhere, {}} {
		if how, err := w.Store.NoteCancel(w.ctx, l.turn, l.claim, r); err == nil {
			t.Errorf("noted %q with the record %+v", how, r)
		}
	}
	if how, err := w.Store.NoteCancel(w.ctx, "trn_unknown", l.claim, unknown); err == nil {
		t.Errorf("noted %q of no turn", how)
	}
	for range 2 {
		w.noteCancel(t, l, turn.Written)
		w.cancelRequested(t, l.turn, true)
	}
	w.cancelRequested(t, other.turn, false)
	if how := w.requestCancel(t, w.operator(t), l.turn); how != turn.CancelNotedBefore {
		t.Errorf("asked again: %q", how)
	}
	if how := w.requestCancel(t, w.operator(t), other.turn); how != turn.CancelNoted {
		t.Error(how)
	}
	w.noteCancel(t, other, turn.Written)
	for _, one := range []live{l, other} {
		if recs := w.events(t, turn.EventQuery{Turn: one.turn, Kind: event.TurnCancelAsked}); one == l && len(recs) != 1 || len(recs) > 1 {
			t.Errorf("records %+v", recs)
		}
	}
	if how := w.finish(t, l, turn.Cancelled); how != turn.Written {
		t.Fatal(how)
	}
	w.noteCancel(t, l, turn.AlreadyEnded)
}

// A request outlives the host that was to heed it. What nobody knows outranks it.
func cancelOutlives(t *testing.T, w *world) {
	asked, noted, unsure := w.start(t, alice(), bound()), w.start(t, bob(), bound()), w.start(t, talker("carol"), bound())
	w.begin(t, unsure)
	if err := w.Store.EffectFinished(w.ctx, w.finished(w.begin(t, asked), effect.Succeeded), w.record(event.EffectFinished)); err != nil {
		t.Fatal(err)
	}
	for _, l := range []live{asked, unsure} {
		if how := w.requestCancel(t, w.operator(t), l.turn); how != turn.CancelNoted {
			t.Fatal(how)
		}
	}
	w.noteCancel(t, noted, turn.Written)
	got, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now())
	if err != nil || len(got) != 3 {
		t.Fatalf("recovered %+v, %v", got, err)
	}
	for i, want := range []turn.Outcome{turn.Cancelled, turn.Cancelled, turn.Indeterminate} {
		rec := w.turnOf(t, got[i].Turn)
		recs := w.events(t, turn.EventQuery{Turn: got[i].Turn, Kind: event.TurnRecovered})
		if got[i].Outcome != want || rec.Outcome != want || rec.Reason != "host_restarted" || len(recs) != 1 || recs[0].Field("outcome") != string(want) {
			t.Errorf("recovered %+v, turn %+v, records %+v, want %s", got[i], rec, recs, want)
		}
	}
	next := w.start(t, alice(), bound()) // it takes no request over from the one before
	w.Clock.Advance(time.Minute)
	if got, err := w.Store.Recover(w.ctx, w.epoch, w.Clock.Now()); err != nil || len(got) != 1 || got[0].Turn != next.turn || got[0].Outcome != turn.Lost {
		t.Errorf("recovered %+v, %v", got, err)
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
