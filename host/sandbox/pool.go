package sandbox

import (
	"context"
	"sync"
	"time"
)

// trimAfter is how long an instance keeps the pages its calls wrote, to be
// overwritten instead of faulted in again; then it gives them back.
const trimAfter = time.Second

// pool keeps the instances of one loaded plugin between calls, restored and
// without a trace of the last. Nothing of it is shared with another plugin, or
// with the same module under other grants. Instances are handed out last in
// first out, one call in each.
type pool struct {
	limit   int           // idle instances
	idleFor time.Duration // then an instance is closed

	mu        sync.Mutex
	restored  sync.Cond // an instance, or the end of restoring one
	restoring int
	snap      *snapshot   // nil until the first call initialised one
	idle      []*instance // longest idle first
	sweeper   *time.Timer // nil when nothing is idle
	closed    bool
}

func newPool(limit int, idleFor time.Duration) *pool {
	pl := &pool{limit: limit, idleFor: idleFor}
	pl.restored.L = &pl.mu
	return pl
}

// take hands out an idle instance of the code, or the snapshot to make one of,
// or neither. What it hands out is given back by put or release. An instance that
// is being restored is waited for: that takes microseconds, another one more.
func (pl *pool) take(code *machine) (*instance, *snapshot) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	for len(pl.idle) == 0 && pl.restoring > 0 {
		pl.restored.Wait()
	}
	if pl.snap != nil {
		pl.snap.users++
	}
	if n := len(pl.idle); n > 0 && pl.idle[n-1].code == code {
		in := pl.idle[n-1]
		pl.idle[n-1] = nil
		pl.idle = pl.idle[:n-1]
		return in, pl.snap
	}
	return nil, pl.snap
}

// adopt makes s the snapshot of the plugin, unless another call was faster. The
// caller uses it from then on.
func (pl *pool) adopt(s *snapshot) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.closed || pl.snap != nil {
		return false
	}
	s.users = 2 // the pool and the caller
	pl.snap = s
	return true
}

// release gives back what take handed out.
func (pl *pool) release(s *snapshot) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.drop(s)
}

func (pl *pool) drop(s *snapshot) {
	if s.users--; s.users == 0 {
		s.close()
	}
}

// expect announces an instance that put will bring back, before the caller has
// the answer: its next call waits for this instance instead of making another.
func (pl *pool) expect(in *instance) {
	if in.of != nil {
		pl.mu.Lock()
		pl.restoring++
		pl.mu.Unlock()
	}
}

// arrived ends what expect began, whatever became of the instance.
func (pl *pool) arrived(in *instance) {
	if in.of != nil {
		pl.mu.Lock()
		pl.restoring--
		pl.mu.Unlock()
		pl.restored.Broadcast()
	}
}

// put ends the use of an instance. One whose call ended well is
// restored at once, so that nothing of the call outlives it, and kept; any other
// is discarded, as is what cannot be restored or is not wanted any more.
func (pl *pool) put(ctx context.Context, in *instance, clean bool) {
	in.leave()
	s := in.of
	if s == nil {
		in.discard(ctx)
		return
	}
	keep := clean && in.reset()
	in.since, in.trimmed = time.Now(), false
	pl.mu.Lock()
	keep = keep && !pl.closed && s == pl.snap && len(pl.idle) < pl.limit
	if keep {
		pl.idle = append(pl.idle, in)
		if pl.sweeper == nil {
			pl.sweeper = time.AfterFunc(trimAfter, pl.sweep)
		}
	}
	pl.drop(s)
	pl.mu.Unlock()
	if !keep {
		in.discard(ctx)
	}
}

// sweep trims and closes what has been idle for long.
func (pl *pool) sweep() {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	now := time.Now()
	old := 0
	for _, in := range pl.idle {
		switch idle := now.Sub(in.since); {
		case idle >= pl.idleFor:
			in.discard(context.Background())
			old++
		case idle >= trimAfter && !in.trimmed:
			in.trim()
			in.trimmed = true
		}
	}
	pl.idle = append(pl.idle[:0], pl.idle[old:]...)
	pl.sweeper = nil
	if len(pl.idle) > 0 {
		pl.sweeper = time.AfterFunc(trimAfter, pl.sweep)
	}
}

// empty closes all idle instances and forgets the snapshot: the next call
// initialises anew. Instances that are in use are discarded when they come back.
func (pl *pool) empty() {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.sweeper != nil {
		pl.sweeper.Stop()
		pl.sweeper = nil
	}
	for _, in := range pl.idle {
		in.discard(context.Background())
	}
	pl.idle = nil
	if pl.snap != nil {
		pl.drop(pl.snap)
		pl.snap = nil
	}
}

// close is empty for good.
func (pl *pool) close() {
	pl.mu.Lock()
	pl.closed = true
	pl.mu.Unlock()
	pl.empty()
}
