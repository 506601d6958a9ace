package wasmbin

// memArg reads alignment and offset of a memory access. Alignments past 2^31
// are memory indexes in a later proposal.
func (r *reader) memArg(s *spaces) {
	if align := r.u32(); r.no == nil && align >= 32 {
		r.fail(CodeInstruction, "it accesses memory with the alignment 2^%d", align)
	}
	r.u32()
	if r.no == nil && s.memories == 0 {
		r.fail(CodeIndex, "it accesses a memory and has none")
	}
}

// memIndex reads the index of the only memory there is, in one byte: engines
// that know no second one take it for a reserved byte.
func (r *reader) memIndex(s *spaces) {
	if b := r.byte(); r.no == nil && b != 0 {
		r.fail(CodeInstruction, "it names a second memory")
	}
	if r.no == nil && s.memories == 0 {
		r.fail(CodeIndex, "it accesses a memory and has none")
	}
}

// sub reads the number behind a prefix. Behind those of vectors and atomics
// longer forms than needed are refused: engines that read a single byte there
// would take the rest for instructions.
func (r *reader) sub(in *instr) {
	at := r.pos
	n := r.u32()
	if r.no == nil && (n > 0xff || in.op != opMisc && r.pos-at != 1+int(n>>7)) {
		r.fail(CodeInstruction, "it has an unknown or oddly encoded instruction behind the prefix %#x", in.op)
	}
	in.sub = uint16(n)
}

// misc reads saturating conversions and bulk operations.
func (r *reader) misc(s *spaces, in *instr) {
	r.sub(in)
	switch {
	case in.sub < miscMemoryInit:
		r.need(s, SaturatingConversion)
		return
	case in.sub >= miscTableGrow && in.sub <= miscTableFill:
		r.need(s, ReferenceTypes)
	default:
		r.need(s, BulkMemory)
	}
	switch in.sub {
	case miscMemoryInit:
		in.x = r.dataIndex(s)
		r.memIndex(s)
	case miscDataDrop:
		r.dataIndex(s)
	case miscMemoryCopy:
		r.memIndex(s)
		r.memIndex(s)
	case miscMemoryFill:
		r.memIndex(s)
	case miscTableInit:
		r.index("element segment", len(s.m.Segments))
		in.x = r.index("table", s.tables)
	case miscElemDrop:
		r.index("element segment", len(s.m.Segments))
	case miscTableCopy:
		in.x = r.index("table", s.tables)
		r.index("table", s.tables)
	case miscTableGrow, miscTableSize, miscTableFill:
		in.x = r.index("table", s.tables)
	default:
		r.fail(CodeInstruction, "it has the unknown instruction 0xfc %d", in.sub)
	}
}

// dataIndex holds a data index against the count that stands before the code.
func (r *reader) dataIndex(s *spaces) uint32 {
	n := 0
	if s.m.DataCount != nil {
		n = int(*s.m.DataCount)
	}
	return r.index("data segment", n)
}

// vector reads a SIMD instruction; the holes are numbers that were never given.
func (r *reader) vector(s *spaces, in *instr) {
	r.need(s, SIMD)
	r.sub(in)
	switch sub := in.sub; {
	case sub <= 11 || sub == 0x5c || sub == 0x5d: // load, store
		r.memArg(s)
	case sub == vecConst || sub == 13: // constant, shuffle
		r.take(16)
	case sub >= 0x15 && sub <= 0x22: // lanes
		r.byte()
	case sub >= 0x54 && sub <= 0x5b: // load and store lanes
		r.memArg(s)
		r.byte()
	case sub == 0x9a || sub == 0xa2 || sub == 0xa5 || sub == 0xa6 || sub == 0xaf || sub == 0xb0 ||
		sub >= 0xb2 && sub <= 0xb4 || sub == 0xbb || sub == 0xc2 || sub == 0xc5 || sub == 0xc6 ||
		sub == 0xcf || sub == 0xd0 || sub >= 0xd2 && sub <= 0xd4 || sub == 0xe2 || sub == 0xee:
		r.fail(CodeInstruction, "it has the unknown instruction 0xfd %d", sub)
	}
}

// atomic reads an instruction of the threads proposal.
func (r *reader) atomic(s *spaces, in *instr) {
	r.need(s, Threads)
	r.sub(in)
	switch {
	case in.sub == 3: // fence
		r.flag("a fence", 0)
	case in.sub <= 2 || in.sub >= 0x10 && in.sub <= 0x4e:
		r.memArg(s)
	default:
		r.fail(CodeInstruction, "it has the unknown instruction 0xfe %d", in.sub)
	}
}

// valType reads a value type.
func (r *reader) valType(f Features) ValType {
	t := r.byte()
	need := Features(0)
	switch t {
	case I32, I64, F32, F64:
		return t
	case V128:
		need = SIMD
	case FuncRef, ExternRef:
		need = ReferenceTypes
	case ExnRef:
		need = Exceptions
	default:
		r.fail(CodeForm, "it has the unknown value type %#x", t)
		return 0
	}
	if r.no == nil && f&need == 0 {
		r.fail(CodeFeature, "it has a value type of a proposal that is not enabled")
	}
	return t
}

// refType reads a type of references.
func (r *reader) refType(f Features) ValType {
	t := r.byte()
	switch {
	case r.no != nil:
	case t == FuncRef:
	case t == ExternRef && f&ReferenceTypes != 0:
	case t == ExnRef && f&Exceptions != 0:
	default:
		r.fail(CodeForm, "it has the unknown reference type %#x", t)
	}
	return t
}
