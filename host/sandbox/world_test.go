package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// answering is a module whose run returns rc, so that a call tells whose code
// has run. Two of them differ in one constant and nothing else.
func answering(rc byte) []byte {
	return (&wasmbin.Module{
		Types:   []wasmbin.FuncType{{Results: []wasmbin.ValType{wasmbin.I32}}},
		Funcs:   []uint32{0},
		Exports: []wasmbin.Export{{Name: "run", Kind: wasmbin.KindFunc}},
		Bodies:  []wasmbin.Body{{Code: []byte{0x41, rc, 0x0b}}},
	}).Encode()
}

// selfCompiler is this test binary; see TestMain.
func selfCompiler(t testing.TB) Compiler {
	t.Helper()
	c, err := SelfCompiler()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// brokenCompiler cannot be started: what compiles under it was compiled before.
func brokenCompiler(t testing.TB) Compiler { return Compiler{Path: filepath.Join(t.TempDir(), "none")} }

func openEngine(t testing.TB, cfg Config) *Engine {
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

func loadRun(t testing.TB, e *Engine, wasm []byte) *Plugin {
	t.Helper()
	p, err := e.LoadForeign(t.Context(), Foreign{Name: "p", Wasm: wasm, Exports: []string{"run"}, Limits: LimitsOf(wire.Limits{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// answers calls a module of [answering] and returns what ran.
func answers(t testing.TB, p *Plugin) string {
	t.Helper()
	out := p.Call(t.Context(), "run", nil, CallOptions{})
	if out.Status != GuestError {
		t.Fatalf("outcome %s (%s): %v", out.Status, out.Reason, out.Err)
	}
	return out.Reason
}

// entryOf is the one entry of a module in a cache.
func entryOf(t testing.TB, e *Engine, wasm []byte) (r record, code string) {
	t.Helper()
	r, ok := e.kept.find(digestOf(wasm))
	if !ok {
		t.Fatal("there is no entry")
	}
	return r, filepath.Join(e.kept.dir, r.folder, r.code.Name)
}

// inMemory says whose code the engine holds.
func inMemory(e *Engine) (names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.modules {
		if m.code != nil {
			for p := range m.plugins {
				names = append(names, p.Name())
			}
		}
	}
	slices.Sort(names)
	return names
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition that another goroutine or process brings about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// letIn is a call that was let in before its time was over.
func letIn(out Outcome) bool { return out.Reason != "not_started" }

// cameIn is a call that came to its entry point before its time was over.
func cameIn(out Outcome) bool { return out.Entered }

// overdue makes a call that its deadline ends, and tells which one that was: a short one, and a longer one as long as a busy
// machine has not come as far as it must within it.
func overdue(far func(Outcome) bool, call func(timeout time.Duration) Outcome) (Outcome, time.Duration) {
	for timeout := 30 * time.Millisecond; ; timeout *= 4 {
		if out := call(timeout); far(out) || timeout > 5*time.Second {
			return out, timeout
		}
	}
}

// sourceOf is a plugin that exports run, as its file.
func sourceOf(wasm []byte, path string) Source {
	m := &manifest.Manifest{ID: "p", ABI: wire.ABI, Exports: []string{"run"}}
	m.Wasm.SHA256, m.Wasm.Size, m.Wasm.File = digestOf(wasm), int64(len(wasm)), filepath.Base(path)
	return Source{Manifest: m, Path: path}
}
