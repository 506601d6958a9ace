package guestbuild_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// described answers with the same description whatever the binary is: there is
// no sandbox at this level to run it in.
func described(json string) func(context.Context, []byte) ([]byte, error) {
	return func(context.Context, []byte) ([]byte, error) { return []byte(json), nil }
}

func description(t testing.TB, capabilities string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/sample/description.json")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(raw), `"limits"`, capabilities+`"limits"`, 1)
}

func hostImports(m *manifest.Manifest) string {
	var names []string
	for _, s := range m.Imports {
		if name, ok := strings.CutPrefix(s, "extism:host/user.portcullis_"); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func TestBuildMakesAPluginThatImportsWhatItUses(t *testing.T) {
	var lines []string
	o := guestbuild.Options{
		Dir: "testdata/sample", OutDir: filepath.Join(t.TempDir(), "out"),
		Describe: described(description(t, "")),
		Progress: func(line string) { lines = append(lines, line) },
		// What a caller has set for its own builds must not reach this one.
		Env: append(os.Environ(), "GOOS=plan9", "GOFLAGS=-mod=nonsense", "GOARCH=mips", "GODEBUG=x=y"),
	}
	r, err := guestbuild.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Skipped || filepath.Base(r.WasmPath) != "sample.wasm" || len(r.Warnings) != 0 {
		t.Errorf("got %+v", r)
	}
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "compiling ") || lines[1] != "describing" || !strings.HasPrefix(lines[2], "built ") {
		t.Errorf("progress was %q", lines)
	}
	wasm, err := os.ReadFile(r.WasmPath)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	raw, err := os.ReadFile(r.ManifestPath)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if m.Wasm != (manifest.Wasm{File: "sample.wasm", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(wasm))}) || m.Wasm.SHA256 != r.SHA256 {
		t.Errorf("the manifest names %+v", m.Wasm)
	}
	if got := strings.Join(m.Exports, " "); got != "_initialize portcullis_describe portcullis_invoke portcullis_reconcile" {
		t.Errorf("exports are %s", got)
	}
	// The sample logs. That it imports nothing else of ours is the linker
	// dropping what is not called.
	if got := hostImports(m); got != "load log store" {
		t.Errorf("imports are %s", got)
	}

	again, err := guestbuild.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Skipped || again.SHA256 != r.SHA256 || again.Manifest == nil || again.Size != r.Size {
		t.Errorf("the second build gave %+v", again)
	}
	if _, err := os.Stat(filepath.Join("testdata", "sample", "sample.wasm")); err == nil {
		t.Error("the sources' folder was written to")
	}
}

func TestEveryAbilityIsImportedWhenUsedAndMustBeAsked(t *testing.T) {
	o := guestbuild.Options{Dir: "testdata/abilities", OutDir: t.TempDir()}
	o.Describe = described(description(t, `"capabilities":[{"name":"fs.read","reason":"r"},{"name":"fs.write","reason":"r"},{"name":"kv","reason":"r"},{"name":"net.fetch","reason":"r"}],"egress":[{"host":"*","reason":"r"}],`))
	r, err := guestbuild.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	const all = "emit fs_list fs_mkdir fs_read fs_remove fs_rename fs_stat fs_write http kv_delete kv_get kv_list kv_set load log now random store"
	if got := hostImports(r.Manifest); got != all {
		t.Errorf("imports are %s", got)
	}

	o.OutDir = t.TempDir()
	o.Describe = described(description(t, `"capabilities":[{"name":"kv","reason":"r"}],`))
	_, err = guestbuild.Build(t.Context(), o)
	var invalid *manifest.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) != 8 || !strings.Contains(err.Error(), "portcullis_fs_write needs the capability fs.write") {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "hint: the binary imports every host function") {
		t.Errorf("no hint in %v", err)
	}
	if left, err := os.ReadDir(o.OutDir); err != nil || len(left) != 0 {
		t.Errorf("a refused plugin left %v, %v", left, err)
	}
}

func TestAskedForNothing(t *testing.T) {
	r, err := guestbuild.Build(t.Context(), guestbuild.Options{
		Dir: "testdata/sample", OutDir: t.TempDir(),
		Describe: described(description(t, `"capabilities":[{"name":"kv","reason":"r"},{"name":"secret.bind:TOKEN","reason":"r"}],`)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"capability kv is asked for, but the binary imports nothing that needs it"}; !slices.Equal(r.Warnings, want) {
		t.Errorf("warnings are %q", r.Warnings)
	}
}

// What the guide shows of raw.wat is there, line by line and in its order.
func TestTheGuideShowsTheRawPlugin(t *testing.T) {
	page, err := os.ReadFile("../../docs/writing-a-plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/raw.wat")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for line := range strings.Lines(string(source)) {
		left = append(left, strings.TrimSpace(line))
	}
	shown := 0
	for _, block := range strings.Split(string(page), "```wat\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			at := slices.Index(left, strings.TrimSpace(line))
			if at < 0 {
				t.Fatalf("raw.wat does not go on with %q", line)
			}
			left, shown = left[at+1:], shown+1
		}
	}
	if shown < 15 {
		t.Errorf("the guide shows %d lines of it", shown)
	}
}

func TestPackRefusesWhatIsNoPlugin(t *testing.T) {
	dir := t.TempDir()
	raw, err := os.ReadFile("testdata/raw.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ wasm, says, want string }{
		"no module":      {"this is text", description(t, ""), "not a core WebAssembly module"},
		"cut short":      {string(raw[:len(raw)-1]), description(t, ""), "ends too early"},
		"no description": {string(raw), `{"abi":`, "what portcullis_describe answers: "},
	} {
		write(t, dir, "bad.wasm", c.wasm)
		o := guestbuild.Options{OutDir: filepath.Join(dir, "out"), Describe: described(c.says)}
		_, err := guestbuild.Pack(t.Context(), filepath.Join(dir, "bad.wasm"), o)
		var bad *guestbuild.BinaryError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(bad.File, "bad.wasm") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(o.OutDir); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
}

// 750 bytes that no Go toolchain has seen are a plugin too.
func TestPackTakesAnyBinary(t *testing.T) {
	raw, err := os.ReadFile("testdata/raw.wasm")
	if err != nil {
		t.Fatal(err)
	}
	wasm := string(raw)
	dir := t.TempDir()
	write(t, dir, "any.wasm", wasm)
	o := guestbuild.Options{OutDir: filepath.Join(dir, "out"), Describe: described(description(t, ""))}
	r, err := guestbuild.Pack(t.Context(), filepath.Join(dir, "any.wasm"), o)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(r.WasmPath); err != nil || string(got) != wasm || filepath.Base(r.WasmPath) != "sample.wasm" {
		t.Errorf("%s holds %q, %v", r.WasmPath, got, err)
	}
	raw, err = os.ReadFile(r.ManifestPath)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := manifest.Parse(raw); err != nil || m.Wasm.SHA256 != r.SHA256 || len(m.Imports) != 4 || hostImports(m) != "store" {
		t.Errorf("manifest is %s, %v", raw, err)
	}

	write(t, dir, "text.wasm", "(module)")
	for name, c := range map[string]struct {
		file     string
		describe func(context.Context, []byte) ([]byte, error)
	}{
		"no file":        {"none.wasm", o.Describe},
		"not wasm":       {"text.wasm", o.Describe},
		"no Describe":    {"any.wasm", nil},
		"no description": {"any.wasm", described("{")},
		"refuses":        {"any.wasm", func(context.Context, []byte) ([]byte, error) { return nil, errors.New("no") }},
	} {
		out := filepath.Join(dir, "not")
		if _, err := guestbuild.Pack(t.Context(), filepath.Join(dir, c.file), guestbuild.Options{OutDir: out, Describe: c.describe}); err == nil {
			t.Errorf("%s was packed", name)
		}
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s left an output: %v", name, err)
		}
	}
}

// module makes a Go module of files, without the sdk: it compiles in no time.
func module(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if _, ok := files["go.mod"]; !ok {
		write(t, dir, "go.mod", "module example.com/guest\n\ngo 1.26\n")
	}
	for name, content := range files {
		write(t, dir, name, content)
	}
	return dir
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeBuiltSaysWhyAndWhere(t *testing.T) {
	const ok = "package main\n\nfunc main() {}\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"does not compile": {
			map[string]string{"main.go": "package main\n\nfunc main() {\n\tundefined()\n\tvar x int\n}\n"},
			[]string{"./main.go:4:2: undefined: undefined", "./main.go:5:6: declared and not used: x"},
		},
		"does not parse":      {map[string]string{"main.go": "package main\n\nfunc main( {}\n"}, []string{"main.go:3:12: syntax error"}},
		"not a command":       {map[string]string{"main.go": "package guest\n"}, []string{"this is package guest; a plugin is package main"}},
		"no Go files":         {map[string]string{"README": "hello"}, []string{"no Go files"}},
		"import not required": {map[string]string{"main.go": "package main\n\nimport _ \"example.org/none\"\n\nfunc main() {}\n"}, []string{"main.go:3:8: cannot find module providing package example.org/none"}},
		"bad go.mod":          {map[string]string{"main.go": ok, "go.mod": "module\n"}, []string{"go.mod:1"}},
	} {
		dir := module(t, c.files)
		_, err := guestbuild.Build(t.Context(), guestbuild.Options{Dir: dir, OutDir: t.TempDir()})
		var ce *guestbuild.CompileError
		if !errors.As(err, &ce) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(ce.Output, want) {
				t.Errorf("%s: no %q in\n%v", name, want, err)
			}
		}
		if strings.Contains(ce.Output, "# example.com") {
			t.Errorf("%s: headings were kept:\n%s", name, ce.Output)
		}
	}
	outside := t.TempDir()
	write(t, outside, "main.go", ok)
	if _, err := guestbuild.Build(t.Context(), guestbuild.Options{Dir: outside, OutDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "portcullis plugin new") {
		t.Errorf("outside a module: %v", err)
	}
	for _, dir := range []string{filepath.Join(outside, "none"), filepath.Join(outside, "main.go")} {
		if _, err := guestbuild.Build(t.Context(), guestbuild.Options{Dir: dir, OutDir: t.TempDir()}); err == nil {
			t.Errorf("%s was built", dir)
		}
	}
}

func TestNoToolchainIsSaidWithARemedy(t *testing.T) {
	dir := module(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n", "go": "#!/bin/sh\nexit 0\n"})
	if err := os.Chmod(filepath.Join(dir, "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	// A go command in the plugin's own folder is the plugin's, not a toolchain.
	for _, path := range []string{"PATH=", "PATH=.", "PATH=" + t.TempDir()} {
		_, err := guestbuild.Build(t.Context(), guestbuild.Options{Dir: dir, OutDir: t.TempDir(), Env: []string{path}})
		var te *guestbuild.ToolchainError
		if !errors.As(err, &te) || !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install Go 1.26 or newer") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCancelledBuildLeavesNothing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("asked to stop")
	// Stopped while the compiler is about to start.
	o := guestbuild.Options{Dir: "testdata/sample", OutDir: out, Progress: func(string) { cancel(reason) }}
	if _, err := guestbuild.Build(ctx, o); !errors.Is(err, reason) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is an output: %v", err)
	}
	results, err := guestbuild.BuildAll(ctx, []guestbuild.Options{o})
	if !errors.Is(err, context.Canceled) || len(results) != 1 || results[0].WasmPath != "" {
		t.Errorf("BuildAll gave %+v, %v", results, err)
	}
}

func TestBuildAllGoesOnAfterAFailure(t *testing.T) {
	bad := module(t, map[string]string{"main.go": "package main\n"})
	good := module(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	results, err := guestbuild.BuildAll(t.Context(), []guestbuild.Options{{Dir: bad, OutDir: t.TempDir()}, {Dir: good, OutDir: t.TempDir()}})
	var ce *guestbuild.CompileError
	if !errors.As(err, &ce) || ce.Dir != bad {
		t.Errorf("got %v", err)
	}
	if results[0].WasmPath != "" || results[1].SHA256 == "" || results[1].ManifestPath != "" || filepath.Base(results[1].WasmPath) != filepath.Base(good)+".wasm" {
		t.Errorf("got %+v", results)
	}
}
