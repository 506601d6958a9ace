package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/b3abf3ee/portcullis"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// checkout makes a folder that looks like one, with plugins of the given names.
func checkout(t *testing.T, module string, plugins ...string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "// the module\nmodule "+module+"\n\ngo 1.26\n")
	for _, p := range plugins {
		write(pluginTree+"/"+p+"/main.go", "package main\n")
	}
	write(pluginTree+"/unfinished/testdata/x", "")
	write(pluginTree+"/README.md", "")
	return dir
}

func TestACheckoutIsFoundAroundTheFolderOrByName(t *testing.T) {
	ours, other := checkout(t, portcullis.Module, "web", "calc"), checkout(t, "example.com/other", "calc")
	inside := filepath.Join(ours, "plugins", "tools", "calc")
	for name, c := range map[string]struct {
		named  string
		around []string
		want   string
	}{
		"around":           {"", []string{inside}, ours},
		"the second place": {"", []string{other, ours}, ours},
		"named":            {ours, []string{other}, ours},
	} {
		got, err := Find(c.named, c.around...)
		if err != nil || got.Checkout != c.want || got.Embedded != nil {
			t.Errorf("%s: %+v, %v; want %s", name, got, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		named  string
		around []string
	}{
		"another module":       {"", []string{other}},
		"named another module": {other, []string{ours}},
		"named nothing":        {filepath.Join(other, "missing"), []string{ours}},
	} {
		var nowhere *NowhereError
		if got, err := Find(c.named, c.around...); !errors.As(err, &nowhere) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	names, err := Source{Checkout: ours}.Names()
	if err != nil || !slices.Equal(names, []string{"calc", "web"}) {
		t.Errorf("Names = %v, %v", names, err)
	}
}

func TestAnEmbeddedPluginIsWrittenOutAsItWas(t *testing.T) {
	d := wire.Description{
		ABI: wire.ABI, Kind: wire.KindTool, ID: "calc", Version: "1.0.0", Summary: "Sums.", License: "Apache-2.0",
		Tools: []wire.Tool{{
			Name: "calc.eval", Description: "Sum.", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`),
			Risk: wire.RiskLow, Approval: wire.ApprovalAuto, Recovery: wire.RecoveryRead,
		}},
	}
	raw, err := manifest.Marshal(manifest.New(d, manifest.Wasm{File: "calc.wasm", SHA256: strings.Repeat("0", 64), Size: 4}, []string{wire.ExportDescribe, wire.ExportInvoke}, nil))
	if err != nil {
		t.Fatal(err)
	}
	s := Source{Embedded: fstest.MapFS{"calc/plugin.json": {Data: raw}, "calc/calc.wasm": {Data: []byte("wasm")}}}
	made, err := s.Make(t.Context(), Options{Work: t.TempDir()}, "calc")
	if err != nil || len(made) != 1 || made[0].Manifest.ID != "calc" {
		t.Fatalf("Make = %+v, %v", made, err)
	}
	for file, want := range map[string]string{"plugin.json": string(raw), "calc.wasm": "wasm"} {
		if got, err := os.ReadFile(filepath.Join(made[0].Dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if _, err := s.Make(t.Context(), Options{Work: t.TempDir()}, "missing"); err == nil {
		t.Error("a plugin that is not there was made")
	}
}

// TestABundleHasEveryPlugin holds the list in bundled.go, which only a release compiles, to the plugins that there are.
func TestABundleHasEveryPlugin(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	names, err := Source{Checkout: root}.Names()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "bundled.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := "//go:embed"
	for _, n := range names {
		want += " .build/guests/" + n
	}
	if !strings.Contains(string(text), want+"\n") {
		t.Errorf("bundled.go must say\n%s", want)
	}
}
