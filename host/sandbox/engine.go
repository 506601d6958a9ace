package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"golang.org/x/sync/singleflight"
)

// Config is what an [Engine] needs from its host.
type Config struct {
	// CacheDir keeps compiled code between runs; made with mode 0700, refused
	// when others can write to it. Empty compiles anew in each process.
	CacheDir string
	// MaxMemoryBytes is the most linear memory any module may have, whatever
	// its manifest says; 0 means [wire.HardMemoryBytes]. At most 4 GiB.
	MaxMemoryBytes int64
	// MaxCalls is how many guest calls run at once; further ones wait within
	// their deadline. 0 means 8.
	MaxCalls int
	// PluginCalls is how many of them one plugin may take, so that others get
	// theirs; further ones wait as well. 0 means three quarters of MaxCalls.
	PluginCalls int
	// TotalMemoryBytes is the most that all running calls may hold together:
	// linear memory and blocks. A growth that does not fit is refused as one
	// past the call's own limit is. 0 means 1 GiB, or MaxMemoryBytes if that is
	// more.
	TotalMemoryBytes int64
	// Clock is the wall clock guests see; nil means time.Now. Deadlines and the
	// time that passes inside a guest are real whatever it shows.
	Clock func() time.Time
	// Rand feeds guests' randomness and names of temporary files; nil means
	// crypto/rand. It must be safe for concurrent use.
	Rand io.Reader
	// IdleFor is how long an instance that no call uses is kept, restored; 0
	// means a minute. After a second it keeps no memory of its own.
	IdleFor time.Duration
	// Grace is how long a call waits past its deadline for a host function
	// that ignores its context, before it is abandoned; 0 means 250 ms.
	Grace time.Duration
}

// ErrClosed says that the engine was closed.
var ErrClosed = errors.New("sandbox: engine is closed")

// Engine owns one WebAssembly runtime and its compiled modules. It is safe for
// concurrent use.
type Engine struct {
	cfg      Config
	rt       wazero.Runtime
	cache    wazero.CompilationCache
	cacheDir string // of this engine version; empty: nothing is kept
	host     served
	slots    chan struct{} // one for each running call
	memory   sharedMemory  // of all of them
	closing  chan struct{} // closed when Close begins
	running  sync.WaitGroup
	flights  singleflight.Group
	pages    *pageMap  // nil where the kernel does not tell
	scratch  sync.Pool // of *[]byte; see [linear.scratch]

	mu       sync.Mutex // guards the next four
	closed   bool
	compiled map[string]*compiled // by digest of the module as loaded
	pools    map[*pool]struct{}   // of the plugins that are not closed
	shares   map[string]*share    // by plugin that has calls
	closeErr error
}

// Open starts an engine. The error says which part of the configuration or of
// the machine is at fault.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:      cfg,
		slots:    make(chan struct{}, cfg.MaxCalls),
		memory:   sharedMemory{limit: uint64(cfg.TotalMemoryBytes)},
		closing:  make(chan struct{}),
		compiled: map[string]*compiled{},
		pools:    map[*pool]struct{}{},
		scratch:  sync.Pool{New: func() any { return new([]byte) }},
		shares:   map[string]*share{},
	}
	rc := runtimeConfig(cfg.MaxMemoryBytes)
	if cfg.CacheDir != "" {
		dir, err := openCacheDir(cfg.CacheDir)
		if err != nil {
			return nil, err
		}
		e.cacheDir = dir
		if e.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return nil, fmt.Errorf("sandbox: open cache: %w", err)
		}
		rc = rc.WithCompilationCache(e.cache)
	}
	e.pages = openPageMap()
	e.rt = wazero.NewRuntimeWithConfig(ctx, rc)
	if err = e.linkHost(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: link host functions: %w", err), e.shutRuntime(ctx))
	}
	return e, nil
}

// filled checks a configuration and fills in what was left out.
func (cfg Config) filled() (Config, error) {
	if cfg.MaxMemoryBytes == 0 {
		cfg.MaxMemoryBytes = wire.HardMemoryBytes
	}
	if cfg.MaxMemoryBytes < pageSize || cfg.MaxMemoryBytes > 4<<30 {
		return cfg, fmt.Errorf("sandbox: max memory of %d bytes is not between 64 KiB and 4 GiB", cfg.MaxMemoryBytes)
	}
	if cfg.MaxCalls == 0 {
		cfg.MaxCalls = 8
	}
	if cfg.MaxCalls < 0 {
		return cfg, fmt.Errorf("sandbox: %d calls at once is not a number of calls", cfg.MaxCalls)
	}
	if cfg.PluginCalls == 0 {
		cfg.PluginCalls = max(1, cfg.MaxCalls*3/4)
	}
	if cfg.PluginCalls < 0 || cfg.PluginCalls > cfg.MaxCalls {
		return cfg, fmt.Errorf("sandbox: %d calls of one plugin at once is not between 1 and %d", cfg.PluginCalls, cfg.MaxCalls)
	}
	if cfg.TotalMemoryBytes == 0 {
		cfg.TotalMemoryBytes = max(1<<30, cfg.MaxMemoryBytes)
	}
	if cfg.TotalMemoryBytes < pageSize {
		return cfg, fmt.Errorf("sandbox: total memory of %d bytes is less than one page of 64 KiB", cfg.TotalMemoryBytes)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.IdleFor <= 0 {
		cfg.IdleFor = time.Minute
	}
	if cfg.Grace <= 0 {
		cfg.Grace = 250 * time.Millisecond
	}
	return cfg, nil
}

// runtimeConfig is the one place where the runtime's switches are set: core
// features of WebAssembly 2.0 and none of the proposals after it, which the
// verifier does not let through either.
func runtimeConfig(maxMemory int64) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithCloseOnContextDone(false). // the meter does it, at a fraction of the cost
		WithMemoryLimitPages(uint32(maxMemory / pageSize)).
		WithDebugInfoEnabled(false)
}

// linkHost instantiates what guests import, and remembers the types.
func (e *Engine) linkHost(ctx context.Context) error {
	if err := linkYield(ctx, e.rt); err != nil {
		return err
	}
	wasi, err := compileWASI(ctx, e.rt)
	if err != nil {
		return err
	}
	if _, err = e.rt.InstantiateModule(ctx, wasi, wazero.NewModuleConfig().WithName(wire.ModuleWASI)); err != nil {
		return err
	}
	e.host = served{wire.ModuleWASI: {}}
	for name, f := range wasi.ExportedFunctions() {
		e.host[wire.ModuleWASI][name] = signature{f.ParamTypes(), f.ResultTypes()}
	}
	if e.host[wire.ModuleKernel], err = link(ctx, e.rt, wire.ModuleKernel, kernelFuncs()); err != nil {
		return err
	}
	e.host[wire.ModuleHost], err = link(ctx, e.rt, wire.ModuleHost, userFuncs())
	return err
}

// Close ends running calls as cancelled, waits for them and for compilations,
// and frees all code. When ctx ends first it returns an error and frees
// nothing, since code may still run; it may be called again. After a Close that
// returned nil further ones do nothing.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.closing)
	}
	e.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		e.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		return fmt.Errorf("sandbox: close: calls still run: %w", context.Cause(ctx))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rt != nil {
		for pl := range e.pools {
			pl.close()
		}
		e.closeErr = e.shutRuntime(context.WithoutCancel(ctx))
		e.rt = nil
	}
	return e.closeErr
}

func (e *Engine) shutRuntime(ctx context.Context) error {
	err := e.rt.Close(ctx)
	e.pages.close()
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(ctx))
	}
	return err
}

// begin counts one running call or compilation in, unless the engine is closed.
func (e *Engine) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.running.Add(1)
	return true
}

// openPool makes the pool of a plugin that was loaded.
func (e *Engine) openPool() *pool {
	pl := newPool(e.cfg.MaxCalls, e.cfg.IdleFor)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		pl.closed = true
		return pl
	}
	e.pools[pl] = struct{}{}
	return pl
}

func (e *Engine) closePool(pl *pool) {
	e.mu.Lock()
	delete(e.pools, pl)
	e.mu.Unlock()
	pl.close()
}
