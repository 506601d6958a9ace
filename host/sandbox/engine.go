package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Config is what an [Engine] needs from its host.
type Config struct {
	// CacheDir keeps compiled code between runs; made with mode 0700, refused
	// when others can write to it. Empty compiles anew in each process, in the
	// process, and keeps all code in memory; what frames take of the stack is then
	// an estimate, which code made for the purpose passes by far.
	CacheDir string
	// CacheBytes is how large CacheDir may become: what was used longest ago
	// goes. 0 means 2 GiB.
	CacheBytes int64
	// Compiler compiles in a process of its own, which can be killed; see
	// [SelfCompiler]. It needs a CacheDir.
	Compiler Compiler
	// CompileTimeout is how long one module may take; 0 means 30 s. A large Go
	// guest takes 10 s.
	CompileTimeout time.Duration
	// CompileMemory is how many bytes a child that compiles may take; 0 means
	// 1 GiB.
	CompileMemory int64
	// LoadedBytes is how much machine code, with its modules, is held in memory:
	// what was called longest ago is let go and loaded from CacheDir again. Code
	// in which a call runs stays. 0 means 96 MiB.
	LoadedBytes int64
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

// Engine owns compiled modules, on disk and in memory. It is safe for concurrent
// use.
type Engine struct {
	cfg       Config
	kept      *codeCache // nil: no folder
	host      served
	slots     chan struct{} // one for each running call
	memory    sharedMemory  // of all of them
	compiling chan struct{} // one for each running compiler
	closing   chan struct{} // closed when Close begins
	running   sync.WaitGroup
	entrance  sync.RWMutex // held for writing while Close begins
	closed    atomic.Bool  // set under entrance
	failed    failures

	pages   *pageMap  // nil where the kernel does not tell
	scratch sync.Pool // of *[]byte; see [linear.scratch]
	inputs  sync.Pool // of *[]byte; what calls were given, to be written over by later ones

	unreturned atomic.Int64 // bytes freed since the last collection; see giveBack
	returning  atomic.Bool

	mu       sync.Mutex         // guards the rest, and what module and flight say
	pools    map[*pool]struct{} // of the plugins that are not closed
	shares   map[string]*share  // by plugin that is loaded or has calls
	freed    bool
	closeErr error
	flights  map[string]*flight
	modules  map[string]*module // by digest of the original
	resident int64              // bytes of machine code in memory
	uses     uint64             // calls begun
}

// Open starts an engine. The error says which part of the configuration or of
// the machine is at fault.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:       cfg,
		slots:     make(chan struct{}, cfg.MaxCalls),
		memory:    sharedMemory{limit: uint64(cfg.TotalMemoryBytes)},
		compiling: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/childProcs)),
		closing:   make(chan struct{}),
		flights:   map[string]*flight{},
		modules:   map[string]*module{},
		shares:    map[string]*share{},
		pools:     map[*pool]struct{}{},
		scratch:   sync.Pool{New: func() any { return new([]byte) }},
		inputs:    sync.Pool{New: func() any { return new([]byte) }},
	}
	if cfg.CacheDir != "" {
		if e.kept, err = openCodeCache(cfg.CacheDir, cfg.CacheBytes); err != nil {
			return nil, err
		}
	}
	if e.host, err = servedBy(ctx); err != nil {
		return nil, err
	}
	e.pages = openPageMap()
	return e, nil
}

// filled checks a configuration and fills in what was left out.
func (cfg Config) filled() (_ Config, err error) {
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
	if cfg.CompileTimeout <= 0 {
		cfg.CompileTimeout = 30 * time.Second
	}
	for _, size := range []struct {
		of    *int64
		usual int64
	}{{&cfg.CacheBytes, 2 << 30}, {&cfg.CompileMemory, 1 << 30}, {&cfg.LoadedBytes, 96 << 20}} {
		if *size.of <= 0 {
			*size.of = size.usual
		}
	}
	if cfg.CacheDir != "" {
		if cfg.CacheDir, err = filepath.Abs(cfg.CacheDir); err != nil {
			return cfg, fmt.Errorf("sandbox: find the cache folder: %w", err)
		}
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

// Close ends running calls as cancelled, waits for them and for compilations,
// and frees all code. When ctx ends first it returns an error and frees
// nothing, since code may still run; it may be called again. After a Close that
// returned nil further ones do nothing.
func (e *Engine) Close(ctx context.Context) error {
	e.entrance.Lock()
	if !e.closed.Swap(true) {
		close(e.closing)
	}
	e.entrance.Unlock()
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
	if !e.freed {
		e.freed = true
		for pl := range e.pools {
			pl.close()
		}
		e.closeErr = e.freeAll(context.WithoutCancel(ctx))
		e.pages.close()
	}
	return e.closeErr
}

// begin counts one running call or compilation in, unless the engine is closed.
func (e *Engine) begin() bool {
	e.entrance.RLock() // calls do not wait for each other here
	defer e.entrance.RUnlock()
	if e.closed.Load() {
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
	if e.closed.Load() {
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
