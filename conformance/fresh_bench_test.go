package conformance_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance"
	"github.com/b3abf3ee/portcullis/host/sandbox"
)

// BenchmarkFreshAgainstExtism makes the same call in a fresh state on both
// engines in turns: ours restores an instance, go-sdk instantiates, calls and
// closes, which is its way to the same promise. The guest is a Go program.
func BenchmarkFreshAgainstExtism(b *testing.B) {
	path := filepath.Join(b.TempDir(), "fresh.wasm")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", path, "../host/sandbox/testdata/fresh")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build the guest: %v\n%s", err, out)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	e, err := sandbox.Open(b.Context(), sandbox.Config{CacheDir: cacheDir})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(context.Background())
	ours, err := e.LoadForeign(b.Context(), sandbox.Foreign{Name: "fresh", Wasm: wasm, Exports: []string{"echo", "decode", "decode_again"}})
	if err != nil {
		b.Fatal(err)
	}
	theirs, err := conformance.OpenExtism(b.Context(), conformance.ExtismOptions{Wasm: wasm, CacheDir: cacheDir})
	if err != nil {
		b.Fatal(err)
	}
	defer theirs.Close(context.Background())
	for _, c := range []struct {
		name, export string
		in           []byte
	}{
		{"1KiB", "echo", bytes.Repeat([]byte("x"), 1<<10)},
		{"64KiB", "echo", bytes.Repeat([]byte("x"), 64<<10)},
		{"json1KiB", "decode", []byte(`{"a":[1,2,3],"b":"` + string(bytes.Repeat([]byte("x"), 1000)) + `"}`)},
	} {
		b.Run(c.name, func(b *testing.B) {
			both := func(export string) (ourTime, theirTime time.Duration) {
				begun := time.Now()
				out := ours.Call(b.Context(), export, c.in, sandbox.CallOptions{})
				ourTime = time.Since(begun)
				begun = time.Now()
				answer, err := theirs.Call(b.Context(), export, c.in, sandbox.CallOptions{})
				theirTime = time.Since(begun)
				if err != nil || out.Status != sandbox.OK || !bytes.Equal(out.Output, answer.Output) {
					b.Fatalf("%s (%s), %v: %.80q and %.80q", out.Status, out.Reason, err, out.Output, answer.Output)
				}
				return ourTime, theirTime
			}
			var a, z, again, theirAgain []time.Duration
			for b.Loop() {
				x, y := both(c.export)
				a, z = append(a, x), append(z, y)
				if c.export == "decode" {
					x, y = both("decode_again")
					again, theirAgain = append(again, x), append(theirAgain, y)
				}
			}
			for _, list := range [][]time.Duration{a, z, again, theirAgain} {
				slices.Sort(list)
			}
			us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
			mid, late := len(a)/2, len(a)*99/100
			b.ReportMetric(us(a[mid]), "p50-us")
			b.ReportMetric(us(a[late]), "p99-us")
			b.ReportMetric(us(z[mid]), "extism-p50-us")
			b.ReportMetric(float64(z[mid])/float64(a[mid]), "extism/ours")
			if len(again) > 0 { // what a second run of the same work takes longer is the guest's own compute
				own, theirOwn := again[mid]-a[mid], theirAgain[mid]-z[mid]
				b.ReportMetric(us(own), "compute-us")
				b.ReportMetric(float64(z[mid]-theirOwn)/float64(max(a[mid]-own, 1)), "extism/ours-over-compute")
			}
		})
	}
}
