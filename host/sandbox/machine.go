package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// machine is one module's machine code in memory, in a runtime of its own with
// the host functions it imports. Closing a runtime is the one way to get all of
// a module's memory back from the engine: code that shares a cache object stays
// until that is closed.
type machine struct {
	rt    wazero.Runtime
	cache wazero.CompilationCache // nil when the code came from no folder
	code  wazero.CompiledModule
	bytes int64 // what closing it gives back, about
	stack int64 // what a call may take of the stack, as the meter counts
}

// machineOverhead is what a runtime costs beside its module.
const machineOverhead = 512 << 10

// openMachine makes a runtime for a metered module. From a folder it loads the
// machine code that lies there and compiles nothing: without good code it fails.
// With no folder it compiles here, where only the end of ctx between two
// functions stops it.
func openMachine(ctx context.Context, cfg Config, folder string, imports []binImport, wasm []byte) (_ *machine, err error) {
	m := &machine{bytes: int64(len(wasm)) + machineOverhead, stack: maxStack}
	rc := runtimeConfig(cfg.MaxMemoryBytes)
	work := experimental.WithCompilationWorkers(ctx, compileWorkers)
	if folder != "" {
		if m.cache, err = wazero.NewCompilationCacheWithDir(folder); err != nil {
			return nil, fmt.Errorf("sandbox: open compiled code: %w", err)
		}
		rc = rc.WithCompilationCache(m.cache)
		// The engine looks at its context when it compiles, and not when it finds code.
		found, none := context.WithCancelCause(work)
		none(errNoCode)
		work = found
	}
	m.rt = wazero.NewRuntimeWithConfig(ctx, rc)
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close(context.WithoutCancel(ctx)))
		}
	}()
	if err = linkHost(ctx, m.rt, imports); err != nil {
		return nil, fmt.Errorf("sandbox: link host functions: %w", err)
	}
	m.code, err = m.rt.CompileModule(work, wasm)
	return m, err
}

// errNoCode says that a folder does not hold the code of a module.
var errNoCode = errors.New("sandbox: no machine code for this module and processor")

// close frees the code. Nothing may run in it any more.
func (m *machine) close(ctx context.Context) error {
	err := m.rt.Close(ctx)
	if m.cache != nil {
		err = errors.Join(err, m.cache.Close(ctx))
	}
	return err
}
