package storetest

import (
	"errors"
	"testing"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func endingCases() []testCase {
	return []testCase{
		{"a session that is ended takes back what was allowed in it, and starts nothing more", sessionEnded},
		{"only who reaches a session ends it", endingOwners},
	}
}

func (w *world) endSession(t testing.TB, by principal.Scope, s id.Session, want turn.Ending) {
	t.Helper()
	if how, err := w.Store.EndSession(w.ctx, by, s, w.record(event.SessionEnded)); err != nil || how != want {
		t.Errorf("end session: %q, %v, want %q", how, err, want)
	}
}

func sessionEnded(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	session, once, theirs := w.allowed(t, l, approval.ForSession), w.allowed(t, l, approval.Once), w.allowed(t, other, approval.ForSession)
	pending := w.ask(t, l)
	w.starts(t, "before", w.carries(l, session), effect.Begun)
	w.endSession(t, w.scope(t, alice(), l.session), l.session, turn.Ended)
	w.endSession(t, w.operator(t), l.session, turn.EndedBefore)

	stands := func(name string, q approval.Question, state approval.State, revoked bool) {
		t.Helper()
		got, found, err := w.Store.Question(w.ctx, w.operator(t), q.ID)
		if err != nil || !found || got.State != state || got.Revoked.IsZero() == revoked {
			t.Errorf("%s: %s, revoked %v, %v %v", name, got.State, got.Revoked, found, err)
		}
	}
	stands("for the session", session, approval.Allowed, true)
	stands("once", once, approval.Allowed, false)
	stands("pending", pending, approval.Expired, false)
	stands("of another session", theirs, approval.Allowed, false)
	w.cancelRequested(t, l.turn, true)
	w.cancelRequested(t, other.turn, false)
	w.starts(t, "under the allowance", w.carries(l, session), effect.SessionEnded)
	w.starts(t, "once", w.carries(l, once), effect.SessionEnded)
	w.starts(t, "without an approval", w.started(l), effect.SessionEnded)
	w.starts(t, "in another session", w.carries(other, theirs), effect.Begun)
	for kind, n := range map[event.Kind]int{event.SessionEnded: 1, event.ApprovalRevoked: 1} {
		if recs := w.events(t, turn.EventQuery{Kind: kind}); len(recs) != n {
			t.Errorf("%d records of %s, want %d", len(recs), kind, n)
		}
	}
	if how := w.finish(t, l, turn.Cancelled); how != turn.Written {
		t.Error(how)
	}

	if _, found, err := w.Store.BoundSession(w.ctx, alice()); found || err != nil {
		t.Errorf("the conversation is bound to it still: %v, %v", found, err)
	}
	if got := w.admit(t, w.admission(alice(), resume(l.session))); got.Disposition != turn.SessionOver {
		t.Errorf("resumed: %s", got.Disposition)
	}
	if got := w.admit(t, w.admission(alice(), bound())); got.Disposition != turn.Admitted || got.Session == l.session {
		t.Errorf("the conversation goes on: %s in the old session: %v", got.Disposition, got.Session == l.session)
	}
	row, found, err := w.Store.Session(w.ctx, w.operator(t), l.session)
	if err != nil || !found || row.Ended.IsZero() {
		t.Errorf("it reads as ended %v, %v, %v", row.Ended, found, err)
	}
	if all, err := w.Store.Sessions(w.ctx, w.operator(t), 0, 10); err != nil || len(all) != 3 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
}

func endingOwners(t *testing.T, w *world) {
	l, theirs := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	for _, s := range []id.Session{l.session, "ses_unknown"} {
		w.endSession(t, w.scope(t, bob(), theirs.session), s, turn.EndNoSession)
	}
	var refused *principal.RefusedError
	if _, err := w.Store.EndSession(w.ctx, principal.Scope{}, l.session, w.record(event.SessionEnded)); !errors.As(err, &refused) {
		t.Errorf("by nobody: %v", err)
	}
	if _, err := w.Store.EndSession(w.ctx, w.operator(t), l.session, event.Record{}); err == nil {
		t.Error("an end without a record was taken")
	}
	w.Disown(t, theirs.session)
	w.endSession(t, w.operator(t), theirs.session, turn.EndNoSession)
	w.starts(t, "in a session that nobody ended", w.started(l), effect.Begun)
}
