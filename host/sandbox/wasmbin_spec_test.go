package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// specSuites are the suites that come with the engine's source, and what of
// WebAssembly each needs.
var specSuites = []struct {
	dir      string
	engine   wazero.RuntimeConfig
	core     api.CoreFeatures
	features wasmbin.Features
	// until is the line of a file from which on it is about typed function
	// references and recursive types, which this host does not run.
	until map[string]int
}{
	{"v1", wazero.NewRuntimeConfigInterpreter(), api.CoreFeaturesV1, wasmbin.Core1, nil},
	{"v2", wazero.NewRuntimeConfigCompiler(), api.CoreFeaturesV2, wasmbin.Core2, nil},
	{"tail-call", wazero.NewRuntimeConfigCompiler(), api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall, wasmbin.Core2 | wasmbin.TailCall, nil},
	{"threads", wazero.NewRuntimeConfigCompiler(), api.CoreFeaturesV2 | experimental.CoreFeaturesThreads, wasmbin.Core2 | wasmbin.Threads, nil},
	{
		"exception-handling", wazero.NewRuntimeConfigCompiler(), api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExceptionHandling,
		wasmbin.Core2 | wasmbin.TailCall | wasmbin.Exceptions,
		map[string]int{"tag.json": 30, "try_table.json": 420},
	},
	{"extended-const", wazero.NewRuntimeConfigCompiler(), api.CoreFeaturesV2 | experimental.CoreFeaturesExtendedConst, wasmbin.Core2 | wasmbin.ExtendedConst, nil},
}

// specDir is where the engine keeps the specification's tests.
func specDir(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
}

// specLimits are wide enough for the specification's tests.
func specLimits(f wasmbin.Features) wasmbin.Limits {
	l := wasmbin.DefaultLimits()
	l.Features = f
	l.TableGrow, l.TableEntries, l.Tables, l.Tags = true, 1<<40, 1000, 1000
	l.Values, l.BlockValues, l.BranchTable = 1000, 1_000_000, 100_000
	return l
}

type specFile struct {
	Commands []specCommand
}

type specCommand struct {
	Type       string
	Line       int
	Name       string
	Filename   string
	As         string
	ModuleType string `json:"module_type"`
	Action     struct {
		Type, Field, Module string
		Args                []specValue
	}
	Expected []specValue
}

type specValue struct {
	Type  string
	Lane  string `json:"lane_type"`
	Value any
}

// specRun is one engine going through one file.
type specRun struct {
	rt      wazero.Runtime
	dir     string
	prepare func([]byte) ([]byte, error)
	modules map[string]api.Module
	last    api.Module
}

// TestMeteringKeepsTheSpecification runs the specification's own tests on plain
// and on metered modules and compares every answer, to the bit, and every
// failure, to the word.
func TestMeteringKeepsTheSpecification(t *testing.T) {
	keepsTheSpecification(t, func(m *wasmbin.Module) (*wasmbin.Module, error) {
		out, report, err := wasmbin.Meter(m, meterOptions)
		if err != nil {
			return nil, err
		}
		out.Exports = append(out.Exports, wasmbin.Export{Name: stackExport, Kind: wasmbin.KindGlobal, Index: report.StackGlobal})
		return out, nil
	}, false)
}

// TestShorteningKeepsTheSpecification does the same with shorter modules. What is
// wrong with an invalid one may be in what is left out.
func TestShorteningKeepsTheSpecification(t *testing.T) {
	keepsTheSpecification(t, func(m *wasmbin.Module) (*wasmbin.Module, error) { return m.Shorten(0), nil }, true)
}

// keepsTheSpecification compares the specification's modules with what change makes of them.
func keepsTheSpecification(t *testing.T, change func(*wasmbin.Module) (*wasmbin.Module, error), valid bool) {
	root := specDir(t)
	for _, suite := range specSuites {
		t.Run(suite.dir, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(root, suite.dir, "testdata", "*.json"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no tests in %s: %v", root, err)
			}
			counts := map[string]int{}
			for _, file := range files {
				compareSpec(t, file, suite.engine.WithCoreFeatures(suite.core), suite.features, suite.until[filepath.Base(file)], counts, change, valid)
			}
			t.Logf("%s: %d files, %v", suite.dir, len(files), counts)
			if counts["assert_return"] == 0 {
				t.Error("nothing was compared")
			}
		})
	}
}

func compareSpec(t *testing.T, file string, rc wazero.RuntimeConfig, features wasmbin.Features, until int, counts map[string]int, change func(*wasmbin.Module) (*wasmbin.Module, error), valid bool) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var spec specFile
	if err := json.Unmarshal(raw, &spec); err != nil {
		t.Fatal(err)
	}
	plain := newSpecRun(t, file, rc, func(wasm []byte) ([]byte, error) { return wasm, nil })
	changed := newSpecRun(t, file, rc, func(wasm []byte) ([]byte, error) {
		m, err := wasmbin.Read(wasm, specLimits(features))
		if err != nil {
			return nil, err
		}
		if m, err = change(m); err != nil {
			return nil, err
		}
		return m.Encode(), nil
	})
	for i, c := range spec.Commands {
		if until > 0 && c.Line >= until {
			return
		}
		if valid && c.Type == "assert_invalid" {
			continue
		}
		counts[c.Type]++
		if next := i + 1; c.Type == "module" && next < len(spec.Commands) && spec.Commands[next].Type == "register" {
			c.As = spec.Commands[next].As // the engine wants the name at once
		}
		want, got := plain.do(t, c), changed.do(t, c)
		if want != got {
			t.Errorf("%s:%d %s %s: plain %q, changed %q", filepath.Base(file), c.Line, c.Type, c.Action.Field, want, got)
		}
		if !c.passes(want) {
			t.Errorf("%s:%d %s %s: plain module answers %q", filepath.Base(file), c.Line, c.Type, c.Action.Field, want)
		}
	}
}

func newSpecRun(t *testing.T, file string, rc wazero.RuntimeConfig, prepare func([]byte) ([]byte, error)) *specRun {
	rt := wazero.NewRuntimeWithConfig(t.Context(), rc)
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	yieldInto(t, rt, func(int64) int64 { return 50 }) // often
	r := &specRun{rt: rt, dir: filepath.Dir(file), prepare: prepare, modules: map[string]api.Module{}}
	env, err := os.ReadFile(filepath.Join(r.dir, "..", "..", "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Instantiate(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	return r
}

// do runs one command and says what came of it.
func (r *specRun) do(t *testing.T, c specCommand) string {
	switch c.Type {
	case "module", "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_uninstantiable":
		if c.ModuleType == "text" {
			return "text"
		}
		mod, err := r.load(t, c.Filename, c.As)
		if c.Type == "module" {
			r.last = mod
			if c.Name != "" {
				r.modules[c.Name] = mod
			}
		}
		if err != nil {
			return "refused"
		}
		return "loaded"
	case "register":
		return "registered"
	}
	mod := r.last
	if c.Action.Module != "" {
		mod = r.modules[c.Action.Module]
	}
	if mod == nil {
		return "no module"
	}
	if c.Action.Type == "get" {
		return fmt.Sprint([]uint64{mod.ExportedGlobal(c.Action.Field).Get()})
	}
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.words()...)
	}
	stack := mod.ExportedGlobal(stackExport) // nil in a plain module
	before := uint64(0)
	if stack != nil {
		before = stack.Get()
	}
	res, err := mod.ExportedFunction(c.Action.Field).Call(t.Context(), args...)
	if stack != nil && err == nil && stack.Get() != before {
		return fmt.Sprintf("%d bytes of stack not given back", before-stack.Get())
	}
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return line
	}
	return fmt.Sprint(clean(mod, c.Action.Field, res))
}

func (r *specRun) load(t *testing.T, name, as string) (api.Module, error) {
	wasm, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if wasm, err = r.prepare(wasm); err != nil {
		return nil, err
	}
	return r.rt.InstantiateWithConfig(t.Context(), wasm, wazero.NewModuleConfig().WithName(as).WithStartFunctions())
}

// passes says whether an answer is what the specification wants. Values that it
// leaves open are taken as they come.
func (c *specCommand) passes(answer string) bool {
	switch c.Type {
	case "module":
		return answer == "loaded"
	case "assert_invalid", "assert_malformed", "assert_unlinkable":
		return answer == "refused" || answer == "text"
	case "assert_trap", "assert_exhaustion", "assert_exception":
		return !strings.HasPrefix(answer, "[")
	case "assert_return":
		var want []uint64
		for _, e := range c.Expected {
			if e.open() {
				return strings.HasPrefix(answer, "[")
			}
			want = append(want, e.words()...)
		}
		return answer == fmt.Sprint(want)
	}
	return true
}

// open says that more than one value is right.
func (v *specValue) open() bool {
	return v.Type != "i32" && v.Type != "i64" && strings.Contains(fmt.Sprint(v.Value), "nan") || v.Type == "funcref" || v.Value == nil
}

// words are the value as the engine passes it.
func (v *specValue) words() []uint64 {
	one := func(text string, bits int) uint64 {
		if strings.HasPrefix(text, "nan") || text == "null" {
			return 0
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n < 0 {
			return uint64(n) << (64 - bits) >> (64 - bits)
		}
		n, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			panic(err)
		}
		return n
	}
	if lanes, ok := v.Value.([]any); ok {
		width := map[string]int{"i8": 8, "i16": 16, "i32": 32, "f32": 32, "i64": 64, "f64": 64}[v.Lane]
		words := make([]uint64, 2)
		for i, lane := range lanes {
			words[i*width/64] |= one(lane.(string), width) << (i * width % 64)
		}
		return words
	}
	text, ok := v.Value.(string)
	if !ok {
		return []uint64{0}
	}
	switch v.Type {
	case "i32", "f32":
		return []uint64{one(text, 32)}
	case "externref":
		if text != "null" {
			return []uint64{one(text, 64) + 1} // 0 is the engine's null
		}
	}
	return []uint64{one(text, 64)}
}
