package sandbox

import (
	"bytes"
	"errors"
)

// Bounds of one module. They are far above what compilers emit (a Go guest with
// encoding/json: 3.2 MB, 2,100 functions, 36,600 data segments, one table of
// 6,200 entries, largest body 30 KB, and 310 KB where a parser's tables are set
// up in code) and below what harms the host.
const (
	maxModuleBytes = 64 << 20
	maxName        = 1 << 10
	maxTypes       = 10_000
	maxParams      = 128
	maxImports     = 512
	maxFunctions   = 100_000
	maxTables      = 16
	maxTableSum    = 65_536 // entries, all tables together
	maxGlobals     = 10_000
	maxExports     = 4096
	maxElements    = 10_000  // segments
	maxElementSum  = 200_000 // entries, all segments together
	maxData        = 500_000 // segments
	maxBodyBytes   = 512 << 10
	maxLocals      = 50_000 // of one function
)

// Section ids, WebAssembly Core 2.0 section 5.5.2.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

// Kinds of imports and exports.
const (
	kindFunc = iota
	kindTable
	kindMemory
	kindGlobal
)

// funcType is a signature, as the bytes of its value types.
type funcType struct{ params, results []byte }

func (t funcType) equal(params, results []byte) bool {
	return bytes.Equal(t.params, params) && bytes.Equal(t.results, results)
}

// binImport is one import. typ is an index into types when kind is kindFunc.
type binImport struct {
	module, name string
	kind         byte
	typ          uint32
}

// binExport is one export. index is in the index space of its kind.
type binExport struct {
	name  string
	kind  byte
	index uint32
}

// binary is what a module declares, read without compiling or running it.
type binary struct {
	types     []funcType
	imports   []binImport
	funcs     []uint32 // type index of each function that is not imported
	tableSum  uint64
	hasMemory bool
	memoryMin uint32 // pages of 64 KiB
	exports   []binExport
	hasStart  bool
}

var (
	wasmMagic        = []byte("\x00asm")
	coreVersion      = []byte{1, 0, 0, 0}
	componentVersion = []byte{0x0d, 0, 1, 0} // version 13, layer 1
)

// headerFault says what the bytes are when they are no core module, in words
// that follow "plugin X ".
func headerFault(wasm []byte) string {
	switch {
	case len(wasm) == 0:
		return "has an empty .wasm file: build it again"
	case bytes.HasPrefix(bytes.TrimSpace(wasm[:min(len(wasm), 512)]), []byte("(module")):
		return "is WebAssembly text: turn it into a binary with wat2wasm"
	case len(wasm) < 8 && bytes.HasPrefix(wasmMagic, wasm[:min(len(wasm), 4)]):
		return "has a .wasm file that is cut off: build or download it again"
	case !bytes.HasPrefix(wasm, wasmMagic):
		return "is not a WebAssembly module: its file does not begin with \\0asm"
	case bytes.Equal(wasm[4:8], coreVersion):
		return ""
	case bytes.Equal(wasm[4:8], componentVersion):
		return "is a WebAssembly component (WIT): this host runs core modules, so build it for target wasip1 without a component adapter"
	}
	return "is a WebAssembly module of an unknown version: this host runs version 1"
}

// scan reads a module whose header is sound and returns what it declares and a
// copy to compile, which differs in two ways: custom sections are dropped (no
// code depends on them, and decoders trust their counts), and every table gets
// a maximum, so that table.grow cannot reach past what was declared.
//
// Each count is held against the bytes that follow before anything is
// allocated: an engine that believes a count of four billion takes the process
// down with it. Code bodies are bounded in size and locals, not decoded.
func scan(wasm []byte) (*binary, []byte, error) {
	if len(wasm) > maxModuleBytes {
		return nil, nil, errors.New("it is larger than 64 MiB")
	}
	top := &reader{buf: wasm, pos: 8}
	m := &binary{}
	out := append(make([]byte, 0, len(wasm)+maxTables*10), wasm[:8]...)
	last, bodies, dataCount, segments := 0, 0, 0, 0
	for top.err == nil && top.left() > 0 {
		start := top.pos
		id := top.byte()
		size := top.u32()
		base := top.pos
		body := top.take(size)
		if top.err != nil {
			break
		}
		if id == secCustom {
			continue
		}
		if rank := sectionRank(id); rank == 0 {
			top.fail("it has a section of kind %d, which this host does not run", id)
		} else if rank <= last {
			top.fail("its sections are out of order")
		} else {
			last = rank
		}
		if top.err != nil {
			break
		}
		r := &reader{buf: body, base: base}
		section := wasm[start:top.pos]
		switch id {
		case secTable:
			section = m.readTables(r)
		case secCode:
			bodies = readCode(r)
		case secDataCount:
			dataCount = int(r.u32())
		case secData:
			segments = readData(r)
		default:
			m.readSection(id, r)
		}
		if r.err == nil && r.left() != 0 {
			r.fail("a section has %d bytes too many", r.left())
		}
		if r.err != nil {
			return nil, nil, r.err
		}
		out = append(out, section...)
	}
	if top.err == nil && dataCount > 0 && segments != dataCount {
		top.fail("it announces %d data segments and has %d", dataCount, segments)
	}
	if top.err == nil && len(m.funcs) != bodies {
		top.fail("it declares %d functions and has %d bodies", len(m.funcs), bodies)
	}
	if top.err != nil {
		return nil, nil, top.err
	}
	return m, out, m.checkIndexes()
}

// sectionRank is the place of a section in the file, 0 for an unknown one. The
// data count stands before the code although its id is the highest.
func sectionRank(id byte) int {
	switch {
	case id == secDataCount:
		return secCode
	case id >= secCode && id <= secData:
		return int(id) + 1
	case id >= secType && id < secCode:
		return int(id)
	}
	return 0
}

// checkIndexes holds the indexes that this package follows against their
// spaces; the engine validates all others.
func (m *binary) checkIndexes() error {
	for _, i := range m.imports {
		if i.kind == kindFunc && int64(i.typ) >= int64(len(m.types)) {
			return errors.New("an import has a type that is not there")
		}
	}
	for _, t := range m.funcs {
		if int64(t) >= int64(len(m.types)) {
			return errors.New("a function has a type that is not there")
		}
	}
	for _, e := range m.exports {
		if e.kind == kindFunc && int64(e.index) >= int64(len(m.imports)+len(m.funcs)) {
			return errors.New("an export names a function that is not there")
		}
	}
	return nil
}

// exported finds the signature of an exported function.
func (m *binary) exported(name string) (funcType, bool) {
	for _, e := range m.exports {
		if e.name != name || e.kind != kindFunc {
			continue
		}
		index := int(e.index)
		for _, i := range m.imports {
			if i.kind != kindFunc {
				continue
			}
			if index == 0 {
				return m.types[i.typ], true
			}
			index--
		}
		if index < len(m.funcs) {
			return m.types[m.funcs[index]], true
		}
	}
	return funcType{}, false
}
