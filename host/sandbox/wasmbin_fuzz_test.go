package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// fuzzLimits keep one module small enough to run four times.
func fuzzLimits() wasmbin.Limits {
	l := wasmbin.DefaultLimits()
	l.ModuleBytes, l.MemoryPages, l.TableEntries, l.TableGrow = 16<<10, 4, 1000, true
	l.Locals, l.Functions, l.Nesting = 1000, 200, 200
	return l
}

// FuzzMeter compares a module with its metered self, compiled and interpreted:
// the engine accepts both or neither, and every export answers the same or
// fails alike, as long as it ends within its fuel.
func FuzzMeter(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(specDir(f), "v2", "testdata", "*.wasm"))
	if err != nil {
		f.Fatal(err)
	}
	own, err := filepath.Glob("testdata/*.wasm")
	if err != nil {
		f.Fatal(err)
	}
	for i, name := range append(own, files...) {
		wasm, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if i < len(own) || len(wasm) < 2<<10 && i%20 == 0 {
			f.Add(wasm)
		}
	}
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x00\n\x04name00000"))                                                                                                                           // a cut name section
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x01\x05\x01`\x00\x01|\x03\x02\x01\x00\a\x05\x01\x01f\x00\x00\n\r\x01\v\x00D\x02\x00\x00\x00\x00\x00p\x1a\v\x00\n\x04name\x00\x03\x01\x00\x00")) // a module name with a byte after it
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := wasmbin.Read(wasm, fuzzLimits())
		if err != nil || len(m.Imports) > 0 {
			return
		}
		m.PinTables()
		metered, _, err := wasmbin.Meter(m, meterOptions)
		if err != nil {
			return
		}
		for name, rc := range map[string]wazero.RuntimeConfig{"compiled": wazero.NewRuntimeConfigCompiler(), "interpreted": wazero.NewRuntimeConfigInterpreter()} {
			rc = rc.WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(8)
			if fault := differ(t, rc, m, metered.Encode()); fault != "" {
				t.Fatalf("%s: %s", name, fault)
			}
		}
	})
}

// differ runs both and says how they differ.
func differ(t *testing.T, rc wazero.RuntimeConfig, m *wasmbin.Module, metered []byte) string {
	rt := wazero.NewRuntimeWithConfig(t.Context(), rc)
	defer func() { _ = rt.Close(context.Background()) }()
	bare := *m
	bare.Customs = nil // metering drops a name section that does not read, where the engine refuses the module
	code, err := rt.CompileModule(t.Context(), bare.Encode())
	f, meteredErr := fuel(t, rc, metered, 20_000, 1000)
	if err != nil {
		if meteredErr == nil {
			return fmt.Sprintf("only the metered module is valid: %v", err)
		}
		return ""
	}
	if errors.Is(meteredErr, errSpent) {
		return "" // its start function is busy
	}
	plain, err := rt.InstantiateModule(t.Context(), code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if unlike(err, meteredErr) {
		return fmt.Sprintf("instantiating: %v; metered: %v", err, meteredErr)
	}
	if err != nil {
		return ""
	}
	for _, e := range m.Exports {
		if e.Kind != wasmbin.KindFunc {
			continue
		}
		args := make([]uint64, 0, 8)
		for _, p := range f.mod.ExportedFunctionDefinitions()[e.Name].ParamTypes() {
			if args = append(args, 0); p == wasmbin.V128 {
				args = append(args, 0)
			}
		}
		got, meteredErr := f.mod.ExportedFunction(e.Name).Call(t.Context(), args...)
		if errors.Is(meteredErr, errSpent) || overflowed(meteredErr) {
			return ""
		}
		want, err := plain.ExportedFunction(e.Name).Call(t.Context(), args...)
		if overflowed(err) {
			return ""
		}
		if unlike(err, meteredErr) || err == nil && !slices.Equal(clean(plain, e.Name, want), clean(f.mod, e.Name, got)) {
			return fmt.Sprintf("%s: %v %v; metered: %v %v", e.Name, want, err, got, meteredErr)
		}
	}
	return ""
}

func overflowed(err error) bool { return err != nil && strings.Contains(err.Error(), "stack overflow") }

// unlike compares failures by the cause in their first line: before it stand
// function indexes, after it a trace.
func unlike(a, b error) bool {
	if a == nil || b == nil {
		return (a == nil) != (b == nil)
	}
	cause := func(err error) string {
		line, _, _ := strings.Cut(err.Error(), "\n")
		if _, after, ok := strings.Cut(line, "failed: "); ok {
			return after
		}
		return line
	}
	return cause(a) != cause(b)
}

// clean removes what is not part of the values: the upper half of 32-bit ones,
// and addresses.
func clean(mod api.Module, export string, values []uint64) []uint64 {
	out := slices.Clone(values)
	at := 0
	for _, typ := range mod.ExportedFunctionDefinitions()[export].ResultTypes() {
		switch typ {
		case api.ValueTypeI32, api.ValueTypeF32:
			out[at] &= 1<<32 - 1
		case wasmbin.V128:
			at++
		case wasmbin.FuncRef, wasmbin.ExnRef:
			out[at] = min(out[at], 1)
		}
		at++
	}
	return out
}
