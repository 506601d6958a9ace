package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/failpoint"
	"github.com/b3abf3ee/portcullis/host/prompt"
)

// Checkpoint when this many commits or bytes of bound values have gone into the write-ahead log since the last one.
const (
	checkpointCommits = 256
	checkpointBytes   = 4 << 20
)

// tx is one write transaction in progress. Its time is fixed when it begins.
type tx struct {
	ctx   context.Context // of the write in progress, never cancelled: a transaction that began runs to its end
	conn  *prepared
	now   time.Time
	bytes int  // of bound values
	told  told // the debt that the write in progress fails for
	head  link // the end of the audit's chain, once it was asked for

	// What was read in the transaction before; whatever changes it says so here.
	stood        stood
	calibrations map[string]prompt.Calibration
}

// write runs fn in a write transaction and returns nil once that is durable. It is the only way to change the database.
// Writes that come together share one transaction and so one flush of the disk; each is still all or nothing, and they
// run in the order they came in. fn must not keep t and must not let its results be used before write returned nil: then
// they are durable. It may run on another goroutine, and again from its start when a write beside it failed: only its
// last run counts.
func (s *Store) write(ctx context.Context, fn func(t *tx) error) error {
	if s.readOnly {
		return ErrReadOnly
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	o := &op{ctx: context.WithoutCancel(ctx), fn: fn, name: failpoint.Caller("sqlite"), done: make(chan struct{})}
	s.queue.add(o)
	return s.await(ctx, o)
}

// await waits until o is durable or has failed, and flushes the writes that wait when nobody else does. When ctx ends
// first, a write whose transaction has not begun does not happen; one behind stays for whoever writes next.
func (s *Store) await(ctx context.Context, o *op) error {
	select {
	case s.gate <- struct{}{}: // the writer's turn: for all that wait, not only for o
		s.flushUntil(o)
	case <-o.done:
	case <-ctx.Done():
		if o.behind != "" || s.queue.withdraw(o) {
			return context.Cause(ctx)
		}
	}
	<-o.done
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

func (s *Store) leave() { <-s.gate }

func (s *Store) usable() error {
	if s.closed {
		return ErrClosed
	}
	return s.failure
}

// do runs a statement that has no arguments and changes no rows.
func (t *tx) do(statement string) error {
	_, err := t.conn.exec(t.ctx, statement)
	return err
}

// rollback undoes the transaction. SQLite may have done so itself after a grave error, which is no error here.
func (t *tx) rollback() error {
	err := t.do("ROLLBACK")
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
