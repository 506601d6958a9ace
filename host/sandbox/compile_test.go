package sandbox

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
)

// slowModule is past what the verifier lets through: nesting that takes the
// engine minutes.
func slowModule() readyModule {
	const depth = 400_000
	code := bytes.Join([][]byte{bytes.Repeat([]byte{0x02, 0x40}, depth), bytes.Repeat([]byte{0x0b}, depth+1)}, nil)
	m := &wasmbin.Module{Types: []wasmbin.FuncType{{}}, Funcs: []uint32{0}, Bodies: []wasmbin.Body{{Code: code}}}
	return readyModule{declares: declared(m), code: m.Encode()}
}

// wideModule takes hundreds of megabytes to compile: many values live at once,
// in many functions.
func wideModule() readyModule {
	m := &wasmbin.Module{Types: []wasmbin.FuncType{{}, {Results: bytes.Repeat([]byte{wasmbin.I32}, 100)}}}
	piece := bytes.Join([][]byte{{0x02, 1}, bytes.Repeat([]byte{0x41, 0}, 100), {0x0b}, bytes.Repeat([]byte{0x1a}, 100)}, nil)
	for range 20 {
		m.Funcs = append(m.Funcs, 0)
		m.Bodies = append(m.Bodies, wasmbin.Body{Code: append(bytes.Repeat(piece, 6000), 0x0b)})
	}
	return readyModule{declares: declared(m), code: m.Encode()}
}

// brokenModule is no valid module, and the engine says so.
func brokenModule() readyModule {
	m := &wasmbin.Module{Types: []wasmbin.FuncType{{}}, Funcs: []uint32{0}, Bodies: []wasmbin.Body{{Code: []byte{0x1a, 0x0b}}}}
	return readyModule{declares: declared(m), code: m.Encode()}
}

// hands is a clock that is set by hand.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hands) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// A module that would hold the compiler for minutes or fill the memory costs its
// deadline or its share, in a process of its own, and once: it is not tried again
// before some time has passed. Nothing of it stays on disk.
func TestACompileBombCostsItsLimitOnce(t *testing.T) {
	for name, c := range map[string]struct {
		module readyModule
		cfg    Config
		code   LoadCode
		words  string
	}{
		"time": {
			slowModule(),
			Config{CompileTimeout: time.Second},
			CodeCompileTimeout,
			"plugin p takes more than 1s to compile, as modules do that are made to: build it with smaller functions, or raise limits.compile_time in config.yaml",
		},
		"memory": {
			wideModule(),
			Config{CompileMemory: 64 << 20, CompileTimeout: time.Minute},
			CodeCompileMemory,
			"plugin p takes more than 64 MiB of memory to compile, as modules do that are made to: build it with smaller functions, or raise limits.compile_memory in config.yaml",
		},
		"invalid": {
			brokenModule(),
			Config{CompileTimeout: time.Minute},
			CodeUncompiled,
			"plugin p is not a valid module, or uses a WebAssembly proposal that this host does not run: build it for WebAssembly 2.0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &hands{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
			c.cfg.CacheDir, c.cfg.Compiler, c.cfg.Clock = t.TempDir(), selfCompiler(t), clock.Now
			e := openEngine(t, c.cfg)
			digest := digestOf(c.module.code)
			begun := time.Now()
			err := e.compile(t.Context(), digest, c.module)
			var own *compileError
			if !errors.As(err, &own) || own.code != c.code {
				t.Fatalf("error %v, want %s", err, c.code)
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			if le := e.uncompiled(t.Context(), "p", err); le.Code != c.code || le.Sentence != c.words {
				t.Errorf("%s: %s", le.Code, le.Sentence)
			}
			if left, _ := filepath.Glob(filepath.Join(e.kept.dir, "*")); left != nil {
				t.Errorf("left %v", left)
			}

			e.cfg.Compiler = brokenCompiler(t) // whoever tries now gets another error
			clock.move(failureAge - time.Second)
			if err := e.compile(t.Context(), digest, c.module); !errors.As(err, &own) || own.code != c.code {
				t.Errorf("tried again at once: %v", err)
			}
			clock.move(2 * time.Second)
			if err := e.compile(t.Context(), digest, c.module); err == nil || errors.As(err, &own) {
				t.Errorf("not tried again later: %v", err)
			}
		})
	}
}

// What is not the module's fault is not held against it.
func TestTroubleOfTheHostIsNotRemembered(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir(), Compiler: brokenCompiler(t)})
	_, err := e.LoadForeign(t.Context(), Foreign{Name: "p", Wasm: answering(3), Exports: []string{"run"}})
	var le *LoadError
	if !errors.As(err, &le) || le.Code != CodeUnavailable {
		t.Fatalf("error %v", err)
	}
	e.cfg.Compiler = selfCompiler(t)
	if got := answers(t, loadRun(t, e, answering(3))); got != "rc_3" {
		t.Errorf("ran %s", got)
	}
}

// What failed is remembered within a bound, the oldest forgotten first.
func TestFailuresAreBounded(t *testing.T) {
	var f failures
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	why := &compileError{CodeCompileTimeout, errCompileTime}
	for i := range maxFailures + 10 {
		f.remember(digestOf([]byte{byte(i), byte(i >> 8)}), why, now.Add(time.Duration(i)*time.Second))
	}
	if len(f.of) != maxFailures {
		t.Errorf("%d are remembered", len(f.of))
	}
	later := now.Add(maxFailures * time.Second)
	if f.recall(digestOf([]byte{0, 0}), later) == nil && f.recall(digestOf([]byte{100, 0}), later) != nil {
		return
	}
	t.Error("not the oldest was forgotten")
}

// Without a compiler the same bomb is stopped when the engine lets it, between
// two functions: that is why there is one. An ordinary module compiles.
func TestWithoutACompilerModulesCompileHere(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir()})
	if got := answers(t, loadRun(t, e, answering(3))); got != "rc_3" {
		t.Errorf("ran %s", got)
	}
	if err := e.compile(t.Context(), digestOf(brokenModule().code), brokenModule()); !errors.As(err, new(*compileError)) {
		t.Errorf("error %v", err)
	}
}

// One module is compiled once, however many ask, and stays loaded until the last
// of them has closed it.
func TestManyLoadsCompileOnce(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir(), Compiler: selfCompiler(t)})
	var wg sync.WaitGroup
	folders := make([]string, 8)
	for i := range folders {
		wg.Go(func() {
			p, err := e.LoadForeign(t.Context(), Foreign{Name: "p", Wasm: answering(3), Exports: []string{"run"}})
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close(context.Background())
			r, _ := e.kept.find(digestOf(answering(3)))
			folders[i] = r.folder
			if out := p.Call(t.Context(), "run", nil, CallOptions{}); out.Reason != "rc_3" {
				t.Errorf("%s (%s) %v", out.Status, out.Reason, out.Err)
			}
		})
	}
	wg.Wait()
	for _, f := range folders {
		if f != folders[0] || f == "" {
			t.Errorf("entries %v", folders)
		}
	}
	if held := inMemory(e); held != nil || len(e.modules) != 0 {
		t.Errorf("%v and %d modules stay", held, len(e.modules))
	}
}
