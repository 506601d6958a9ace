package turn

import (
	"context"
	"sync"
)

// lanes lets the turns of one session (or of one conversation that has none yet) pass one after another, first come first served. A key without a turn has
// no entry: memory is bounded by what runs and waits now. The zero value is ready.
type lanes struct {
	mu   sync.Mutex // guards open
	open map[string]*lane
}

type lane struct {
	queue []chan struct{} // waiters, oldest first; each is closed when it is its turn
}

// enter waits until no earlier turn of s is in its lane. It returns the function that leaves, or ctx's error with
// nothing to leave.
func (l *lanes) enter(ctx context.Context, s string) (leave func(), err error) {
	l.mu.Lock()
	if l.open == nil {
		l.open = map[string]*lane{}
	}
	cur, busy := l.open[s]
	if !busy {
		l.open[s] = &lane{}
		l.mu.Unlock()
		return func() { l.leave(s) }, nil
	}
	turn := make(chan struct{})
	cur.queue = append(cur.queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return func() { l.leave(s) }, nil
	case <-ctx.Done():
		l.forget(s, turn)
		return nil, context.Cause(ctx)
	}
}

// leave hands the lane to the oldest waiter, or closes it.
func (l *lanes) leave(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cur := l.open[s]
	if len(cur.queue) == 0 {
		delete(l.open, s)
		return
	}
	next := cur.queue[0]
	cur.queue = cur.queue[1:]
	close(next)
}

// forget takes a waiter out of its lane. If the lane was handed to it in the same moment, it hands it on.
func (l *lanes) forget(s string, turn chan struct{}) {
	l.mu.Lock()
	for i, w := range l.open[s].queue {
		if w == turn {
			l.open[s].queue = append(l.open[s].queue[:i], l.open[s].queue[i+1:]...)
			l.mu.Unlock()
			return
		}
	}
	l.mu.Unlock()
	l.leave(s)
}

// size counts keys with a turn, for tests.
func (l *lanes) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}
