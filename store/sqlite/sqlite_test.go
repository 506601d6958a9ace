package sqlite

import (
	"crypto/rand"
	"path/filepath"
	"testing"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/storetest"
)

var _ storetest.Store = (*Store)(nil)

// open opens the database at path under a fresh clock and closes it with the test.
func open(t testing.TB, path string) (*Store, *storetest.Clock) {
	t.Helper()
	clock := storetest.NewClock()
	s, err := Open(t.Context(), Config{Path: path, Clock: clock.Now, IDs: id.NewSource(clock.Now, rand.Reader)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, clock
}

func harness(t testing.TB) storetest.Harness {
	s, clock := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	return storetest.Harness{
		Store: s, Clock: clock, Issuer: principal.NewIssuer(string(s.StoreID())), Disown: s.disown, Doubt: s.doubt,
	}
}

// disown takes a session's owner away, which the schema forbids to every program.
func (s *Store) disown(t testing.TB, session id.Session) {
	t.Helper()
	defer s.owners.forget()
	err := s.write(t.Context(), func(tx *tx) error {
		for _, query := range []string{
			`DROP TRIGGER session_owners_kept`,
			`DELETE FROM conversation_bindings WHERE session_id = '` + string(session) + `'`,
			`DELETE FROM session_owners WHERE session_id = '` + string(session) + `'`,
			`CREATE TRIGGER session_owners_kept BEFORE DELETE ON session_owners
				BEGIN SELECT RAISE(ABORT, 'session owners are never deleted'); END`,
		} {
			if _, err := s.conn.ExecContext(tx.ctx, query); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// doubt makes a session's owner uncertain, which the schema forbids to every program.
func (s *Store) doubt(t testing.TB, session id.Session) {
	t.Helper()
	defer s.owners.forget()
	err := s.write(t.Context(), func(tx *tx) error {
		for _, query := range []string{
			`DROP TRIGGER session_owners_fixed`,
			`DELETE FROM conversation_bindings WHERE session_id = '` + string(session) + `'`,
			`UPDATE session_owners SET legacy = 1 WHERE session_id = '` + string(session) + `'`,
			`CREATE TRIGGER session_owners_fixed BEFORE UPDATE ON session_owners
				BEGIN SELECT RAISE(ABORT, 'session owners never change'); END`,
		} {
			if _, err := s.conn.ExecContext(tx.ctx, query); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestContract(t *testing.T) {
	statements := map[string]bool{}
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		h := harness(t)
		t.Cleanup(func() { // before the store is closed
			for _, query := range h.Store.(*Store).statements() {
				statements[query] = true
			}
		})
		return h
	})
	t.Run("no statement scans what grows", func(t *testing.T) { checkPlans(t, statements) })
	t.Run("what every turn writes makes no table", func(t *testing.T) { checkLight(t, statements) })
}
