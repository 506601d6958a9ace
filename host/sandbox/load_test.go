package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

const header = "\x00asm\x01\x00\x00\x00"

// name is a length and its bytes, for names under 128 bytes.
func name(s string) []byte { return append([]byte{byte(len(s))}, s...) }

func section(id byte, body []byte) []byte {
	if len(body) > 1<<14 {
		panic("section too long for this helper")
	}
	size := []byte{byte(len(body)&0x7f | 0x80), byte(len(body) >> 7)}
	return slices.Concat([]byte{id}, size, body)
}

// importing is a module with one imported function of the type (i64) -> i64 and
// an entry point "run" of the right type.
func importing(mod, fn string) []byte {
	return slices.Concat([]byte(header),
		section(1, []byte{2, 0x60, 1, 0x7e, 1, 0x7e, 0x60, 0, 1, 0x7f}),
		section(2, slices.Concat([]byte{1}, name(mod), name(fn), []byte{0, 0})),
		section(3, []byte{1, 1}),
		section(7, slices.Concat([]byte{1}, name("run"), []byte{0, 1})),
		section(10, []byte{1, 4, 0, 0x41, 0, 0x0b}))
}

func TestForeignModulesAreNamed(t *testing.T) {
	e := open(t, sandbox.Config{})
	command := slices.Concat([]byte(header),
		section(1, []byte{1, 0x60, 0, 0}),
		section(3, []byte{1, 0}),
		section(7, slices.Concat([]byte{1}, name("_start"), []byte{0, 0})),
		section(10, []byte{1, 2, 0, 0x0b}))
	opa := slices.Concat([]byte(header),
		section(6, []byte{1, 0x7f, 0, 0x41, 0, 0x0b}),
		section(7, slices.Concat([]byte{1}, name("opa_eval_ctx_new"), []byte{3, 0})))
	for _, c := range []struct {
		name, wasm string
		code       sandbox.LoadCode
		sentence   string
	}{
		{"empty", "", sandbox.CodeNotWasm, "plugin web has an empty .wasm file: build it again"},
		{"cut off", "\x00as", sandbox.CodeNotWasm, "plugin web has a .wasm file that is cut off: build or download it again"},
		{"cut in the version", "\x00asm\x01\x00", sandbox.CodeNotWasm, "plugin web has a .wasm file that is cut off: build or download it again"},
		{"text", "(module)", sandbox.CodeNotWasm, "plugin web is WebAssembly text: turn it into a binary with wat2wasm"},
		{"an ELF file", "\x7fELF....", sandbox.CodeNotWasm, `plugin web is not a WebAssembly module: its file does not begin with \0asm`},
		{"component", "\x00asm\x0d\x00\x01\x00more", sandbox.CodeForeign, "plugin web is a WebAssembly component (WIT): this host runs core modules, so build it for target wasip1 without a component adapter"},
		{"version 2", "\x00asm\x02\x00\x00\x00more", sandbox.CodeForeign, "plugin web is a WebAssembly module of an unknown version: this host runs version 1"},
		{"old Extism ABI", string(importing("env", "extism_alloc")), sandbox.CodeForeign, "plugin web was built for the old Extism ABI (env.extism_alloc): rebuild it with a current PDK, which imports from extism:host/env"},
		{"OPA import", string(importing("env", "opa_builtin1")), sandbox.CodeForeign, "plugin web is an Open Policy Agent policy, not a plugin: this host does not run the OPA ABI"},
		{"OPA export", string(opa), sandbox.CodeForeign, "plugin web is an Open Policy Agent policy, not a plugin: this host does not run the OPA ABI"},
		{"inside of a component", string(importing("wasi:cli/stdout@0.2.0", "get-stdout")), sandbox.CodeForeign, "plugin web is the inside of a WebAssembly component (it imports wasi:cli/stdout@0.2.0): build it for target wasip1, without WIT bindings"},
		{"WASI snapshot 0", string(importing("wasi_unstable", "fd_write")), sandbox.CodeForeign, "plugin web was built for WASI snapshot 0 (wasi_unstable): rebuild it for target wasip1"},
		{"GOOS=js", string(importing("gojs", "runtime.wasmExit")), sandbox.CodeForeign, "plugin web was built with GOOS=js: build it with GOOS=wasip1 GOARCH=wasm"},
		{"wasm-bindgen", string(importing("wbg", "__wbg_log")), sandbox.CodeForeign, "plugin web was built for a browser (wasm-bindgen): build it for target wasip1"},
		{"WASI command", string(command), sandbox.CodeForeign, "plugin web is a WASI command (it exports _start for entry points): build it as a reactor, in Go with -buildmode=c-shared"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: "web", Wasm: []byte(c.wasm), Exports: []string{"run"}, Granted: everything})
			wantRefused(t, err, c.code, c.sentence)
		})
	}
}

func TestImportsAreRefusedByName(t *testing.T) {
	e := open(t, sandbox.Config{})
	memory := slices.Concat([]byte(header), section(2, slices.Concat([]byte{1}, name("env"), name("memory"), []byte{2, 0, 1})))
	for _, c := range []struct {
		wasm     []byte
		code     sandbox.LoadCode
		sentence string
	}{
		{importing("extism:host/env", "http_request"), sandbox.CodeWithheld, "plugin web imports extism:host/env.http_request, which no guest gets: use extism:host/user.portcullis_http and ask for net.fetch"},
		{importing("extism:host/env", "http_status_code"), sandbox.CodeWithheld, "plugin web imports extism:host/env.http_status_code, which no guest gets: use extism:host/user.portcullis_http and ask for net.fetch"},
		{importing("extism:host/env", "http_headers"), sandbox.CodeWithheld, "plugin web imports extism:host/env.http_headers, which no guest gets: use extism:host/user.portcullis_http and ask for net.fetch"},
		{importing("extism:host/env", "var_get"), sandbox.CodeWithheld, "plugin web imports extism:host/env.var_get, which no guest gets: use extism:host/user.portcullis_kv_get and ask for kv"},
		{importing("extism:host/env", "var_set"), sandbox.CodeWithheld, "plugin web imports extism:host/env.var_set, which no guest gets: use extism:host/user.portcullis_kv_set and ask for kv"},
		{importing("extism:host/env", "reset"), sandbox.CodeImport, "plugin web imports extism:host/env.reset, which this host does not serve: it serves extism:host/env, extism:host/user and wasi_snapshot_preview1"},
		{importing("extism:host/user", "portcullis_telepathy"), sandbox.CodeABI, "plugin web imports extism:host/user.portcullis_telepathy and so needs a host ABI newer than portcullis/v1: this host serves portcullis/v1; update the host or build the plugin with an older SDK"},
		{importing("extism:host/user", "to_upper"), sandbox.CodeImport, "plugin web imports extism:host/user.to_upper, a host function of another application: this host serves portcullis/v1 only"},
		{importing("lib", "capitalize"), sandbox.CodeImport, "plugin web imports lib.capitalize, which this host does not serve: it serves extism:host/env, extism:host/user and wasi_snapshot_preview1"},
		{importing("wasi_snapshot_preview1", "fd_telepathy"), sandbox.CodeImport, "plugin web imports wasi_snapshot_preview1.fd_telepathy, which this host does not serve: it serves extism:host/env, extism:host/user and wasi_snapshot_preview1"},
		{importing("li\x1b[1m", "b"), sandbox.CodeImport, `plugin web imports li\x1b[1m.b, which this host does not serve: it serves extism:host/env, extism:host/user and wasi_snapshot_preview1`},
		{importing("extism:host/env", "input_length"), sandbox.CodeImport, "plugin web imports extism:host/env.input_length with the wrong type: build it with a current SDK"},
		{memory, sandbox.CodeImport, "plugin web imports env.memory, which is not a function: this host shares no memory, table or global"},
	} {
		_, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: "web", Wasm: c.wasm, Exports: []string{"run"}, Granted: everything})
		wantRefused(t, err, c.code, c.sentence)
	}
}

// Every import that needs a capability is refused without it, by the name of
// the import and with the command that grants it, and loads with it.
func TestUngrantedImportsAreRefused(t *testing.T) {
	e := open(t, sandbox.Config{})
	needs := 0
	for _, fn := range sandbox.AbilityNames() {
		imp, ok := wire.LookupImport(wire.ModuleHost, fn)
		if !ok {
			t.Fatalf("%s is served and not in the contract", fn)
		}
		wasm := importing(wire.ModuleHost, fn)
		grant := sandbox.AbilitiesFrom(func(need string) bool { return need == imp.Needs })
		if imp.Needs != "" {
			needs++
			word := imp.Needs
			switch word {
			case "net.fetch":
				word = "net.fetch:HOST"
			case "secret.bind":
				word = "secret.bind:NAME"
			}
			_, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: "web", Wasm: wasm, Exports: []string{"run"}, Granted: everything &^ grant})
			wantRefused(t, err, sandbox.CodeNotGranted, "plugin web asks for "+fn+", not granted: `portcullis plugin grant web "+word+"`")
		}
		loadWith(t, e, sandbox.Foreign{Name: "web", Wasm: wasm, Exports: []string{"run"}, Granted: grant})
	}
	if needs != 13 {
		t.Errorf("%d host functions need a capability, the contract has 13", needs)
	}
}

func TestEntryPointsAreChecked(t *testing.T) {
	e := open(t, sandbox.Config{})
	for _, c := range []struct{ export, sentence string }{
		{"portcullis_invoke", "plugin o does not export the function portcullis_invoke: build it again with `portcullis plugin build`"},
		{"memory", "plugin o does not export the function memory: build it again with `portcullis plugin build`"},
		{"wrong_params", "plugin o exports wrong_params with the wrong type: it must take nothing and return one i32"},
		{"wrong_results", "plugin o exports wrong_results with the wrong type: it must take nothing and return one i32"},
	} {
		_, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: "o", Wasm: fixture(t, "outcomes"), Exports: []string{c.export}})
		wantRefused(t, err, sandbox.CodeExport, c.sentence)
	}
	p := outcomes(t, e, "ok")
	for _, export := range []string{"trap", "_initialize", "nothing", ""} {
		want(t, p.Call(t.Context(), export, nil, sandbox.CallOptions{}), sandbox.Refused, "unknown_export")
	}
}

func TestStartingMemoryIsHeldToTheLimit(t *testing.T) {
	e := open(t, sandbox.Config{})
	limits := small()
	limits.Memory = 64 << 10
	_, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: "wasi", Wasm: fixture(t, "wasi"), Exports: []string{"clock"}, Limits: limits})
	wantRefused(t, err, sandbox.CodeMemory, "plugin wasi starts with 131072 bytes of memory, more than its limit of 65536: raise memory_bytes in its limits")
	tiny := open(t, sandbox.Config{MaxMemoryBytes: 64 << 10})
	_, err = tiny.LoadForeign(t.Context(), sandbox.Foreign{Name: "wasi", Wasm: fixture(t, "wasi"), Exports: []string{"clock"}})
	wantRefused(t, err, sandbox.CodeMemory, "plugin wasi starts with 131072 bytes of memory, more than its limit of 65536: raise memory_bytes in its limits")
}

// installed is a valid source around the abilities fixture.
func installed(t *testing.T) sandbox.Source {
	wasm := fixture(t, "abilities")
	m := &manifest.Manifest{
		ID: "web", ABI: wire.ABI,
		Wasm:    manifest.Wasm{File: "web.wasm", SHA256: digest(wasm), Size: int64(len(wasm))},
		Exports: []string{"portcullis_now", "_initialize"},
		Imports: []string{"extism:host/env.input_offset", "extism:host/env.length", "extism:host/env.output_set"},
	}
	for _, fn := range sandbox.AbilityNames() {
		m.Imports = append(m.Imports, "extism:host/user."+fn)
	}
	return sandbox.Source{Manifest: m, Wasm: wasm, Granted: everything}
}

func TestManifestMustFitTheBinary(t *testing.T) {
	e := open(t, sandbox.Config{})
	p, err := e.Load(t.Context(), installed(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	src := installed(t)
	src.Manifest.ABI = "portcullis/v9"
	_, err = e.Load(t.Context(), src)
	wantRefused(t, err, sandbox.CodeABI, "plugin web was built for host ABI portcullis/v9: this host serves portcullis/v1; build it again with a matching SDK")

	src = installed(t)
	src.Wasm = slices.Clone(src.Wasm)
	src.Wasm[len(src.Wasm)-1] ^= 1
	_, err = e.Load(t.Context(), src)
	var le *sandbox.LoadError
	if !errors.As(err, &le) || le.Code != sandbox.CodeDigest || !strings.HasPrefix(le.Sentence, "plugin web has a web.wasm that is not the one its plugin.json pins (sha256 ") {
		t.Errorf("changed bytes: %v", err)
	}

	src = installed(t)
	src.Manifest.Imports = slices.DeleteFunc(src.Manifest.Imports, func(s string) bool { return strings.HasSuffix(s, "portcullis_http") })
	_, err = e.Load(t.Context(), src)
	wantRefused(t, err, sandbox.CodeUndeclared, "plugin web imports extism:host/user.portcullis_http, which its plugin.json does not say: build it again with `portcullis plugin build`")

	src = installed(t)
	src.Manifest.Imports = nil
	_, err = e.Load(t.Context(), src)
	wantRefused(t, err, sandbox.CodeUndeclared, "plugin web imports extism:host/env.input_offset, which its plugin.json does not say: build it again with `portcullis plugin build`")
}

func TestBinaryIsReadFromItsFile(t *testing.T) {
	e := open(t, sandbox.Config{})
	dir := t.TempDir()
	src := installed(t)
	src.Path = filepath.Join(dir, "web.wasm")
	if err := os.WriteFile(src.Path, src.Wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	src.Wasm = nil
	p, err := e.Load(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	src.Path = dir
	if _, err := e.Load(t.Context(), src); err == nil {
		t.Error("a folder was loaded as a binary")
	}
}

func TestSettingsAreTheManifestsOwn(t *testing.T) {
	e := open(t, sandbox.Config{})
	wasm := fixture(t, "outcomes")
	src := sandbox.Source{Wasm: wasm, Settings: map[string]string{"base_url": "https://a.example", "secret": "x"}, Manifest: &manifest.Manifest{
		ID: "o", ABI: wire.ABI, Wasm: manifest.Wasm{SHA256: digest(wasm), Size: int64(len(wasm))}, Exports: []string{"setting"},
		Settings: []wire.Setting{{Name: "base_url"}, {Name: "region", Default: "eu"}},
	}}
	for _, imp := range []string{"proc_exit", "fd_write"} {
		src.Manifest.Imports = append(src.Manifest.Imports, wire.ModuleWASI+"."+imp)
	}
	for _, imp := range []string{"alloc", "free", "length", "load_u8", "load_u64", "store_u8", "store_u64", "input_load_u8", "input_offset", "input_length", "output_set", "error_set", "error_get", "config_get", "log_info"} {
		src.Manifest.Imports = append(src.Manifest.Imports, wire.ModuleKernel+"."+imp)
	}
	src.Manifest.Imports = append(src.Manifest.Imports, wire.ModuleHost+".portcullis_load", wire.ModuleHost+".portcullis_store")
	p, err := e.Load(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	for name, want := range map[string]string{"base_url": "https://a.example", "region": "eu", "secret": "", "other": ""} {
		if out := p.Call(t.Context(), "setting", []byte(name), sandbox.CallOptions{}); string(out.Output) != want {
			t.Errorf("setting %s is %q, want %q", name, out.Output, want)
		}
	}
}

func TestDescribeGrantsNothing(t *testing.T) {
	e := open(t, sandbox.Config{})
	got, err := e.Describe(t.Context(), fixture(t, "describe"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), `"code":"denied"`) {
		t.Errorf("the ability answered %q", got)
	}
	var le *sandbox.LoadError
	if _, err := e.Describe(t.Context(), fixture(t, "echo")); !errors.As(err, &le) || le.Code != sandbox.CodeExport {
		t.Errorf("a module without the export: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var de *sandbox.DescribeError
	if _, err := e.Describe(ctx, fixture(t, "describe")); !errors.As(err, &de) && !errors.As(err, &le) {
		t.Errorf("a cancelled describe: %v", err)
	}
}
