package sandbox

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// Oracle is what a second host on the same runtime needs to run the same guests
// in the same surroundings, for package conformance: the runtime's types stay in
// this package. It limits nothing and is for trusted test plugins only. Close
// it when its modules are closed; it is for one compiled plugin, whose machine
// code its cache would keep otherwise.
type Oracle struct {
	engine *Engine // never opened: clock and randomness only
	cache  wazero.CompilationCache
}

// NewOracle makes an oracle. cacheDir may be empty; clock and random may be nil,
// as in [Config].
func NewOracle(cacheDir string, clock func() time.Time, random io.Reader) (*Oracle, error) {
	cfg, err := Config{CacheDir: cacheDir, Clock: clock, Rand: random}.filled()
	if err != nil {
		return nil, err
	}
	o := &Oracle{engine: &Engine{cfg: cfg}}
	if cacheDir == "" {
		o.cache = wazero.NewCompilationCache()
		return o, nil
	}
	dir, err := openCacheDir(cacheDir)
	if err != nil {
		return nil, err
	}
	if o.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
		return nil, fmt.Errorf("sandbox: open cache: %w", err)
	}
	return o, nil
}

// RuntimeConfig is the configuration this package runs guests with.
func (o *Oracle) RuntimeConfig() wazero.RuntimeConfig {
	return runtimeConfig(o.engine.cfg.MaxMemoryBytes).WithCompilationCache(o.cache)
}

// ModuleConfig is the WASI that this package gives a call which ends with ctx.
func (o *Oracle) ModuleConfig(ctx context.Context, stderr io.Writer) wazero.ModuleConfig {
	s := o.engine.surroundings()
	s.enter(ctx, stderr, 0)
	return s.config()
}

// Close frees compiled code.
func (o *Oracle) Close(ctx context.Context) error { return o.cache.Close(ctx) }

// Memories remembers the linear memories of modules instantiated under a
// context, so that a host whose functions do not see the caller can still copy
// from and to its memory.
type Memories struct{ of allocator }

// WatchMemories returns a context to instantiate one module, or several, with.
func WatchMemories(ctx context.Context) (context.Context, *Memories) {
	m := &Memories{allocator{mem: &budget{limit: 4 << 30}, plain: true}}
	return experimental.WithMemoryAllocator(ctx, &m.of), m
}

// Newest is the memory that was made last, at its present size; nil when there
// is none. It may move when the guest grows it.
func (m *Memories) Newest() []byte {
	if len(m.of.linear) == 0 {
		return nil
	}
	l := m.of.linear[len(m.of.linear)-1]
	return l.base[:l.size]
}
