package sandbox

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// maxModuleBytes bounds a .wasm file while it is read.
const maxModuleBytes = 64 << 20

// moduleLimits are what a plugin's module is held against. A table may be asked
// to grow, and answers that it cannot: read gives each its size as its maximum.
func moduleLimits() wasmbin.Limits {
	l := wasmbin.DefaultLimits()
	l.ModuleBytes = maxModuleBytes
	l.TableGrow = true
	return l
}

// funcType is a signature, as the bytes of its value types.
type funcType struct{ params, results []byte }

func (t funcType) equal(params, results []byte) bool {
	return bytes.Equal(t.params, params) && bytes.Equal(t.results, results)
}

// binImport is one import. typ is an index into types when kind is a function.
type binImport struct {
	module, name string
	kind         wasmbin.Kind
	typ          uint32
}

// binExport is one export. index is in the index space of its kind.
type binExport struct {
	name  string
	kind  wasmbin.Kind
	index uint32
}

// binary is what a module declares, kept as long as its code.
type binary struct {
	types     []funcType
	imports   []binImport
	funcs     []uint32 // type index of each function that is not imported
	exports   []binExport
	hasMemory bool
	memoryMin uint32   // pages of 64 KiB
	start     bool     // it has a start function, exported as startExport
	globals   []string // its mutable globals, by the names they are exported under
	// plain says why no state of it can be restored, so that each call gets an
	// instance made anew; empty when it can.
	plain string
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

// read verifies a module whose header is sound, and lets go of what must not
// reach the engine: custom sections, on which no code depends and whose counts
// it believes, and room for tables to grow. The error is a [*wasmbin.Refusal].
func read(wasm []byte) (*wasmbin.Module, error) {
	m, err := wasmbin.Read(wasm, moduleLimits())
	if err != nil {
		return nil, err
	}
	m.Customs = nil
	m.PinTables()
	return m, nil
}

// declared copies what a module declares, so that the file can be let go.
func declared(m *wasmbin.Module) *binary {
	b := &binary{
		types:   make([]funcType, len(m.Types)),
		imports: make([]binImport, len(m.Imports)),
		funcs:   slices.Clone(m.Funcs),
		exports: make([]binExport, len(m.Exports)),
	}
	for i, t := range m.Types {
		b.types[i] = funcType{bytes.Clone(t.Params), bytes.Clone(t.Results)}
	}
	for i := range m.Imports {
		imp := &m.Imports[i]
		b.imports[i] = binImport{imp.Module, imp.Name, imp.Kind, imp.Type}
	}
	for i, e := range m.Exports {
		b.exports[i] = binExport{e.Name, e.Kind, e.Index}
	}
	if len(m.Memories) > 0 {
		b.hasMemory, b.memoryMin = true, m.Memories[0].Min
	}
	b.start = m.Start != nil
	b.restorable(m.Facts())
	return b
}

// restorable notes what a snapshot holds beside memory, or why there is none.
// The engine lets nobody read or write tables, references and vectors in globals,
// or undrop a segment.
func (m *binary) restorable(f wasmbin.Facts) {
	switch {
	case f.WritesTables:
		m.plain = "it changes a table"
	case f.DropsSegments:
		m.plain = "it drops a segment and reads segments"
	}
	for _, g := range f.Mutable {
		switch g.Type {
		case wasmbin.I32, wasmbin.I64, wasmbin.F32, wasmbin.F64:
			m.globals = append(m.globals, fmt.Sprint(globalExports, g.Index))
		default:
			m.plain = "it has a mutable global that is not a number"
		}
	}
}

// exported finds the signature of an exported function.
func (m *binary) exported(name string) (funcType, bool) {
	for _, e := range m.exports {
		if e.name != name || e.kind != wasmbin.KindFunc {
			continue
		}
		index := int(e.index)
		for _, i := range m.imports {
			if i.kind != wasmbin.KindFunc {
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

// alone says that the module can ask for nothing behind which there is a port or
// a listener: what it imports is answered here, from the call's own state, and
// its sleep ends with the call.
func (m *binary) alone() bool {
	for _, i := range m.imports {
		if i.module != wire.ModuleHost {
			continue
		}
		switch i.name {
		case wire.ImportLoad, wire.ImportStore, wire.ImportLog, wire.ImportNow, wire.ImportRandom:
		default:
			return false
		}
	}
	return true
}
