package sandbox_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// stackExport is the name under which tests look at what is left of the stack.
const stackExport = "host:stack"

// errDeep ends a guest that has passed its bound of stack.
var errDeep = errors.New("too deep")

// deep instantiates a metered module that may take so many bytes of stack.
func deep(t testing.TB, rc wazero.RuntimeConfig, m *wasmbin.Module, bytes int64) *fueled {
	t.Helper()
	opt := meterOptions
	opt.Stack, opt.StackExport = bytes, stackExport
	out, _, err := wasmbin.Meter(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fuel(t, rc, out.Encode(), 1<<50, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Endless recursion ends at the bound, direct or through a table, at the same
// depth on both engines, and a bound twice as large lets it go twice as deep.
func TestRecursionEndsAtItsBound(t *testing.T) {
	m, err := wasmbin.Read(fixture(t, "deep"), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for _, export := range []string{"direct", "indirect", "mutual", "results", "loops"} {
		var depths []string
		for _, rc := range []wazero.RuntimeConfig{wazero.NewRuntimeConfigInterpreter(), wazero.NewRuntimeConfigCompiler()} {
			var at [2]uint64
			for i, bytes := range []int64{64 << 10, 128 << 10} {
				f := deep(t, rc, m, bytes)
				if _, err := f.mod.ExportedFunction(export).Call(t.Context()); !errors.Is(err, errDeep) {
					t.Fatalf("%s ended with %.200s", export, fmt.Sprint(err))
				}
				at[i] = f.mod.ExportedGlobal("depth").Get()
			}
			if at[0] < 100 || at[0] > 1000 || at[1] < 2*at[0] || at[1] > 2*at[0]+2 {
				t.Errorf("%s went %d and %d deep", export, at[0], at[1])
			}
			depths = append(depths, fmt.Sprint(at))
		}
		if depths[0] != depths[1] {
			t.Errorf("%s: interpreted %s deep, compiled %s", export, depths[0], depths[1])
		}
	}
}

// What a function took it gives back whichever way it ends, so that a million
// calls that are not in each other pass no bound.
func TestStackIsGivenBack(t *testing.T) {
	m, err := wasmbin.Read(fixture(t, "deep"), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	f := deep(t, wazero.NewRuntimeConfigCompiler(), m, 2000)
	for way := range uint64(6) {
		if _, err := f.mod.ExportedFunction("ways").Call(t.Context(), way, 100_000); err != nil {
			t.Errorf("way %d: %v", way, err)
		}
		if left := f.mod.ExportedGlobal(stackExport).Get(); left != 2000 {
			t.Errorf("way %d leaves %d bytes", way, left)
		}
	}
}

// A frame with many locals counts for more than one with few.
func TestLargeFramesCountForMore(t *testing.T) {
	m, err := wasmbin.Read(fixture(t, "deep"), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	var at []uint64
	for _, export := range []string{"direct", "wide"} {
		f := deep(t, wazero.NewRuntimeConfigInterpreter(), m, 128<<10)
		if _, err := f.mod.ExportedFunction(export).Call(t.Context()); !errors.Is(err, errDeep) {
			t.Fatalf("%s ended with %.200s", export, fmt.Sprint(err))
		}
		at = append(at, f.mod.ExportedGlobal("depth").Get())
	}
	if 2*at[0] < 3*at[1] {
		t.Errorf("small frames went %d deep, large ones %d", at[0], at[1])
	}
}

// Recursion that real guests do fits with room to spare: encoding/json decodes
// and encodes lists nested as deep as it allows.
func TestRealRecursionFits(t *testing.T) {
	const nested = 9_999
	m, err := wasmbin.Read(buildGuest(t, "./testdata/meter"), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	opt := meterOptions
	opt.Stack = sandbox.MaxStack / 2
	out, _, err := wasmbin.Meter(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	rt := wazero.NewRuntime(t.Context())
	t.Cleanup(func() { _ = rt.Close(t.Context()) })
	wasi_snapshot_preview1.MustInstantiate(t.Context(), rt)
	yieldInto(t, rt, func(left int64) int64 {
		if left == wasmbin.StackPassed {
			panic(errDeep)
		}
		return 250_000
	})
	mod, err := rt.InstantiateWithConfig(t.Context(), out.Encode(), wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := mod.ExportedFunction("nest").Call(t.Context(), nested)
	if err != nil || res[0] != 2*nested {
		t.Errorf("%v, %.200s", res, fmt.Sprint(err))
	}
}

// An exception passes frames that give nothing back themselves: who catches it
// does. Blocks and loops can both be where it leads.
func TestCaughtExceptionsGiveStackBack(t *testing.T) {
	thrower := []byte{
		0x20, 0, 0x04, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x05, 0x08, 0, 0x0b, 0x0b, // if n: call itself with n-1, else throw
	}
	inBlock := []byte{
		0x03, 0x40, 0x02, 0x40, 0x1f, 0x40, 1, 2, 0, 0x41, 5, 0x10, 0, 0x0b, 0x0b, // loop, block, try: call, catch to the block
		0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x0b, // while --n
	}
	inLoop := []byte{
		0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x04, 0x40, // loop, while --n
		0x1f, 0x40, 1, 2, 1, 0x41, 5, 0x10, 0, 0x0b, // try: call, catch to the loop
		0x0b, 0x0b, 0x0b,
	}
	out := []byte{0x1f, 0x40, 1, 2, 0, 0x41, 5, 0x10, 0, 0x0b, 0x0b} // catch to the end of the function
	made := &wasmbin.Module{
		Types: []wasmbin.FuncType{{}, {Params: []byte{wasmbin.I32}}},
		Tags:  []uint32{0},
		Funcs: []uint32{1, 1, 1, 0},
	}
	for i, code := range [][]byte{thrower, inBlock, inLoop, out} {
		made.Bodies = append(made.Bodies, wasmbin.Body{Code: code})
		made.Exports = append(made.Exports, wasmbin.Export{Name: string(rune('a' + i)), Kind: wasmbin.KindFunc, Index: uint32(i)})
	}
	m, err := wasmbin.Read(made.Encode(), specLimits(wasmbin.Core2|wasmbin.Exceptions))
	if err != nil {
		t.Fatal(err)
	}
	opt := meterOptions
	opt.Stack, opt.StackExport = 4000, stackExport
	metered, _, err := wasmbin.Meter(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesExceptionHandling))
	t.Cleanup(func() { _ = rt.Close(t.Context()) })
	yieldInto(t, rt, func(left int64) int64 {
		if left == wasmbin.StackPassed {
			panic(errDeep)
		}
		return 50
	})
	mod, err := rt.Instantiate(t.Context(), metered.Encode())
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]uint64{"b": {100}, "c": {100}, "d": nil} {
		before := mod.ExportedGlobal(stackExport).Get()
		if _, err := mod.ExportedFunction(name).Call(t.Context(), args...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after := mod.ExportedGlobal(stackExport).Get(); after != before {
			t.Errorf("%s: of its stack it kept %d bytes", name, before-after)
		}
	}
}
