package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// lanes lets the turns of one session (or of one conversation that has none yet) pass one after another, first come first served. A key without a turn has
// no entry, and no more than a bound may wait: memory is bounded. The zero value is ready.
type lanes struct {
	mu      sync.Mutex // guards open and waiting
	open    map[string]*lane
	waiting int             // in all lanes
	shut    <-chan struct{} // closed when nobody enters any more; nil: never
}

// errShut reports that nobody enters a lane any more.
var errShut = errors.New("turn: the host is shutting down")

// Bounds of what waits. What comes beyond them is refused at once and not kept: whoever asks can wait better than the host can.
const (
	MaxWaitingSession = 32   // turns that wait for one session, or for one conversation's
	MaxWaiting        = 1024 // turns that wait in all
)

// fullError reports that no more may wait.
type fullError struct {
	where string // "for this session" or "in this host"
	limit int
}

func (e *fullError) Error() string {
	return fmt.Sprintf("%d turns wait %s already", e.limit, e.where)
}

type lane struct {
	queue []chan struct{} // waiters, oldest first; each is closed when it is its turn
}

// enter waits until no earlier turn of s is in its lane. It returns the function that leaves, or with nothing to leave ctx's
// error, a [*fullError] at once, or [errShut] as soon as nobody enters any more: a turn that is begun only to be cancelled would
// use its key up.
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
	if err := l.room(cur); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	l.waiting++
	turn := make(chan struct{})
	cur.queue = append(cur.queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return func() { l.leave(s) }, nil
	case <-l.shut:
		l.forget(s, turn)
		return nil, errShut
	case <-ctx.Done():
		l.forget(s, turn)
		return nil, context.Cause(ctx)
	}
}

// room refuses one more waiter of a lane when it is full, or all of them are. l.mu is held.
func (l *lanes) room(cur *lane) error {
	switch {
	case len(cur.queue) >= MaxWaitingSession:
		return &fullError{"for this session", MaxWaitingSession}
	case l.waiting >= MaxWaiting:
		return &fullError{"in this host", MaxWaiting}
	}
	return nil
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
	l.waiting--
	next := cur.queue[0]
	cur.queue = cur.queue[1:]
	close(next)
}

// forget takes a waiter out of its lane. If the lane was handed to it in the same moment, it hands it on.
func (l *lanes) forget(s string, turn chan struct{}) {
	l.mu.Lock()
	for i, w := range l.open[s].queue {
		if w == turn {
			l.waiting--
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
