package sandbox_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// bulkModule has one export for each bulk instruction on memory; its operands
// are the parameters. The segment of init has two and a half MiB.
func bulkModule() *wasmbin.Module {
	seed := rand.NewChaCha8([32]byte{1})
	data := make([]byte, 5<<19)
	_, _ = seed.Read(data) // it never fails
	count := uint32(1)
	m := &wasmbin.Module{
		Types:     []wasmbin.FuncType{{Params: []byte{wasmbin.I32, wasmbin.I32, wasmbin.I32}}, {}},
		Memories:  []wasmbin.LimitsType{{Min: 96, Max: 96, HasMax: true}},
		DataCount: &count,
		Data:      []wasmbin.Data{{Mode: 1, Bytes: data}},
		Exports:   []wasmbin.Export{{Name: "memory", Kind: wasmbin.KindMemory}},
	}
	add := func(name string, typ uint32, code ...byte) {
		m.Exports = append(m.Exports, wasmbin.Export{Name: name, Kind: wasmbin.KindFunc, Index: uint32(len(m.Funcs))})
		m.Funcs = append(m.Funcs, typ)
		m.Bodies = append(m.Bodies, wasmbin.Body{Code: append(code, 0x0b)})
	}
	operands := []byte{0x20, 0, 0x20, 1, 0x20, 2}
	add("fill", 0, append(bytes.Clone(operands), 0xfc, 11, 0)...)
	add("copy", 0, append(bytes.Clone(operands), 0xfc, 10, 0, 0)...)
	add("init", 0, append(bytes.Clone(operands), 0xfc, 8, 0, 0)...)
	add("drop", 1, 0xfc, 9, 0)
	return m
}

// Long bulk instructions do in chunks what they would do at once: to the same
// bytes, where they overlap too, and with nothing written where they trap.
func TestLongBulkInstructionsAreSplit(t *testing.T) {
	const mib = 1 << 20
	m, err := wasmbin.Read(bulkModule().Encode(), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	out, report, err := wasmbin.Meter(m, meterOptions)
	if err != nil || report.Splitters != 3 {
		t.Fatalf("%d functions were added: %v", report.Splitters, err)
	}
	rt := wazero.NewRuntime(t.Context())
	t.Cleanup(func() { _ = rt.Close(t.Context()) })
	plain, err := rt.InstantiateWithConfig(t.Context(), m.Encode(), wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	f, err := fuel(t, wazero.NewRuntimeConfigCompiler(), out.Encode(), 1<<40, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	memory := func(mod api.Module) []byte {
		b, _ := mod.Memory().Read(0, mod.Memory().Size())
		return b
	}
	for _, c := range []struct {
		export  string
		a, b, n uint64
		traps   bool
	}{
		{"init", 7, 3, 5*mib/2 - 3, false},
		{"init", 3 * mib, 0, mib + 1, false},
		{"fill", 100, 0x1ff, 2*mib + 17, false},
		{"copy", 5, 4*mib - 9, 2 * mib, false},
		{"copy", 1000, 0, 5 * mib, false}, // onto itself, further up
		{"copy", 0, 1000, 5 * mib, false}, // and further down
		{"copy", 3*mib + 1, 3 * mib, 3 * mib / 2, false},
		{"copy", 64, 64, 4 * mib, false},
		{"fill", 1, 2, mib, false},
		{"fill", 1, 2, mib + 1, false},
		{"fill", 4 * mib, 9, 2*mib + 1, true},
		{"fill", 1<<32 - 1, 9, 2 * mib, true},
		{"fill", 0, 9, 1<<32 - 1, true},
		{"copy", 0, 4 * mib, 2*mib + 1, true},
		{"copy", 4*mib + 1, 0, 2 * mib, true},
		{"init", 0, 2 * mib, mib/2 + 1, true},
		{"init", 0, 1, 5 * mib / 2, true},
		{"init", 5 * mib, 0, 2 * mib, true},
		{"drop", 0, 0, 0, false},
		{"init", 0, 0, 2 * mib, true},
	} {
		args := []uint64{c.a, c.b, c.n}
		if c.export == "drop" {
			args = nil
		}
		yields := f.yields
		_, want := plain.ExportedFunction(c.export).Call(t.Context(), args...)
		_, got := f.mod.ExportedFunction(c.export).Call(t.Context(), args...)
		if unlike(want, got) || (want != nil) != c.traps {
			t.Errorf("%s %v: plain %v, metered %v", c.export, args, want, got)
		}
		if !bytes.Equal(memory(plain), memory(f.mod)) {
			t.Fatalf("%s %v: other bytes", c.export, args)
		}
		if asked := f.yields - yields; !c.traps && uint64(asked) < c.n/mib {
			t.Errorf("%s %v: the host was asked %d times", c.export, args, asked)
		}
	}
}

// A long instruction costs what its chunks cost: nothing for being split.
func TestSplittingCostsNoFuel(t *testing.T) {
	m, err := wasmbin.Read(bulkModule().Encode(), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	f, err := fuel(t, wazero.NewRuntimeConfigCompiler(), meteredBytes(t, m), 1<<40, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var used []int64
	for _, n := range []uint64{0, 1 << 20, 4 << 20} {
		before := f.used()
		if _, err := f.mod.ExportedFunction("fill").Call(t.Context(), 0, 1, n); err != nil {
			t.Fatal(err)
		}
		used = append(used, f.used()-before)
	}
	if one, four := used[1]-used[0], used[2]-used[0]; one != 1<<16 || four != 4*one {
		t.Errorf("paid %v", used)
	}
}
