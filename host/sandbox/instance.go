package sandbox

import (
	"context"
	"io"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// instantiate makes the instance that one call runs in, initialised and without
// the call's authority used. It is the seam for snapshots: a restored instance
// must look exactly like this one.
func (p *Plugin) instantiate(ctx context.Context, code wazero.CompiledModule, st *callState) (api.Module, error) {
	st.session.starting = true
	defer func() { st.session.starting = false }()
	mod, err := p.engine.rt.InstantiateModule(
		experimental.WithMemoryAllocator(ctx, &st.memories), code, p.engine.moduleConfig(ctx, &st.stderr))
	if err != nil {
		return nil, err
	}
	for _, name := range p.binary.startWith() {
		f := mod.ExportedFunction(name)
		if _, err := f.Call(ctx, make([]uint64, len(f.Definition().ParamTypes()))...); err != nil {
			return mod, err
		}
	}
	return mod, nil
}

// moduleConfig is the WASI a guest sees: the host's clock and randomness, a
// stderr that keeps its end, a sleep that ends with the call, and nothing else.
// Elapsed time is real whatever the wall clock shows: a guest's own timers must
// fire under a clock that stands still.
func (e *Engine) moduleConfig(ctx context.Context, stderr io.Writer) wazero.ModuleConfig {
	start := time.Now()
	return wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithStderr(stderr).
		WithRandSource(callRand{ctx, e.cfg.Rand}).
		WithWalltime(func() (int64, int32) {
			now := e.cfg.Clock()
			return now.Unix(), int32(now.Nanosecond())
		}, 1).
		WithNanotime(func() int64 { return 1 + int64(time.Since(start)) }, 1).
		WithNanosleep(func(ns int64) { sleep(ctx, time.Duration(ns)) }).
		WithOsyield(func() {})
}

// sleep ends with the call. It needs no clock of its own: the deadline bounds
// it.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// callRand stops giving randomness when the call is over, so that filling a
// large memory with it ends.
type callRand struct {
	ctx context.Context //nolint:containedctx // lives inside one call
	src io.Reader
}

// Read reads at most 64 KiB at once.
func (r callRand) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.src.Read(p[:min(len(p), 64<<10)])
}
