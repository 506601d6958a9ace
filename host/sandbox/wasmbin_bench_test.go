package sandbox_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// meterOptions are those of the tests of package wasmbin that need an engine.
var meterOptions = wasmbin.Options{YieldModule: "host:meter", YieldName: "yield", FuelExport: "host:fuel", Stack: 1 << 40}

// meterWith rewrites a module for the tests.
func meterWith(t testing.TB, wasm []byte, l wasmbin.Limits) ([]byte, wasmbin.Report) {
	t.Helper()
	m, err := wasmbin.Read(wasm, l)
	if err != nil {
		t.Fatal(err)
	}
	metered, report, err := wasmbin.Meter(m, meterOptions)
	if err != nil {
		t.Fatal(err)
	}
	return metered.Encode(), report
}

// buildGuest builds a Go guest of the tests.
func buildGuest(t testing.TB, dir string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", path, dir)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// BenchmarkMeter runs the same work plain, metered and with the engine's own
// interruption, in turns, and reports the ratios of the best times. The metered
// guest yields into the host as the product's does.
func BenchmarkMeter(b *testing.B) {
	guest, loops := buildGuest(b, "./testdata/meter"), fixture(b, "meter")
	type row struct {
		module string
		wasm   []byte
		export string
		n      uint64
	}
	rows := []row{
		{"go", guest, "json", 1},
		{"go", guest, "sha256", 3},
		{"go", guest, "sort", 2},
		{"go", guest, "regexp", 3},
		{"go", guest, "fib", 2},
		{"go", guest, "spin", 20},
		{"wat", loops, "fib", 10},
		{"wat", loops, "spin", 20},
	}
	yields := 0
	variant := func(wasm []byte, interrupt bool) api.Module {
		rc := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2).WithCloseOnContextDone(interrupt)
		rt := wazero.NewRuntimeWithConfig(b.Context(), rc)
		b.Cleanup(func() { _ = rt.Close(context.Background()) })
		wasi_snapshot_preview1.MustInstantiate(b.Context(), rt)
		yieldInto(b, rt, func(int64) int64 { yields++; runtime.Gosched(); return 250_000 })
		mod, err := rt.InstantiateWithConfig(b.Context(), wasm, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
		if err != nil {
			b.Fatal(err)
		}
		return mod
	}
	variants := map[string][3]api.Module{}
	for _, r := range rows {
		if _, ok := variants[r.module]; !ok {
			metered, report := meterWith(b, r.wasm, wasmbin.DefaultLimits())
			b.Logf("%s: %d bytes, metered %d, %+v", r.module, len(r.wasm), len(metered), report)
			variants[r.module] = [3]api.Module{variant(r.wasm, false), variant(metered, false), variant(r.wasm, true)}
		}
	}
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	product, kinds := 1.0, 0
	for _, r := range rows {
		b.Run(r.module+"/"+r.export, func(b *testing.B) {
			var best [3]time.Duration
			var got [3]uint64
			yields = 0
			for i := 0; b.Loop(); i++ {
				for v, mod := range variants[r.module] {
					if v == 2 && i%16 != 0 {
						continue // it is slow, and need not be precise
					}
					begun := time.Now()
					res, err := mod.ExportedFunction(r.export).Call(ctx, r.n)
					took := time.Since(begun)
					if err != nil {
						b.Fatal(err)
					}
					got[v] = res[0]
					if best[v] == 0 || took < best[v] {
						best[v] = took
					}
				}
			}
			if got[0] != got[1] || got[0] != got[2] {
				b.Fatalf("results differ: %v", got)
			}
			ratio := float64(best[1]) / float64(best[0])
			b.ReportMetric(float64(best[0].Microseconds()), "plain-us")
			b.ReportMetric(ratio, "metered/plain")
			b.ReportMetric(float64(best[2])/float64(best[0]), "interrupt/plain")
			b.ReportMetric(float64(yields)/float64(b.N)/best[1].Seconds()/1000, "yields/ms")
			if r.module == "go" && r.export != "spin" {
				product, kinds = product*ratio, kinds+1
			}
		})
	}
	fmt.Printf("geometric mean of the Go guest without spin: %.2f\n", math.Pow(product, 1/float64(kinds)))
}

// yieldInto links the import that metered modules call.
func yieldInto(t testing.TB, rt wazero.Runtime, more func(left int64) int64) {
	t.Helper()
	_, err := rt.NewHostModuleBuilder(meterOptions.YieldModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = uint64(more(int64(stack[0]))) }),
			[]api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).
		Export(meterOptions.YieldName).Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}
