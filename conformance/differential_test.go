package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/b3abf3ee/portcullis/conformance"
	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Every bundled plugin answers each of its cases the same way on our engine and
// on extism/go-sdk, and that way is what the case says.
func TestConformBundledPluginsOnBothEngines(t *testing.T) {
	dirs, err := filepath.Glob("../plugins/tools/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no plugins: %v", err)
	}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		if sources, err := filepath.Glob(filepath.Join(dir, "*.go")); err != nil || len(sources) == 0 {
			continue // a folder without a program
		}
		t.Run(name, func(t *testing.T) {
			outer := t
			cases, err := conformance.ReadCases(dir)
			if errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("plugin %s has no %s", name, conformance.CasesFile)
			}
			if err != nil {
				t.Fatal(err)
			}
			m, wasm := built(t, name)
			b := bench{m: m, wasm: wasm, ready: map[string][2]conformance.Engine{}}
			for _, c := range cases {
				t.Run(c.Title(), func(t *testing.T) {
					// The pair is closed with the plugin's test, not with the case's.
					for i, on := range b.engines(outer, &c) {
						differences, err := conformance.Run(t.Context(), on, m, &c, t.TempDir())
						if err != nil {
							t.Fatal(err)
						}
						for _, d := range differences {
							t.Errorf("%s: %s", []string{"sandbox", "extism"}[i], d)
						}
					}
				})
			}
		})
	}
}

// built makes a plugin's binary when its sources changed, and reads it.
func built(t *testing.T, name string) (*manifest.Manifest, []byte) {
	t.Helper()
	out := conformancetest.Plugin(t, name)
	data, err := os.ReadFile(filepath.Join(out, manifest.FileName))
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(filepath.Join(out, m.Wasm.File))
	if err != nil {
		t.Fatal(err)
	}
	return m, wasm
}

// bench keeps one pair of engines, ours first, for each clock and set of
// settings that the cases of a plugin use.
type bench struct {
	m     *manifest.Manifest
	wasm  []byte
	ready map[string][2]conformance.Engine
}

func (b *bench) engines(t *testing.T, c *conformance.Case) [2]conformance.Engine {
	t.Helper()
	key := fmt.Sprint(c.Now(), c.Settings)
	m := *b.m
	m.Limits.DeadlineMS = wire.HardDeadlineMS // answers are compared, and machines are busy
	if pair, ok := b.ready[key]; ok {
		return pair
	}
	e, err := sandbox.Open(t.Context(), sandbox.Config{CacheDir: cacheDir, Compiler: conformancetest.Compiler(t), Clock: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })
	p, err := e.Load(t.Context(), sandbox.Source{
		Manifest: &m, Wasm: b.wasm, Settings: c.Settings,
		Granted: sandbox.AbilitiesFrom(func(string) bool { return true }),
	})
	if err != nil {
		t.Fatal(err)
	}
	x, err := conformance.OpenExtism(t.Context(), conformance.ExtismOptions{
		Wasm: b.wasm, Settings: c.Settings, Limits: sandbox.LimitsOf(m.Limits), CacheDir: cacheDir, Clock: c.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(context.Background()) })
	b.ready[key] = [2]conformance.Engine{conformance.OnSandbox(p), x}
	return b.ready[key]
}
