package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// compiled is one module's machine code, shared by all plugins and calls that
// use it and freed by the last.
type compiled struct {
	code   wazero.CompiledModule
	binary *binary
	uses   int // plugins and running calls; guarded by Engine.mu
}

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// compile returns the code of a prepared module with one use counted. One
// module is compiled once, however many callers ask; a caller that gives up
// does not stop the compilation, which the engine cannot interrupt anyway: its
// result is kept for the next.
func (e *Engine) compile(ctx context.Context, digest string, m *binary, wasm []byte) (*compiled, error) {
	for {
		if c := e.use(digest); c != nil {
			return c, nil
		}
		flight := e.flights.DoChan(digest, func() (_ any, err error) {
			if !e.begin() {
				return nil, ErrClosed
			}
			defer e.running.Done()
			defer func() {
				if r := recover(); r != nil { // the engine's; it must not take the host with it
					err = fmt.Errorf("sandbox: panic while compiling: %v", r)
				}
			}()
			if e.has(digest) {
				return nil, nil // another flight ended just before; the engine must not get it twice
			}
			work := experimental.WithCompilationWorkers(context.WithoutCancel(ctx), 2)
			code, err := e.rt.CompileModule(work, wasm)
			if err != nil {
				return nil, err
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			e.compiled[digest] = &compiled{code: code, binary: m}
			return nil, nil
		})
		select {
		case r := <-flight:
			if r.Err != nil {
				return nil, r.Err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (e *Engine) has(digest string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.compiled[digest] != nil
}

// use counts one use of a compiled module, or returns nil.
func (e *Engine) use(digest string) *compiled {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.compiled[digest]
	if c != nil {
		c.uses++
	}
	return c
}

// drop counts one use out and frees the code after the last.
func (e *Engine) drop(ctx context.Context, digest string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.compiled[digest]
	if c == nil {
		return nil
	}
	if c.uses--; c.uses > 0 {
		return nil
	}
	delete(e.compiled, digest)
	return c.code.Close(ctx)
}
