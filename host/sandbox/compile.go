package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// compileWorkers is how many functions of one module are compiled at once.
const compileWorkers = 2

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

func digestFrom(r io.Reader) (digest string, size int64, err error) {
	sum := sha256.New()
	size, err = io.CopyBuffer(sum, struct{ io.Reader }{r}, make([]byte, 256<<10))
	return hex.EncodeToString(sum.Sum(nil)), size, err
}

// compileError says why there is no machine code for a module. It is the
// module's fault, and the same module will fail again.
type compileError struct {
	code LoadCode
	err  error // for the log
}

func (e *compileError) Error() string {
	return "sandbox: compile: " + string(e.code) + ": " + e.err.Error()
}
func (e *compileError) Unwrap() error { return e.err }

// compile writes the entry of a prepared module, in a child process when there
// is a compiler. One module is compiled at a time in each of a few places, and a
// module that failed lately is not tried again. When every caller has left, the
// compiler is killed.
func (e *Engine) compile(ctx context.Context, digest string, m readyModule) error {
	if err := e.failed.recall(digest, e.cfg.Clock()); err != nil {
		return err
	}
	return e.once(ctx, "compile "+digest, func(ctx context.Context) error {
		select {
		case e.compiling <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		defer func() { <-e.compiling }()
		if _, ok := e.kept.find(digest); ok {
			return nil // another process, or a flight that ended just now
		}
		_, err := e.kept.write(digest, m, func(folder string) error { return e.compileInto(ctx, folder, m.code) })
		var own *compileError
		switch {
		case errors.As(err, &own):
			e.failed.remember(digest, own, e.cfg.Clock())
		case err == nil:
			e.kept.sweep(digest, time.Now())
		}
		return err
	})
}

// compileInto leaves one file of machine code below folder, where the metered
// module lies.
func (e *Engine) compileInto(ctx context.Context, folder string, wasm []byte) error {
	ctx, stop := context.WithTimeoutCause(ctx, e.cfg.CompileTimeout, errCompileTime)
	defer stop()
	if e.cfg.Compiler.Path != "" {
		return e.cfg.Compiler.run(ctx, e.order(folder, wasm))
	}
	return blame(ctx, fillCodeFolder(ctx, folder, e.cfg.MaxMemoryBytes, wasm))
}

// errCompileTime ends a compilation at its deadline.
var errCompileTime = errors.New("sandbox: the compilation's deadline passed")

// blame says whose fault an error of the engine's compiler is.
func blame(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.Is(cause, errCompileTime):
		return &compileError{CodeCompileTimeout, cause}
	case cause != nil:
		return cause
	}
	return &compileError{CodeUncompiled, err}
}

// fillCodeFolder is what a compiler does: the engine's own cache writes the code
// of one module below folder. The configuration is the one that code is run with.
func fillCodeFolder(ctx context.Context, folder string, maxMemory int64, wasm []byte) error {
	cache, err := wazero.NewCompilationCacheWithDir(folder)
	if err != nil {
		return err
	}
	defer cache.Close(ctx)
	rt := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(maxMemory).WithCompilationCache(cache))
	defer rt.Close(ctx)
	_, err = rt.CompileModule(experimental.WithCompilationWorkers(ctx, compileWorkers), wasm)
	return err
}

// uncompiled says why there is no code, without the engine's own words.
func (e *Engine) uncompiled(ctx context.Context, name string, err error) *LoadError {
	var own *compileError
	var disk *diskError
	var le *LoadError
	switch {
	case errors.As(err, &le):
		return le
	case errors.Is(err, ErrClosed):
		le = refuse(name, CodeUnavailable, "was not loaded: the host is closing")
	case ctx.Err() != nil:
		le = refuse(name, CodeUnavailable, "was not loaded in time: try again with more time")
	case errors.As(err, &disk):
		le = refuse(name, CodeUnavailable, "was not loaded: its machine code cannot be written to %s; make room there, or name another folder with PORTCULLIS_CACHE", e.cfg.CacheDir)
	case errors.As(err, &own) && own.code == CodeCompileTimeout:
		le = refuse(name, own.code, "takes more than %s to compile, as modules do that are made to: build it with smaller functions, or raise limits.compile_time in config.yaml", e.cfg.CompileTimeout)
	case errors.As(err, &own) && own.code == CodeCompileMemory:
		le = refuse(name, own.code, "takes more than %d MiB of memory to compile, as modules do that are made to: build it with smaller functions, or raise limits.compile_memory in config.yaml", e.cfg.CompileMemory>>20)
	case errors.As(err, &own) && own.code == CodeMalformed:
		return unread(name, own.err)
	case errors.As(err, &own):
		le = refuse(name, CodeUncompiled, "is not a valid module, or uses a WebAssembly proposal that this host does not run: build it for WebAssembly 2.0")
	default:
		le = refuse(name, CodeUnavailable, "was not loaded: the host could not compile it; its log says why")
	}
	le.Err = err
	return le
}
