package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/conformance"
	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	conformancetest.BeCompiler()
	goleak.VerifyTestMain(m)
}

// cacheDir is the repository's cache of compiled code, shared by all tests.
const cacheDir = "../.build/wazero"

// sdkWasm is the folder of the modules that extism/go-sdk tests itself with.
func sdkWasm(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	if err != nil {
		t.Fatalf("find extism/go-sdk: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "wasm")
}

// foreign says of each module in go-sdk's own folder what our engine does with
// it: answer as go-sdk does, or refuse it with a sentence.
var foreign = []struct {
	file, export, input string
	settings            map[string]string
	refused             sandbox.LoadCode
	sentence            string
	alone               bool // answers with nothing on go-sdk, which is not run again each time
}{
	{file: "alloc", export: "run_test", alone: true}, // 1.3 million allocations: 15 s and 7 GB of garbage on go-sdk
	{file: "config", export: "run_test", settings: map[string]string{"thing": "hello"}},
	{file: "fail", export: "run_test"},
	{file: "fs", export: "run_test"},
	{file: "fs_std", export: "run_test"},
	{file: "hello", export: "run_test"},
	{file: "input_offset", export: "input_offset_length", input: "hello world"},
	{file: "log", export: "run_test"},
	{file: "noop", export: "run_test"},
	{file: "println", export: "run_test", input: "John Doe"},
	{file: "read_write", export: "try_read"},
	{file: "read_write", export: "try_write", input: "hello"},
	{file: "replace", export: "run_test", input: "hello world"},
	{file: "sleep", export: "run_test", settings: map[string]string{"duration": "0"}},

	{
		file: "count_vowels", export: "count_vowels", refused: sandbox.CodeWithheld,
		sentence: "plugin count_vowels imports extism:host/env.var_get, which no guest gets: use extism:host/user.portcullis_kv_get and ask for kv",
	},
	{
		file: "count_vowels_std", export: "_start", refused: sandbox.CodeWithheld,
		sentence: "plugin count_vowels_std imports extism:host/env.var_get, which no guest gets: use extism:host/user.portcullis_kv_get and ask for kv",
	},
	{
		file: "exit", export: "_start", refused: sandbox.CodeForeign,
		sentence: "plugin exit is a WASI command (it exports _start for entry points): build it as a reactor, in Go with -buildmode=c-shared",
	},
	{
		file: "hello_haskell", export: "testing", refused: sandbox.CodeExport,
		sentence: "plugin hello_haskell exports testing with the wrong type: it must take nothing and return one i32",
	},
	{
		file: "host", export: "run_test", refused: sandbox.CodeImport,
		sentence: "plugin host imports extism:host/user.mult, a host function of another application: this host serves portcullis/v1 only",
	},
	{
		file: "host_memory", export: "run_test", refused: sandbox.CodeImport,
		sentence: "plugin host_memory imports host.to_upper, which this host does not serve: it serves extism:host/env, extism:host/user and wasi_snapshot_preview1",
	},
	{
		file: "host_multiple", export: "say_green", refused: sandbox.CodeImport,
		sentence: "plugin host_multiple imports extism:host/user.hostGreenMessage, a host function of another application: this host serves portcullis/v1 only",
	},
	{
		file: "http", export: "run_test", refused: sandbox.CodeWithheld,
		sentence: "plugin http imports extism:host/env.http_request, which no guest gets: use extism:host/user.portcullis_http and ask for net.fetch",
	},
	{
		file: "http_headers", export: "http_get", refused: sandbox.CodeWithheld,
		sentence: "plugin http_headers imports extism:host/env.http_request, which no guest gets: use extism:host/user.portcullis_http and ask for net.fetch",
	},
	{
		file: "lib", export: "capitalize", refused: sandbox.CodeExport,
		sentence: "plugin lib exports capitalize with the wrong type: it must take nothing and return one i32",
	},
	{
		file: "main", export: "run_test", refused: sandbox.CodeImport,
		sentence: "plugin main imports lib.capitalize, which this host does not serve: it serves extism:host/env, extism:host/user and wasi_snapshot_preview1",
	},
	{
		file: "nested.c.instr", export: "_start", refused: sandbox.CodeImport,
		sentence: "plugin nested.c.instr imports dylibso_observe.instrument_enter, which this host does not serve: it serves extism:host/env, extism:host/user and wasi_snapshot_preview1",
	},
	{
		file: "std_command", export: "_start", refused: sandbox.CodeForeign,
		sentence: "plugin std_command is a WASI command (it exports _start for entry points): build it as a reactor, in Go with -buildmode=c-shared",
	},
	{
		file: "var", export: "run_test", refused: sandbox.CodeWithheld,
		sentence: "plugin var imports extism:host/env.var_get, which no guest gets: use extism:host/user.portcullis_kv_get and ask for kv",
	},
}

// Plugins of other people's, made with four PDKs, answer alike on both engines.
func TestConformForeignPluginsAnswerAlikeOrAreRefused(t *testing.T) {
	dir := sdkWasm(t)
	e, err := sandbox.Open(t.Context(), sandbox.Config{CacheDir: cacheDir, Compiler: conformancetest.Compiler(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	seen := map[string]bool{}
	for _, c := range foreign {
		seen[c.file+".wasm"] = true
		t.Run(c.file+" "+c.export, func(t *testing.T) {
			wasm, err := os.ReadFile(filepath.Join(dir, c.file+".wasm"))
			if err != nil {
				t.Fatal(err)
			}
			p, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: c.file, Wasm: wasm, Exports: []string{c.export}, Settings: c.settings})
			if c.refused != "" {
				var le *sandbox.LoadError
				if !errors.As(err, &le) || le.Code != c.refused || le.Sentence != c.sentence {
					t.Fatalf("loaded, or refused otherwise: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close(context.Background())
			ours := answer(t, conformance.OnSandbox(p), c.export, c.input)
			if c.alone {
				if ours.Output != nil || ours.Error != "" || ours.Broken != "" {
					t.Errorf("answered %+v, and with nothing on go-sdk", ours)
				}
				return
			}
			x, err := conformance.OpenExtism(t.Context(), conformance.ExtismOptions{Wasm: wasm, Settings: c.settings, CacheDir: cacheDir})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close(context.Background())
			theirs := answer(t, x, c.export, c.input)
			if !bytes.Equal(ours.Output, theirs.Output) || ours.Error != theirs.Error || (ours.Broken == "") != (theirs.Broken == "") {
				t.Errorf("ours   %+v %q\ntheirs %+v %q", ours, ours.Output, theirs, theirs.Output)
			}
			t.Logf("output %q, error %q, broken %q", ours.Output, ours.Error, ours.Broken)
		})
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no modules in %s: %v", dir, err)
	}
	for _, f := range files {
		if !seen[filepath.Base(f)] {
			t.Errorf("%s is in go-sdk and not in this table", filepath.Base(f))
		}
	}
}

func answer(t *testing.T, on conformance.Engine, export, input string) conformance.Answer {
	t.Helper()
	a, err := on.Call(t.Context(), export, []byte(input), sandbox.CallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
