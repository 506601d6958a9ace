package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/b3abf3ee/portcullis/host/failpoint"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// maxGroup is how many writes share one transaction at the most, those behind counted: enough that the flush is a small part
// of each, and few enough that the first of them does not wait long for the last.
const maxGroup = 128

// op is one write that waits for its transaction or is in it.
type op struct {
	ctx      context.Context // the caller's, never cancelled
	fn       func(t *tx) error
	name     string        // of its failpoints
	behind   id.Turn       // nobody need wait: an error is owed to this turn
	report   bool          // it is a report of a model, without which the turn goes on
	told     told          // the debt that it fails for
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

// next takes the first writes out, at most most of them.
func (q *queue) next(most int) []*op {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.ops), most)
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
	group := s.queue.next(maxGroup)
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

// commitGroup brings every write of group to its end. They run in one transaction, and so do those that come while it
// runs. None has a savepoint of its own, which would copy each page that it changes: hardly one ever fails. One that
// does is out, the transaction is undone, and the others run again without it, in their order. It is told its error when
// their transaction has ended: it may have failed for what they had written, which nobody else can see before that.
func (s *Store) commitGroup(group []*op) {
	var refused []*op
	tell := func(err error) {
		for _, o := range group {
			s.settle(o, err)
		}
		for _, o := range refused {
			if err != nil {
				o.err = s.judge(err) // what it failed for never was
			} else {
				s.settled(o.told)
			}
			o.end(o.err)
		}
	}
	for len(group) > 0 {
		t := &tx{ctx: group[0].ctx, conn: s.writer, now: s.clock()}
		err := t.do("BEGIN IMMEDIATE")
		var failed *op
		if err == nil {
			group, failed = s.runGroup(t, group)
		}
		if failed == nil && err == nil {
			err = s.commit(t)
		}
		if failed != nil || err != nil {
			_ = s.judge(t.rollback()) // the next transaction must be able to begin
		} else {
			s.checkpoint(t)
		}
		if failed == nil {
			tell(err)
			return
		}
		s.owe(failed)
		refused = append(refused, failed)
		group = slices.DeleteFunc(group, func(o *op) bool { return o == failed })
		if err := s.usable(); err != nil {
			tell(err)
			return
		}
	}
	tell(nil)
}

// runGroup runs each write of group, and of those that join it until they are [maxGroup] or nobody else is about to.
// It stops at the first that fails and returns it.
func (s *Store) runGroup(t *tx, group []*op) (all []*op, failed *op) {
	for next := 0; next < len(group); {
		for ; next < len(group); next++ {
			if s.runOne(t, group[next]); group[next].failed() {
				return group, group[next]
			}
		}
		if more := s.queue.next(maxGroup - len(group)); len(more) > 0 {
			group = append(group, more...)
			continue
		}
		runtime.Gosched() // whoever is on the way to a write may join before the flush
		group = append(group, s.queue.next(maxGroup-len(group))...)
	}
	return group, nil
}

// commit makes the transaction durable.
func (s *Store) commit(t *tx) error {
	err := t.seal()
	if err == nil {
		if err = t.do("COMMIT"); err != nil && code(err) != codeFull {
			err = s.fail(err) // a full disk undoes the commit cleanly; after anything else nobody can tell
		}
	}
	return err
}

// settle tells a write how its transaction ended.
func (s *Store) settle(o *op, err error) {
	if err == nil && !o.failed() {
		if lost := failpoint.Hit(o.name + ".committed"); lost != nil {
			err = s.fail(lost)
		}
	}
	if !o.failed() {
		o.err = s.judge(err)
	}
	s.owe(o)
	o.end(o.err)
}

// runOne runs one write in the transaction and keeps how it went.
func (s *Store) runOne(t *tx, o *op) {
	t.ctx, t.told = o.ctx, told{}
	defer func() { o.panicked, o.told = recover(), t.told }()
	if o.err = failpoint.Hit(o.name + ".begin"); o.err == nil {
		o.err = s.judge(o.fn(t))
	}
	if o.err == nil {
		o.err = failpoint.Hit(o.name + ".ran")
	}
}

// behind puts o before the next write, whoever's it is. The turn's own next write is told what became of it.
func (s *Store) behind(ctx context.Context, o *op) error {
	if s.readOnly {
		return ErrReadOnly
	}
	o.ctx, o.name, o.done = context.WithoutCancel(ctx), failpoint.Caller("sqlite"), make(chan struct{})
	s.queue.add(o)
	return nil
}

// debt is what a turn must be told about its writes behind: why they are not there.
type debt struct {
	messages error
	report   error
}

// owe notes that o, which was to be written behind, is not there.
func (s *Store) owe(o *op) {
	if o.behind == "" || !o.failed() {
		return
	}
	d, why := s.owed[o.behind], errors.Join(o.err, o.broken())
	if o.report {
		d.report = fmt.Errorf("%w: %w", prompt.ErrReportLost, why)
	} else {
		d.messages = fmt.Errorf("%w: %w", turn.ErrMessagesLost, why)
	}
	s.owed[o.behind] = d
}

// owes is why messages of a turn are not there. The caller holds the writer's turn, as in a transaction.
func (s *Store) owes(t id.Turn) error { return s.owed[t].messages }

// told is a debt that a write fails for.
type told struct {
	turn id.Turn
	debt debt
}

// repaid is all that the turn must be told, once: the write in progress is to fail for it. The debt is there until the write
// is told so, which it is not when the transaction of the others fails.
func (s *Store) repaid(t *tx, of id.Turn) error {
	t.told = told{of, s.owed[of]}
	return errors.Join(t.told.debt.messages, t.told.debt.report)
}

// settled takes a debt away that was told. What came to it since is still owed.
func (s *Store) settled(what told) {
	if s.owed[what.turn] == what.debt {
		delete(s.owed, what.turn)
	}
}

// failed is whether the write itself failed, whatever became of its transaction.
func (o *op) failed() bool { return o.err != nil || o.panicked != nil }

// broken is an error for a write that panicked.
func (o *op) broken() error {
	if o.panicked == nil {
		return nil
	}
	return errors.New("a write panicked")
}
