package sandbox

import (
	"bytes"
	"context"
	enc "encoding/binary"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// entered counts the test in as a call of the plugin's, until it ends.
func entered(t testing.TB, p *Plugin) *machine {
	t.Helper()
	code, err := p.engine.enter(t.Context(), p.module)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.engine.leave(context.Background(), p.module) })
	return code
}

var stateExports = []string{
	"memory_kept", "i32", "i64", "f32", "f64", "grow", "grow_much", "grow_most", "fill", "block", "late_block",
	"no_block", "say", "fail", "fail_aloud", "error_but_ok", "no_output", "close_streams", "random", "wall", "elapsed", "work", "spin",
}

func openFresh(t testing.TB, cfg Config) *Engine {
	t.Helper()
	e, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func loadFresh(t testing.TB, e *Engine, name string, exports ...string) *Plugin {
	t.Helper()
	p, err := e.LoadForeign(t.Context(), Foreign{Name: name, Wasm: fixture(t, name+".wasm"), Exports: exports})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func loadState(t testing.TB) *Plugin {
	return loadFresh(t, openFresh(t, Config{}), "state", stateExports...)
}

// good makes a call that must end well.
func good(t testing.TB, p *Plugin, export string) []byte {
	t.Helper()
	out := p.Call(t.Context(), export, nil, CallOptions{})
	if out.Status != OK {
		t.Fatalf("%s: %s (%s) %v", export, out.Status, out.Reason, out.Err)
	}
	return out.Output
}

// settled is how many instances are idle once none is being restored.
func (pl *pool) settled() int {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	for pl.restoring > 0 {
		pl.restored.Wait()
	}
	return len(pl.idle)
}

// theOne is the instance that all calls of a test were in.
func theOne(t testing.TB, p *Plugin) *instance {
	t.Helper()
	p.engine.running.Wait()
	if n := p.pool.settled(); n != 1 {
		t.Fatalf("%d instances are kept, want the one", n)
	}
	return p.pool.idle[0]
}

// again makes the same call often: every answer is the first one's, and all of
// them come out of one instance.
func again(t *testing.T, p *Plugin, export string, want []byte) {
	t.Helper()
	var in *instance
	for i := range 5 {
		if got := good(t, p, export); !bytes.Equal(got, want) {
			t.Fatalf("call %d of %s found %x, want %x", i+1, export, got, want)
		}
		if i == 0 {
			in = theOne(t, p)
		} else if theOne(t, p) != in {
			t.Fatal("the instance was not used again: nothing is shown")
		}
	}
}

func TestMemoryOfACallIsGone(t *testing.T) {
	p := loadState(t)
	again(t, p, "memory_kept", []byte{1, 1, 6, 1})
	again(t, p, "fill", make([]byte, 8))
	again(t, p, "memory_kept", []byte{1, 1, 6, 1})
}

func TestGlobalsOfACallAreGone(t *testing.T) {
	p := loadState(t)
	le := enc.LittleEndian
	for export, want := range map[string][]byte{
		"i32": le.AppendUint32(nil, 42),
		"i64": le.AppendUint64(nil, 1<<32+2),
		"f32": le.AppendUint32(nil, math.Float32bits(3.5)),
		"f64": le.AppendUint64(nil, math.Float64bits(4.5)),
	} {
		t.Run(export, func(t *testing.T) { again(t, p, export, want) })
	}
}

func TestGrownMemoryOfACallIsGone(t *testing.T) {
	p := loadState(t)
	four := []byte{4, 0, 0, 0, 0, 0, 0, 0}
	for _, export := range []string{"grow", "grow_much", "grow"} {
		t.Run(export, func(t *testing.T) { again(t, p, export, four) })
	}
	// Memory at its maximum cannot be made smaller: the instance goes.
	for range 3 {
		if got := good(t, p, "grow_most"); !bytes.Equal(got, four) {
			t.Fatalf("found %x", got)
		}
		p.engine.running.Wait()
		if n := p.pool.settled(); n != 0 {
			t.Fatalf("an instance that cannot be restored was kept")
		}
	}
}

// What cannot be restored is made anew, and never kept.
func TestStateThatCannotBeRestoredIsMadeAnew(t *testing.T) {
	e := openFresh(t, Config{})
	for _, c := range []struct{ module, export, want, why string }{
		{"state_table", "set", "\x01", "it changes a table"},
		{"state_table", "init", "\x01", "it changes a table"},
		{"state_segment", "once", "seed", "it drops a segment and reads segments"},
		{"state_vector", "vector", "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00", "it has a mutable global that is not a number"},
		{"state_reference", "reference", "\x01", "it has a mutable global that is not a number"},
	} {
		t.Run(c.module+" "+c.export, func(t *testing.T) {
			p := loadFresh(t, e, c.module, c.export)
			if p.binary.plain != c.why {
				t.Errorf("is plain because %q, want %q", p.binary.plain, c.why)
			}
			for range 3 {
				if got := good(t, p, c.export); string(got) != c.want {
					t.Fatalf("found %x, want %x", got, c.want)
				}
			}
			if n := p.pool.settled(); n != 0 {
				t.Errorf("%d instances were kept", n)
			}
		})
	}
}

func TestBlocksOfACallAreGone(t *testing.T) {
	p := loadState(t)
	again(t, p, "block", []byte{8})
	again(t, p, "late_block", make([]byte, 8))
	again(t, p, "no_block", make([]byte, 8))
}

func TestWordsOfACallAreGone(t *testing.T) {
	p := loadState(t)
	again(t, p, "say", make([]byte, 4))
	in := theOne(t, p)
	out := p.Call(t.Context(), "fail", nil, CallOptions{})
	if out.Status != Trap || out.Text != "" {
		t.Errorf("%s says %q, which a call before it said", out.Status, out.Text)
	}
	if out = p.Call(t.Context(), "error_but_ok", []byte("mine"), CallOptions{}); out.Status != OK {
		t.Fatal(out.Status, out.Err)
	}
	if out = p.Call(t.Context(), "no_output", nil, CallOptions{}); out.Status != NoOutput || out.Text != "" {
		t.Errorf("%s, %q: output or error of another call is there", out.Status, out.Text)
	}
	if out = p.Call(t.Context(), "fail_aloud", []byte("its own"), CallOptions{}); out.Text != "its own" {
		t.Errorf("its own words are %q", out.Text)
	}
	if in.around.ctx != nil || in.around.stderr != nil {
		t.Error("an instance that is idle holds on to its last call")
	}
}

// What initialisation logged is part of every call's record, once.
func TestLinesOfInitialisationAreInEveryCall(t *testing.T) {
	p := loadState(t)
	for range 3 {
		out := p.Call(t.Context(), "say", nil, CallOptions{})
		if len(out.Logs) != 1 || out.Logs[0].Message != "i" || out.Stats.LogLines != 1 {
			t.Fatalf("logs %+v, %d lines", out.Logs, out.Stats.LogLines)
		}
	}
}

func TestStreamsOfACallStayOpen(t *testing.T) {
	p := loadState(t)
	again(t, p, "close_streams", []byte{0, 0, wasiBadFD, wasiNotSupported, wasiBadFD})
	again(t, p, "say", make([]byte, 4))
}

func TestRandomnessIsTheCalls(t *testing.T) {
	p := loadState(t)
	found := map[string]bool{}
	for range 20 {
		found[string(good(t, p, "random"))] = true
	}
	theOne(t, p)
	if len(found) != 20 {
		t.Errorf("20 calls got %d different random values", len(found))
	}
}

func TestClocksAreTheCalls(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1000, 0)
	e := openFresh(t, Config{Clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	p := loadFresh(t, e, "state", stateExports...)
	for second := range int64(3) {
		mu.Lock()
		now = time.Unix(1000+second, 0)
		mu.Unlock()
		if got := int64(enc.LittleEndian.Uint64(good(t, p, "wall"))); got != now.UnixNano() {
			t.Errorf("the wall shows %d, want %d", got, now.UnixNano())
		}
	}
	// The guest's own clock goes on from where initialisation stopped it, and
	// shows nothing of the time between calls.
	for range 3 {
		if got := int64(enc.LittleEndian.Uint64(good(t, p, "elapsed"))); got < 0 || got > int64(time.Minute) {
			t.Errorf("%d ns passed since initialisation", got)
		}
	}
	theOne(t, p)
	in, s := p.pool.take(entered(t, p))
	defer func() {
		p.pool.put(t.Context(), in, false)
	}()
	in.around.enter(t.Context(), &bytes.Buffer{}, s.elapsed)
	if got := in.around.elapsed() - s.elapsed; got < 0 || got > time.Second {
		t.Errorf("a call begins %s after its snapshot", got)
	}
}

// Every call pays the same, the one that initialised too, and nobody for
// initialisation.
func TestFuelIsTheSameInEveryCall(t *testing.T) {
	p := loadState(t)
	var first Stats
	for i := range 4 {
		out := p.Call(t.Context(), "work", nil, CallOptions{})
		if i == 0 {
			first = out.Stats
		}
		if out.Stats.Fuel != first.Fuel || out.Stats.Fuel < 100_000 || out.Stats.MemoryPeak != first.MemoryPeak {
			t.Errorf("call %d: %d units and %d bytes, want %d and %d", i+1, out.Stats.Fuel, out.Stats.MemoryPeak, first.Fuel, first.MemoryPeak)
		}
	}
}

// A restored memory counts against the call's limit as one that grew does.
func TestTheSnapshotCountsAsMemory(t *testing.T) {
	e := openFresh(t, Config{})
	limits := LimitsOf(wire.Limits{})
	limits.Memory = 5 * pageSize
	p, err := e.LoadForeign(t.Context(), Foreign{Name: "state", Wasm: fixture(t, "state.wasm"), Exports: stateExports, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	good(t, p, "say")
	for range 2 {
		out := p.Call(t.Context(), "grow_much", nil, CallOptions{})
		if out.Status != OutOfMemory || out.Stats.MemoryPeak > limits.Memory {
			t.Fatalf("%s with a peak of %d bytes, limit %d", out.Status, out.Stats.MemoryPeak, limits.Memory)
		}
		if out := p.Call(t.Context(), "say", nil, CallOptions{}); out.Stats.MemoryPeak < 4*pageSize {
			t.Errorf("four pages count as %d bytes", out.Stats.MemoryPeak)
		}
	}
	out := p.Call(t.Context(), "say", make([]byte, pageSize), CallOptions{})
	if out.Status != OutOfMemory {
		t.Errorf("%s: an input that does not fit beside the snapshot was taken", out.Status)
	}
}

func TestInstancesOfUncleanCallsAreDiscarded(t *testing.T) {
	p := loadState(t)
	for _, export := range []string{"fail", "fail_aloud", "no_output", "spin"} {
		good(t, p, "say")
		before := theOne(t, p)
		out, _ := overdue(cameIn, func(timeout time.Duration) Outcome {
			return p.Call(t.Context(), export, nil, CallOptions{Timeout: timeout})
		})
		if out.Status == OK {
			t.Fatalf("%s ended well", export)
		}
		p.engine.running.Wait()
		if n := p.pool.settled(); n != 0 || before.memory.linear != nil {
			t.Errorf("%s: the instance is still there", export)
		}
		good(t, p, "say")
		if theOne(t, p) == before {
			t.Errorf("%s: the instance was used again", export)
		}
	}
}

// An instance that was made of a snapshot, instead of leaving one, is restored as
// well: the engine instantiated it in memory that others use.
func TestInstancesMadeOfASnapshotAreRestored(t *testing.T) {
	for _, pages := range []uint32{1, 5, 24} {
		p, plain := twins(t, pages)
		program := []byte{0, 1, 2, 3, 1, 9, 9, 9, 4, 0, 0, 5}
		want := plain.Call(t.Context(), "run", program, CallOptions{})
		for i := range 6 {
			if out := p.Call(t.Context(), "run", program, CallOptions{}); out.Status != OK || !bytes.Equal(out.Output, want.Output) {
				t.Fatalf("%d pages, call %d: %s %x, want %x", pages, i, out.Status, out.Output, want.Output)
			}
			if theOne(t, p); i == 2 {
				if out := p.Call(t.Context(), "run", []byte{9, 0, 0, 0}, CallOptions{}); out.Status != Trap {
					t.Fatal(out.Status)
				}
			}
		}
	}
}

// A guest that answers before it is asked ends as it always did, and is not kept.
func TestAnAnsweredInitialisationIsNotKept(t *testing.T) {
	p := loadFresh(t, openFresh(t, Config{}), "init_output", "run")
	for range 3 {
		if got := good(t, p, "run"); string(got) != "K" {
			t.Fatalf("answered %q", got)
		}
		if p.pool.settled() != 0 || p.pool.snap != nil {
			t.Fatal("it was kept")
		}
	}
}

func TestNoMoreInstancesAreKeptThanTheBound(t *testing.T) {
	p := loadState(t)
	code := entered(t, p)
	good(t, p, "say")
	p.pool.settled() // the call's goroutine looks at the limit last
	p.pool.mu.Lock()
	p.pool.limit = 2
	p.pool.mu.Unlock()
	var made []*instance
	for range 3 {
		st := newCallState(p, NewSession(p.spec.limits, CallOptions{}, p.engine.cfg.Clock, p.engine.cfg.Rand), 1)
		if err := p.ready(t.Context(), code, st); err != nil {
			t.Fatal(err)
		}
		made = append(made, st.instance)
	}
	for _, in := range made {
		p.pool.put(t.Context(), in, true)
	}
	if n := p.pool.settled(); n != 2 || made[2].memory.linear != nil {
		t.Errorf("%d instances are kept", n)
	}
}

// The same module under other grants is another plugin.
func TestInstancesAreNotSharedBetweenPlugins(t *testing.T) {
	e := openFresh(t, Config{})
	one, two := loadFresh(t, e, "state", stateExports...), loadFresh(t, e, "state", stateExports...)
	good(t, one, "say")
	if n := two.pool.settled(); n != 0 || two.pool.snap != nil {
		t.Fatal("another plugin's instance is there")
	}
	first := theOne(t, one)
	good(t, two, "say")
	if theOne(t, two) == first || first.of == two.pool.snap {
		t.Fatal("two plugins share an instance or a snapshot")
	}
}

// Calls at the same time are in different instances, and no more are kept than
// calls may run.
func TestCallsAtTheSameTimeDoNotMeet(t *testing.T) {
	const most = 3
	p := loadFresh(t, openFresh(t, Config{MaxCalls: most}), "state", stateExports...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				export, want := "memory_kept", []byte{1, 1, 6, 1}
				if i%3 == 0 {
					export, want = "grow", []byte{4, 0, 0, 0, 0, 0, 0, 0}
				}
				if i%7 == 0 {
					p.Call(t.Context(), "fail", nil, CallOptions{})
				}
				out := p.Call(t.Context(), export, nil, CallOptions{})
				if out.Status != OK || !bytes.Equal(out.Output, want) {
					t.Errorf("%s: %s %x", export, out.Status, out.Output)
				}
			}
		})
	}
	wg.Wait()
	p.engine.running.Wait()
	if n := p.pool.settled(); n < 1 || n > most {
		t.Errorf("%d instances are kept", n)
	}
}

func TestIdleInstancesGiveBackMemoryAndGo(t *testing.T) {
	p := loadFresh(t, openFresh(t, Config{IdleFor: time.Hour}), "state", stateExports...)
	good(t, p, "memory_kept")
	in := theOne(t, p)
	p.pool.mu.Lock()
	in.since = in.since.Add(-trimAfter)
	p.pool.mu.Unlock()
	p.pool.sweep()
	if !in.trimmed {
		t.Error("an idle instance was not trimmed")
	}
	again(t, p, "memory_kept", []byte{1, 1, 6, 1})
	p.pool.mu.Lock()
	in.since = in.since.Add(-time.Hour)
	p.pool.mu.Unlock()
	p.pool.sweep()
	if n := p.pool.settled(); n != 0 || in.memory.linear != nil || p.pool.sweeper != nil {
		t.Error("an instance that was idle for long is still there")
	}
	again(t, p, "memory_kept", []byte{1, 1, 6, 1})
}

// Closing a plugin, and evicting its code, leaves nothing behind.
func TestInstancesGoWithTheirPlugin(t *testing.T) {
	e := openFresh(t, Config{})
	p := loadFresh(t, e, "state", stateExports...)
	good(t, p, "say")
	in := theOne(t, p)
	image := in.of.image
	p.dropInstances()
	if in.memory.linear != nil || p.pool.snap != nil || image.data != nil || p.pool.sweeper != nil {
		t.Error("eviction left an instance, a snapshot or a timer")
	}
	again(t, p, "memory_kept", []byte{1, 1, 6, 1})
	in = theOne(t, p)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if in.memory.linear != nil || p.pool.snap != nil || len(e.pools) != 0 {
		t.Error("closing left an instance or a snapshot")
	}
	// An instance that was in use meanwhile goes when it comes back.
	q := loadFresh(t, e, "state", stateExports...)
	good(t, q, "say")
	theOne(t, q)
	in, s := q.pool.take(entered(t, q))
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.image.data == nil {
		t.Fatal("a snapshot was closed under the instance that uses it")
	}
	q.pool.put(t.Context(), in, true)
	if in.memory.linear != nil || s.image.data != nil || q.pool.settled() != 0 {
		t.Error("what came back after the close was kept")
	}
}

// Code that was compiled again is other code: instances of the old do not run.
func TestInstancesBelongToTheirCode(t *testing.T) {
	p := loadState(t)
	good(t, p, "say")
	theOne(t, p)
	if in, s := p.pool.take(&machine{}); in != nil || s == nil {
		t.Errorf("got instance %v and snapshot %v for other code", in, s)
	} else {
		p.pool.release(s)
	}
}

// A guest that cannot be initialised ends its calls as ever, and leaves nothing
// that a later call would start from.
func TestFailedInitialisationIsTriedAgain(t *testing.T) {
	e := openFresh(t, Config{})
	for _, c := range []struct {
		module string
		status Status
		reason string
	}{
		{"init_loop", TimedOut, ""},
		{"start_loop", TimedOut, ""},
		{"init_effect", Trap, "host_call_before_entry"},
		{"start_effect", Trap, "host_call_before_entry"},
	} {
		p, err := e.LoadForeign(t.Context(), Foreign{Name: c.module, Wasm: fixture(t, c.module+".wasm"), Exports: []string{"run"}, Granted: MayKeepValues})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			out, _ := overdue(letIn, func(timeout time.Duration) Outcome {
				if c.status != TimedOut {
					timeout = 0
				}
				return p.Call(t.Context(), "run", nil, CallOptions{Timeout: timeout})
			})
			if out.Status != c.status || out.Reason != c.reason || out.Entered {
				t.Errorf("%s: %s (%s), entered %v", c.module, out.Status, out.Reason, out.Entered)
			}
			if p.pool.settled() != 0 || p.pool.snap != nil {
				t.Errorf("%s: was kept", c.module)
			}
		}
	}
}

// No guest may export what the host puts into modules.
func TestNoGuestTakesTheHostsNames(t *testing.T) {
	for _, name := range []string{startExport, globalExports + "0"} {
		wasm := mod(sec(secType, 1, 0x60, 0, 0), sec(secFunction, 1, 0),
			sec(secExport, append(append([]byte{1, byte(len(name))}, name...), 0, 0)...), sec(secCode, 1, 2, 0, 0x0b))
		_, err := openFresh(t, Config{}).LoadForeign(t.Context(), Foreign{Name: "web", Wasm: wasm})
		if err == nil || !strings.Contains(err.Error(), "a name that belongs to the host") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
