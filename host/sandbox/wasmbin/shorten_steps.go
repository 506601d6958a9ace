package wasmbin

// step is one instruction of a body that is made shorter.
type step struct {
	op    byte
	last  bool // local.get: nothing reads what the local holds afterwards
	sub   uint16
	x     uint32   // a local, global, function, type or label; of a memory access the offset
	align uint32   // of a memory access
	v     int64    // of a constant
	table []uint32 // labels of a br_table
	raw   []byte   // as it was, where it is written like that
}

// decode splits code into steps, with labels by number. It says whether it knows
// all that is in there.
func (sh *shortener) decode(code []byte) bool {
	sh.steps = sh.steps[:0]
	sh.labels = append(sh.labels[:0], label{op: opBlock})
	open := []uint32{0}
	r := &reader{buf: code}
	for r.no == nil && r.left() > 0 {
		in := r.next(sh.s, sh.locals)
		s := step{op: in.op, sub: in.sub, x: in.x, raw: code[in.start:in.end]}
		arg := &reader{buf: code, pos: int(in.start) + 1}
		label := func(depth uint32) uint32 { return open[len(open)-1-int(depth)] }
		switch op := in.op; {
		case op == opTryTable || op == opThrow || op == opThrowRef:
			return false
		case op == opBlock || op == opLoop || op == opIf:
			s.x = uint32(len(sh.labels))
			sh.labels = append(sh.labels, newLabel(op, in.typ))
			open = append(open, s.x)
		case op == opElse:
			s.x = label(0)
		case op == opEnd:
			s.x = label(0)
			open = open[:len(open)-1]
		case op == opBr || op == opBrIf:
			s.x = label(in.x)
		case op == opBrTable:
			arg.pos = int(in.x)
			for range in.n {
				s.table = append(s.table, label(arg.u32()))
			}
		case op >= opLoadFirst && op <= opStoreLast:
			s.align, s.x = arg.u32(), arg.u32()
		case op == opI32Const:
			s.v = arg.signed(32)
		case op == opI64Const:
			s.v = arg.signed(64)
		}
		sh.steps = append(sh.steps, s)
	}
	return r.no == nil && len(open) == 0
}

func newLabel(op byte, typ blockType) label { return label{op: op, typ: typ} }

// empty says that a branch to the label takes nothing along.
func (l *label) empty() bool {
	if l.op == opLoop {
		return l.typ.params == 0
	}
	return l.typ.results == 0
}

// encode writes the steps, with locals where moved says.
func (sh *shortener) encode(w *writer, moved []uint32) {
	depths := make([]int, len(sh.labels))
	depth := 0 // of the block that is open
	to := func(l uint32) uint32 { return uint32(depth - depths[l]) }
	for i := range sh.steps {
		switch s := &sh.steps[i]; {
		case s.op == opLocalGet || s.op == opLocalSet || s.op == opLocalTee:
			w.indexed(s.op, moved[s.x])
		case s.op == opGlobalGet || s.op == opGlobalSet:
			w.indexed(s.op, s.x)
		case s.op == opBlock || s.op == opLoop || s.op == opIf:
			depth++
			depths[s.x] = depth
			w.raw(s.raw)
		case s.op == opEnd:
			depth--
			w.byte(opEnd)
		case s.op == opBr || s.op == opBrIf:
			w.indexed(s.op, to(s.x))
		case s.op == opBrTable:
			w.byte(opBrTable)
			w.count(len(s.table) - 1)
			for _, l := range s.table {
				w.u32(to(l))
			}
		case s.op >= opLoadFirst && s.op <= opStoreLast:
			w.byte(s.op)
			w.u32(s.align)
			w.u32(s.x)
		case s.op == opI32Const || s.op == opI64Const:
			w.byte(s.op)
			w.signed(s.v)
		case s.raw == nil:
			w.byte(s.op)
		default:
			w.raw(s.raw)
		}
	}
}

// effect is how many operands a step takes and gives; false for what is not
// straight-line code.
func (sh *shortener) effect(s *step) (pops, pushes int, ok bool) {
	switch op := s.op; {
	case op == opNop:
		return 0, 0, true
	case op == opLocalGet, op == opGlobalGet, op >= opI32Const && op <= opF64Const, op == opMemorySize:
		return 0, 1, true
	case op == opLocalSet, op == opGlobalSet, op == opDrop:
		return 1, 0, true
	case op == opLocalTee, op >= opLoadFirst && op < opStoreFirst, op == opMemoryGrow, unary(op):
		return 1, 1, true
	case op >= opStoreFirst && op <= opStoreLast:
		return 2, 0, true
	case op >= 0x45 && op < opSignFirst: // comparison and arithmetic
		return 2, 1, true
	case op == opSelect:
		return 3, 1, true
	case op == opCall:
		t, known := sh.m.FuncTypeOf(s.x)
		return len(t.Params), len(t.Results), known
	case op == opCallIndirect:
		t := sh.m.Types[s.x]
		return len(t.Params) + 1, len(t.Results), true
	case op == opMisc && s.sub < miscMemoryInit:
		return 1, 1, true
	case op == opMisc && (s.sub == miscMemoryCopy || s.sub == miscMemoryFill || s.sub == miscMemoryInit):
		return 3, 0, true
	}
	return 0, 0, false
}

// unary says that an opcode takes one operand and gives one, of those that have
// no immediates.
func unary(op byte) bool {
	switch {
	case op == opI32Eqz, op == opI64Eqz,
		op >= 0x67 && op <= 0x69, op >= 0x79 && op <= 0x7b, // counts of bits
		op >= 0x8b && op <= 0x91, op >= 0x99 && op <= 0x9f, // of floats
		op >= opI32WrapI64 && op <= opSignLast: // conversions
		return true
	}
	return false
}

// traps says that a unary opcode may trap.
func traps(op byte) bool { return op >= 0xa8 && op <= 0xab || op >= 0xae && op <= 0xb1 }

// value says that a step gives one value and does nothing else.
func (s *step) value() bool {
	return s.op == opLocalGet || s.op == opGlobalGet || s.op >= opI32Const && s.op <= opF64Const
}

// start is where the steps begin that give the operand at the end of steps[:end];
// false where that is not straight-line code.
func (sh *shortener) start(steps []step, end int) (int, bool) {
	need := 1
	for i := end - 1; i >= 0; i-- {
		pops, pushes, ok := sh.effect(&steps[i])
		if !ok || pushes > need {
			return 0, false
		}
		if need += pops - pushes; need == 0 {
			return i, true
		}
	}
	return 0, false
}
