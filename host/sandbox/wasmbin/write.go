package wasmbin

import enc "encoding/binary"

// Encode writes the module. Numbers take their shortest form, so a module whose
// producer padded them comes out shorter and otherwise equal.
func (m *Module) Encode() []byte {
	w := writer{out: append(make([]byte, 0, m.size()), header[:]...)}
	w.customs(m, 0)
	for _, id := range []byte{secType, secImport, secFunction, secTable, secMemory, secTag, secGlobal, secExport, secStart, secElement, secDataCount, secCode, secData} {
		w.section(m, id)
		w.customs(m, id)
	}
	return w.out
}

// size guesses the length of the encoded module.
func (m *Module) size() int {
	n := 4096
	for i := range m.Bodies {
		n += len(m.Bodies[i].Code) + 8
	}
	for i := range m.Data {
		n += len(m.Data[i].Bytes) + 12
	}
	for i := range m.Customs {
		n += len(m.Customs[i].Bytes)
	}
	return n
}

type writer struct{ out []byte }

func (w *writer) byte(b byte)    { w.out = append(w.out, b) }
func (w *writer) raw(b []byte)   { w.out = append(w.out, b...) }
func (w *writer) u32(v uint32)   { w.out = enc.AppendUvarint(w.out, uint64(v)) }
func (w *writer) count(n int)    { w.out = enc.AppendUvarint(w.out, uint64(n)) }
func (w *writer) name(s string)  { w.count(len(s)); w.out = append(w.out, s...) }
func (w *writer) bytes(b []byte) { w.count(len(b)); w.raw(b) }

// signed appends a signed LEB128 number.
func (w *writer) signed(v int64) {
	for v < -64 || v > 63 {
		w.byte(byte(v&0x7f) | 0x80)
		v >>= 7
	}
	w.byte(byte(v & 0x7f))
}

func (w *writer) limits(l LimitsType) {
	flags := byte(0)
	if l.HasMax {
		flags = 1
	}
	if l.Shared {
		flags |= 2
	}
	w.byte(flags)
	w.u32(l.Min)
	if l.HasMax {
		w.u32(l.Max)
	}
}

func (w *writer) table(t Table) {
	w.byte(t.Elem)
	w.limits(t.Limits)
}

func (w *writer) globalType(g GlobalType) {
	mutable := byte(0)
	if g.Mutable {
		mutable = 1
	}
	w.out = append(w.out, g.Type, mutable)
}

func (w *writer) customs(m *Module, after byte) {
	for _, c := range m.Customs {
		if c.After != after {
			continue
		}
		body := writer{}
		body.name(c.Name)
		w.byte(secCustom)
		w.count(len(body.out) + len(c.Bytes))
		w.raw(body.out)
		w.raw(c.Bytes)
	}
}

// section writes one section, if the module has anything for it.
func (w *writer) section(m *Module, id byte) {
	body := writer{}
	if id == secCode || id == secData {
		body.out = make([]byte, 0, m.size())
	}
	if n := body.items(m, id); n == 0 {
		return
	}
	w.byte(id)
	w.bytes(body.out)
}

// items writes the content of a section and returns the number of its items.
func (w *writer) items(m *Module, id byte) (n int) {
	vector := func(length int) {
		n = length
		w.count(n)
	}
	switch id {
	case secType:
		vector(len(m.Types))
		for _, t := range m.Types {
			w.byte(0x60)
			w.bytes(t.Params)
			w.bytes(t.Results)
		}
	case secImport:
		vector(len(m.Imports))
		for i := range m.Imports {
			w.imported(&m.Imports[i])
		}
	case secFunction:
		vector(len(m.Funcs))
		for _, t := range m.Funcs {
			w.u32(t)
		}
	case secTable:
		vector(len(m.Tables))
		for _, t := range m.Tables {
			w.table(t)
		}
	case secMemory:
		vector(len(m.Memories))
		for _, l := range m.Memories {
			w.limits(l)
		}
	case secTag:
		vector(len(m.Tags))
		for _, t := range m.Tags {
			w.byte(0)
			w.u32(t)
		}
	case secGlobal:
		vector(len(m.Globals))
		for _, g := range m.Globals {
			w.globalType(g.GlobalType)
			w.raw(g.Init)
		}
	case secExport:
		vector(len(m.Exports))
		for _, e := range m.Exports {
			w.name(e.Name)
			w.byte(byte(e.Kind))
			w.u32(e.Index)
		}
	case secStart:
		if m.Start != nil {
			n = 1
			w.u32(*m.Start)
		}
	case secElement:
		vector(len(m.Segments))
		for i := range m.Segments {
			w.segment(&m.Segments[i])
		}
	case secDataCount:
		if m.DataCount != nil {
			n = 1
			w.u32(*m.DataCount)
		}
	case secCode:
		vector(len(m.Bodies))
		for i := range m.Bodies {
			w.body(&m.Bodies[i])
		}
	case secData:
		vector(len(m.Data))
		for i := range m.Data {
			w.data(&m.Data[i])
		}
	}
	return n
}

func (w *writer) imported(i *Import) {
	w.name(i.Module)
	w.name(i.Name)
	w.byte(byte(i.Kind))
	switch i.Kind {
	case KindFunc:
		w.u32(i.Type)
	case KindTable:
		w.table(i.Table)
	case KindMemory:
		w.limits(i.Memory)
	case KindGlobal:
		w.globalType(i.Global)
	case KindTag:
		w.byte(0)
		w.u32(i.Type)
	}
}

func (w *writer) segment(s *Segment) {
	w.u32(s.Flags)
	if s.Flags&1 == 0 {
		if s.Flags&2 != 0 {
			w.u32(s.Table)
		}
		w.raw(s.Offset)
	}
	if s.Flags&3 != 0 {
		w.byte(s.Elem)
	}
	if s.Flags&4 != 0 {
		w.count(len(s.Exprs))
		for _, e := range s.Exprs {
			w.raw(e)
		}
		return
	}
	w.count(len(s.Funcs))
	for _, f := range s.Funcs {
		w.u32(f)
	}
}

func (w *writer) body(b *Body) {
	locals := writer{}
	locals.count(len(b.Locals))
	for _, g := range b.Locals {
		locals.u32(g.Count)
		locals.byte(g.Type)
	}
	w.count(len(locals.out) + len(b.Code))
	w.raw(locals.out)
	w.raw(b.Code)
}

func (w *writer) data(s *Data) {
	w.u32(s.Mode)
	if s.Mode == 2 {
		w.u32(s.Memory)
	}
	if s.Mode != 1 {
		w.raw(s.Offset)
	}
	w.bytes(s.Bytes)
}
