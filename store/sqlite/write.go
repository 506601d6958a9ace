package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Checkpoint when this many commits or bytes of bound values have gone into the write-ahead log since the last one.
const (
	checkpointCommits = 256
	checkpointBytes   = 4 << 20
)

// tx is one write transaction in progress. Its time is fixed when it begins.
type tx struct {
	ctx   context.Context // never cancelled: a transaction that began runs to its end
	conn  *prepared
	now   time.Time
	bytes int // of bound values
}

// write runs fn in the one write transaction there is at a time and commits when fn returns nil. It is the only way
// to change the database. fn must not keep t, must leave nothing behind when it fails, and must not let its results
// be used before write returned nil: then they are durable.
func (s *Store) write(ctx context.Context, fn func(t *tx) error) error {
	if s.readOnly {
		return ErrReadOnly
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	t := &tx{ctx: context.WithoutCancel(ctx), conn: s.writer, now: s.clock()}
	if err := t.begin(); err != nil {
		return s.judge(err)
	}
	committed := false
	defer func() {
		if !committed { // also when fn panicked: the next transaction must be able to begin
			_ = s.judge(t.rollback())
		}
	}()
	if err := fn(t); err != nil {
		return s.judge(err)
	}
	if err := t.commit(); err != nil {
		if code(err) == codeFull {
			return err // a full disk undoes the commit cleanly; after anything else nobody can tell
		}
		return s.fail(err)
	}
	committed = true
	s.checkpoint(t)
	return nil
}

// enter waits for the writer's turn.
func (s *Store) enter(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := s.usable(); err != nil {
		s.leave()
		return err
	}
	return nil
}

func (s *Store) leave() { <-s.gate }

func (s *Store) usable() error {
	if s.closed {
		return ErrClosed
	}
	return s.failure
}

func (t *tx) begin() error {
	_, err := t.conn.exec(t.ctx, "BEGIN IMMEDIATE")
	return err
}

func (t *tx) commit() error {
	_, err := t.conn.exec(t.ctx, "COMMIT")
	return err
}

// rollback undoes the transaction. SQLite may have done so itself after a grave error, which is no error here.
func (t *tx) rollback() error {
	_, err := t.conn.exec(t.ctx, "ROLLBACK")
	if code(err) == codeError {
		return nil
	}
	return err
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	for _, a := range args {
		switch v := a.(type) {
		case string:
			t.bytes += len(v)
		case []byte:
			t.bytes += len(v)
		}
	}
	res, err := t.conn.exec(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// must runs a statement that has to change exactly one row.
func (t *tx) must(query string, args ...any) error {
	n, err := t.exec(query, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows changed, not 1", n)
	}
	return err
}

func (t *tx) row(query string, args ...any) row { return t.conn.row(t.ctx, query, args...) }

func (t *tx) rows(query string, args ...any) (*sql.Rows, error) {
	return t.conn.rows(t.ctx, query, args...)
}

// checkpoint moves the log into the database now and then. SQLite's own checkpoint swallows the error of a disk that
// fails under it; this one does not: what was committed stays committed, and the next write is told.
func (s *Store) checkpoint(t *tx) {
	s.logged += t.bytes
	if s.commits++; s.commits < checkpointCommits && s.logged < checkpointBytes {
		return
	}
	s.commits, s.logged = 0, 0
	var busy, log, done int
	if err := t.row("PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &log, &done); err != nil && code(err) != codeBusy {
		_ = s.fail(err) // kept for the next write: the caller's own commit is durable
	}
}
