package sandbox

import (
	"context"
	"fmt"
	"runtime/debug"
)

// flight is one piece of work that several callers wait for. It ends early when
// none of them is left.
type flight struct {
	done    chan struct{}
	err     error // set before done is closed
	waiting int   // guarded by Engine.mu
	cancel  context.CancelCauseFunc
}

// once does work under a key at most once at a time, however many ask. A caller
// whose context ends leaves; with the last one the work's own context ends too.
// The error is work's, the cause of the caller's context, or [ErrClosed].
func (e *Engine) once(ctx context.Context, key string, work func(ctx context.Context) error) error {
	e.mu.Lock()
	f := e.flights[key]
	if e.closed.Load() || f == nil && !e.begin() {
		e.mu.Unlock()
		return ErrClosed
	}
	if f == nil {
		f = &flight{done: make(chan struct{})}
		var own context.Context
		own, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
		e.flights[key] = f
		go e.fly(own, key, f, work)
	}
	f.waiting++
	e.mu.Unlock()

	err := ErrClosed
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-e.closing:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		if e.flights[key] == f {
			delete(e.flights, key) // who comes now begins anew
		}
		f.cancel(err)
	}
	return err
}

func (e *Engine) fly(ctx context.Context, key string, f *flight, work func(context.Context) error) {
	defer e.running.Done()
	defer f.cancel(nil)
	defer close(f.done)
	defer func() {
		if r := recover(); r != nil { // the engine's; it must not take the host with it
			f.err = fmt.Errorf("sandbox: panic while compiling: %v\n%s", r, debug.Stack())
		}
		e.mu.Lock()
		if e.flights[key] == f {
			delete(e.flights, key)
		}
		e.mu.Unlock()
	}()
	f.err = work(ctx)
}
