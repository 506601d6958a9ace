package sandbox

import (
	"context"
	"errors"
	"runtime/debug"
)

// eviction is code that was taken from its module and is not freed yet.
type eviction struct {
	code    *machine
	plugins []*Plugin
}

// keep gives a module its code and makes room for it: what was used longest ago
// goes first, and nothing in which a call runs. When all is in use, memory passes
// the bound until calls return; how many run at once is bounded too.
func (e *Engine) keep(ctx context.Context, m *module, code *machine) error {
	e.mu.Lock()
	if m.code != nil { // a flight that everybody had left, and that ended all the same
		e.mu.Unlock()
		return code.close(ctx)
	}
	m.code = code
	e.resident += code.bytes
	gone := e.unused(m) // the caller may have left while it was loaded
	for e.resident > e.cfg.LoadedBytes {
		oldest := e.oldest(m)
		if oldest == nil {
			break
		}
		gone = append(gone, e.take(oldest)...)
	}
	e.mu.Unlock()
	return e.free(context.WithoutCancel(ctx), gone)
}

// oldest finds the code to give up next, never that of except. Engine.mu is held.
func (e *Engine) oldest(except *module) (oldest *module) {
	if e.kept == nil {
		return nil // it could not be loaded again
	}
	for _, m := range e.modules {
		if m != except && m.code != nil && m.calls == 0 && (oldest == nil || m.lastUse < oldest.lastUse) {
			oldest = m
		}
	}
	return oldest
}

// take separates a module from its code. Engine.mu is held.
func (e *Engine) take(m *module) []eviction {
	if m.code == nil {
		return nil
	}
	gone := eviction{code: m.code}
	for p := range m.plugins {
		gone.plugins = append(gone.plugins, p)
	}
	e.resident -= m.code.bytes
	m.code = nil
	return []eviction{gone}
}

// freeAll closes all code of an engine in which nothing runs and no instance is
// kept. Engine.mu is held.
func (e *Engine) freeAll(ctx context.Context) error {
	var errs []error
	for _, m := range e.modules {
		for _, g := range e.take(m) {
			errs = append(errs, g.code.close(ctx))
		}
	}
	return errors.Join(errs...)
}

// giveBackAt is how much freed code is worth a garbage collection: the engine
// unmaps code when it is collected.
const giveBackAt = 4 << 20

// free closes code that was taken. Engine.mu must not be held.
func (e *Engine) free(ctx context.Context, gone []eviction) error {
	var errs []error
	for _, g := range gone {
		for _, p := range g.plugins {
			p.dropInstances()
		}
		errs = append(errs, g.code.close(ctx))
		e.giveBack(g.code.bytes)
	}
	return errors.Join(errs...)
}

// giveBack returns freed memory to the system, in the background and one at a
// time.
func (e *Engine) giveBack(freed int64) {
	if e.unreturned.Add(freed) < giveBackAt {
		return
	}
	if !e.returning.CompareAndSwap(false, true) {
		return
	}
	if !e.begin() {
		e.returning.Store(false) // closing: the next collection comes by itself
		return
	}
	go func() {
		defer e.running.Done()
		for again := true; again; again = e.unreturned.Load() >= giveBackAt && e.returning.CompareAndSwap(false, true) {
			e.unreturned.Store(0)
			debug.FreeOSMemory()
			e.returning.Store(false)
		}
	}()
}
