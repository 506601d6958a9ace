package wasmbin

import (
	"bytes"
	"slices"
)

// Section ids, Core 2.0 section 5.5.2 and the exception handling proposal.
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
	secTag
)

var header = [8]byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// rank is the place of a section in the file, 0 for an unknown one: tags stand
// before globals and the data count before the code.
func rank(id byte) int {
	const order = "\x01\x02\x03\x04\x05\x0d\x06\x07\x08\x09\x0c\x0a\x0b"
	return bytes.IndexByte([]byte(order), id) + 1
}

// Verify holds a module against the limits; see [Read]. It returns a [*Refusal]
// or nil.
func Verify(wasm []byte, l Limits) error {
	_, err := Read(wasm, l)
	return err
}

// Read decodes a module strictly: every section, every index, every
// instruction of every body. It does not check types of operands, which is the
// engine's validation; what it lets through has counts, sizes and nesting that
// an engine survives. The error is a [*Refusal].
//
// Memory and time are linear in len(wasm): no number of the file is believed
// before the bytes that would make it true were counted.
func Read(wasm []byte, l Limits) (*Module, error) {
	if len(wasm) > l.ModuleBytes {
		return nil, refuse(CodeModuleBytes, 0, "it has %d bytes, and at most %d are allowed", len(wasm), l.ModuleBytes)
	}
	if !bytes.HasPrefix(wasm, header[:]) {
		return nil, refuse(CodeHeader, 0, "it is not a core WebAssembly module of version 1")
	}
	d := decoder{m: &Module{features: l.Features}, l: l}
	if no := d.sections(wasm); no != nil {
		return nil, no
	}
	return d.m, nil
}

// decoder is one reading. Bodies are walked after all sections, since what they
// point into may come later.
type decoder struct {
	m           *Module
	l           Limits
	customBytes int
	entries     uint64 // of all tables
	effort      int
}

func (d *decoder) sections(wasm []byte) *Refusal {
	top := &reader{buf: wasm, pos: len(header)}
	last := byte(0)
	for top.no == nil && top.left() > 0 {
		id := top.byte()
		size := top.u32()
		r := &reader{base: top.pos}
		r.buf = top.take(size)
		if top.no != nil {
			break
		}
		if id == secCustom {
			d.custom(r, last)
		} else {
			switch at := rank(id); {
			case at == 0:
				r.fail(CodeSection, "it has a section of the unknown kind %d", id)
			case last != 0 && at <= rank(last):
				r.fail(CodeSection, "its sections are repeated or out of order")
			}
			last = id
			d.section(id, r)
			if r.no == nil && r.left() > 0 {
				r.fail(CodeSection, "it has a section with %d bytes left over", r.left())
			}
		}
		if r.no != nil {
			return r.no
		}
	}
	switch {
	case top.no != nil:
		return top.no
	case len(d.m.Bodies) != len(d.m.Funcs):
		return refuse(CodeMismatch, len(wasm), "it declares %d functions and has %d bodies", len(d.m.Funcs), len(d.m.Bodies))
	case d.m.DataCount != nil && int64(*d.m.DataCount) != int64(len(d.m.Data)):
		return refuse(CodeMismatch, len(wasm), "it announces %d data segments and has %d", *d.m.DataCount, len(d.m.Data))
	}
	return d.bodies()
}

func (d *decoder) custom(r *reader, after byte) {
	d.customBytes += len(r.buf)
	if d.customBytes > d.l.CustomBytes {
		r.fail(CodeCustomBytes, "its custom sections have %d bytes, and at most %d are allowed", d.customBytes, d.l.CustomBytes)
	}
	name := r.name(d.l.NameBytes)
	d.m.Customs = append(d.m.Customs, Custom{Name: name, Bytes: r.take(uint32(r.left())), After: after})
}

func (d *decoder) section(id byte, r *reader) {
	m, l := d.m, &d.l
	switch id {
	case secType:
		d.types(r)
	case secImport:
		d.imports(r)
	case secFunction:
		n := r.count(CodeFunctions, "functions", 1, l.Functions)
		m.Funcs = slices.Grow([]uint32(nil), n)[:n]
		for i := range m.Funcs {
			m.Funcs[i] = r.index("type", len(m.Types))
		}
	case secTable:
		n := r.count(CodeTables, "tables", 3, l.Tables-m.imported(KindTable))
		for range n {
			m.Tables = append(m.Tables, d.table(r))
		}
	case secMemory:
		n := r.count(CodeMemories, "memories", 2, l.Memories-m.imported(KindMemory))
		for range n {
			m.Memories = append(m.Memories, d.memory(r))
		}
	case secTag:
		d.feature(r, Exceptions, "tags")
		n := r.count(CodeTags, "tags", 2, l.Tags-m.imported(KindTag))
		for range n {
			r.flag("a tag", 0)
			m.Tags = append(m.Tags, r.index("type", len(m.Types)))
		}
	case secGlobal:
		d.globals(r)
	case secExport:
		d.exports(r)
	case secStart:
		if !l.Start {
			r.fail(CodeStart, "it has a start function, which is not allowed")
		}
		start := r.index("function", d.space(KindFunc))
		m.Start = &start
	case secElement:
		d.segments(r)
	case secCode:
		d.code(r)
	case secDataCount:
		d.feature(r, BulkMemory, "a data count")
		n := r.u32()
		if r.no == nil && uint64(n) > uint64(l.Data) {
			r.fail(CodeData, "it has %d data segments, and at most %d are allowed", n, l.Data)
		}
		m.DataCount = &n
	case secData:
		d.data(r)
	}
}

func (d *decoder) feature(r *reader, f Features, what string) {
	if r.no == nil && d.l.Features&f == 0 {
		r.fail(CodeFeature, "it has %s, of a proposal that is not enabled", what)
	}
}
