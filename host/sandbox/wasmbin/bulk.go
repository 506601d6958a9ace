package wasmbin

// bulkChunk is the most bytes that one bulk instruction moves at once. Longer
// ones are split, so that the host is asked in between: a page that is touched
// for the first time costs so much that filling a large memory takes as long as
// the rest of the call.
const bulkChunk = 1 << 20

// The locals that hold the operands of a bulk instruction, from the first.
const (
	bulkTo = iota
	bulkFrom
	bulkLength
	bulkLocals
)

// splitter is a function that the module did not have: it does what one bulk
// instruction does, chunk by chunk. Where the instruction would trap it runs it
// whole, so that nothing is written first.
type splitter struct {
	in    instr
	index uint32
}

// bulk writes an instruction whose operands are on the stack, paid by their
// length; first is the local of the first.
func (mt *meter) bulk(w *writer, in *instr, code []byte, first uint32) {
	shift, _ := bulkOf(in)
	if in.sub >= miscTableInit { // tables are small, and what fills them is no number
		w.indexed(opLocalSet, first+bulkLength)
		mt.chargeLength(w, first+bulkLength, shift)
		w.indexed(opLocalGet, first+bulkLength)
		w.raw(code[in.start:in.end])
		return
	}
	for op := first + bulkLocals; op > first; op-- {
		w.indexed(opLocalSet, op-1)
	}
	w.indexed(opLocalGet, first+bulkLength)
	w.i32(bulkChunk)
	w.byte(opI32GtU)
	w.byte(opIf)
	w.byte(blockEmpty)
	w.operands(first)
	w.indexed(opCall, mt.splitterOf(in))
	w.byte(opElse)
	mt.chargeLength(w, first+bulkLength, shift)
	w.operands(first)
	w.raw(code[in.start:in.end])
	w.byte(opEnd)
}

// splitterOf finds or adds the function for an instruction.
func (mt *meter) splitterOf(in *instr) uint32 {
	for _, s := range mt.splitters {
		if s.in.sub == in.sub && s.in.x == in.x {
			return s.index
		}
	}
	index := mt.imported + 1 + uint32(len(mt.m.Funcs)+len(mt.splitters))
	s := splitter{*in, index}
	if in.sub == miscMemoryInit {
		s.in.n = uint32(len(mt.m.Data[in.x].Bytes))
	}
	mt.splitters = append(mt.splitters, s)
	return index
}

// split appends the functions that the bodies came to need. Nothing that the
// module has points at them.
func (mt *meter) split() {
	if len(mt.splitters) == 0 {
		return
	}
	mt.report.Splitters = len(mt.splitters)
	typ := uint32(len(mt.out.Types))
	mt.out.Types = append(mt.out.Types, FuncType{Params: []ValType{I32, I32, I32}})
	mt.out.Funcs = append([]uint32(nil), mt.m.Funcs...)
	for _, s := range mt.splitters {
		w := writer{}
		mt.splitter(&w, &s.in)
		mt.out.Funcs = append(mt.out.Funcs, typ)
		mt.out.Bodies = append(mt.out.Bodies, Body{Code: w.out})
	}
}

// splitter writes the body of one such function.
func (mt *meter) splitter(w *writer, in *instr) {
	w.sumOver(bulkTo, in)
	if in.sub != miscMemoryFill {
		w.sumOver(bulkFrom, in)
		w.byte(opI32Or)
	}
	w.byte(opIf)
	w.byte(blockEmpty)
	w.operands(0)
	w.bulk(in)
	w.byte(opReturn)
	w.byte(opEnd)
	if in.sub == miscMemoryCopy { // what overlaps is moved from its far end
		w.indexed(opLocalGet, bulkTo)
		w.indexed(opLocalGet, bulkFrom)
		w.byte(opI32GtU)
		w.byte(opIf)
		w.byte(blockEmpty)
		mt.chunks(w, in, true)
		w.byte(opElse)
		mt.chunks(w, in, false)
		w.byte(opEnd)
	} else {
		mt.chunks(w, in, false)
	}
	mt.chargeLength(w, bulkLength, bulkShift)
	w.operands(0)
	w.bulk(in)
	w.byte(opEnd)
}

// chunks writes the loop over all chunks but the last.
func (mt *meter) chunks(w *writer, in *instr, backward bool) {
	w.byte(opLoop)
	w.byte(blockEmpty)
	w.indexed(opLocalGet, bulkLength)
	w.i32(bulkChunk)
	w.byte(opI32GtU)
	w.byte(opIf)
	w.byte(blockEmpty)
	mt.charge(w, charge{cost: bulkChunk >> bulkShift, check: true})
	w.step(bulkLength, opI32Sub)
	if backward {
		for _, operand := range []uint32{bulkTo, bulkFrom} {
			w.indexed(opLocalGet, operand)
			w.indexed(opLocalGet, bulkLength)
			w.byte(opI32Add)
		}
		w.i32(bulkChunk)
		w.bulk(in)
	} else {
		w.indexed(opLocalGet, bulkTo)
		w.indexed(opLocalGet, bulkFrom)
		w.i32(bulkChunk)
		w.bulk(in)
		w.step(bulkTo, opI32Add)
		if in.sub != miscMemoryFill {
			w.step(bulkFrom, opI32Add)
		}
	}
	w.indexed(opBr, 1)
	w.byte(opEnd)
	w.byte(opEnd)
}

// sumOver leaves whether an operand and the length pass the end of the memory,
// or of the segment where the operand lies in one. A segment that was dropped
// makes the first chunk trap.
func (w *writer) sumOver(operand uint32, in *instr) {
	w.indexed(opLocalGet, operand)
	w.byte(opI64ExtendI32U)
	w.indexed(opLocalGet, bulkLength)
	w.byte(opI64ExtendI32U)
	w.byte(opI64Add)
	if operand == bulkFrom && in.sub == miscMemoryInit {
		w.byte(opI64Const)
		w.signed(int64(in.n))
	} else {
		w.byte(opMemorySize)
		w.byte(0)
		w.byte(opI64ExtendI32U)
		w.byte(opI64Const)
		w.signed(16)
		w.byte(opI64Shl)
	}
	w.byte(opI64GtU)
}

// bulk writes the instruction alone.
func (w *writer) bulk(in *instr) {
	w.byte(opMisc)
	w.u32(uint32(in.sub))
	switch in.sub {
	case miscMemoryInit:
		w.u32(in.x)
		w.byte(0)
	case miscMemoryCopy:
		w.byte(0)
		w.byte(0)
	case miscMemoryFill:
		w.byte(0)
	}
}

// operands puts three locals onto the stack.
func (w *writer) operands(first uint32) {
	for op := range uint32(bulkLocals) {
		w.indexed(opLocalGet, first+op)
	}
}

// step adds a chunk to a local, or takes it away.
func (w *writer) step(local uint32, op byte) {
	w.indexed(opLocalGet, local)
	w.i32(bulkChunk)
	w.byte(op)
	w.indexed(opLocalSet, local)
}

func (w *writer) i32(v int32) {
	w.byte(opI32Const)
	w.signed(int64(v))
}
