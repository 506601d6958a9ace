package wasmbin

import "slices"

// space is the size of one index space.
func (d *decoder) space(k Kind) int {
	m := d.m
	own := [...]int{len(m.Funcs), len(m.Tables), len(m.Memories), len(m.Globals), len(m.Tags)}
	return m.imported(k) + own[k]
}

func (d *decoder) types(r *reader) {
	n := r.count(CodeTypes, "types", 3, d.l.Types)
	d.m.Types = slices.Grow([]FuncType(nil), n)
	for i := 0; i < n && r.no == nil; i++ {
		if form := r.byte(); r.no == nil && form != 0x60 {
			r.fail(CodeForm, "it has a type of the unknown form %#x", form)
		}
		t := FuncType{Params: d.values(r, "parameters"), Results: d.values(r, "results")}
		if r.no == nil && len(t.Results) > 1 {
			d.feature(r, MultiValue, "several results")
		}
		d.m.Types = append(d.m.Types, t)
	}
}

func (d *decoder) values(r *reader, what string) []ValType {
	n := r.count(CodeValues, what, 1, d.l.Values)
	at := r.pos
	for range n {
		r.valType(d.l.Features)
	}
	return r.buf[at : at+min(n, r.pos-at)]
}

func (d *decoder) imports(r *reader) {
	n := r.count(CodeImports, "imports", 4, d.l.Imports)
	d.m.Imports = slices.Grow([]Import(nil), n)
	for i := 0; i < n && r.no == nil; i++ {
		imp := Import{Module: r.name(d.l.NameBytes), Name: r.name(d.l.NameBytes), Kind: Kind(r.flag("an import", byte(KindTag)))}
		switch imp.Kind {
		case KindFunc:
			imp.Type = r.index("type", len(d.m.Types))
		case KindTable:
			imp.Table = d.table(r)
		case KindMemory:
			imp.Memory = d.memory(r)
		case KindGlobal:
			imp.Global = d.globalType(r)
		case KindTag:
			d.feature(r, Exceptions, "a tag")
			r.flag("a tag", 0)
			imp.Type = r.index("type", len(d.m.Types))
		}
		d.m.Imports = append(d.m.Imports, imp)
	}
	if r.no == nil && d.m.imported(KindTable) > d.l.Tables {
		r.fail(CodeTables, "it has %d tables, and at most %d are allowed", d.m.imported(KindTable), d.l.Tables)
	}
	if r.no == nil && d.m.imported(KindMemory) > d.l.Memories {
		r.fail(CodeMemories, "it has %d memories, and at most %d are allowed", d.m.imported(KindMemory), d.l.Memories)
	}
}

func (d *decoder) table(r *reader) Table {
	t := Table{Elem: r.refType(d.l.Features), Limits: r.limits()}
	if t.Limits.Shared {
		r.fail(CodeForm, "it has a shared table")
	}
	room := uint64(t.Limits.Min) // see Limits.TableGrow for those without a maximum
	if t.Limits.HasMax && d.l.TableGrow {
		room = max(room, uint64(t.Limits.Max))
	}
	if d.entries += room; r.no == nil && d.entries > uint64(d.l.TableEntries) {
		r.fail(CodeTableEntries, "its tables have room for %d entries, and at most %d are allowed", d.entries, d.l.TableEntries)
	}
	return t
}

func (d *decoder) memory(r *reader) LimitsType {
	m := r.limits()
	if m.Shared {
		d.feature(r, Threads, "a shared memory")
	}
	if r.no == nil && uint64(m.Min) > uint64(d.l.MemoryPages) {
		r.fail(CodeMemoryPages, "it begins with %d pages of memory, and at most %d are allowed", m.Min, d.l.MemoryPages)
	}
	return m
}

// limits reads the bounds of a memory or table; the flags past 3 belong to
// 64-bit memories.
func (r *reader) limits() LimitsType {
	flags := r.flag("a memory or table", 3)
	l := LimitsType{Min: r.u32(), HasMax: flags&1 != 0, Shared: flags&2 != 0}
	if l.HasMax {
		l.Max = r.u32()
	}
	return l
}

func (d *decoder) globalType(r *reader) GlobalType {
	return GlobalType{Type: r.valType(d.l.Features), Mutable: r.flag("a global", 1) == 1}
}

func (d *decoder) globals(r *reader) {
	n := r.count(CodeGlobals, "globals", 4, d.l.Globals)
	imported := d.m.imported(KindGlobal)
	d.m.Globals = slices.Grow([]Global(nil), n)
	for i := 0; i < n && r.no == nil; i++ {
		t := d.globalType(r)
		d.m.Globals = append(d.m.Globals, Global{t, d.expr(r, imported+i)})
	}
}

func (d *decoder) exports(r *reader) {
	n := r.count(CodeExports, "exports", 3, d.l.Exports)
	d.m.Exports = slices.Grow([]Export(nil), n)
	for i := 0; i < n && r.no == nil; i++ {
		e := Export{Name: r.name(d.l.NameBytes), Kind: Kind(r.flag("an export", byte(KindTag)))}
		e.Index = r.index("export", d.space(e.Kind))
		d.m.Exports = append(d.m.Exports, e)
	}
}

// segments reads element segments: bit 0 passive or declared, bit 1 an explicit
// table or declared, bit 2 expressions; Core 2.0 section 5.5.12.
func (d *decoder) segments(r *reader) {
	n := r.count(CodeElements, "element segments", 2, d.l.Segments)
	d.m.Segments = slices.Grow([]Segment(nil), n)
	left := d.l.Elements
	globals := d.space(KindGlobal)
	for i := 0; i < n && r.no == nil; i++ {
		s := Segment{Flags: r.u32()}
		if r.no == nil && s.Flags > 7 {
			r.fail(CodeForm, "it has an element segment of the unknown form %d", s.Flags)
		}
		if s.Flags != 0 {
			d.feature(r, BulkMemory, "an element segment of a later form")
		}
		if s.Flags&1 == 0 {
			if s.Flags&2 != 0 {
				s.Table = r.u32()
			}
			if r.no == nil && uint64(s.Table) >= uint64(d.space(KindTable)) {
				r.fail(CodeIndex, "it fills table %d of %d", s.Table, d.space(KindTable))
			}
			s.Offset = d.expr(r, globals)
		}
		switch {
		case s.Flags&3 == 0:
		case s.Flags&4 != 0:
			s.Elem = r.refType(d.l.Features)
		default:
			s.Elem = r.flag("an element segment", 0)
		}
		entries := r.count(CodeElements, "elements", 1+int(s.Flags>>2), left)
		left -= entries
		if s.Flags&4 != 0 {
			s.Exprs = make([][]byte, entries)
			for e := 0; e < entries && r.no == nil; e++ {
				s.Exprs[e] = d.expr(r, globals)
			}
		} else {
			s.Funcs = make([]uint32, entries)
			space := d.space(KindFunc)
			for e := range s.Funcs {
				s.Funcs[e] = r.index("function", space)
			}
		}
		d.m.Segments = append(d.m.Segments, s)
	}
}

func (d *decoder) data(r *reader) {
	n := r.count(CodeData, "data segments", 2, d.l.Data)
	d.m.Data = slices.Grow([]Data(nil), n)
	sum := 0
	globals := d.space(KindGlobal)
	for i := 0; i < n && r.no == nil; i++ {
		s := Data{Mode: r.u32()}
		switch {
		case r.no != nil:
		case s.Mode > 2:
			r.fail(CodeForm, "it has a data segment of the unknown form %d", s.Mode)
		case s.Mode != 0:
			d.feature(r, BulkMemory, "a data segment of a later form")
		}
		if s.Mode == 2 {
			s.Memory = r.u32()
		}
		if s.Mode != 1 {
			if r.no == nil && uint64(s.Memory) >= uint64(d.space(KindMemory)) {
				r.fail(CodeIndex, "it fills memory %d of %d", s.Memory, d.space(KindMemory))
			}
			s.Offset = d.expr(r, globals)
		}
		s.Bytes = r.take(r.u32())
		if sum += len(s.Bytes); sum > d.l.DataBytes {
			r.fail(CodeDataBytes, "its data segments have %d bytes, and at most %d are allowed", sum, d.l.DataBytes)
		}
		d.m.Data = append(d.m.Data, s)
	}
}
