package scaffold

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func spec(dir string) Spec {
	return Spec{Dir: dir, ID: "say-hello", Version: "v0.1.0", Go: "1.26"}
}

// TestAWrittenPluginVetsTestsAndBuildsOffline runs the ordinary Go tools on it, far from this repository, without a
// module proxy and with an empty module cache.
func TestAWrittenPluginVetsTestsAndBuildsOffline(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "say-hello")
	if err := Write(spec(dir)); err != nil {
		t.Fatal(err)
	}
	modules := t.TempDir()
	for _, c := range []struct {
		env  []string
		args []string
	}{
		{nil, []string{"vet", "./..."}},
		{nil, []string{"test", "-count=1", "./..."}},
		{[]string{"GOOS=wasip1", "GOARCH=wasm"}, []string{"build", "-buildmode=c-shared", "-o", filepath.Join(t.TempDir(), "p.wasm"), "."}},
	} {
		cmd := exec.CommandContext(t.Context(), "go", c.args...)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local", "GOMODCACHE="+modules), c.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(c.args, " "), err, out)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt -l: %v\n%s", err, out)
	}
}

func TestTheReadmeHoldsTheCommands(t *testing.T) {
	dir := t.TempDir()
	content, err := render(spec(dir))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(content["README.md"])
	if strings.Contains(readme, dir) {
		t.Errorf("README names a folder of this machine:\n%s", readme)
	}
	if got := string(content[".gitignore"]); got != "/dist/\n" {
		t.Errorf(".gitignore holds %q, and plugin build writes to dist", got)
	}
	for _, want := range []string{"    go test ./...\n    portcullis plugin build\n    portcullis plugin install . --core assistant\n", "`sayhello.greet`", "# say-hello\n"} {
		if !strings.Contains(readme, want) {
			t.Errorf("README lacks %q:\n%s", want, readme)
		}
	}
	for name := range content {
		if strings.HasPrefix(name, "vendor/") && strings.HasSuffix(name, "_test.go") {
			t.Errorf("a test of ours was copied: %s", name)
		}
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	base := t.TempDir()
	full, file := filepath.Join(base, "full"), filepath.Join(base, "file")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{full, file} {
		var taken *TakenError
		if err := Write(spec(dir)); !errors.As(err, &taken) {
			t.Errorf("Write to %s: %v, want a TakenError", dir, err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "mine" {
		t.Errorf("the file now holds %q, %v", got, err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) != 2 {
		t.Errorf("something was left behind: %v, %v", left, err)
	}
	empty := filepath.Join(base, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(spec(empty)); err != nil {
		t.Errorf("Write to an empty folder: %v", err)
	}
}

func TestANameThatNoPluginHasIsRefused(t *testing.T) {
	for _, name := range []string{"", "Hello", "../x", "a b", "-a", strings.Repeat("a", 41)} {
		s := spec(filepath.Join(t.TempDir(), "p"))
		s.ID = name
		var bad *NameError
		if err := Write(s); !errors.As(err, &bad) {
			t.Errorf("Write with id %q: %v, want a NameError", name, err)
		}
	}
}

// A plugin in each other language is whole: its source, what knows the border, and a script that makes plugin.wasm of
// them; nothing in it is still called what the example is called.
func TestPluginsInOtherLanguagesAreWhole(t *testing.T) {
	for language, source := range map[string]string{
		"c": "plugin.c", "cpp": "plugin.cc", "rust": "plugin.rs", "assemblyscript": "plugin.ts", "javascript": "plugin.js",
	} {
		t.Run(language, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "hello-it")
			if err := Write(Spec{Dir: dir, ID: "hello-it", Language: language}); err != nil {
				t.Fatal(err)
			}
			read := func(name string) string {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			text := read(source)
			for _, want := range []string{"hello-it", "helloit.greet"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s has no %s", source, want)
				}
			}
			if rest := strings.NewReplacer("hello-it", "", "helloit.greet", "").Replace(text); strings.Contains(rest, exampleID) {
				t.Errorf("%s speaks of %s still", source, exampleID)
			}
			if script := read("build.sh"); !strings.Contains(script, source) && language != "javascript" || !strings.Contains(script, "plugin.wasm") {
				t.Errorf("build.sh does not make plugin.wasm of %s", source)
			}
			if language == "c" || language == "cpp" || language == "javascript" {
				read("portcullis.h")
			}
			if readme := read("README.md"); !strings.Contains(readme, "sh ./build.sh\n    portcullis plugin pack ./plugin.wasm\n") {
				t.Errorf("the README does not say what to type:\n%s", readme)
			}
		})
	}
	if len(Languages()) != 6 {
		t.Errorf("%v: a language is not tested here", Languages())
	}
	var bad *LanguageError
	if err := Write(Spec{Dir: t.TempDir(), ID: "x", Language: "cobol"}); !errors.As(err, &bad) {
		t.Errorf("cobol: %v", err)
	}
}
