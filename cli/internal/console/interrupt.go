package console

import (
	"context"
	"errors"
	"sync"
)

// ErrInterrupted is the cause of a context that a person's Ctrl-C cancelled.
var ErrInterrupted = errors.New("interrupted")

// Interrupts turns signals into cancellation: the first interrupt cancels the innermost scope, a second one while
// that scope is still ending kills the process. It is safe for concurrent use.
type Interrupts struct {
	kill func()
	stop chan struct{}
	done chan struct{}

	mu     sync.Mutex // guards scopes
	scopes []*scope
}

type scope struct{ cancel context.CancelCauseFunc }

// Watch starts listening to the signals of p. Close ends it.
func Watch(p Process) *Interrupts {
	i := &Interrupts{kill: p.Kill, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(i.done)
		for {
			select {
			case <-i.stop:
				return
			case <-p.Signals:
				i.interrupt()
			}
		}
	}()
	return i
}

// Close stops listening and waits until that is so. It may be called once.
func (i *Interrupts) Close() {
	close(i.stop)
	<-i.done
}

// Scope returns a context that an interrupt cancels with [ErrInterrupted] while it is the innermost one. end must be
// called when the work is over; scopes end in the reverse order of their beginning.
func (i *Interrupts) Scope(ctx context.Context) (scoped context.Context, end func()) {
	scoped, cancel := context.WithCancelCause(ctx)
	s := &scope{cancel: cancel}
	i.mu.Lock()
	i.scopes = append(i.scopes, s)
	i.mu.Unlock()
	return scoped, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		for n := len(i.scopes) - 1; n >= 0; n-- {
			if i.scopes[n] == s {
				i.scopes = i.scopes[:n]
				break
			}
		}
		cancel(nil)
	}
}

func (i *Interrupts) interrupt() {
	i.mu.Lock()
	var cancel context.CancelCauseFunc
	if n := len(i.scopes); n > 0 {
		cancel, i.scopes[n-1].cancel = i.scopes[n-1].cancel, nil
	}
	i.mu.Unlock()
	switch {
	case cancel != nil:
		cancel(ErrInterrupted)
	case i.kill != nil:
		i.kill()
	}
}
