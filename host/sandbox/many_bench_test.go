package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// BenchmarkTwentyGoPlugins is a host with twenty plugins in Go whose code is on
// disk: until all are loaded, the first call of one, four of them in use, all of
// them called, and none left.
func BenchmarkTwentyGoPlugins(b *testing.B) {
	const plugins, hot = 20, 4
	dir := conformancetest.Plugin(b, "calc")
	text, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
	if err != nil {
		b.Fatal(err)
	}
	cfg := sandbox.Config{CacheDir: b.TempDir(), Compiler: conformancetest.Compiler(b)}
	sources := twenty(b, cfg, dir, text, plugins)
	call := func(p *sandbox.Plugin) time.Duration {
		begun := time.Now()
		if out := p.Call(b.Context(), wire.ExportDescribe, nil, sandbox.CallOptions{}); out.Status != sandbox.OK {
			b.Fatalf("%s (%s) %s %v", out.Status, out.Reason, out.Text, out.Err)
		}
		return time.Since(begun)
	}
	const mb = 1 << 20
	for b.Loop() {
		before := sandbox.Resident(b)
		begun := time.Now()
		for _, s := range sources {
			wasm, err := os.ReadFile(s.Path)
			if err != nil || digest(wasm) != s.Manifest.Wasm.SHA256 {
				b.Fatal(s.Path, err)
			}
		}
		reading := time.Since(begun)
		before = min(before, sandbox.Resident(b)) // what was read is garbage
		begun = time.Now()
		e, err := sandbox.Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		var loaded []*sandbox.Plugin
		for _, s := range sources {
			p, err := e.Load(b.Context(), s)
			if err != nil {
				b.Fatal(err)
			}
			loaded = append(loaded, p)
		}
		took := time.Since(begun)
		b.ReportMetric(float64(took.Milliseconds()), "ms-ready")
		b.ReportMetric(float64(took)/float64(reading), "x-ready-over-reading")
		ready := sandbox.Resident(b)
		b.ReportMetric(float64(ready)/mb, "MB-ready")

		call(loaded[0])
		b.ReportMetric(float64(sandbox.Resident(b)-ready)/mb, "MB-a-plugin")
		for _, p := range loaded[:hot] {
			call(p)
		}
		b.ReportMetric(float64(sandbox.Resident(b))/mb, "MB-4-hot")
		var first, alone []time.Duration // in turns, as both are tens of milliseconds on a machine that does other things
		for _, p := range loaded[hot:] {
			only, err := p.LoadOnly(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			alone, first = append(alone, only), append(first, call(p))
		}
		slices.Sort(first)
		slices.Sort(alone)
		b.ReportMetric(float64(first[len(first)/2])/float64(alone[len(alone)/2]), "x-first-call-over-cached-compile")
		used := sandbox.Resident(b)
		b.ReportMetric(float64(used)/mb, "MB-all-called")
		for _, p := range loaded {
			if err := p.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(100*float64(used-sandbox.Resident(b))/float64(used-before), "%-back")
		if err := e.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// twenty makes plugins that differ in a custom section, and their compiled code.
func twenty(b testing.TB, cfg sandbox.Config, dir string, text []byte, n int) (sources []sandbox.Source) {
	e := open(b, cfg)
	var first []byte
	for i := range n {
		m, err := manifest.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		wasm, err := os.ReadFile(filepath.Join(dir, m.Wasm.File))
		if err != nil {
			b.Fatal(err)
		}
		wasm = append(wasm, 0, 4, 1, 'n', byte(i), 0)
		m.Wasm.SHA256, m.Wasm.Size, m.ID = digest(wasm), int64(len(wasm)), fmt.Sprint(m.ID, i)
		m.Exports = append(m.Exports, wire.ExportDescribe)
		m.Limits.DeadlineMS = wire.HardDeadlineMS // machines are busy
		path := filepath.Join(b.TempDir(), "p.wasm")
		if err := os.WriteFile(path, wasm, 0o600); err != nil {
			b.Fatal(err)
		}
		s := sandbox.Source{Manifest: m, Path: path, Granted: everything}
		if i == 0 {
			p, err := e.Load(b.Context(), s)
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
			first = wasm
		} else if err := e.CopyCode(first, wasm); err != nil {
			b.Fatal(err)
		}
		sources = append(sources, s)
	}
	return sources
}
