package sandbox

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What one process compiled the next finds, and compiles nothing: it has no
// compiler that could.
func TestCompiledCodeIsFoundByTheNextProcess(t *testing.T) {
	dir, wasm := t.TempDir(), answering(3)
	first := openEngine(t, Config{CacheDir: dir, Compiler: selfCompiler(t)})
	if got := answers(t, loadRun(t, first, wasm)); got != "rc_3" {
		t.Fatalf("ran %s", got)
	}
	next := openEngine(t, Config{CacheDir: dir, Compiler: brokenCompiler(t)})
	p := loadRun(t, next, wasm)
	if held := inMemory(next); held != nil {
		t.Errorf("%v is in memory before the first call", held)
	}
	if got := answers(t, p); got != "rc_3" {
		t.Fatalf("ran %s", got)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && path != dir && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// damages are what may have happened to an entry. other is the code of another
// module, of the same size, whole and with a checksum that the engine accepts.
func damages(t *testing.T) map[string]func(t *testing.T, e *Engine, r record, code string, other []byte) {
	change := func(path string, f func([]byte) []byte) { writeFile(t, path, f(readFile(t, path))) }
	cut := func(b []byte) []byte { return b[:len(b)/2] }
	flip := func(b []byte) []byte {
		b = bytes.Clone(b)
		b[len(b)*3/4] ^= 1
		return b
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(t *testing.T, e *Engine, r record, code string, other []byte){
		"code of another module": func(t *testing.T, _ *Engine, _ record, code string, other []byte) { writeFile(t, code, other) },
		"code cut":               func(_ *testing.T, _ *Engine, _ record, code string, _ []byte) { change(code, cut) },
		"code empty":             func(t *testing.T, _ *Engine, _ record, code string, _ []byte) { writeFile(t, code, nil) },
		"code flipped":           func(_ *testing.T, _ *Engine, _ record, code string, _ []byte) { change(code, flip) },
		"code gone":              func(t *testing.T, _ *Engine, _ record, code string, _ []byte) { must(t, os.Remove(code)) },
		"code is a link": func(t *testing.T, _ *Engine, _ record, code string, _ []byte) {
			must(t, os.Rename(code, code+".x"))
			must(t, os.Symlink(code+".x", code))
		},
		"code can be written by others": func(t *testing.T, _ *Engine, _ record, code string, _ []byte) { must(t, os.Chmod(code, 0o666)) },
		"code beside it": func(t *testing.T, _ *Engine, _ record, code string, other []byte) {
			writeFile(t, filepath.Join(filepath.Dir(code), "0a"), other)
		},
		"another engine's code beside it": func(t *testing.T, _ *Engine, _ record, code string, other []byte) {
			dir := filepath.Join(filepath.Dir(filepath.Dir(code)), "wazero-other")
			must(t, os.Mkdir(dir, 0o700))
			writeFile(t, filepath.Join(dir, filepath.Base(code)), other)
		},
		"folder can be written by others": func(t *testing.T, e *Engine, r record, _ string, _ []byte) {
			must(t, os.Chmod(filepath.Join(e.kept.dir, r.folder), 0o777))
		},
		"module flipped": func(_ *testing.T, e *Engine, r record, _ string, _ []byte) {
			change(filepath.Join(e.kept.dir, r.folder, meteredName), flip)
		},
		"module cut": func(_ *testing.T, e *Engine, r record, _ string, _ []byte) {
			change(filepath.Join(e.kept.dir, r.folder, meteredName), cut)
		},
		"record cut": func(_ *testing.T, e *Engine, r record, _ string, _ []byte) {
			change(filepath.Join(e.kept.dir, r.module), cut)
		},
		"record flipped": func(_ *testing.T, e *Engine, r record, _ string, _ []byte) {
			change(filepath.Join(e.kept.dir, r.module), flip)
		},
		"record can be written by others": func(t *testing.T, e *Engine, r record, _ string, _ []byte) {
			must(t, os.Chmod(filepath.Join(e.kept.dir, r.module), 0o622))
		},
		"record gone": func(t *testing.T, e *Engine, r record, _ string, _ []byte) {
			must(t, os.Remove(filepath.Join(e.kept.dir, r.module)))
		},
	}
}

// A file of the cache that was cut, changed or put there by somebody else is
// made anew, and never executed: before the plugin is loaded, and after.
func TestADamagedEntryIsMadeAnew(t *testing.T) {
	compiler := selfCompiler(t)
	for name, damage := range damages(t) {
		for _, loaded := range []bool{false, true} {
			when := " before loading"
			if loaded {
				when = " before the first call"
			}
			t.Run(name+when, func(t *testing.T) {
				dir, wasm := t.TempDir(), answering(3)
				first := openEngine(t, Config{CacheDir: dir, Compiler: compiler})
				loadRun(t, first, wasm)
				loadRun(t, first, answering(4))
				_, poison := entryOf(t, first, answering(4))
				before, code := entryOf(t, first, wasm)

				e := openEngine(t, Config{CacheDir: dir, Compiler: compiler})
				var p *Plugin
				if loaded {
					p = loadRun(t, e, wasm)
				}
				damage(t, e, before, code, readFile(t, poison))
				if !loaded {
					p = loadRun(t, e, wasm)
				}
				if got := answers(t, p); got != "rc_3" {
					t.Fatalf("ran %s", got)
				}
				if after, _ := entryOf(t, e, wasm); after.folder == before.folder {
					t.Error("the entry was not made anew")
				}
			})
		}
	}
}

// The engine compiles nothing when it is to load code: a folder without it is an
// error, at once, and stays as it is.
func TestLoadingCompilesNothing(t *testing.T) {
	dir := t.TempDir()
	ready, err := prepare(answering(3), nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := Config{}.filled()
	if err != nil {
		t.Fatal(err)
	}
	if m, err := openMachine(t.Context(), cfg, dir, nil, ready.code); err == nil {
		t.Error("code was made", m.close(t.Context()))
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*", "*")); files != nil {
		t.Errorf("the engine wrote %v", files)
	}
}

// What was loaded survives the cache: its code is made again from the plugin's
// file, if that is still the same.
func TestALoadedPluginSurvivesItsCache(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "p.wasm")
	wasm := answering(3)
	writeFile(t, path, wasm)
	for name, c := range map[string]struct {
		now    []byte
		status Status
		reason string
	}{"the same": {wasm, GuestError, "rc_3"}, "another": {answering(4), HostFailure, "no_code"}} {
		t.Run(name, func(t *testing.T) {
			e := openEngine(t, Config{CacheDir: dir, Compiler: selfCompiler(t)})
			writeFile(t, path, wasm)
			p, err := e.Load(t.Context(), sourceOf(wasm, path))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close(t.Context())
			r, _ := entryOf(t, e, wasm)
			e.kept.forget(r)
			writeFile(t, path, c.now)
			if out := p.Call(t.Context(), "run", nil, CallOptions{}); out.Status != c.status || out.Reason != c.reason {
				t.Errorf("outcome %s (%s): %v", out.Status, out.Reason, out.Err)
			}
		})
	}
}
