package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func record(s *Store) event.Record {
	return event.Record{ID: s.ids.Event(), At: s.clock(), Kind: event.PluginInstalled}
}

// faulty is a driver error with a result code.
type faulty int

func (f faulty) Error() string { return fmt.Sprint("result code ", int(f)) }
func (f faulty) Code() int     { return int(f) }

func count(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.reader.row(t.Context(), `SELECT count(*) FROM events`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFailedTransactionLeavesNothing(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	wanted := errors.New("changed my mind")
	for name, fn := range map[string]func(*tx) error{
		"error": func(*tx) error { return wanted },
		"panic": func(*tx) error { panic(wanted) },
	} {
		before := count(t, s)
		func() {
			defer func() {
				if r := recover(); (r != nil) != (name == "panic") {
					t.Errorf("%s: recovered %v", name, r)
				}
			}()
			err := s.write(t.Context(), func(x *tx) error {
				if err := s.audit(x, record(s)); err != nil {
					t.Error(err)
				}
				return fn(x)
			})
			if !errors.Is(err, wanted) {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if n := count(t, s); n != before {
			t.Errorf("%s: %d records are left", name, n-before)
		}
		if err := s.Record(t.Context(), record(s)); err != nil {
			t.Errorf("%s: the next write: %v", name, err)
		}
	}
}

func TestCancelledWaitWritesNothingAndBegunWriteEnds(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	ctx, cancel := context.WithCancel(t.Context())
	inside, waited := make(chan struct{}), make(chan error, 1)
	begun := make(chan error, 1)
	go func() {
		begun <- s.write(ctx, func(x *tx) error {
			close(inside)
			if err := <-waited; !errors.Is(err, context.Canceled) { // the other write, which waits for this one
				t.Errorf("a cancelled wait: %v", err)
			}
			return s.audit(x, record(s))
		})
	}()
	<-inside
	cancel()
	waited <- s.Record(ctx, record(s))
	if err := <-begun; err != nil {
		t.Errorf("a write that had begun: %v", err)
	}
	if n := count(t, s); n != 1 {
		t.Errorf("%d records", n)
	}
	if err := s.Record(ctx, record(s)); !errors.Is(err, context.Canceled) {
		t.Errorf("a write with a dead context: %v", err)
	}
}

func TestGraveFaultStopsWriting(t *testing.T) {
	for fault, grave := range map[faulty]bool{
		10: true, 10 | 4<<8: true, 11: true, 26: true, // I/O error, failed fsync, malformed, not a database
		1: false, 5: false, 13: false, 19: false, // error, busy, full, constraint
	} {
		s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
		if err := s.write(t.Context(), func(*tx) error { return fmt.Errorf("wrapped: %w", fault) }); code(err) != int(fault)&0xff {
			t.Errorf("%d: %v", fault, err)
		}
		err := s.Record(t.Context(), record(s))
		var failed *FailedError
		if errors.As(err, &failed) != grave || !grave && err != nil {
			t.Errorf("%d: the next write: %v", fault, err)
		}
		if grave && (failed.Database != s.path || code(failed) != int(fault)&0xff) {
			t.Errorf("%d: %v", fault, err)
		}
		if _, err := s.Events(t.Context(), operatorOf(t, s), turn.EventQuery{Limit: 1}); err != nil {
			t.Errorf("%d: reading: %v", fault, err)
		}
	}
}

func operatorOf(t testing.TB, s *Store) principal.Scope {
	t.Helper()
	scope, err := principal.NewIssuer(string(s.StoreID())).Issue(principal.Facts{
		PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// runningTurn admits a turn of the operator.
func runningTurn(t testing.TB, s *Store) id.Turn {
	t.Helper()
	now := s.clock()
	a := turn.Admission{
		Request: s.ids.Request(), Digest: "d", Turn: s.ids.Turn(), NewSession: s.ids.Session(), Selector: turn.Selector{Kind: turn.Fresh},
		Core: "c", Revision: "r", Trace: s.ids.Trace(), At: now,
		Owner: principal.Facts{PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test"},
		Claim: lease.Claim{Token: s.ids.Lease(), Epoch: s.ids.Epoch(), Expires: now.Add(time.Hour)},
	}
	var r []event.Record
	for _, kind := range []event.Kind{event.SessionCreated, event.TurnStarted} {
		r = append(r, event.Record{ID: s.ids.Event(), At: now, Kind: kind})
	}
	if got, err := s.Admit(t.Context(), a, r); err != nil || got.Disposition != turn.Admitted {
		t.Fatal(got, err)
	}
	return a.Turn
}

func TestLogIsCheckpointedAndBounded(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	scope, value := sandbox.KVScope{Plugin: "p", Principal: "a", Turn: runningTurn(t, s)}, make([]byte, wire.MaxKVValue)
	for range 4 * checkpointBytes / len(value) {
		if _, ok, err := s.Set(t.Context(), scope, "k", value, nil); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	log, err := os.Stat(s.path + "-wal")
	if err != nil || log.Size() > 3*checkpointBytes {
		t.Errorf("the log after %d bytes: %+v, %v", 4*checkpointBytes, log, err)
	}
	if s.logged >= checkpointBytes {
		t.Errorf("%d bytes since the last checkpoint", s.logged)
	}
	for range checkpointCommits {
		if err := s.write(t.Context(), func(*tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if s.commits >= checkpointCommits {
		t.Errorf("%d commits since the last checkpoint", s.commits)
	}
}

func TestClosedAndReadOnlyStoresRefuse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	s, clock := open(t, path)
	if err := s.Record(t.Context(), record(s)); err != nil {
		t.Fatal(err)
	}
	ro, err := Open(t.Context(), Config{Path: path, Clock: clock.Now, IDs: id.NewSource(clock.Now, rand.Reader), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if ro.StoreID() != s.StoreID() {
		t.Errorf("store ids %s and %s", ro.StoreID(), s.StoreID())
	}
	if err := ro.Record(t.Context(), record(s)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a write: %v", err)
	}
	by := operatorOf(t, ro)
	if got, err := ro.Events(t.Context(), by, turn.EventQuery{Limit: 10}); len(got) != 1 || err != nil {
		t.Errorf("a read: %d records, %v", len(got), err)
	}
	if _, found, err := ro.Turn(t.Context(), by, "trn_none"); found || err != nil {
		t.Errorf("a denied lookup: %v, %v", found, err)
	}
	for range 2 {
		if err := errors.Join(ro.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := s.Record(t.Context(), record(s)); !errors.Is(err, ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
	if _, _, err := s.Turn(t.Context(), by, "trn_none"); err == nil {
		t.Error("a read after Close went through")
	}
	if _, err := Open(t.Context(), Config{Path: path + ".none", Clock: clock.Now, IDs: s.ids, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing database: %v", err)
	}
	if _, err := Open(t.Context(), Config{Path: path}); err == nil {
		t.Error("a store was opened without a clock")
	}
}

func TestReopenedStoreIsTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a folder with 'quotes' and #?%", "portcullis.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	s, _ := open(t, path)
	first := s.StoreID()
	if err := s.Record(t.Context(), record(s)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, path)
	if again.StoreID() != first || first == "" || count(t, again) != 1 {
		t.Errorf("store %q, then %q with %d records", first, again.StoreID(), count(t, again))
	}
	if again.Path() != path {
		t.Errorf("path %s", again.Path())
	}
}

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("file modes say nothing here")
		return
	}
	path := filepath.Join(t.TempDir(), "portcullis.db")
	s, _ := open(t, path)
	if err := s.Record(t.Context(), record(s)); err != nil {
		t.Fatal(err)
	}
	dst := path + ".copy"
	if err := Backup(t.Context(), path, dst); err != nil {
		t.Fatal(err)
	}
	private := func(names ...string) {
		t.Helper()
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	}
	private(path, path+"-wal", path+"-shm", dst)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	private(path, path+"-wal")
	if _, err := Open(t.Context(), Config{Path: t.TempDir(), Clock: time.Now, IDs: s.ids}); err == nil {
		t.Error("a folder was opened as a database")
	}
}
