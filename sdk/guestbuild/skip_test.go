package guestbuild_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
)

// skipped builds and tells whether nothing was compiled.
func skipped(t *testing.T, o guestbuild.Options) bool {
	t.Helper()
	r, err := guestbuild.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r.Skipped
}

// A guest with every kind of local source: its own package, an embedded file, a
// module replaced by a folder.
func TestAnyChangedSourceIsBuiltAnew(t *testing.T) {
	dir := module(t, map[string]string{
		"go.mod":            "module example.com/guest\n\ngo 1.26\n\nrequire example.com/near v0.0.0\n\nreplace example.com/near => ./near\n",
		"main.go":           "package main\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/guest/inner\"\n\t\"example.com/near\"\n)\n\n//go:embed text.txt\nvar text string\n\nfunc main() { println(text, inner.X, near.X) }\n",
		"text.txt":          "one",
		"inner/inner.go":    "package inner\n\nconst X = 1\n",
		"near/go.mod":       "module example.com/near\n\ngo 1.26\n",
		"near/near.go":      "package near\n\nconst X = 1\n",
		"unused/unused.go":  "package unused\n",
		"main_linux.go":     "package main\n",
		"main_test.go":      "package main\n",
		"inner/inner.proto": "not a source",
	})
	o := guestbuild.Options{Dir: dir, OutDir: t.TempDir()}
	if skipped(t, o) || !skipped(t, o) {
		t.Fatal("the first build compiles and the second does not")
	}
	for name, content := range map[string]string{
		"main.go":        "package main\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/guest/inner\"\n\t\"example.com/near\"\n)\n\n//go:embed text.txt\nvar text string\n\nfunc main() { println(text, near.X, inner.X) }\n",
		"text.txt":       "two",
		"inner/inner.go": "package inner\n\nconst X = 2\n",
		"near/near.go":   "package near\n\nconst X = 2\n",
		"extra.go":       "package main\n",
		"go.mod":         "module example.com/guest\n\ngo 1.26.0\n\nrequire example.com/near v0.0.0\n\nreplace example.com/near => ./near\n",
	} {
		write(t, dir, name, content)
		if skipped(t, o) {
			t.Errorf("%s changed and nothing was compiled", name)
		}
	}
	for _, name := range []string{"unused/unused.go", "main_linux.go", "main_test.go", "inner/inner.proto"} {
		write(t, dir, name, "package changed\n")
		if name == "main_linux.go" || name == "main_test.go" {
			write(t, dir, name, "package main\n\n// changed\n")
		}
		if !skipped(t, o) {
			t.Errorf("%s is not in the binary and was compiled for", name)
		}
	}
}

// What a checkout knows of itself, its commit and whether a file is changed, is no source: the same sources are the same
// bytes in a folder that no one tracks, in a fresh commit and in a later one.
func TestTheCommitIsNoSource(t *testing.T) {
	dir := module(t, map[string]string{
		"go.mod": "module example.com/guest\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() { println(1) }\n", "notes.txt": "one",
	})
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	digest := func() string {
		r, err := guestbuild.Build(t.Context(), guestbuild.Options{Dir: dir, OutDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return r.SHA256
	}
	want := digest()
	for _, state := range []struct {
		name string
		make func()
	}{
		{"a commit", func() { git("init", "-q"); git("add", "."); git("commit", "-qm", "one") }},
		{"a changed file", func() { write(t, dir, "notes.txt", "two") }},
		{"another commit", func() { git("add", "."); git("commit", "-qm", "two") }},
	} {
		state.make()
		if got := digest(); got != want {
			t.Errorf("with %s the same sources became other bytes", state.name)
		}
	}
}

func TestTouchedOutputIsBuiltAnew(t *testing.T) {
	// A guest without the sdk links in no time, and this builds many.
	dir := module(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n\n//go:wasmexport portcullis_invoke\nfunc invoke() int32 { return 1 }\n"})
	o := guestbuild.Options{Dir: dir, OutDir: t.TempDir(), Describe: described(description(t, ""))}
	if skipped(t, o) || !skipped(t, o) {
		t.Fatal("the first build compiles and the second does not")
	}
	for name, content := range map[string]string{
		"sample.wasm": "\x00asm\x01\x00\x00\x00",
		"plugin.json": "{}",
		".build.json": `{"source":"x"}`,
	} {
		write(t, o.OutDir, name, content)
		if skipped(t, o) {
			t.Errorf("%s was changed by hand and kept", name)
		}
	}
	for _, name := range []string{"sample.wasm", "plugin.json", ".build.json"} {
		if err := os.Remove(filepath.Join(o.OutDir, name)); err != nil {
			t.Fatal(err)
		}
		if skipped(t, o) {
			t.Errorf("%s was removed and not made again", name)
		}
	}
	if left, err := os.ReadDir(o.OutDir); err != nil || len(left) != 3 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	o.Describe = nil
	if skipped(t, o) {
		t.Error("an output with a manifest passed for one without")
	}
}

func TestVendoredSourcesAreUsedAndWatched(t *testing.T) {
	dir := module(t, map[string]string{
		"go.mod":                        "module example.com/guest\n\ngo 1.26\n\nrequire example.com/far v1.0.0\n",
		"main.go":                       "package main\n\nimport \"example.com/far\"\n\nfunc main() { println(far.X) }\n",
		"vendor/modules.txt":            "# example.com/far v1.0.0\n## explicit; go 1.26\nexample.com/far\n",
		"vendor/example.com/far/far.go": "package far\n\nconst X = 1\n",
	})
	o := guestbuild.Options{Dir: dir, OutDir: t.TempDir()}
	if skipped(t, o) || !skipped(t, o) {
		t.Fatal("the first build compiles and the second does not")
	}
	write(t, dir, "vendor/example.com/far/far.go", "package far\n\nconst X = 2\n")
	if skipped(t, o) {
		t.Error("a vendored file changed and nothing was compiled")
	}
}
