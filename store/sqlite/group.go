package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/b3abf3ee/portcullis/host/failpoint"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// maxGroup is how many writes share one transaction at the most: enough that the flush is a small part of each, and
// few enough that the first of them does not wait long for the last.
const maxGroup = 64

// op is one write that waits for its transaction or is in it.
type op struct {
	ctx      context.Context // the caller's, never cancelled
	fn       func(t *tx) error
	name     string        // of its failpoints
	behind   id.Turn       // nobody waits: an error is owed to this turn
	done     chan struct{} // closed when err and panicked are final
	err      error
	panicked any
}

func (o *op) end(err error) {
	o.err = err
	close(o.done)
}

// queue holds the writes that wait, in the order they came in.
type queue struct {
	mu  sync.Mutex
	ops []*op
}

func (q *queue) add(o *op) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ops = append(q.ops, o)
}

// withdraw takes o out again; false when its transaction has begun.
func (q *queue) withdraw(o *op) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.ops, o)
	if i < 0 {
		return false
	}
	q.ops = slices.Delete(q.ops, i, i+1)
	return true
}

// next takes the first writes out, [maxGroup] at the most.
func (q *queue) next() []*op {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.ops), maxGroup)
	group := slices.Clone(q.ops[:n])
	q.ops = slices.Delete(q.ops, 0, n)
	return group
}

// flushUntil writes what waits, in order, until o is done, and gives the writer's turn back. Others that wait then take
// it: no caller works for the others for longer than its own write takes.
func (s *Store) flushUntil(o *op) {
	defer s.leave()
	for !o.over() {
		s.flushNext()
	}
}

// flushNext writes the next group, if anything waits. The caller holds the writer's turn.
func (s *Store) flushNext() (any bool) {
	group := s.queue.next()
	err := s.usable()
	if len(group) > 0 && err == nil {
		s.commitGroup(group)
		return true
	}
	for _, o := range group {
		o.end(err)
	}
	return len(group) > 0
}

func (o *op) over() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// commitGroup runs group in one transaction. A write that fails is undone alone. What makes the whole transaction fail
// is every member's error, except of those that had failed before.
func (s *Store) commitGroup(group []*op) {
	now := s.clock()
	t := &tx{ctx: group[0].ctx, conn: s.writer, now: now}
	err := t.do("BEGIN IMMEDIATE")
	if err == nil {
		err = s.runGroup(t, group)
	}
	if err == nil {
		err = t.seal()
	}
	if err == nil {
		if err = t.do("COMMIT"); err != nil && code(err) != codeFull {
			err = s.fail(err) // a full disk undoes the commit cleanly; after anything else nobody can tell
		}
	}
	if err != nil {
		_ = s.judge(t.rollback()) // the next transaction must be able to begin
	} else {
		s.checkpoint(t)
	}
	for _, o := range group {
		s.settle(o, err)
	}
}

// settle tells a write how its transaction ended.
func (s *Store) settle(o *op, err error) {
	if err == nil {
		if lost := failpoint.Hit(o.name + ".committed"); lost != nil {
			err = s.fail(lost)
		}
	}
	if o.err == nil && o.panicked == nil {
		o.err = s.judge(err)
		s.owe(o)
	}
	o.end(o.err)
}

// runGroup runs each write under a savepoint of its own. An error means that the transaction is lost.
func (s *Store) runGroup(t *tx, group []*op) error {
	if len(group) == 1 { // the transaction is savepoint enough
		s.runOne(t, group[0])
		return errors.Join(group[0].err, group[0].broken())
	}
	for _, o := range group {
		if err := t.do("SAVEPOINT one"); err != nil {
			return err
		}
		before := t.head
		s.runOne(t, o)
		if o.err != nil || o.panicked != nil {
			t.head = before // its audit records are undone with it
			if s.failure != nil {
				return s.failure
			}
			// After a grave error SQLite has undone the transaction by itself: then there is no savepoint any more,
			// and what the others wrote is gone too.
			if err := t.do("ROLLBACK TO one"); err != nil {
				return fmt.Errorf("undone with a write beside it: %w", errors.Join(o.err, err))
			}
		}
		if err := t.do("RELEASE one"); err != nil {
			return err
		}
	}
	return nil
}

// runOne runs one write in the transaction and keeps how it went.
func (s *Store) runOne(t *tx, o *op) {
	t.ctx = o.ctx
	defer func() { o.panicked = recover() }()
	if o.err = failpoint.Hit(o.name + ".begin"); o.err == nil {
		o.err = s.judge(o.fn(t))
	}
	if o.err == nil {
		o.err = failpoint.Hit(o.name + ".ran")
	}
	s.owe(o)
}

// behind puts fn before the next write, whoever's it is. The turn's own next write is told what became of it.
func (s *Store) behind(ctx context.Context, of id.Turn, fn func(t *tx) error) error {
	if s.readOnly {
		return ErrReadOnly
	}
	s.queue.add(&op{ctx: context.WithoutCancel(ctx), fn: fn, name: failpoint.Caller("sqlite"), behind: of, done: make(chan struct{})})
	return nil
}

func (s *Store) owe(o *op) {
	if o.behind != "" && o.err != nil {
		s.owed[o.behind] = o.err
	}
}

// owes is what a turn must be told about its messages. The caller holds the writer's turn, as in a transaction.
func (s *Store) owes(t id.Turn) error {
	if err := s.owed[t]; err != nil {
		return fmt.Errorf("%w: %w", turn.ErrMessagesLost, err)
	}
	return nil
}

// repaid is owes, once.
func (s *Store) repaid(t id.Turn) error {
	err := s.owes(t)
	delete(s.owed, t)
	return err
}

// broken is an error for a write that panicked.
func (o *op) broken() error {
	if o.panicked == nil {
		return nil
	}
	return errors.New("a write panicked")
}
