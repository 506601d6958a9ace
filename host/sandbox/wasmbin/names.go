package wasmbin

import "slices"

// Parts of the name section, Core 2.0 appendix 7.4.1 and the extended names
// proposal, that are read here; the others are kept as they are.
const (
	nameModule    = 0
	nameFunctions = 1
	nameLocals    = 2
	nameLabels    = 3
)

// rename moves function indexes of the name section and drops what an engine
// would stumble over: a name section that cannot be read, and custom sections
// without content at the very end of the file.
func (mt *meter) rename() {
	out := mt.out
	out.Customs = slices.Clone(out.Customs)
	out.Customs = slices.DeleteFunc(out.Customs, func(c Custom) bool {
		if c.Name != "name" {
			return false
		}
		_, ok := mt.names(c.Bytes)
		return !ok
	})
	for i := range out.Customs {
		if c := &out.Customs[i]; c.Name == "name" {
			c.Bytes, _ = mt.names(c.Bytes)
		}
	}
	for n := len(out.Customs); n > 0 && len(out.Customs[n-1].Bytes) == 0; n-- {
		out.Customs = out.Customs[:n-1]
	}
}

// names rewrites a name section, or says that it is malformed.
func (mt *meter) names(section []byte) ([]byte, bool) {
	w := writer{}
	r := &reader{buf: section}
	for r.no == nil && r.left() > 0 {
		id := r.byte()
		sub := &reader{buf: r.take(r.u32())}
		if r.no != nil {
			break
		}
		body := writer{}
		switch id {
		case nameModule: // an engine reads the name and then wants to be at the part's end
			body.name(sub.name(sub.left()))
		case nameFunctions:
			mt.nameMap(sub, &body)
		case nameLocals, nameLabels:
			mt.indirectNameMap(sub, &body)
		default:
			body.out = sub.take(uint32(sub.left()))
		}
		if sub.no != nil || sub.left() > 0 {
			return nil, false
		}
		w.byte(id)
		w.bytes(body.out)
	}
	return w.out, r.no == nil
}

// nameMap moves function names and puts the yield's between them: names stand
// in the order of their indexes.
func (mt *meter) nameMap(r *reader, w *writer) {
	n := r.count(CodeName, "names", 2, r.left())
	w.count(n + 1)
	named := false
	yield := func() {
		w.u32(mt.imported)
		w.name(mt.opt.YieldModule + "." + mt.opt.YieldName)
		named = true
	}
	for i := 0; i < n && r.no == nil; i++ {
		f := r.u32()
		if f >= mt.imported && !named {
			yield()
		}
		w.u32(mt.moved(f))
		w.name(r.name(r.left()))
	}
	if !named {
		yield()
	}
}

// indirectNameMap moves the functions whose locals or labels have names.
func (mt *meter) indirectNameMap(r *reader, w *writer) {
	n := r.count(CodeName, "functions with names", 2, r.left())
	w.count(n)
	for i := 0; i < n && r.no == nil; i++ {
		w.u32(mt.moved(r.u32()))
		names := r.count(CodeName, "names", 2, r.left())
		w.count(names)
		for k := 0; k < names && r.no == nil; k++ {
			w.u32(r.u32())
			w.name(r.name(r.left()))
		}
	}
}
