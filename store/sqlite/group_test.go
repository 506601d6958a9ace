package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/b3abf3ee/portcullis/host/turn"
)

// together holds the writer until every one of fns waits for it, and returns their errors and recovered panics.
func together(t *testing.T, s *Store, fns ...func(*tx) error) (errs []error, panics []any) {
	t.Helper()
	errs, panics = make([]error, len(fns)), make([]any, len(fns))
	s.gate <- struct{}{}
	var all sync.WaitGroup
	for i, fn := range fns {
		all.Go(func() {
			defer func() { panics[i] = recover() }()
			errs[i] = s.write(t.Context(), fn)
		})
		for s.queue.length() <= i { // in this order
		}
	}
	s.leave()
	all.Wait()
	return errs, panics
}

func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ops)
}

func TestWritesThatComeTogetherShareACommitAndFailAlone(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	before, wanted := s.commits, errors.New("not this one")
	audit := func(x *tx) error { return s.audit(x, record(s)) }
	errs, panics := together(
		t, s, audit,
		func(x *tx) error { return errors.Join(audit(x), wanted) },
		audit,
		func(x *tx) error { _ = audit(x); panic("that one") },
		audit,
	)
	for i, err := range errs {
		if bad := i == 1; errors.Is(err, wanted) != bad || !bad && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
		if bad := i == 3; (panics[i] == "that one") != bad || !bad && panics[i] != nil {
			t.Errorf("write %d: panic %v", i, panics[i])
		}
	}
	if n := count(t, s); n != 3 {
		t.Errorf("%d records of 3", n)
	}
	if n := s.commits - before; n != 1 {
		t.Errorf("%d commits for 5 writes", n)
	}
}

// A write that fails for what another of its group has written is told so when that is there for everybody.
func TestARefusalIsToldWhenWhatItIsForIsThere(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	wrote, wanted := 0, errors.New("it is there already")
	var refused *op
	s.gate <- struct{}{}
	var all sync.WaitGroup
	for i, fn := range []func(*tx) error{
		func(x *tx) error {
			if wrote++; wrote == 2 && refused.over() { // again, without the write that failed
				t.Error("the refusal was told before what it is for was committed")
			}
			return s.audit(x, record(s))
		},
		func(*tx) error { return wanted },
	} {
		all.Go(func() {
			if err := s.write(t.Context(), fn); (i == 1) != errors.Is(err, wanted) {
				t.Errorf("write %d: %v", i, err)
			}
		})
		for s.queue.length() <= i {
		}
	}
	refused = s.queue.ops[1] // nobody works on the queue while this test holds the writer
	s.leave()
	all.Wait()
	if wrote != 2 {
		t.Errorf("wrote %d times", wrote)
	}
}

func TestAGroupThatSQLiteUndidRunsAgainWithoutTheWriteThatBrokeIt(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	audit := func(x *tx) error { return s.audit(x, record(s)) }
	errs, _ := together(t, s, audit, func(x *tx) error {
		if err := x.do("ROLLBACK"); err != nil { // as SQLite does by itself after a grave error
			t.Error(err)
		}
		return faulty(codeFull)
	}, audit)
	if errs[0] != nil || code(errs[1]) != codeFull || errs[2] != nil {
		t.Errorf("%v", errs)
	}
	if n := count(t, s); n != 2 {
		t.Errorf("%d records of 2", n)
	}
}

func TestWhoComesWhileAGroupRunsJoinsIt(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	before := s.commits
	var all sync.WaitGroup
	err := s.write(t.Context(), func(x *tx) error {
		for i := range 3 {
			all.Go(func() {
				if err := s.Record(t.Context(), record(s)); err != nil {
					t.Error(err)
				}
			})
			for s.queue.length() <= i {
			}
		}
		return s.audit(x, record(s))
	})
	if err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if n := count(t, s); n != 4 {
		t.Errorf("%d records of 4", n)
	}
	if n := s.commits - before; n != 1 {
		t.Errorf("%d commits for 4 writes", n)
	}
}

func TestAWriteThatFailsLateTakesNothingFromThoseThatJoined(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	audit := func(x *tx) error { return s.audit(x, record(s)) }
	wanted := errors.New("not these")
	var fns []func(*tx) error
	for i := range 2 * maxGroup {
		fns = append(fns, func(x *tx) error {
			if err := audit(x); err != nil || i%3 != 2 {
				return err
			}
			return wanted
		})
	}
	errs, _ := together(t, s, fns...)
	for i, err := range errs {
		if bad := i%3 == 2; errors.Is(err, wanted) != bad || !bad && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n, want := count(t, s), 2*maxGroup-2*maxGroup/3; n != want {
		t.Errorf("%d records of %d", n, want)
	}
}

func TestAFailingDiskFailsTheGroup(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	audit := func(x *tx) error { return s.audit(x, record(s)) }
	errs, _ := together(t, s, audit, func(*tx) error { return faulty(codeIO) }, audit)
	for i, err := range errs {
		if failed := (*FailedError)(nil); !errors.As(err, &failed) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := count(t, s); n != 0 {
		t.Errorf("%d records", n)
	}
}

func TestManyWritersAllCommit(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	var all sync.WaitGroup
	for range 3 * maxGroup {
		all.Go(func() {
			if err := s.Record(t.Context(), record(s)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := count(t, s); n != 3*maxGroup {
		t.Errorf("%d records of %d", n, 3*maxGroup)
	}
}

func TestACancelledWriteIsTakenOutOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{gate: make(chan struct{}, 1)}
		s.gate <- struct{}{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.write(ctx, func(*tx) error { t.Error("it ran"); return nil }) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || s.queue.length() != 0 {
			t.Errorf("%v with %d waiting", err, s.queue.length())
		}
	})
}

func TestClosingWritesWhatWasTakenBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	s, _ := open(t, path)
	if err := s.behind(t.Context(), &op{behind: "trn_x", fn: func(x *tx) error { return s.audit(x, record(s)) }}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s); n != 0 {
		t.Errorf("%d records before any write", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, path)
	if n := count(t, again); n != 1 {
		t.Errorf("%d records after closing", n)
	}
	bad := errors.New("no")
	if err := again.behind(t.Context(), &op{behind: "trn_y", fn: func(*tx) error { return bad }}); err != nil {
		t.Fatal(err)
	}
	if err := again.Record(t.Context(), record(again)); err != nil {
		t.Fatal(err)
	}
	if err := again.owes("trn_y"); !errors.Is(err, turn.ErrMessagesLost) || !errors.Is(err, bad) {
		t.Errorf("owed: %v", err)
	}
}

// What a turn must be told about its writes is owed until it was told: the write that fails for it runs in a group, and when
// the group's transaction fails it is told that instead.
func TestADebtIsOwedUntilItIsTold(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	bad := errors.New("no")
	if err := s.behind(t.Context(), &op{behind: "trn_x", fn: func(*tx) error { return bad }}); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), record(s)); err != nil { // together counts what waits: nothing may
		t.Fatal(err)
	}
	ends := func(x *tx) error { return s.repaid(x, "trn_x") }
	spoils := func(x *tx) error { // the transaction, at its end
		return errors.Join(s.audit(x, record(s)), x.do("DROP TABLE audit_head"))
	}
	errs, _ := together(t, s, spoils, ends)
	if errs[0] == nil || errs[1] == nil || errors.Is(errs[1], bad) {
		t.Errorf("a group that is undone: %v", errs)
	}
	if err := s.owes("trn_x"); !errors.Is(err, bad) {
		t.Errorf("owed after a group that is undone: %v", err)
	}
	audit := func(x *tx) error { return s.audit(x, record(s)) }
	if errs, _ = together(t, s, audit, ends); errs[0] != nil || !errors.Is(errs[1], turn.ErrMessagesLost) || !errors.Is(errs[1], bad) {
		t.Errorf("a group that is written: %v", errs)
	}
	if errs, _ = together(t, s, audit, ends); errs[0] != nil || errs[1] != nil || s.owes("trn_x") != nil {
		t.Errorf("told again: %v, %v", errs, s.owes("trn_x"))
	}
}
