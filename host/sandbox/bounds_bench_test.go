package sandbox_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// ms prints a duration for a benchmark.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkStop reports how long after its deadline a call comes back: guests
// that compute, guests without loops, and guests that keep the host busy. The
// first row is a Go program's own timer, which comes late as well where other
// processes use the machine.
func BenchmarkStop(b *testing.B) {
	e := open(b, sandbox.Config{})
	busy, bounds := loadBusy(b, small()), loadBounds(b, e, "bounds", roomy())
	report := func(b *testing.B, late []time.Duration) {
		slices.Sort(late)
		b.ReportMetric(ms(late[len(late)/2]), "late-p50-ms")
		b.ReportMetric(ms(late[len(late)*99/100]), "late-p99-ms")
	}
	const timeout = 20 * time.Millisecond
	b.Run("timer", func(b *testing.B) {
		var late []time.Duration
		for b.Loop() {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(b.Context(), timeout)
			<-ctx.Done()
			cancel()
			late = append(late, time.Since(begun)-timeout)
		}
		report(b, late)
	})
	for _, export := range append([]string{"loop", "tree", "fill"}, hostLoops...) {
		p := bounds
		if slices.Contains(busyExports, export) {
			p = busy
		}
		b.Run(export, func(b *testing.B) {
			var late []time.Duration
			for b.Loop() {
				out := p.Call(b.Context(), export, nil, sandbox.CallOptions{Timeout: timeout})
				want(b, out, sandbox.TimedOut, "")
				late = append(late, out.Stats.Duration-timeout)
			}
			report(b, late)
		})
	}
}

// BenchmarkBeside reports what others feel while guests spin, one for each core:
// a call of another plugin each millisecond, from when it is due, and the longest garbage collection. The unmetered
// guests of the same run spin for a fifth of a second at a time.
func BenchmarkBeside(b *testing.B) {
	e := open(b, sandbox.Config{})
	echo := load(b, e, "echo", "run")
	spinner := loadWith(b, e, sandbox.Foreign{Name: "busy", Wasm: fixture(b, "busy"), Exports: busyExports, Limits: small()})
	plain := unmetered(b)
	cores := runtime.GOMAXPROCS(0)
	for _, c := range []struct {
		name string
		spin func(ctx context.Context)
	}{
		{"quiet", nil},
		{"metered", func(ctx context.Context) { spinner.Call(ctx, "loop", nil, sandbox.CallOptions{}) }},
		{"unmetered", func(ctx context.Context) {
			for ctx.Err() == nil {
				if _, err := plain.ExportedFunction("spin").Call(context.WithoutCancel(ctx), 20_000); err != nil {
					return
				}
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var spinning sync.WaitGroup
			if c.spin != nil {
				for range cores {
					spinning.Go(func() { c.spin(ctx) })
				}
			}
			var calls []time.Duration
			longest := time.Duration(0)
			for i := 0; b.Loop(); i++ {
				due := time.Now().Add(time.Millisecond)
				<-time.After(time.Millisecond)
				want(b, echo.Call(b.Context(), "run", []byte("hello"), sandbox.CallOptions{}), sandbox.OK, "")
				calls = append(calls, time.Since(due))
				if i%20 == 0 {
					begun := time.Now()
					runtime.GC()
					longest = max(longest, time.Since(begun))
				}
			}
			cancel()
			spinning.Wait()
			slices.Sort(calls)
			b.ReportMetric(ms(calls[len(calls)/2]), "call-p50-ms")
			b.ReportMetric(ms(calls[len(calls)*99/100]), "call-p99-ms")
			b.ReportMetric(ms(longest), "gc-max-ms")
		})
	}
}

// unmetered is a guest whose spin takes about ten microseconds a unit.
func unmetered(b *testing.B) api.Module {
	rt := wazero.NewRuntime(b.Context())
	b.Cleanup(func() { _ = rt.Close(context.Background()) })
	mod, err := rt.Instantiate(b.Context(), fixture(b, "meter"))
	if err != nil {
		b.Fatal(err)
	}
	return mod
}

// BenchmarkRecursion reports what runaway recursion costs until it is stopped:
// the time, and the bytes of stack that the engine allocates on the way.
func BenchmarkRecursion(b *testing.B) {
	p := load(b, open(b, sandbox.Config{}), "outcomes", "recurse")
	plain := unmeteredRecursion(b)
	for _, c := range []struct {
		name string
		call func()
	}{
		{"metered", func() {
			want(b, p.Call(b.Context(), "recurse", nil, sandbox.CallOptions{}), sandbox.LimitPassed, "stack_depth")
		}},
		{"unmetered", func() {
			if plain() == nil {
				b.Fatal("it came back")
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				c.call()
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "MiB/op")
		})
	}
}

// unmeteredRecursion makes calls that begin with the engine's smallest stack.
func unmeteredRecursion(b *testing.B) func() error {
	rt := wazero.NewRuntime(b.Context())
	b.Cleanup(func() { _ = rt.Close(context.Background()) })
	mod, err := rt.Instantiate(b.Context(), fixture(b, "endless"))
	if err != nil {
		b.Fatal(err)
	}
	return func() error {
		_, err := mod.ExportedFunction("recursion").Call(b.Context())
		return err
	}
}
