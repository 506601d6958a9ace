package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// errSpent ends a guest whose budget is used up.
var errSpent = errors.New("budget spent")

// fueled is a metered module that runs with a budget, given out in slices.
type fueled struct {
	mod    api.Module
	left   int64 // of the budget, not yet given out
	given  int64
	yields int
}

// fuel instantiates a metered module on an engine.
func fuel(t testing.TB, rc wazero.RuntimeConfig, wasm []byte, budget, slice int64) (*fueled, error) {
	t.Helper()
	rt := wazero.NewRuntimeWithConfig(t.Context(), rc.WithCoreFeatures(api.CoreFeaturesV2))
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	f := &fueled{left: budget}
	yieldInto(t, rt, func(owed int64) int64 {
		if owed == wasmbin.StackPassed {
			panic(errDeep)
		}
		f.yields++
		n := min(max(slice, -owed), f.left)
		if owed+n < 0 {
			panic(errSpent)
		}
		f.left -= n
		f.given += n
		return owed + n
	})
	var err error
	f.mod, err = rt.InstantiateWithConfig(t.Context(), wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	return f, err
}

// used is what the guest has paid so far.
func (f *fueled) used() int64 {
	return f.given - int64(f.mod.ExportedGlobal(meterOptions.FuelExport).Get())
}

// TestNothingRunsForEver stops what does not end by itself: each has a budget
// that is gone in well under a second.
func TestNothingRunsForEver(t *testing.T) {
	wasm, _ := meterWith(t, fixture(t, "endless"), wasmbin.DefaultLimits())
	for name, rc := range map[string]wazero.RuntimeConfig{"compiled": wazero.NewRuntimeConfigCompiler(), "interpreted": wazero.NewRuntimeConfigInterpreter()} {
		for _, export := range []string{"loop", "nested", "table", "params", "fill", "copy", "tree", "leaves", "indirect_tree"} {
			t.Run(name+"/"+export, func(t *testing.T) {
				f, err := fuel(t, rc, wasm, 3_000_000, 100_000)
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.mod.ExportedFunction(export).Call(t.Context())
				if !errors.Is(err, errSpent) {
					t.Fatalf("ended with %v", err)
				}
				if f.yields < 20 || f.yields > 31 {
					t.Errorf("asked %d times for a budget of 30 slices", f.yields)
				}
			})
		}
	}
}

// TestRecursionStillOverflows leaves endless recursion to whichever bound comes
// first, and neither hangs.
func TestRecursionStillOverflows(t *testing.T) {
	wasm, _ := meterWith(t, fixture(t, "endless"), wasmbin.DefaultLimits())
	f, err := fuel(t, wazero.NewRuntimeConfigCompiler(), wasm, 1_000_000, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.mod.ExportedFunction("recursion").Call(t.Context()); !errors.Is(err, errSpent) {
		t.Errorf("with little fuel it ended with %v", err)
	}
	f, err = fuel(t, wazero.NewRuntimeConfigCompiler(), wasm, 1<<40, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.mod.ExportedFunction("recursion").Call(t.Context()); err == nil || !strings.Contains(err.Error(), "stack overflow") {
		t.Errorf("with much fuel it ended with %v", err)
	}
}

// TestFuelIsTheSameEverywhere runs the same work on both engines and with
// slices of many sizes; what was used does not differ by one unit.
func TestFuelIsTheSameEverywhere(t *testing.T) {
	wasm, _ := meterWith(t, fixture(t, "meter"), wasmbin.DefaultLimits())
	for _, export := range []string{"spin", "fib"} {
		want := int64(0)
		for name, rc := range map[string]wazero.RuntimeConfig{"compiled": wazero.NewRuntimeConfigCompiler(), "interpreted": wazero.NewRuntimeConfigInterpreter()} {
			for _, slice := range []int64{1, 7, 1000, 1_000_003, 1 << 40} {
				f, err := fuel(t, rc, wasm, 1<<50, slice)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.mod.ExportedFunction(export).Call(t.Context(), 2); err != nil {
					t.Fatal(err)
				}
				if want == 0 {
					want = f.used()
				}
				if f.used() != want || want < 20_000 {
					t.Errorf("%s %s, slices of %d: used %d, elsewhere %d", name, export, slice, f.used(), want)
				}
			}
		}
	}
}

// TestFuelBoundsInstructions compares what is charged in advance with an exact
// count: never less, and within the factor that the documentation names.
func TestFuelBoundsInstructions(t *testing.T) {
	m, err := wasmbin.Read(fixture(t, "meter"), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for _, export := range []string{"spin", "fib"} {
		used := map[int]int64{}
		for _, span := range []int{1, 0} {
			opt := meterOptions
			opt.Span = span
			out, _, err := wasmbin.Meter(m, opt)
			if err != nil {
				t.Fatal(err)
			}
			f, err := fuel(t, wazero.NewRuntimeConfigInterpreter(), out.Encode(), 1<<50, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.mod.ExportedFunction(export).Call(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
			used[span] = f.used()
		}
		if used[0] < used[1] || used[0] > 3*used[1] {
			t.Errorf("%s: charged %d for %d instructions", export, used[0], used[1])
		}
	}
}

// TestBulkPaysForItsLength fills one page and then sixteen.
func TestBulkPaysForItsLength(t *testing.T) {
	wasm, _ := meterWith(t, fixture(t, "endless"), wasmbin.DefaultLimits())
	f, err := fuel(t, wazero.NewRuntimeConfigCompiler(), wasm, 1<<40, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var used []int64
	for _, n := range []uint64{0, 65536, 16 * 65536} {
		before := f.used()
		if _, err := f.mod.ExportedFunction("fill_n").Call(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		used = append(used, f.used()-before)
	}
	if one, many := used[1]-used[0], used[2]-used[0]; one != 65536/16 || many != 16*one {
		t.Errorf("paid %v", used)
	}
}

// TestHiddenThingsStayHidden refuses modules that use the host's names and finds
// the globals where the report says.
func TestHiddenThingsStayHidden(t *testing.T) {
	opt := meterOptions
	opt.GlobalPrefix, opt.StackExport = "host:global:", "host:stack"
	for name, m := range map[string]*wasmbin.Module{
		"import": {Types: []wasmbin.FuncType{{}}, Imports: []wasmbin.Import{{Module: opt.YieldModule, Name: "other"}}},
		"fuel":   {Memories: []wasmbin.LimitsType{{}}, Exports: []wasmbin.Export{{Name: opt.FuelExport, Kind: wasmbin.KindMemory}}},
		"stack":  {Memories: []wasmbin.LimitsType{{}}, Exports: []wasmbin.Export{{Name: opt.StackExport, Kind: wasmbin.KindMemory}}},
		"global": {Memories: []wasmbin.LimitsType{{}}, Exports: []wasmbin.Export{{Name: "host:global:9", Kind: wasmbin.KindMemory}}},
	} {
		var no *wasmbin.Refusal
		if _, _, err := wasmbin.Meter(m, opt); !errors.As(err, &no) || no.Code != wasmbin.CodeReserved {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := wasmbin.Read(fixture(t, "endless"), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	out, report, err := wasmbin.Meter(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fuel(t, wazero.NewRuntimeConfigInterpreter(), out.Encode(), 1<<40, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(report.Globals) != "[host:global:1]" {
		t.Fatalf("globals %v", report.Globals)
	}
	if _, err := f.mod.ExportedFunction("count").Call(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.mod.ExportedGlobal("host:global:1").Get(); got != 41 {
		t.Errorf("the guest's own counter reads %d", got)
	}
	if got := out.Exports[len(m.Exports)].Index; got != report.FuelGlobal {
		t.Errorf("fuel is global %d, reported %d", got, report.FuelGlobal)
	}
}
