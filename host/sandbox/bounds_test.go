package sandbox_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// hostLoops make the host work for ever, each in its own way.
var hostLoops = []string{"clock_loop", "yield_loop", "log_loop", "length_loop", "store_loop", "free_loop", "stderr_loop", "stdout_loop", "fill_loop", "large_fill_loop"}

var boundsExports = append([]string{
	"clocks", "lengths", "logs", "stores", "random", "random_more", "buffers", "buffers_more", "subscriptions", "subscriptions_more",
	"stderr_end", "grow", "grow_and_wait",
}, hostLoops...)

func loadBounds(t testing.TB, e *sandbox.Engine, name string, l sandbox.Limits) *sandbox.Plugin {
	t.Helper()
	return loadWith(t, e, sandbox.Foreign{Name: name, Wasm: fixture(t, "bounds"), Exports: boundsExports, Granted: everything, Limits: l})
}

// roomy are limits of memory that the largest loops need.
func roomy() sandbox.Limits {
	l := small()
	l.Memory = wire.HardMemoryBytes
	return l
}

// Guests that let the host work for them stop as those that compute do, soon
// after the deadline; BenchmarkStop says how soon.
func TestGuestsThatKeepTheHostBusyStopAtTheDeadline(t *testing.T) {
	// A call of a module with ports is left behind when it does not end within the grace, which a busy machine may need.
	p := loadBounds(t, open(t, sandbox.Config{Grace: 10 * time.Second}), "bounds", roomy())
	for _, export := range hostLoops {
		best := time.Hour
		for range 5 {
			out, timeout := sandbox.Overdue(sandbox.LetIn, func(timeout time.Duration) sandbox.Outcome {
				return p.Call(t.Context(), export, nil, sandbox.CallOptions{Timeout: timeout})
			})
			want(t, out, sandbox.TimedOut, "")
			best = min(best, out.Stats.Duration-timeout)
		}
		if best > 500*time.Millisecond { // far above what a busy machine adds, far below the work asked for
			t.Errorf("%s: stopped %s after its deadline", export, best)
		}
	}
}

// A fuel limit bounds what the host does for a guest as it bounds the guest.
func TestHostWorkSpendsFuel(t *testing.T) {
	e := open(t, sandbox.Config{})
	l := roomy()
	l.Fuel = 3_000_000
	p := loadBounds(t, e, "bounds", l)
	for _, export := range hostLoops {
		out := p.Call(t.Context(), export, nil, sandbox.CallOptions{})
		want(t, out, sandbox.LimitPassed, "fuel")
		if out.Stats.Fuel > l.Fuel {
			t.Errorf("%s used %d", export, out.Stats.Fuel)
		}
		if export == "log_loop" && out.Stats.LogLines+out.Stats.LogDropped > l.Fuel/2000 {
			t.Errorf("%d lines for %d units", out.Stats.LogLines+out.Stats.LogDropped, l.Fuel)
		}
	}
	for export, least := range map[string]int64{"clocks": 100_000, "lengths": 50_000, "logs": 2_000_000, "stores": 2 * 3 << 20 / 16} {
		out := p.Call(t.Context(), export, nil, sandbox.CallOptions{})
		want(t, out, sandbox.OK, "")
		if out.Stats.Fuel < least || out.Stats.Fuel > 2*least {
			t.Errorf("%s used %d, which is not about %d", export, out.Stats.Fuel, least)
		}
		l.Fuel = out.Stats.Fuel
		want(t, loadBounds(t, e, "bounds", l).Call(t.Context(), export, nil, sandbox.CallOptions{}), sandbox.OK, "")
		l.Fuel--
		want(t, loadBounds(t, e, "bounds", l).Call(t.Context(), export, nil, sandbox.CallOptions{}), sandbox.LimitPassed, "fuel")
	}
}

// Each list that a guest may pass has a bound, and the bound itself is let
// through.
func TestWhatAGuestMayAskForAtOnce(t *testing.T) {
	p := loadBounds(t, open(t, sandbox.Config{}), "bounds", small())
	for _, c := range []struct {
		export string
		status sandbox.Status
		reason string
	}{
		{"random", sandbox.OK, ""},
		{"random_more", sandbox.LimitPassed, "random_bytes"},
		{"buffers", sandbox.OK, ""},
		{"buffers_more", sandbox.LimitPassed, "wasi_buffers"},
		{"subscriptions", sandbox.OK, ""},
		{"subscriptions_more", sandbox.LimitPassed, "wasi_subscriptions"},
	} {
		want(t, p.Call(t.Context(), c.export, nil, sandbox.CallOptions{}), c.status, c.reason)
	}
}

// Of a hundred megabytes on stderr the last few KiB are kept.
func TestAStderrFloodIsCut(t *testing.T) {
	out := loadBounds(t, open(t, sandbox.Config{}), "bounds", small()).Call(t.Context(), "stderr_end", nil, sandbox.CallOptions{})
	want(t, out, sandbox.Trap, "engine")
	if len(out.Text) > 4<<10+16 {
		t.Errorf("%d bytes of text", len(out.Text))
	}
}

// waiting is a network that lets its caller wait, and says when it does.
func waiting() (do doer, begun <-chan struct{}, release func()) {
	in, out := make(chan struct{}, 8), make(chan struct{})
	return func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) {
		in <- struct{}{}
		<-out
		return wire.HTTPReply{Status: 200}, nil, nil
	}, in, func() { close(out) }
}

// begin starts a call that waits in a port, and returns when it does.
func begin(t *testing.T, p *sandbox.Plugin, export string) (end func() sandbox.Outcome) {
	t.Helper()
	do, begun, release := waiting()
	done := make(chan sandbox.Outcome, 1)
	go func() {
		done <- p.Call(t.Context(), export, nil, sandbox.CallOptions{Abilities: everything, HTTP: do})
	}()
	select {
	case <-begun:
	case out := <-done:
		t.Fatalf("ended with %s (%s)", out.Status, out.Reason)
	}
	return func() sandbox.Outcome { release(); return <-done }
}

// What running calls hold together has a bound, whatever each may have; what a
// call held is free again after it.
func TestAllCallsShareTheirMemory(t *testing.T) {
	const page = 64 << 10
	e := open(t, sandbox.Config{TotalMemoryBytes: (48+16+48+16)*page - 1, MaxMemoryBytes: 8 << 20})
	one, other := loadBounds(t, e, "one", roomy()), loadBounds(t, e, "other", roomy())
	for range 3 {
		end := begin(t, one, "grow_and_wait")
		want(t, other.Call(t.Context(), "grow", nil, sandbox.CallOptions{}), sandbox.OutOfMemory, "total_memory")
		want(t, end(), sandbox.OK, "")
		want(t, other.Call(t.Context(), "grow", nil, sandbox.CallOptions{}), sandbox.OK, "")
	}
}

// One plugin cannot take every slot: its further calls wait within their own
// deadline while another plugin's run.
func TestOnePluginLeavesRoomForOthers(t *testing.T) {
	e := open(t, sandbox.Config{MaxCalls: 3})
	greedy, modest := loadBounds(t, e, "greedy", roomy()), loadBounds(t, e, "modest", roomy())
	again := loadBounds(t, e, "greedy", roomy()) // for another turn
	first, second := begin(t, greedy, "grow_and_wait"), begin(t, again, "grow_and_wait")
	out := greedy.Call(t.Context(), "grow", nil, sandbox.CallOptions{Timeout: 20 * time.Millisecond})
	want(t, out, sandbox.TimedOut, "not_started")
	want(t, modest.Call(t.Context(), "grow", nil, sandbox.CallOptions{}), sandbox.OK, "")
	want(t, first(), sandbox.OK, "")
	want(t, greedy.Call(t.Context(), "grow", nil, sandbox.CallOptions{}), sandbox.OK, "")
	want(t, second(), sandbox.OK, "")
}

// A store that is full can be written to again and again; a call cannot.
func TestACallMovesABoundedAmountOfValues(t *testing.T) {
	const value, total = wire.MaxKVValue, 16 << 20
	for _, ability := range []string{wire.ImportKVSet, wire.ImportKVGet} {
		kv := newMemKV()
		s := sandbox.NewSession(sandbox.LimitsOf(wire.Limits{}), sandbox.CallOptions{Abilities: everything, KV: kv}, time.Now, nil)
		header, body := `{"key":"k"}`, strings.Repeat("v", value)
		if _, _, err := kv.Set(t.Context(), sandbox.KVScope{}, "k", []byte(body), nil); err != nil {
			t.Fatal(err)
		}
		if ability == wire.ImportKVGet {
			body = ""
		}
		moved := 0
		for {
			reply, err := s.Serve(t.Context(), ability, frame(header, body))
			if err != nil {
				t.Fatal(err)
			}
			if h, _, _ := wire.SplitFrame(reply); strings.Contains(string(h), `"too_large"`) {
				break
			}
			if moved += value; moved > total {
				break
			}
		}
		if moved != total {
			t.Errorf("%s moved %d bytes", ability, moved)
		}
	}
}

// The configuration says which number makes no sense.
func TestBoundsOfTheEngineAreChecked(t *testing.T) {
	for _, cfg := range []sandbox.Config{{TotalMemoryBytes: 1}, {PluginCalls: -1}, {MaxCalls: 2, PluginCalls: 3}} {
		if e, err := sandbox.Open(t.Context(), cfg); err == nil {
			_ = e.Close(t.Context())
			t.Errorf("%+v was taken", cfg)
		}
	}
}

// The bytes of one response are no longer there for the next.
func TestResponsesShareTheirBytes(t *testing.T) {
	limits := sandbox.LimitsOf(wire.Limits{})
	limits.HTTPBytes = 1000
	var allowed []int64
	s := sandbox.NewSession(limits, sandbox.CallOptions{
		Abilities: everything,
		HTTP: doer(func(_ context.Context, req wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
			allowed = append(allowed, req.MaxBytes)
			return wire.HTTPReply{Status: 200}, make([]byte, min(600, req.MaxBytes)), nil
		}),
	}, time.Now, nil)
	for range 3 {
		if _, err := s.Serve(t.Context(), wire.ImportHTTP, frame(`{"method":"GET","url":"http://x/"}`, "")); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(allowed, []int64{1000, 400}) {
		t.Errorf("responses of up to %d bytes", allowed)
	}
}
