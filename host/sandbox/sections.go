package sandbox

import enc "encoding/binary"

// readSection reads the sections that are copied as they are.
func (m *binary) readSection(id byte, r *reader) {
	switch id {
	case secType:
		m.readTypes(r)
	case secImport:
		m.readImports(r)
	case secFunction:
		n := r.count("functions", 1, maxFunctions)
		m.funcs = make([]uint32, n)
		for i := 0; i < n && r.err == nil; i++ {
			m.funcs[i] = r.u32()
		}
	case secMemory:
		if n := r.count("memories", 2, 1); n == 1 {
			m.hasMemory = true
			m.memoryMin, _, _ = r.limits()
		}
	case secGlobal:
		n := r.count("globals", 4, maxGlobals)
		for i := 0; i < n && r.err == nil; i++ {
			r.valueType()
			r.byte() // mutable or not
			r.constExpr()
		}
	case secExport:
		m.readExports(r)
	case secStart:
		r.u32()
		m.hasStart = true
	case secElement:
		readElements(r)
	}
}

func (m *binary) readTypes(r *reader) {
	n := r.count("types", 3, maxTypes)
	m.types = make([]funcType, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		if r.byte() != 0x60 {
			r.fail("a type is not a function type")
			return
		}
		params := r.take(uint32(r.count("parameters", 1, maxParams)))
		results := r.take(uint32(r.count("results", 1, maxParams)))
		m.types = append(m.types, funcType{params, results})
	}
}

func (m *binary) readImports(r *reader) {
	n := r.count("imports", 4, maxImports)
	for i := 0; i < n && r.err == nil; i++ {
		imp := binImport{module: r.name(), name: r.name(), kind: r.byte()}
		switch imp.kind {
		case kindFunc:
			imp.typ = r.u32()
		case kindTable:
			r.valueType()
			r.limits()
		case kindMemory:
			r.limits()
		case kindGlobal:
			r.valueType()
			r.byte()
		default:
			r.fail("an import has the unknown kind %d", imp.kind)
		}
		m.imports = append(m.imports, imp)
	}
}

func (m *binary) readExports(r *reader) {
	n := r.count("exports", 3, maxExports)
	for i := 0; i < n && r.err == nil; i++ {
		e := binExport{name: r.name(), kind: r.byte(), index: r.u32()}
		if e.kind > kindGlobal {
			r.fail("an export has the unknown kind %d", e.kind)
		}
		m.exports = append(m.exports, e)
	}
}

// readTables returns the section written anew: each table keeps its minimum and
// gets that minimum as its maximum unless its own is as small.
func (m *binary) readTables(r *reader) []byte {
	n := r.count("tables", 3, maxTables)
	body := enc.AppendUvarint(nil, uint64(n))
	for i := 0; i < n && r.err == nil; i++ {
		elem := r.valueType()
		low, high, hasHigh := r.limits()
		if !hasHigh || high > maxTableSum {
			high = low
		}
		m.tableSum += uint64(max(low, high))
		if m.tableSum > maxTableSum {
			r.fail("its tables have room for %d entries, and at most %d are allowed", m.tableSum, maxTableSum)
		}
		body = append(body, elem, 1)
		body = enc.AppendUvarint(body, uint64(low))
		body = enc.AppendUvarint(body, uint64(high))
	}
	section := enc.AppendUvarint([]byte{secTable}, uint64(len(body)))
	return append(section, body...)
}

// readCode returns the number of bodies.
func readCode(r *reader) int {
	n := r.count("function bodies", 2, maxFunctions)
	for i := 0; i < n && r.err == nil; i++ {
		size := r.u32()
		if r.err == nil && size > maxBodyBytes {
			r.fail("a function has %d bytes, and at most %d are allowed", size, maxBodyBytes)
		}
		at := r.pos
		body := &reader{buf: r.take(size), base: r.base + at}
		groups := body.count("groups of locals", 2, maxLocals)
		locals := uint64(0)
		for g := 0; g < groups && body.err == nil; g++ {
			locals += uint64(body.u32())
			body.valueType()
			if locals > maxLocals {
				body.fail("a function has %d locals, and at most %d are allowed", locals, maxLocals)
			}
		}
		if r.err == nil {
			r.err = body.err
		}
	}
	return n
}

// readData returns the number of segments.
func readData(r *reader) int {
	n := r.count("data segments", 2, maxData)
	for i := 0; i < n && r.err == nil; i++ {
		switch mode := r.u32(); mode {
		case 0:
			r.constExpr()
		case 1:
		case 2:
			r.u32()
			r.constExpr()
		default:
			r.fail("a data segment has the unknown mode %d", mode)
		}
		r.take(r.u32())
	}
	return n
}

// readElements reads element segments, Core 2.0 section 5.5.12: bit 0 passive
// or declared, bit 1 an explicit table or declared, bit 2 expressions.
func readElements(r *reader) {
	n := r.count("element segments", 3, maxElements)
	sum := 0
	for i := 0; i < n && r.err == nil; i++ {
		flags := r.u32()
		if flags > 7 {
			r.fail("an element segment has the unknown flags %d", flags)
			return
		}
		if flags&1 == 0 {
			if flags&2 != 0 {
				r.u32()
			}
			r.constExpr()
		}
		if flags&3 != 0 {
			r.byte() // element kind or reference type
		}
		entries := r.count("elements", 1, maxElementSum)
		if sum += entries; sum > maxElementSum {
			r.fail("it has %d elements, and at most %d are allowed", sum, maxElementSum)
		}
		for e := 0; e < entries && r.err == nil; e++ {
			if flags&4 != 0 {
				r.constExpr()
			} else {
				r.u32()
			}
		}
	}
}

// limits reads the bounds of a table or memory. Flags other than "no maximum"
// and "maximum" belong to proposals that this host does not run.
func (r *reader) limits() (low, high uint32, hasHigh bool) {
	switch flags := r.byte(); {
	case r.err != nil:
	case flags == 0:
		return r.u32(), 0, false
	case flags == 1:
		low, high = r.u32(), r.u32()
		return low, high, true
	default:
		r.fail("a memory or table is shared or 64-bit, which this host does not run")
	}
	return 0, 0, false
}

// valueType reads one of the Core 2.0 value types.
func (r *reader) valueType() byte {
	t := r.byte()
	switch t {
	case 0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f:
	default:
		r.fail("it uses a value type that this host does not run")
	}
	return t
}

// constExpr skips an initialiser: one constant instruction and the end, Core
// 2.0 section 3.3.8.
func (r *reader) constExpr() {
	switch op := r.byte(); op {
	case 0x41: // i32.const
		r.leb(32, true)
	case 0x42: // i64.const
		r.leb(64, true)
	case 0x43: // f32.const
		r.take(4)
	case 0x44: // f64.const
		r.take(8)
	case 0x23, 0xd2: // global.get, ref.func
		r.u32()
	case 0xd0: // ref.null
		r.byte()
	case 0xfd: // v128.const
		if r.u32() != 12 {
			r.fail("an initialiser is not a constant")
		}
		r.take(16)
	default:
		r.fail("an initialiser is not a constant")
	}
	if end := r.byte(); r.err == nil && end != 0x0b {
		r.fail("an initialiser has more than one instruction")
	}
}
