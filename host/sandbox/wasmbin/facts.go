package wasmbin

// Facts say what of an instance can change while it runs, beyond its memory. A
// host that brings an instance back to an earlier state must restore all of it,
// or not try.
type Facts struct {
	// Mutable are the mutable globals that are not imported, in the order of
	// their indexes.
	Mutable []MutableGlobal
	// WritesTables says that some instruction changes a table.
	WritesTables bool
	// DropsSegments says that the code drops a segment of a kind that it also
	// reads, so that reading it again would show whether it was dropped.
	DropsSegments bool
}

// MutableGlobal is one of [Facts].
type MutableGlobal struct {
	Index uint32 // imports first
	Type  ValType
}

// Facts walks the code of a module that [Read] accepted.
func (m *Module) Facts() Facts {
	var f Facts
	first := uint32(m.imported(KindGlobal))
	for i, g := range m.Globals {
		if g.Mutable {
			f.Mutable = append(f.Mutable, MutableGlobal{first + uint32(i), g.Type})
		}
	}
	s := m.spaces(m.features)
	var dataRead, dataDrop, elemRead, elemDrop bool
	for i := range m.Bodies {
		locals := m.localCount(i)
		r := &reader{buf: m.Bodies[i].Code}
		for r.no == nil && r.left() > 0 {
			in := r.next(&s, locals)
			switch {
			case in.op == opTableSet:
				f.WritesTables = true
			case in.op != opMisc:
			case in.sub == miscMemoryInit:
				dataRead = true
			case in.sub == miscDataDrop:
				dataDrop = true
			case in.sub == miscElemDrop:
				elemDrop = true
			case in.sub == miscTableInit:
				elemRead, f.WritesTables = true, true
			case in.sub == miscTableCopy, in.sub == miscTableGrow, in.sub == miscTableFill:
				f.WritesTables = true
			}
		}
	}
	f.DropsSegments = dataRead && dataDrop || elemRead && elemDrop
	return f
}

// ExportStart is m with its start function exported under name, to be called by
// the host, instead of run by whoever instantiates; m itself when it has none. A
// module that exports the name itself is refused, whether it has one or not.
func (m *Module) ExportStart(name string) (*Module, error) {
	for _, e := range m.Exports {
		if e.Name == name {
			return nil, refuse(CodeReserved, 0, "it exports a name that belongs to the host")
		}
	}
	if m.Start == nil {
		return m, nil
	}
	out := *m
	out.Exports = append(m.Exports[:len(m.Exports):len(m.Exports)], Export{name, KindFunc, *m.Start})
	out.Start = nil
	return &out, nil
}
