package sandbox

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// named loads a module of [answering] as a plugin called by its code.
func named(t *testing.T, e *Engine, rc byte) *Plugin {
	t.Helper()
	p, err := e.LoadForeign(t.Context(), Foreign{Name: fmt.Sprint("p", rc), Wasm: answering(rc), Exports: []string{"run"}, Limits: LimitsOf(wire.Limits{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// roomFor is a bound that holds the code of n small modules.
func roomFor(n int64) int64 { return n*machineOverhead + machineOverhead/2 }

// Memory holds the code of the plugins that were called last; the others are
// loaded again when they are called, and answer as before.
func TestTheCodeCalledLongestAgoIsLetGo(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir(), LoadedBytes: roomFor(2)})
	p1, p2, p3 := named(t, e, 1), named(t, e, 2), named(t, e, 3)
	for _, c := range []struct {
		call *Plugin
		rc   string
		held []string
	}{
		{p1, "rc_1", []string{"p1"}},
		{p2, "rc_2", []string{"p1", "p2"}},
		{p1, "rc_1", []string{"p1", "p2"}},
		{p3, "rc_3", []string{"p1", "p3"}},
		{p2, "rc_2", []string{"p2", "p3"}},
		{p1, "rc_1", []string{"p1", "p2"}},
	} {
		if got := answers(t, c.call); got != c.rc {
			t.Fatalf("%s answers %s", c.call.Name(), got)
		}
		idle(t, e)
		if held := inMemory(e); !slices.Equal(held, c.held) {
			t.Fatalf("after %s: %v is held, want %v", c.call.Name(), held, c.held)
		}
	}
	if err := p1.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if held := inMemory(e); !slices.Equal(held, []string{"p2"}) || e.resident > roomFor(1) {
		t.Errorf("%v is held, %d bytes", held, e.resident)
	}
}

// idle waits until no call is counted any more: a call is over for its caller a
// little earlier.
func idle(t *testing.T, e *Engine) {
	t.Helper()
	until(t, "no call runs", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, m := range e.modules {
			if m.calls > 0 {
				return false
			}
		}
		return true
	})
}

// gate is a key-value store that stops its reader in the middle of a call.
type gate struct {
	KV
	reached, leave chan struct{}
}

func (g gate) Get(context.Context, KVScope, string) ([]byte, int64, error) {
	close(g.reached)
	<-g.leave
	return nil, 0, nil
}

// Code in which a call runs stays, however little room there is.
func TestCodeThatRunsIsNotLetGo(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir(), LoadedBytes: 1})
	p, err := e.LoadForeign(t.Context(), Foreign{
		Name: "held", Wasm: fixture(t, "abilities.wasm"), Exports: []string{wire.ImportKVGet}, Granted: ^Abilities(0), Limits: LimitsOf(wire.Limits{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	g := gate{reached: make(chan struct{}), leave: make(chan struct{})}
	end := make(chan Outcome, 1)
	go func() {
		end <- p.Call(t.Context(), wire.ImportKVGet, []byte("\x0b\x00\x00\x00{\"key\":\"k\"}"), CallOptions{Abilities: MayKeepValues, KV: g})
	}()
	<-g.reached
	others := named(t, e, 1)
	for range 3 {
		answers(t, others)
	}
	if held := inMemory(e); !slices.Contains(held, "held") {
		t.Errorf("the code of a running call is gone: %v", held)
	}
	close(g.leave)
	if out := <-end; out.Status != OK {
		t.Errorf("the call ended with %s (%s): %s %v", out.Status, out.Reason, out.Text, out.Err)
	}
}

// Calls, evictions, loads and closes at once disturb nobody.
func TestHammerOfEvictions(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir(), LoadedBytes: roomFor(1)})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 60 {
				rc := byte(1 + (i+n)%5)
				p, err := e.LoadForeign(t.Context(), Foreign{Name: "p", Wasm: answering(rc), Exports: []string{"run"}})
				if err != nil {
					t.Error(err)
					return
				}
				for range 2 {
					if out := p.Call(t.Context(), "run", nil, CallOptions{}); out.Reason != fmt.Sprint("rc_", rc) {
						t.Errorf("%s (%s), want rc_%d: %v", out.Status, out.Reason, rc, out.Err)
					}
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(e.modules) != 0 || e.resident != 0 {
		t.Errorf("%d modules and %d bytes stay", len(e.modules), e.resident)
	}
}
