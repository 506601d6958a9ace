package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	extism "github.com/extism/go-sdk"
)

// ExtismOptions describe a module to run on the second engine.
type ExtismOptions struct {
	Wasm     []byte
	Settings map[string]string // served by config_get
	Limits   sandbox.Limits    // of the abilities; the engine's own are not changed
	CacheDir string            // compiled code; empty: none is kept
	Clock    func() time.Time  // nil: time.Now
	Rand     io.Reader         // nil: crypto/rand
}

// Extism is a module on extism/go-sdk, with the host functions of portcullis/v1
// served by the same code as on our own engine. It is an oracle for trusted
// plugins: a hostile one can hang it.
type Extism struct {
	opt    ExtismOptions
	oracle *sandbox.Oracle
	plugin *extism.CompiledPlugin
}

// ErrWASIOutput says that the environment makes go-sdk copy guests' output to
// our own, where it would corrupt a protocol on stdout.
var ErrWASIOutput = errors.New("conformance: unset EXTISM_ENABLE_WASI_OUTPUT: it sends guests' output to this program's")

// OpenExtism compiles a module. Close it.
func OpenExtism(ctx context.Context, opt ExtismOptions) (*Extism, error) {
	if _, set := os.LookupEnv("EXTISM_ENABLE_WASI_OUTPUT"); set {
		return nil, ErrWASIOutput
	}
	if opt.Limits == (sandbox.Limits{}) {
		opt.Limits = sandbox.LimitsOf(wire.Limits{})
	}
	if opt.Rand == nil {
		opt.Rand = rand.Reader
	}
	oracle, err := sandbox.NewOracle(opt.CacheDir, opt.Clock, opt.Rand)
	if err != nil {
		return nil, err
	}
	e := &Extism{opt: opt, oracle: oracle}
	// Vars and HTTP of the SDK's own stay off: MaxVarBytes and
	// MaxHttpResponseBytes are 0 and no host is allowed.
	e.plugin, err = extism.NewCompiledPlugin(ctx, extism.Manifest{
		Wasm:    []extism.Wasm{extism.WasmData{Data: opt.Wasm}},
		Memory:  &extism.ManifestMemory{MaxPages: uint32(sandbox.LimitsOf(wire.Limits{MemoryBytes: wire.HardMemoryBytes}).Memory >> 16)},
		Config:  opt.Settings,
		Timeout: uint64(opt.Limits.Deadline / time.Millisecond),
	}, extism.PluginConfig{EnableWasi: true, RuntimeConfig: oracle.RuntimeConfig()}, hostFunctions())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("conformance: compile on extism: %w", err), oracle.Close(ctx))
	}
	return e, nil
}

// Close frees the module.
func (e *Extism) Close(ctx context.Context) error {
	return errors.Join(e.plugin.Close(ctx), e.oracle.Close(ctx))
}

// Answer is how one call ended, as far as two engines can be compared.
type Answer struct {
	// Output is what the guest set, when it came back with 0.
	Output []byte
	// Error is the guest's own message with a code other than 0.
	Error string
	// Broken says how the call ended when the guest did not come back, in the
	// engine's words: they are for people and are not compared.
	Broken string
}

// call is what host functions need of one call; it travels in the context.
type call struct {
	session  *sandbox.Session
	memories *sandbox.Memories
}

type callKey struct{}

// Call runs one entry point in an instance of its own.
func (e *Extism) Call(ctx context.Context, export string, input []byte, opt sandbox.CallOptions) (a Answer, err error) {
	session := sandbox.NewSession(e.opt.Limits, opt, clockOf(e.opt.Clock), e.opt.Rand)
	defer session.Close()
	var stderr bytes.Buffer
	making, memories := sandbox.WatchMemories(ctx)
	p, err := e.plugin.Instance(making, extism.PluginInstanceConfig{ModuleConfig: e.oracle.ModuleConfig(ctx, &stderr)})
	if err != nil {
		return Answer{}, fmt.Errorf("conformance: instantiate on extism: %w", err)
	}
	defer func() { err = errors.Join(err, p.CloseWithContext(context.WithoutCancel(ctx))) }()
	ctx = context.WithValue(ctx, callKey{}, &call{session, memories})
	rc, out, failure := p.CallWithContext(ctx, export, input)
	switch {
	case rc == 0 && failure == nil:
		return Answer{Output: out}, nil
	case rc != 0 && failure != nil && p.GetErrorWithContext(ctx) == failure.Error():
		return Answer{Error: failure.Error()}, nil
	case failure == nil:
		return Answer{Error: fmt.Sprintf("rc %d", rc)}, nil
	}
	return Answer{Broken: fmt.Sprintf("%v; stderr %q", failure, stderr.String())}, nil
}

func clockOf(clock func() time.Time) func() time.Time {
	if clock == nil {
		return time.Now
	}
	return clock
}

// hostFunctions are the abilities over go-sdk's blocks, and the two bulk copies
// over the guest's memory, which go-sdk itself does not show to host functions.
func hostFunctions() []extism.HostFunction {
	i32, i64 := extism.ValueTypeI32, extism.ValueTypeI64
	var fs []extism.HostFunction
	for _, name := range sandbox.AbilityNames() {
		fs = append(fs, extism.NewHostFunctionWithStack(name, func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
			reply, err := of(ctx).session.Serve(ctx, name, readBlock(ctx, p, stack[0]))
			if err != nil {
				panic(err)
			}
			stack[0] = writeBlock(ctx, p, reply)
		}, []extism.ValueType{i64}, []extism.ValueType{i64}))
	}
	bulk := []extism.ValueType{i64, i32, i32}
	return append(fs,
		extism.NewHostFunctionWithStack(wire.ImportLoad, func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
			copy(guestBytes(ctx, stack), blockBytes(p, stack))
		}, bulk, nil),
		extism.NewHostFunctionWithStack(wire.ImportStore, func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
			copy(blockBytes(p, stack), guestBytes(ctx, stack))
		}, bulk, nil))
}

func of(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// guestBytes and blockBytes are the two ends of a bulk copy; out of range ends
// the guest.
func guestBytes(ctx context.Context, stack []uint64) []byte {
	mem, ptr, n := of(ctx).memories.Newest(), uint64(uint32(stack[1])), uint64(uint32(stack[2]))
	if n == 0 {
		return nil
	}
	if ptr+n > uint64(len(mem)) {
		panic(errors.New("copy outside the guest's memory"))
	}
	return mem[ptr : ptr+n]
}

func blockBytes(p *extism.CurrentPlugin, stack []uint64) []byte {
	n := uint32(stack[2])
	if n == 0 {
		return nil
	}
	b, ok := p.Memory().Read(uint32(stack[0]), n)
	if !ok || stack[0]>>32 != 0 {
		panic(errors.New("copy outside a block"))
	}
	return b
}

// readBlock and writeBlock use the forms that end with ctx: the others can be
// made to loop for ever by what a guest writes.
func readBlock(ctx context.Context, p *extism.CurrentPlugin, off uint64) []byte {
	n, err := p.LengthWithContext(ctx, off)
	if err != nil {
		panic(err)
	}
	b, ok := p.Memory().Read(uint32(off), uint32(n))
	if !ok {
		panic(errors.New("argument outside the blocks"))
	}
	return bytes.Clone(b)
}

func writeBlock(ctx context.Context, p *extism.CurrentPlugin, b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	off, err := p.AllocWithContext(ctx, uint64(len(b)))
	if err != nil {
		panic(err)
	}
	if off == 0 || !p.Memory().Write(uint32(off), b) {
		panic(errors.New("reply does not fit"))
	}
	return off
}
