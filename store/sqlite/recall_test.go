package sqlite

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// sessionOf is the session of a turn that runs.
func sessionOf(t *testing.T, s *Store, turnID id.Turn) (session id.Session) {
	t.Helper()
	if err := s.reader.row(t.Context(), `SELECT session_id FROM turns WHERE id = ?`, string(turnID)).Scan(&session); err != nil {
		t.Fatal(err)
	}
	return session
}

// An owner is as it is for good, so it is read once. What was not found is looked for again, and a store that is closed, or a
// caller who is gone, is told nothing.
func TestAnOwnerIsReadOnce(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	session := sessionOf(t, s, runningTurn(t, s))
	if f, found, err := s.Owner(t.Context(), "ses_none"); found || err != nil {
		t.Fatal(f, found, err)
	}
	first, found, err := s.Owner(t.Context(), session)
	if err != nil || !found || first.Authority != principal.Operator || first.SessionID != string(session) {
		t.Fatal(first, found, err)
	}
	s.disown(t, session) // no program can; the harness forgets what was read
	s.owners.keep(session, principal.Facts{Authority: first.Authority, PrincipalID: first.PrincipalID})
	again, found, err := s.Owner(t.Context(), session)
	if err != nil || !found || again.PrincipalID != first.PrincipalID || again.SessionID != first.SessionID {
		t.Errorf("%+v, %v, %v", again, found, err)
	}
	if _, found, err := s.Owner(t.Context(), "ses_none"); found || err != nil {
		t.Error("what is not there was remembered", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if f, found, err := s.Owner(gone, session); err == nil {
		t.Error("who is gone was told", f, found)
	}
	for i := range 2 * maxOwners {
		s.owners.keep(id.Session(time.Duration(i).String()), first)
	}
	if n := len(s.owners.of); n > maxOwners {
		t.Errorf("%d owners are remembered", n)
	}
	s.owners.keep(session, first)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if f, found, err := s.Owner(t.Context(), session); err == nil {
		t.Error("a store that is closed told", f, found)
	}
}

// What one write of a transaction was told of a turn is what the next one is told, unless a write between them changed it.
func TestWhatATransactionRecallsIsAsItStands(t *testing.T) {
	s, clock := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	name := runningTurn(t, s)
	session := sessionOf(t, s, name)
	var before, moved, after standing
	stand := func(into *standing) func() error {
		return func() error {
			return s.write(t.Context(), func(t *tx) (err error) { *into, err = t.stand(name); return err })
		}
	}
	if err := stand(&before)(); err != nil {
		t.Fatal(err)
	}
	until := clock.Now().Add(2 * time.Hour)
	calls := []func() error{
		stand(&before),
		func() error { _, err := s.Extend(t.Context(), session, before.claim, until); return err },
		stand(&moved),
		func() error {
			return s.write(t.Context(), func(t *tx) error {
				end := turn.Terminal{Turn: name, Session: session, Outcome: turn.Completed, At: t.now}
				_, _, err := s.endTurn(t, end, "", rule.ReasonTurnEnded)
				return err
			})
		},
		stand(&after),
	}
	commits := s.commits
	s.gate <- struct{}{}
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() {
			if err := call(); err != nil {
				t.Error(err)
			}
		})
		for s.queue.length() <= i { // in this order
		}
	}
	s.leave()
	all.Wait()
	if s.commits != commits+1 {
		t.Fatalf("%d commits", s.commits-commits)
	}
	if !moved.claim.Expires.Equal(rule.Millis(until)) || moved.state != turn.Running {
		t.Errorf("behind the longer claim: %+v", moved)
	}
	if after.state != turn.State(turn.Completed) || after.claim.Token != "" || after.fenced(before.claim, clock.Now()) != turn.AlreadyEnded {
		t.Errorf("behind the end: %+v", after)
	}
}
