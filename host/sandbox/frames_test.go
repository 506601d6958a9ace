package sandbox

import (
	"bytes"
	"context"
	enc "encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// crafted are modules whose first function calls itself for ever and takes far more of the stack than it looks. It counts
// its depth in a global.
func crafted() map[string]*wasmbin.Module {
	load := func(op ...byte) []byte { // from a new place each time
		return append([]byte{0x41, 0}, op...)
	}
	self := []byte{0x10, 0}
	operands := bytes.Join([][]byte{
		bytes.Repeat(load(0x28, 2, 0), 100), self, bytes.Repeat([]byte{0x6a}, 100), // 100 numbers wait for the call
	}, nil)
	vectors := bytes.Join([][]byte{
		bytes.Repeat(load(0xfd, 0, 4, 0), 64), self, {0xfd, 17}, bytes.Repeat([]byte{0xfd, 0xae, 1}, 64), {0xfd, 27, 0},
	}, nil)

	const locals, labels = 16, 24
	set := []byte{}
	for i := range byte(locals) {
		set = append(set, load(0x28, 2, 0)...)
		set = append(set, 0x21, i)
	}
	table := append([]byte{0x20, 0, 0x0e, labels - 1}, ascending(labels)...) // to any of the blocks around
	merges := bytes.Join([][]byte{
		bytes.Repeat([]byte{0x02, 0x40}, labels), set,
		{0x20, 1, 0x04, 0x40},
		slices.Replace(append([]byte{}, table...), 4, 4+labels, above(labels)...),
		{0x0b},
		set, table,
	}, nil)
	for range labels {
		merges = append(merges, 0x0b, 0x10, 0, 0x1a) // at each end, what every local may be by now waits for a call
	}
	for i := range byte(locals) {
		merges = append(merges, 0x20, i)
	}
	merges = append(merges, bytes.Repeat([]byte{0x6a}, locals-1)...)

	out := map[string]*wasmbin.Module{}
	for name, code := range map[string][]byte{"operands": operands, "vectors": vectors, "merges": merges} {
		deeper := []byte{0x23, 0, 0x41, 1, 0x6a, 0x24, 0}
		m := &wasmbin.Module{
			Types:    []wasmbin.FuncType{{Results: []byte{wasmbin.I32}}},
			Funcs:    []uint32{0},
			Memories: []wasmbin.LimitsType{{Min: 1}},
			Globals:  []wasmbin.Global{{GlobalType: wasmbin.GlobalType{Type: wasmbin.I32, Mutable: true}, Init: []byte{0x41, 0, 0x0b}}},
			Exports:  []wasmbin.Export{{Name: "f", Kind: wasmbin.KindFunc}},
			Bodies:   []wasmbin.Body{{Code: append(append(deeper, code...), 0x0b)}},
		}
		if name == "merges" {
			m.Bodies[0].Locals = []wasmbin.LocalGroup{{Count: locals, Type: wasmbin.I32}}
		}
		out[name] = m
	}
	return out
}

func ascending(n byte) (labels []byte) {
	for i := range n {
		labels = append(labels, i)
	}
	return labels
}

// above are the same blocks from one block further in.
func above(n byte) (labels []byte) {
	for i := range n {
		labels = append(labels, i+1)
	}
	return labels
}

// compiled is the machine code of a prepared module, and what its functions ask for.
func compiled(t testing.TB, ready readyModule) (folder string, code fileMark, taken []int64) {
	t.Helper()
	folder = t.TempDir()
	if err := fillCodeFolder(t.Context(), folder, 64<<20, ready.code); err != nil {
		t.Fatal(err)
	}
	code, err := newCode(folder)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(folder, code.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if taken, err = framesOf(f, runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	return folder, code, taken
}

// However large the frames are that a module was made to have, endless recursion ends below the bound, and not much below.
func TestCraftedFramesStayWithinTheStack(t *testing.T) {
	errPassed := errors.New("passed")
	for name, m := range crafted() {
		t.Run(name, func(t *testing.T) {
			ready, err := prepare(m.Encode(), nil)
			if err != nil {
				t.Fatal(err)
			}
			folder, code, taken := compiled(t, ready)
			if 2*taken[0] < 3*ready.frames[0] {
				t.Fatalf("a frame takes %d bytes and counts for %d: it is not crafted", taken[0], ready.frames[0])
			}
			stack, err := stackIn(folder, code.Name, ready.frames)
			if err != nil {
				t.Fatal(err)
			}
			rt := wazero.NewRuntime(t.Context())
			defer rt.Close(t.Context())
			i64 := []api.ValueType{api.ValueTypeI64}
			yield := rt.NewHostModuleBuilder(yieldModule).NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
				if int64(stack[0]) == wasmbin.StackPassed {
					panic(errPassed)
				}
				stack[0] = 1 << 40
			}), i64, i64).Export(yieldName)
			if _, err := yield.Instantiate(t.Context()); err != nil {
				t.Fatal(err)
			}
			mod, err := rt.Instantiate(t.Context(), ready.code)
			if err != nil {
				t.Fatal(err)
			}
			mod.ExportedGlobal(stackExport).(api.MutableGlobal).Set(uint64(stack))
			if _, err := mod.ExportedFunction("f").Call(t.Context()); !errors.Is(err, errPassed) {
				t.Fatalf("it ended with %.200v", err)
			}
			took := int64(mod.ExportedGlobal(globalExports+"0").Get()) * taken[0]
			if took > maxStack || took < maxStack/10*9 {
				t.Errorf("it took %d bytes of stack, %d at a time; the bound is %d", took, taken[0], maxStack)
			}
		})
	}
}

// What a call may take is bounded by the worst of its functions, with room for the one that finds the bound passed and for
// those that are not counted.
func TestStackForWhatFramesTake(t *testing.T) {
	const free = wasmbin.MaxUncounted
	for name, c := range map[string]struct {
		charged, taken []int64
		want           int64 // 0: none bounds it
	}{
		"as counted":               {[]int64{200, 0}, []int64{200, 0}, maxStack - 200},
		"less than counted":        {[]int64{200, 400}, []int64{100, 300}, maxStack - 300},
		"one takes twice as much":  {[]int64{200, 400}, []int64{400, 400}, (maxStack - 400) / 2},
		"one is not counted":       {[]int64{200, 0}, []int64{200, 1000}, maxStack - 200 - free*1000},
		"one that the meter added": {[]int64{200}, []int64{200, 1000}, maxStack - 200 - free*1000},
		"one that fills it":        {[]int64{200}, []int64{maxStack}, 0},
		"one that is not counted":  {[]int64{0}, []int64{maxStack/free + 1}, 0},
		"functions are missing":    {[]int64{200, 200}, []int64{200}, 0},
	} {
		got, err := stackFor(c.charged, c.taken)
		if (err != nil) != (c.want == 0) || err == nil && got != c.want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, c.want)
		}
	}
}

// Code for the other processor was compiled from the modules of crafted, and is kept as the engine's cache has it: its
// frames are those of this one, give or take saved registers.
func TestFramesOnEveryProcessor(t *testing.T) {
	for name, m := range crafted() {
		ready, err := prepare(m.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, here := compiled(t, ready)
		there, err := framesOf(bytes.NewReader(fixture(t, "frames_"+name+".arm64")), "arm64")
		if err != nil || len(there) != len(here) {
			t.Fatalf("%s: %d functions, %v; want %d", name, len(there), err, len(here))
		}
		for i := range here {
			if diff := there[i] - here[i]; diff > 512 || diff < -512 {
				t.Errorf("%s: function %d takes %d bytes there, %d here", name, i, there[i], here[i])
			}
		}
	}
	if _, err := framesOf(bytes.NewReader(nil), "wasm"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a processor that is not known: %v", err)
	}
}

// Whatever a file holds, reading frames from it ends, and what it tells fits into the file.
func FuzzFramesOf(f *testing.F) {
	ready, err := prepare(crafted()["operands"].Encode(), nil)
	if err != nil {
		f.Fatal(err)
	}
	folder, code, _ := compiled(f, ready)
	here, err := os.ReadFile(filepath.Join(folder, code.Name))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(here, "amd64")
	f.Add(fixture(f, "frames_operands.arm64"), "arm64")
	f.Add([]byte(codeMagic+"\x00\xff\xff\x0f\x00"), "amd64")
	f.Fuzz(func(t *testing.T, file []byte, arch string) {
		taken, err := framesOf(bytes.NewReader(file), arch)
		if err != nil {
			return
		}
		at := len(codeMagic) + 1 + int(file[len(codeMagic)])
		if n := int(enc.LittleEndian.Uint32(file[at:])); n != len(taken) || 8*n > len(file) {
			t.Fatalf("%d functions of %d in %d bytes", len(taken), n, len(file))
		}
		if i := slices.IndexFunc(taken, func(n int64) bool { return n < 0 || n > 1<<31 }); i >= 0 {
			t.Fatalf("function %d takes %d bytes", i, taken[i])
		}
	})
}
