package wasmbin

import (
	"bytes"
	"testing"
)

// frameModule is a module with a stack pointer, global 0, and one function of type
// (i32) -> i32 with an i32 and two i64.
func frameModule(code ...byte) *Module {
	return &Module{
		Types:    []FuncType{{[]ValType{I32}, []ValType{I32}}},
		Funcs:    []uint32{0},
		Memories: []LimitsType{{Min: 1}},
		Globals:  []Global{{GlobalType{I32, true}, []byte{opI32Const, 0, opEnd}}, {GlobalType{I32, true}, []byte{opI32Const, 0, opEnd}}},
		Bodies:   []Body{{Locals: []LocalGroup{{1, I32}, {2, I64}}, Code: code}},
		features: Core2,
	}
}

// Each kind of what is left out, and what stands beside it and is not.
func TestWhatIsShortened(t *testing.T) {
	const (
		get, set, tee, load, store = opLocalGet, opLocalSet, opLocalTee, 0x29, 0x37
		ext, wrap, add64, eqz64    = opI64ExtendI32U, opI32WrapI64, opI64Add, opI64Eqz
		c32, c64, gget, gset       = opI32Const, opI64Const, opGlobalGet, opGlobalSet
		void                       = blockEmpty
	)
	for name, c := range map[string]struct{ code, want []byte }{
		"an address of the frame": {
			[]byte{gget, 0, set, 1, get, 1, ext, c64, 16, add64, wrap, load, 3, 8, wrap, opEnd},
			[]byte{gget, 0, load, 3, 24, wrap, opEnd},
		},
		"an address of the frame that is written to": {
			[]byte{gget, 0, set, 1, get, 1, ext, c64, 16, add64, wrap, c64, 1, store, 3, 8, get, 0, opEnd},
			[]byte{gget, 0, c64, 1, store, 3, 24, get, 0, opEnd},
		},
		"an address of something else": {
			[]byte{gget, 1, ext, c64, 16, add64, wrap, load, 3, 8, wrap, opEnd},
			[]byte{gget, 1, c32, 16, opI32Add, load, 3, 8, wrap, opEnd},
		},
		"an address before the frame": {
			[]byte{gget, 0, ext, c64, 0x70, add64, wrap, load, 3, 8, wrap, opEnd},
			[]byte{gget, 0, c32, 0x70, opI32Add, load, 3, 8, wrap, opEnd},
		},
		"an address far from the frame": {
			[]byte{gget, 0, ext, c64, 0x80, 0x80, 4, add64, wrap, load, 3, 8, wrap, opEnd},
			[]byte{gget, 0, c32, 0x80, 0x80, 4, opI32Add, load, 3, 8, wrap, opEnd},
		},
		"a copy of the stack pointer that is moved with it": {
			[]byte{gget, 0, set, 1, get, 1, c32, 8, opI32Sub, tee, 1, gset, 0, get, 1, opEnd},
			[]byte{gget, 0, c32, 8, opI32Sub, gset, 0, gget, 0, opEnd},
		},
		"a copy that a call makes old": {
			[]byte{gget, 0, set, 1, c32, 0, opCall, 0, opDrop, get, 1, opEnd},
			[]byte{gget, 0, set, 1, c32, 0, opCall, 0, opDrop, get, 1, opEnd},
		},
		"a jump through the table": {
			[]byte{
				opLoop, void, opBlock, void, opBlock, void, get, 0, opBrTable, 1, 0, 1, opEnd,
				get, 0, opIf, void, c32, 1, set, 0, opBr, 2, opEnd, c32, 7, gset, 0, opEnd, opEnd, c32, 1, opEnd,
			},
			[]byte{
				opLoop, void, opBlock, void, opBlock, void, get, 0, opBrTable, 1, 0, 1, opEnd,
				get, 0, opBrIf, 0, c32, 7, gset, 0, opEnd, opEnd, c32, 1, opEnd,
			},
		},
		"a jump back through the table": {
			[]byte{
				opLoop, void, opBlock, void, get, 0, opBrTable, 0, 0, opEnd, c32, 0, set, 0, opBr, 0, opEnd, c32, 1, opEnd,
			},
			[]byte{
				opLoop, void, opBlock, void, get, 0, opBrTable, 0, 0, opEnd, c32, 0, set, 0, opBr, 0, opEnd, c32, 1, opEnd,
			},
		},
		"truth of truth": {
			[]byte{c64, 5, eqz64, ext, tee, 2, eqz64, opI32Eqz, opIf, void, c32, 1, gset, 0, opEnd, get, 0, opEnd},
			[]byte{c64, 5, eqz64, opIf, void, c32, 1, gset, 0, opEnd, get, 0, opEnd},
		},
		"the opposite of a comparison": {
			[]byte{get, 0, get, 0, 0x48, opI32Eqz, opEnd}, // less
			[]byte{get, 0, get, 0, 0x4e, opEnd},           // at least
		},
		"the opposite of a comparison of floats": {
			[]byte{opF32Const, 0, 0, 0, 0, opF32Const, 0, 0, 0, 0, 0x5d, opI32Eqz, opEnd},
			[]byte{opF32Const, 0, 0, 0, 0, opF32Const, 0, 0, 0, 0, 0x5d, opI32Eqz, opEnd},
		},
		"operands in their order": {
			[]byte{get, 0, load, 3, 0, set, 2, c32, 9, get, 2, store, 3, 0, get, 0, opEnd},
			[]byte{c32, 9, get, 0, load, 3, 0, store, 3, 0, get, 0, opEnd},
		},
		"an operand that the other changes": {
			[]byte{c32, 4, tee, 0, load, 3, 0, set, 2, get, 0, get, 2, store, 3, 0, get, 0, opEnd},
			[]byte{c32, 4, tee, 0, load, 3, 0, set, 2, get, 0, get, 2, store, 3, 0, get, 0, opEnd},
		},
		"a value that nothing reads, and one that traps": {
			[]byte{c64, 1, set, 2, get, 0, load, 3, 0, set, 3, opNop, get, 0, opEnd},
			[]byte{get, 0, load, 3, 0, opDrop, get, 0, opEnd},
		},
		"code that nothing reaches, and a block that nothing leaves": {
			[]byte{opBlock, void, c32, 3, gset, 0, opEnd, get, 0, opReturn, c32, 1, opDrop, c32, 2, opEnd},
			[]byte{c32, 3, gset, 0, get, 0, opReturn, opEnd},
		},
	} {
		m := frameModule(c.code...)
		before := m.Encode()
		if _, err := Read(before, DefaultLimits()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := m.Shorten(0).Bodies[0].Code; !bytes.Equal(got, c.want) {
			t.Errorf("%s: % x\nis % x\nwant % x", name, c.code, got, c.want)
		}
		if !bytes.Equal(m.Encode(), before) {
			t.Errorf("%s: the module itself was changed", name)
		}
	}
	m := frameModule(gget, 0, ext, c64, 16, add64, wrap, load, 3, 8, wrap, opEnd)
	if got, want := m.Shorten(9).Bodies[0].Code, []byte{gget, 0, c32, 16, opI32Add, load, 3, 8, wrap, opEnd}; !bytes.Equal(got, want) {
		t.Errorf("without a stack pointer it is % x", got)
	}
}

// TestShorterModulesAreRead shortens every module in reach. What comes out is read, no longer, and as short as it gets.
func TestShorterModulesAreRead(t *testing.T) {
	n, was, is := 0, 0, 0
	wasmFiles(t, func(path string, wasm []byte) {
		m, err := Read(wasm, wide())
		if err != nil {
			return
		}
		before, out := m.Encode(), m.Shorten(0).Encode()
		n, was, is = n+1, was+len(before), is+len(out)
		again, err := Read(out, wide())
		if err != nil {
			t.Fatalf("%s: what was written is refused: %v", path, err)
		}
		if twice := again.Shorten(0).Encode(); len(out) > len(before) || len(twice) > len(out) {
			t.Errorf("%s: %d bytes became %d, then %d", path, len(before), len(out), len(twice))
		}
	}, append(specDirs(t), realDirs(t)...)...)
	t.Logf("%d modules: %d bytes became %d", n, was, is)
	if n < 3000 {
		t.Error("the modules of the specification were not found")
	}
}
