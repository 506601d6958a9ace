package sandbox_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
)

// freshGo is the Go guest of tests and measurements.
func freshGo(t testing.TB) []byte { return buildGuest(t, "./testdata/fresh") }

var freshExports = []string{"nothing", "echo", "state", "grow", "decode", "elapsed"}

// percentiles calls n times and reports how long the middle and the slowest of a
// hundred took, in microseconds.
func percentiles(b *testing.B, p *sandbox.Plugin, export string, in []byte) {
	took := make([]time.Duration, 0, b.N)
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		out := p.Call(b.Context(), export, in, sandbox.CallOptions{})
		took = append(took, time.Since(begun))
		if out.Status != sandbox.OK {
			b.Fatalf("%s (%s) %s %v", out.Status, out.Reason, out.Text, out.Err)
		}
	}
	slices.Sort(took)
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	b.ReportMetric(us(took[len(took)/2]), "p50-us")
	b.ReportMetric(us(took[len(took)*99/100]), "p99-us")
}

// BenchmarkFresh is one call in a fresh state, by guest and work.
func BenchmarkFresh(b *testing.B) {
	e := open(b, sandbox.Config{})
	small := loadWith(b, e, sandbox.Foreign{Name: "echo", Wasm: fixture(b, "echo"), Exports: []string{"run"}})
	golang := loadWith(b, e, sandbox.Foreign{Name: "fresh", Wasm: freshGo(b), Exports: freshExports})
	object := []byte(`{"a":[1,2,3,{"b":"c"}],"d":"` + string(bytes.Repeat([]byte("x"), 950)) + `"}`)
	for _, c := range []struct {
		name, export string
		p            *sandbox.Plugin
		in           []byte
	}{
		{"small/13B", "run", small, []byte("hello, world!")},
		{"small/1KiB", "run", small, bytes.Repeat([]byte("x"), 1<<10)},
		{"small/64KiB", "run", small, bytes.Repeat([]byte("x"), 64<<10)},
		{"small/1MiB", "run", small, bytes.Repeat([]byte("x"), 1<<20)},
		{"go/nothing", "nothing", golang, nil},
		{"go/1KiB", "echo", golang, bytes.Repeat([]byte("x"), 1<<10)},
		{"go/64KiB", "echo", golang, bytes.Repeat([]byte("x"), 64<<10)},
		{"go/1MiB", "echo", golang, bytes.Repeat([]byte("x"), 1<<20)},
		{"go/json1KiB", "decode", golang, object},
	} {
		b.Run(c.name, func(b *testing.B) { percentiles(b, c.p, c.export, c.in) })
	}
}

// BenchmarkFreshOnTwoCores is how much more two goroutines get done than one, as turns of two sessions are.
func BenchmarkFreshOnTwoCores(b *testing.B) {
	e := open(b, sandbox.Config{})
	small := loadWith(b, e, sandbox.Foreign{Name: "echo", Wasm: fixture(b, "echo"), Exports: []string{"run"}})
	golang := loadWith(b, e, sandbox.Foreign{Name: "fresh", Wasm: freshGo(b), Exports: freshExports})
	object := []byte(`{"a":[1,2,3,{"b":"c"}],"d":"` + string(bytes.Repeat([]byte("x"), 950)) + `"}`)
	for _, c := range []struct {
		name, export string
		p            *sandbox.Plugin
		in           []byte
		calls        int // tens of milliseconds: to wake a thread takes a tenth of one
	}{
		{"small", "run", small, bytes.Repeat([]byte("x"), 1<<10), 6000},
		{"go", "echo", golang, bytes.Repeat([]byte("x"), 1<<10), 3000},
		{"go-json", "decode", golang, object, 100},
	} {
		b.Run(c.name, func(b *testing.B) {
			run := func(threads int) time.Duration {
				var wg sync.WaitGroup
				begun := time.Now()
				for range threads {
					wg.Go(func() {
						ctx, end := context.WithCancel(context.Background()) // turns have contexts of their own
						defer end()
						for range c.calls / threads {
							if out := c.p.Call(ctx, c.export, c.in, sandbox.CallOptions{}); out.Status != sandbox.OK {
								b.Errorf("%s (%s)", out.Status, out.Reason)
							}
						}
					})
				}
				wg.Wait()
				return time.Since(begun)
			}
			var one, two []time.Duration
			for b.Loop() {
				one, two = append(one, run(1)), append(two, run(2))
			}
			slices.Sort(one)
			slices.Sort(two)
			b.ReportMetric(float64(one[len(one)/2])/float64(two[len(two)/2]), "two/one")
			b.ReportMetric(float64(one[0])/float64(two[0]), "two/one-best")
		})
	}
}
