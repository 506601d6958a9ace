package wasmbin

// ValType is a value type by its byte in the binary format.
type ValType = byte

// The value types.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
	ExnRef    ValType = 0x69
)

// Kind is what an import or export names.
type Kind byte

// The kinds.
const (
	KindFunc Kind = iota
	KindTable
	KindMemory
	KindGlobal
	KindTag
)

// Module is one decoded module: everything that [Module.Encode] needs to write
// it back. Byte slices share memory with the file it was read from; treat both
// as constant.
type Module struct {
	Types    []FuncType
	Imports  []Import
	Funcs    []uint32 // type of each function that is not imported
	Tables   []Table
	Memories []LimitsType
	Tags     []uint32 // type of each tag that is not imported
	Globals  []Global
	Exports  []Export
	Start    *uint32
	Segments []Segment // of elements
	// DataCount is nil when the section is absent.
	DataCount *uint32
	Bodies    []Body
	Data      []Data
	Customs   []Custom

	features Features // it was read with
}

// FuncType is a signature.
type FuncType struct{ Params, Results []ValType }

// Import is one import. Which of the last four members counts depends on Kind.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         uint32 // of a function or a tag
	Table        Table
	Memory       LimitsType
	Global       GlobalType
}

// LimitsType bounds a memory in pages or a table in entries.
type LimitsType struct {
	Min    uint32
	Max    uint32 // when HasMax
	HasMax bool
	Shared bool // memories only
}

// Table is a table of references.
type Table struct {
	Elem   ValType
	Limits LimitsType
}

// GlobalType is the type of a global.
type GlobalType struct {
	Type    ValType
	Mutable bool
}

// Global is one global and its initialiser, an expression with its end.
type Global struct {
	GlobalType
	Init []byte
}

// Export is one export; Index is in the space of its kind, imports first.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Segment is one element segment. Entries are function indexes in Funcs or, when
// Flags has bit 2, expressions in Exprs (Core 2.0 section 5.5.12).
type Segment struct {
	Flags  uint32
	Table  uint32 // with bit 1 and not bit 0
	Offset []byte // expression, without bit 0
	Elem   byte   // element kind or type, with bit 0 or 1
	Funcs  []uint32
	Exprs  [][]byte
}

// Data is one data segment.
type Data struct {
	Mode   uint32 // 0 active, 1 passive, 2 active with a memory index
	Memory uint32
	Offset []byte // expression, unless passive
	Bytes  []byte
}

// Body is the code of one function.
type Body struct {
	Locals []LocalGroup
	Code   []byte // instructions, with the last end
	Offset int    // of Code in the file
}

// LocalGroup is a run of locals of one type.
type LocalGroup struct {
	Count uint32
	Type  ValType
}

// Custom is a custom section. After is the id of the section it follows, 0 at
// the beginning.
type Custom struct {
	Name  string
	Bytes []byte
	After byte
}

// PinTables gives every table that has no maximum its minimum as one, so that
// table.grow answers -1 instead of reaching past what was verified.
func (m *Module) PinTables() {
	for i := range m.Tables {
		if l := &m.Tables[i].Limits; !l.HasMax {
			l.Max, l.HasMax = l.Min, true
		}
	}
}

// imported counts imports of one kind.
func (m *Module) imported(k Kind) int {
	n := 0
	for i := range m.Imports {
		if m.Imports[i].Kind == k {
			n++
		}
	}
	return n
}

// FuncTypeOf is the signature of a function by its index, imports first.
func (m *Module) FuncTypeOf(index uint32) (FuncType, bool) {
	rest := int64(index)
	for i := range m.Imports {
		if m.Imports[i].Kind != KindFunc {
			continue
		}
		if rest == 0 {
			return m.Types[m.Imports[i].Type], true
		}
		rest--
	}
	if rest >= int64(len(m.Funcs)) {
		return FuncType{}, false
	}
	return m.Types[m.Funcs[rest]], true
}
