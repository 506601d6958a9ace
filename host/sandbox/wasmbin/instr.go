package wasmbin

// Opcodes that this package treats one by one; Core 2.0 section 5.4 and the
// proposals of [Features].
const (
	opUnreachable    = 0x00
	opNop            = 0x01
	opBlock          = 0x02
	opLoop           = 0x03
	opIf             = 0x04
	opElse           = 0x05
	opThrow          = 0x08
	opThrowRef       = 0x0a
	opEnd            = 0x0b
	opBr             = 0x0c
	opBrIf           = 0x0d
	opBrTable        = 0x0e
	opReturn         = 0x0f
	opCall           = 0x10
	opCallIndirect   = 0x11
	opReturnCall     = 0x12
	opReturnIndirect = 0x13
	opDrop           = 0x1a
	opSelect         = 0x1b
	opSelectTyped    = 0x1c
	opTryTable       = 0x1f
	opLocalGet       = 0x20
	opLocalSet       = 0x21
	opLocalTee       = 0x22
	opGlobalGet      = 0x23
	opGlobalSet      = 0x24
	opTableGet       = 0x25
	opTableSet       = 0x26
	opLoadFirst      = 0x28
	opStoreFirst     = 0x36
	opStoreLast      = 0x3e
	opMemorySize     = 0x3f
	opMemoryGrow     = 0x40
	opI32Const       = 0x41
	opI64Const       = 0x42
	opF32Const       = 0x43
	opF64Const       = 0x44
	opI32Eqz         = 0x45
	opI32GtU         = 0x4b
	opI64Eqz         = 0x50
	opI64LtS         = 0x53
	opI64GtU         = 0x56
	opI64GeS         = 0x59
	opI32Add         = 0x6a
	opI32Sub         = 0x6b
	opI32Mul         = 0x6c
	opI32Or          = 0x72
	opI64Add         = 0x7c
	opI64Sub         = 0x7d
	opI64Mul         = 0x7e
	opI64Or          = 0x84
	opI64Shl         = 0x86
	opI64ShrU        = 0x88
	opI32WrapI64     = 0xa7
	opI64ExtendI32U  = 0xad
	opSignFirst      = 0xc0
	opSignLast       = 0xc4
	opRefNull        = 0xd0
	opRefIsNull      = 0xd1
	opRefFunc        = 0xd2
	opMisc           = 0xfc
	opVector         = 0xfd
	opAtomic         = 0xfe

	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17

	vecConst = 12

	blockEmpty = 0x40
)

// instr is one instruction. x is its first index: a label, function, local,
// global, type, or for a block the type index; n counts what a br_table or
// try_table lists.
type instr struct {
	start, end uint32 // within the code
	op         byte
	sub        uint16 // behind a prefix
	cost       uint16 // filled in by plan.decode
	x          uint32
	n          uint32
	catches    uint32 // where the clauses of a try_table begin
	typ        blockType
}

// blockType is how many values a block takes and gives.
type blockType struct{ params, results uint16 }

// spaces are the sizes of the index spaces that instructions point into.
type spaces struct {
	m        *Module
	features Features
	imported int // functions
	funcs    int
	globals  int
	tables   int
	memories int
	tags     int
}

func (m *Module) spaces(f Features) spaces {
	return spaces{
		m:        m,
		features: f,
		imported: m.imported(KindFunc),
		funcs:    m.imported(KindFunc) + len(m.Funcs),
		globals:  m.imported(KindGlobal) + len(m.Globals),
		tables:   m.imported(KindTable) + len(m.Tables),
		memories: m.imported(KindMemory) + len(m.Memories),
		tags:     m.imported(KindTag) + len(m.Tags),
	}
}

// need refuses an instruction whose proposal is not enabled.
func (r *reader) need(s *spaces, f Features) {
	if s.features&f == 0 {
		r.fail(CodeFeature, "it uses an instruction of a proposal that is not enabled")
	}
}

// next reads one instruction with its immediates. Indexes are held against
// their spaces, because what is out of range now may be in range once a hidden
// global or function has been added; locals is the size of that space. Labels
// are left to the caller, who knows the nesting.
func (r *reader) next(s *spaces, locals int) instr {
	in := instr{start: uint32(r.pos)}
	in.op = r.byte()
	switch op := in.op; {
	case op == opLocalGet || op == opLocalSet || op == opLocalTee:
		in.x = r.index("local", locals)
	case op >= opLoadFirst && op <= opStoreLast:
		r.memArg(s)
	case op >= 0x45 && op < opSignFirst: // comparison, arithmetic, conversion
	case op == opI32Const:
		r.signed(32)
	case op == opI64Const:
		r.signed(64)
	case op == opF32Const:
		r.take(4)
	case op == opF64Const:
		r.take(8)
	case op <= opReturnIndirect || op == opTryTable:
		r.control(s, &in)
	case op == opDrop || op == opSelect:
	case op == opSelectTyped:
		r.need(s, ReferenceTypes)
		if n := r.byte(); n != 1 {
			r.fail(CodeInstruction, "it has a select of %d types", n)
		}
		r.valType(s.features)
	case op == opGlobalGet || op == opGlobalSet:
		in.x = r.index("global", s.globals)
	case op == opTableGet || op == opTableSet:
		r.need(s, ReferenceTypes)
		in.x = r.index("table", s.tables)
	case op == opMemorySize || op == opMemoryGrow:
		r.memIndex(s)
	case op >= opSignFirst && op <= opSignLast:
		r.need(s, SignExtension)
	case op == opRefNull:
		r.need(s, ReferenceTypes)
		r.refType(s.features)
	case op == opRefIsNull:
		r.need(s, ReferenceTypes)
	case op == opRefFunc:
		r.need(s, ReferenceTypes)
		in.x = r.index("function", s.funcs)
	case op == opMisc:
		r.misc(s, &in)
	case op == opVector:
		r.vector(s, &in)
	case op == opAtomic:
		r.atomic(s, &in)
	default:
		r.fail(CodeInstruction, "it has the unknown instruction %#x", op)
	}
	in.end = uint32(r.pos)
	return in
}

// control reads the instructions up to calls, and try_table.
func (r *reader) control(s *spaces, in *instr) {
	switch in.op {
	case opUnreachable, opNop, opElse, opEnd, opReturn:
	case opBlock, opLoop, opIf:
		in.typ = r.blockType(s)
	case opBr, opBrIf:
		in.x = r.u32()
	case opBrTable:
		in.n = uint32(r.count(CodeBranchTable, "labels", 1, r.left())) + 1
		in.x = uint32(r.pos) // where they begin
		for i := uint32(0); i < in.n && r.no == nil; i++ {
			r.u32()
		}
	case opCall, opReturnCall:
		if in.op == opReturnCall {
			r.need(s, TailCall)
		}
		in.x = r.index("function", s.funcs)
	case opCallIndirect, opReturnIndirect:
		if in.op == opReturnIndirect {
			r.need(s, TailCall)
		}
		in.x = r.index("type", len(s.m.Types))
		r.index("table", s.tables)
	case opThrow:
		r.need(s, Exceptions)
		r.index("tag", s.tags)
	case opThrowRef:
		r.need(s, Exceptions)
	case opTryTable:
		r.need(s, Exceptions)
		in.typ = r.blockType(s)
		in.n = uint32(r.count(CodeBranchTable, "catch clauses", 2, r.left()))
		in.catches = uint32(r.pos)
		for i := uint32(0); i < in.n && r.no == nil; i++ {
			r.catch(s)
		}
	default:
		r.fail(CodeInstruction, "it has the unknown instruction %#x", in.op)
	}
}

// catch reads one clause and returns its label.
func (r *reader) catch(s *spaces) uint32 {
	if r.flag("a catch clause", 3) < 2 {
		r.index("tag", s.tags)
	}
	return r.u32()
}

func (r *reader) blockType(s *spaces) blockType {
	at := r.pos
	v := r.signed(33)
	switch {
	case r.no != nil:
	case v == blockEmpty-0x80 && r.pos == at+1:
	case v >= 0:
		r.need(s, MultiValue)
		if v >= int64(len(s.m.Types)) {
			r.fail(CodeIndex, "it names type %d of %d", v, len(s.m.Types))
			return blockType{}
		}
		t := s.m.Types[v]
		return blockType{uint16(len(t.Params)), uint16(len(t.Results))}
	case r.pos == at+1:
		r.pos = at
		r.valType(s.features)
		return blockType{results: 1}
	default:
		r.fail(CodeForm, "it has a block of an unknown type")
	}
	return blockType{}
}
