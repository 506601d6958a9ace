package sandbox_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// BenchmarkTypedCall is what package sdk costs in a guest: the typed tool
// echo.copy with 1 KiB in and out, less a call that finds no tool, both metered
// and in one running instance, so that the host's own work is left out.
func BenchmarkTypedCall(b *testing.B) {
	wasm, _ := meterWith(b, echoGuest(b), wasmbin.DefaultLimits())
	k := newKernel(b, wasm)
	typed := []byte(`{"id":"eff_1","tool":"echo.copy","args":` + message(1024) + `}`)
	noop := []byte(`{"id":"eff_1","tool":"echo.none","args":{}}`)
	if out := k.invoke(b, typed); !strings.HasPrefix(out, `{"result":{"id":7,`) || len(out) < 900 {
		b.Fatalf("the reply is %q", out)
	}
	spent, idle := time.Hour, time.Hour // the best of each: the machine does other things too
	for b.Loop() {
		begun := time.Now()
		k.invoke(b, typed)
		middle := time.Now()
		k.invoke(b, noop)
		spent, idle = min(spent, middle.Sub(begun)), min(idle, time.Since(middle))
	}
	b.ReportMetric(float64((spent-idle).Nanoseconds())/1000, "guest-us/call")
	b.ReportMetric(float64(idle.Nanoseconds())/1000, "noop-us/call")
}

// The guest's collector runs as often as it can over these calls, while values are
// half read, checks each of its rounds by a second one, and writes over what it
// frees. What comes back is what went in.
func TestTypedCallsUnderTheGuestsCollector(t *testing.T) {
	wasm, _ := meterWith(t, echoGuest(t), wasmbin.DefaultLimits())
	k := newKernelOn(t, wazero.NewRuntimeConfigCompiler(),
		wazero.NewModuleConfig().WithEnv("GOGC", "1").WithEnv("GODEBUG", "clobberfree=1,gccheckmark=1").WithStderr(t.Output()), wasm)
	for i, size := range []int{200, 1 << 10, 64 << 10, 256 << 10, 200} {
		in := message(size)
		var want, got any
		if err := json.Unmarshal([]byte(`{"result":`+in+`}`), &want); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			out := k.invoke(t, []byte(`{"id":"eff_1","tool":"echo.copy","args":`+in+`}`))
			if err := json.Unmarshal([]byte(out), &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("call %d, %d bytes: %v, got %.200s", i, size, err, out)
			}
		}
	}
	for _, bad := range []string{`{"id":1,"id":2}`, `{"idd":1}`, `{"id":1e3}`} {
		if out := k.invoke(t, []byte(`{"id":"eff_1","tool":"echo.copy","args":`+bad+`}`)); !strings.HasPrefix(out, `{"fault":{"code":"invalid","message":"the arguments do not fit: `) {
			t.Errorf("%s gave %s", bad, out)
		}
	}
}

// BenchmarkColdCompile is what the first load of a minimal Go tool costs the
// engine, metering included, with nothing cached.
func BenchmarkColdCompile(b *testing.B) {
	wasm, _ := meterWith(b, echoGuest(b), wasmbin.DefaultLimits())
	size := float64(len(echoGuest(b))) / 1e6
	for b.Loop() {
		rt := wazero.NewRuntimeWithConfig(b.Context(), wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
		if _, err := rt.CompileModule(b.Context(), wasm); err != nil {
			b.Fatal(err)
		}
		if err := rt.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(size, "MB")
}

func echoGuest(t testing.TB) []byte {
	t.Helper()
	dir := filepath.Join(conformancetest.Root(t), "conformance", "guests", "echo")
	wasm, err := os.ReadFile(filepath.Join(conformancetest.Build(t, dir, "echo"), "echo.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// message is arguments of echo.copy of about n bytes.
func message(n int) string {
	const item = `{"name":"a box of tea, green","price":12.75,"count":3,"gift":true}`
	head := `{"id":7,"title":"An order with \"quotes\" and a caf\u00e9","tags":["one","two","three"],"items":[`
	tail := `],"notes":{"to":"the door","from":"the shop"}}`
	items := max(1, (n-len(head)-len(tail)+1)/(len(item)+1))
	return head + strings.TrimSuffix(strings.Repeat(item+",", items), ",") + tail
}

// kernel is the least of a host that a guest of package sdk runs on: blocks,
// input and output. Nothing in it is bounded: it is for guests of our own.
type kernel struct {
	mod    api.Module
	blocks map[uint64][]byte
	next   uint64
	output string
}

func newKernel(t testing.TB, wasm []byte) *kernel {
	t.Helper()
	return newKernelOn(t, wazero.NewRuntimeConfigCompiler(), wazero.NewModuleConfig(), wasm)
}

func newKernelOn(t testing.TB, rc wazero.RuntimeConfig, mc wazero.ModuleConfig, wasm []byte) *kernel {
	t.Helper()
	ctx := t.Context()
	rt := wazero.NewRuntimeWithConfig(ctx, rc.WithCoreFeatures(api.CoreFeaturesV2))
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	yieldInto(t, rt, func(int64) int64 { return 250_000 })
	k := &kernel{blocks: map[uint64][]byte{}}
	env := rt.NewHostModuleBuilder(wire.ModuleKernel)
	for name, f := range map[string]any{
		"input_length": func() uint64 { return uint64(len(k.blocks[1])) },
		"input_offset": func() uint64 { return 1 },
		"alloc": func(n uint64) uint64 {
			k.next++
			k.blocks[k.next] = make([]byte, n)
			return k.next
		},
		"free":       func(off uint64) { delete(k.blocks, off) },
		"length":     func(off uint64) uint64 { return uint64(len(k.blocks[off])) },
		"output_set": func(off, _ uint64) { k.output = string(k.blocks[off]) },
		"error_set":  func(off uint64) { k.output = "error: " + string(k.blocks[off]) },
		"config_get": func(uint64) uint64 { return 0 },
	} {
		env = env.NewFunctionBuilder().WithFunc(f).Export(name)
	}
	if _, err := env.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	host := rt.NewHostModuleBuilder(wire.ModuleHost)
	for _, name := range []string{wire.ImportLog, wire.ImportNow, wire.ImportRandom} {
		host = host.NewFunctionBuilder().WithFunc(func(uint64) uint64 { return 0 }).Export(name)
	}
	_, err := host.NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, off uint64, at, _ uint32) { m.Memory().Write(at, k.blocks[off]) }).Export(wire.ImportLoad).
		NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, off uint64, at, n uint32) {
		b, _ := m.Memory().Read(at, n)
		copy(k.blocks[off], b)
	}).Export(wire.ImportStore).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	k.mod, err = rt.InstantiateWithConfig(ctx, wasm, mc.WithStartFunctions(wire.ExportInitialize))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kernel) invoke(t testing.TB, input []byte) string {
	t.Helper()
	clear(k.blocks)
	k.next, k.output = 1, ""
	k.blocks[1] = input
	if _, err := k.mod.ExportedFunction(wire.ExportInvoke).Call(t.Context()); err != nil {
		t.Fatal(err)
	}
	return k.output
}
