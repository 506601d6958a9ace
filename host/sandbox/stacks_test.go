package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
)

// A build takes tables out of what the linker wrote. Whatever a guest prints as it breaks off, and what it sees of its own
// stack, is the same to the byte; where a fault of the runtime itself
// shows the runtime's own functions, these have no lines.
func TestABuildTakesNothingOutOfAStack(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, "linked.wasm"), "./testdata/stacks")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	built, err := guestbuild.Build(t.Context(), guestbuild.Options{Dir: "testdata/stacks", OutDir: filepath.Join(dir, "out"), Shorten: wasmbin.Shorten})
	if err != nil {
		t.Fatal(err)
	}
	linked := stacksOf(t, filepath.Join(dir, "linked.wasm"))
	trimmed := stacksOf(t, built.WasmPath)
	for name, want := range linked {
		got := trimmed[name]
		if !strings.Contains(want, "main.") {
			t.Errorf("%s shows no stack: %s", name, want)
		}
		if name == "overflow" {
			if !strings.Contains(want, "runtime/proc.go:") || strings.Contains(got, "runtime/proc.go:") {
				t.Errorf("the lines of the runtime are in both or in neither: %.500s", got)
			}
			want, got = withoutLines(want), withoutLines(got)
		}
		if got != want {
			t.Errorf("%s\n--- as it was linked\n%s\n--- as it is built\n%s", name, want, got)
		}
	}
}

// What a fault of the runtime itself shows of the runtime's own functions: inlined calls, and lines.
var (
	inlinedInRuntime = regexp.MustCompile(`(?m)^(?:internal/)?runtime[^\n]*\(\.\.\.\)\n\t.*\n`)
	linesOfRuntime   = regexp.MustCompile(`(?m)^((?:created by )?runtime\..*\n\t)\S+`)
)

func withoutLines(stack string) string {
	return linesOfRuntime.ReplaceAllString(inlinedInRuntime.ReplaceAllString(stack, ""), "$1?:0")
}

// stacksOf is what each export of the guest prints, in an instance of its own.
func stacksOf(t *testing.T, path string) map[string]string {
	t.Helper()
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rt := wazero.NewRuntime(t.Context())
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	wasi_snapshot_preview1.MustInstantiate(t.Context(), rt)
	code, err := rt.CompileModule(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	stacks := map[string]string{}
	for name := range code.ExportedFunctions() {
		if name == "_initialize" {
			continue
		}
		var stderr bytes.Buffer
		mod, err := rt.InstantiateModule(t.Context(), code, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").WithStderr(&stderr))
		if err != nil {
			t.Fatal(err)
		}
		_, err = mod.ExportedFunction(name).Call(t.Context())
		if (err == nil) != (name == "told") {
			t.Errorf("%s ended with %v", name, err)
		}
		stacks[name] = stderr.String()
	}
	if len(stacks) < 15 {
		t.Errorf("%d exports broke off", len(stacks))
	}
	return stacks
}
