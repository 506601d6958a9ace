package turn

import (
	"context"
	"errors"
	"sync"

	"github.com/b3abf3ee/portcullis/host/id"
)

// Execution runs turns. It is safe for concurrent use.
type Execution struct {
	cfg   Config
	lanes lanes

	mu     sync.Mutex // guards active and closed; never held over a store, model or plugin call
	active map[id.Turn]*running
	closed bool
	drain  sync.WaitGroup // one for each Run in progress, and for each turn whose end is still to be written
	quit   chan struct{}  // closed by Close

	recovery sync.Mutex // held while claims that are over are looked for, so that what one finds is known to the next
}

// running is the live control of one admitted turn. It never leaves this package.
type running struct {
	turn    id.Turn
	session id.Session
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed after the terminal write
	family  family
	tally   tally
	lost    *Recovered // how it was ended when its claim was over; the Execution's lock guards it
}

// Causes of a context that was ended for a turn to end.
var (
	errRequested = errors.New("turn: cancelled on request")          // which is noted
	errUnnoted   = errors.New("turn: cancelled on request, unnoted") // the store did not take the request
	errClosed    = errors.New("turn: cancelled by the host's closing")
)

// New returns an Execution over cfg.
func New(cfg Config) *Execution {
	quit := make(chan struct{})
	return &Execution{cfg: cfg, lanes: lanes{shut: quit}, active: map[id.Turn]*running{}, quit: quit}
}

// begin counts a Run in, unless the Execution is closed.
func (x *Execution) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return false
	}
	x.drain.Add(1)
	return true
}

func (x *Execution) enlist(t id.Turn, r *running) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.active[t] = r
	if x.closed {
		r.cancel(errClosed)
	}
}

func (x *Execution) delist(t id.Turn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r, ok := x.active[t]; ok {
		close(r.done)
		delete(x.active, t)
	}
}

// Close refuses further turns and those that wait for an earlier one of their session, cancels the running ones and waits
// until each has its terminal state. It may be called again.
func (x *Execution) Close() {
	x.mu.Lock()
	if !x.closed {
		close(x.quit)
	}
	x.closed = true
	for _, r := range x.active {
		r.cancel(errClosed)
	}
	x.mu.Unlock()
	x.drain.Wait()
}
