package sandbox_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

var busyExports = []string{"loop", "tree", "fill", "work"}

func loadBusy(t testing.TB, l sandbox.Limits) *sandbox.Plugin {
	t.Helper()
	return loadWith(t, open(t, sandbox.Config{}), sandbox.Foreign{Name: "busy", Wasm: fixture(t, "busy"), Exports: busyExports, Limits: l})
}

// Loops, trees of calls without a loop and bulk instructions end with the call's
// deadline, and soon after it: the best of a few tries, since others use the
// machine too.
func TestBusyGuestsStopAtTheDeadline(t *testing.T) {
	p := loadBusy(t, small())
	for _, export := range []string{"loop", "tree", "fill"} {
		best := time.Hour
		for range 5 {
			out, timeout := sandbox.Overdue(sandbox.LetIn, func(timeout time.Duration) sandbox.Outcome {
				return p.Call(t.Context(), export, nil, sandbox.CallOptions{Timeout: timeout})
			})
			want(t, out, sandbox.TimedOut, "")
			best = min(best, out.Stats.Duration-timeout)
		}
		if best > 500*time.Millisecond { // far above what a busy machine adds; BenchmarkStop says how soon it is
			t.Errorf("%s: stopped %s after its deadline", export, best)
		}
	}
}

func TestBusyGuestsStopWhenCancelled(t *testing.T) {
	p := loadBusy(t, small())
	for after := 20 * time.Millisecond; ; after *= 4 { // a busy machine may not have entered the guest by then
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(after, cancel)
		out := p.Call(ctx, "loop", nil, sandbox.CallOptions{})
		cancel()
		if out.Status == sandbox.Cancelled && !out.Entered && after < 5*time.Second {
			continue
		}
		want(t, out, sandbox.Cancelled, "")
		if out.Stats.Fuel == 0 {
			t.Errorf("a loop of %s used no fuel", after)
		}
		return
	}
}

// Garbage collection needs every goroutine to stop for a moment. A guest that
// spins must not keep it waiting until its call is over.
func TestBusyGuestsLetTheCollectorRun(t *testing.T) {
	p := loadBusy(t, small())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan sandbox.Outcome, 1)
	go func() { done <- p.Call(ctx, "loop", nil, sandbox.CallOptions{}) }()
	for range 3 {
		runtime.GC()
	}
	cancel()
	want(t, <-done, sandbox.Cancelled, "")
}

func TestFuelIsCountedAndBounded(t *testing.T) {
	l := small()
	first := loadBusy(t, l).Call(t.Context(), "work", nil, sandbox.CallOptions{})
	want(t, first, sandbox.NoOutput, "")
	if f := first.Stats.Fuel; f < 400_000 || f > 1_000_000 || first.Stats.Map()["fuel"] != f {
		t.Fatalf("100,000 turns of five instructions used %d, recorded as %d", f, first.Stats.Map()["fuel"])
	}
	l.Fuel = first.Stats.Fuel
	p := loadBusy(t, l)
	again := p.Call(t.Context(), "work", nil, sandbox.CallOptions{})
	want(t, again, sandbox.NoOutput, "")
	if again.Stats.Fuel != first.Stats.Fuel {
		t.Errorf("the same work used %d, then %d", first.Stats.Fuel, again.Stats.Fuel)
	}
	l.Fuel--
	out := loadBusy(t, l).Call(t.Context(), "work", nil, sandbox.CallOptions{})
	want(t, out, sandbox.LimitPassed, "fuel")
	if out.Stats.Fuel != l.Fuel {
		t.Errorf("used %d of %d", out.Stats.Fuel, l.Fuel)
	}
	want(t, p.Call(t.Context(), "loop", nil, sandbox.CallOptions{}), sandbox.LimitPassed, "fuel")
}

// A guest that could name the meter could lie to it.
func TestNoGuestReachesTheMeter(t *testing.T) {
	e := open(t, sandbox.Config{})
	_, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: "web", Wasm: importing("portcullis", "yield"), Exports: []string{"run"}})
	wantRefused(t, err, sandbox.CodeImport, "plugin web imports portcullis.yield, which this host does not serve: it serves "+wire.ModuleKernel+", "+wire.ModuleHost+" and "+wire.ModuleWASI)
	wasm := append([]byte(header), section(6, []byte{1, 0x7e, 1, 0x42, 0, 0x0b})...)
	wasm = append(wasm, section(7, append(append([]byte{1}, name("portcullis:fuel")...), 3, 0))...)
	_, err = e.LoadForeign(t.Context(), sandbox.Foreign{Name: "web", Wasm: wasm})
	wantRefused(t, err, sandbox.CodeMalformed, "plugin web has a .wasm file this host does not accept: it exports a name that belongs to the host (byte 0); build it again")
}
