package wasmbin

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkLoad is what loading costs before the engine sees a module: a plain
// Go guest of two megabytes.
func BenchmarkLoad(b *testing.B) {
	wasm, err := os.ReadFile(filepath.Join(moduleDir(b, "github.com/extism/go-sdk"), "wasm", "count_vowels_std.wasm"))
	if err != nil {
		b.Fatal(err)
	}
	m, err := Read(wasm, DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	metered, _, err := Meter(m, Options{YieldModule: "host:meter", YieldName: "yield", FuelExport: "host:fuel"})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(wasm)))
		b.ReportAllocs()
		for b.Loop() {
			if err := Verify(wasm, DefaultLimits()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("meter", func(b *testing.B) {
		b.SetBytes(int64(len(wasm)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := Meter(m, Options{YieldModule: "host:meter", YieldName: "yield", FuelExport: "host:fuel"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(wasm)))
		b.ReportAllocs()
		for b.Loop() {
			if len(metered.Encode()) < len(wasm) {
				b.Fatal("nothing was added")
			}
		}
	})
}
