package sandbox_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

var loads = flag.Int("loads", 100, "how often the tests of long life load a plugin in Go, or call one that has to be loaded again")

// flat holds what a process has after many rounds to what it had after some: memory within 16 MiB, no goroutine and no
// descriptor more.
func flat(t *testing.T, some, many int, round func(i int)) {
	t.Helper()
	for i := range some {
		round(i)
	}
	memory, files, routines := sandbox.Resident(t), sandbox.Descriptors(), runtime.NumGoroutine()
	for i := range many {
		round(i)
	}
	sandbox.Until(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= routines })
	now := sandbox.Resident(t)
	t.Logf("resident memory %d KiB after %d rounds, %d KiB after %d more", memory>>10, some, now>>10, many)
	if now > memory+16<<20 {
		t.Errorf("resident memory grew from %d to %d KiB", memory>>10, now>>10)
	}
	if now := sandbox.Descriptors(); now > files {
		t.Errorf("%d descriptors, were %d", now, files)
	}
}

// calcPlugin is a plugin in Go, whose machine code is on disk after the first load.
func calcPlugin(t *testing.T) (dir string, text []byte) {
	t.Helper()
	dir = t.TempDir() // the folder it is built in is made anew by whoever builds it meanwhile
	if err := os.CopyFS(dir, os.DirFS(conformancetest.Plugin(t, "calc"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return dir, text
}

// A plugin of ordinary size comes and goes for ever. Every second one is called, which is what brings its machine code
// into memory and initialises it.
func TestLoadsOfAGoPluginLeaveNothing(t *testing.T) {
	dir, text := calcPlugin(t)
	m, err := manifest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m.Exports = append(m.Exports, wire.ExportDescribe)
	m.Limits.DeadlineMS = wire.HardDeadlineMS // machines are busy
	cfg := sandbox.Config{CacheDir: conformancetest.CacheDir(t), Compiler: conformancetest.Compiler(t)}
	e := open(t, cfg)
	source := sandbox.Source{Manifest: m, Path: filepath.Join(dir, m.Wasm.File), Granted: everything}
	flat(t, min(*loads, 40), *loads, func(i int) {
		p, err := e.Load(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			want(t, p.Call(t.Context(), wire.ExportDescribe, nil, sandbox.CallOptions{}), sandbox.OK, "")
		}
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	if code, modules := e.Held(); code != 0 || modules != 0 {
		t.Errorf("the engine holds %d bytes and %d modules", code, modules)
	}
}

// Some plugins, twenty of them in a long test, share memory for a few: each call finds its plugin's code gone and loads it
// again, for ever.
func TestEvictionsOfGoPluginsLeaveNothing(t *testing.T) {
	plugins := min(20, max(5, *loads/50))
	dir, text := calcPlugin(t)
	cfg := sandbox.Config{CacheDir: t.TempDir(), Compiler: conformancetest.Compiler(t), LoadedBytes: 1} // what is in use passes it
	sources := twenty(t, cfg, dir, text, plugins)
	e := open(t, cfg)
	var loaded []*sandbox.Plugin
	for _, s := range sources {
		p, err := e.Load(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		loaded = append(loaded, p)
	}
	one := int64(0)
	flat(t, 2*plugins, *loads, func(i int) {
		want(t, loaded[i%plugins].Call(t.Context(), wire.ExportDescribe, nil, sandbox.CallOptions{}), sandbox.OK, "")
		code, _ := e.Held()
		if one == 0 {
			one = code
		}
		if code > one {
			t.Fatalf("round %d: %d bytes of code are held, one plugin has %d", i, code, one)
		}
	})
	for _, p := range loaded {
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if code, modules := e.Held(); code != 0 || modules != 0 {
		t.Errorf("the engine holds %d bytes and %d modules", code, modules)
	}
}
