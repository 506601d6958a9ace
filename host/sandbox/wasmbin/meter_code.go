package wasmbin

import "slices"

// maxLeafBytes is more code than maxLeaf can pay for in any leaf worth finding.
const maxLeafBytes = 256

// findLeaves finds the functions that their callers pay for: cheap, without
// loops, bulk instructions and calls, other than of such functions. A call costs
// costCall, so no more than maxLeaf/costCall of them stand above each other and
// as many rounds find them all.
func (mt *meter) findLeaves() *Refusal {
	var candidates []int
	for i := range mt.m.Bodies {
		if len(mt.m.Bodies[i].Code) > maxLeafBytes {
			continue
		}
		if no := mt.plan.decode(mt.m, &mt.s, i); no != nil {
			return no
		}
		if !slices.ContainsFunc(mt.plan.code, mt.leadsOn) {
			candidates = append(candidates, i)
		}
	}
	for range maxLeaf/costCall + 1 {
		rest := candidates[:0]
		for _, i := range candidates {
			if no := mt.plan.decode(mt.m, &mt.s, i); no != nil {
				return no
			}
			if mt.plan.calls(&mt.s, mt.leaf) {
				rest = append(rest, i)
				continue
			}
			mt.plan.build(mt.m.Bodies[i].Code, &mt.s, mt.leaf)
			if c := mt.plan.entry.cost; c <= mt.plan.leafMax() && len(mt.plan.charges) == 0 {
				mt.leaves[i] = max(c, 1)
				mt.report.Leaves++
			}
		}
		if len(rest) == len(candidates) {
			break
		}
		candidates = rest
	}
	return nil
}

// leadsOn says that an instruction keeps its function from being a leaf.
func (mt *meter) leadsOn(in instr) bool {
	switch in.op {
	case opLoop, opCallIndirect, opReturnIndirect, opReturnCall, opTryTable, opThrow, opThrowRef, opMemoryGrow:
		return true
	case opCall:
		return in.x < mt.imported
	case opMisc:
		return in.sub >= miscMemoryInit
	case opAtomic:
		return true
	}
	return false
}

// rewrite gives every body its charges.
func (mt *meter) rewrite() *Refusal {
	mt.out.Bodies = make([]Body, len(mt.m.Bodies))
	mt.report.Frames = make([]int64, len(mt.m.Bodies))
	total := 0
	for i := range mt.m.Bodies {
		total += len(mt.m.Bodies[i].Code)
	}
	w := writer{out: make([]byte, 0, total+total/8)}
	for i := range mt.m.Bodies {
		if no := mt.plan.decode(mt.m, &mt.s, i); no != nil {
			return no
		}
		from := len(w.out)
		mt.out.Bodies[i] = mt.m.Bodies[i]
		mt.body(&w, i)
		mt.out.Bodies[i].Code = w.out[from:len(w.out):len(w.out)]
	}
	return nil
}

// body writes one function.
func (mt *meter) body(w *writer, i int) {
	b := &mt.out.Bodies[i]
	p := &mt.plan
	if mt.leaves[i] > 0 {
		p.charges, p.entry = p.charges[:0], charge{}
	} else {
		p.build(b.Code, &mt.s, mt.leaf)
		mt.report.Functions++
	}
	locals := uint32(mt.m.localCount(i))
	bulky := false
	charges := p.charges
	f := mt.frameOf(i, locals)
	mt.report.Frames[i] = f.size
	mt.loops = append(mt.loops[:0], 0)
	mt.openers = mt.openers[:0]
	if f.size > 0 {
		mt.enter(w, f, p.entry, mt.resultOf(i))
	} else {
		mt.charge(w, p.entry)
	}
	for k := range p.code {
		in := &p.code[k]
		if len(charges) > 0 && charges[0].at == k && !charges[0].check {
			mt.charge(w, charges[0])
			charges = charges[1:]
		}
		if _, bulk := bulkOf(in); bulk {
			bulky = true
			mt.bulk(w, in, b.Code, locals)
			continue
		}
		switch in.op {
		case opLoop:
			mt.loop(w, in, b.Code, charges[0], f.caught && p.caught[k], f)
			charges = charges[1:]
			mt.openers = append(mt.openers, k)
		case opBlock, opIf, opTryTable:
			mt.branch(w, in, b.Code)
			mt.open(false)
			mt.openers = append(mt.openers, k)
		case opEnd:
			last := k+1 == len(p.code)
			if !last && mt.shut() {
				mt.endLoop(w)
			} else {
				w.byte(opEnd)
			}
			switch {
			case last && f.size > 0:
				mt.leave(w, f)
				w.byte(opEnd)
			case !last:
				opener := mt.openers[len(mt.openers)-1]
				mt.openers = mt.openers[:len(mt.openers)-1]
				if f.caught && p.caught[opener] {
					mt.restore(w, f)
				}
			}
		case opReturn:
			if f.size == 0 {
				w.byte(opReturn)
			} else {
				w.indexed(opBr, mt.label(uint32(len(mt.loops)-1)))
			}
		case opReturnCall, opReturnIndirect:
			if f.size > 0 {
				mt.leave(w, f)
			}
			mt.branch(w, in, b.Code)
		default:
			mt.branch(w, in, b.Code)
		}
	}
	if bulky || f.caught {
		b.Locals = append(slices.Clip(b.Locals), LocalGroup{bulkLocals, I32})
	}
	if f.caught {
		b.Locals = append(b.Locals, LocalGroup{1, I64})
	}
}

// frameOf is how the decoded and planned body counts against the stack.
func (mt *meter) frameOf(function int, locals uint32) stackFrame {
	if mt.opt.Stack <= 0 || mt.leaves[function] > 0 || !mt.plan.calls(&mt.s, mt.leaf) {
		return stackFrame{}
	}
	return stackFrame{size: mt.plan.frame(int(locals)), local: locals + bulkLocals, caught: mt.plan.caught != nil}
}

// loop opens a loop with its charge and check. The call of the host stands
// behind the guest's code, out of the way of what runs; placed before it, it
// costs a tight loop twice as much:
//
//	loop (type)
//	  charge
//	  if (type) enough is left
//	    ...the guest's code...
//	  else
//	    ask for more
//	    br 1
//	  end
//	end
func (mt *meter) loop(w *writer, in *instr, code []byte, c charge, caught bool, f stackFrame) {
	w.raw(code[in.start:in.end])
	if caught {
		mt.restore(w, f)
	}
	mt.charge(w, charge{cost: c.cost})
	mt.report.Checks++
	w.indexed(opGlobalGet, mt.fuel)
	w.byte(opI64Const)
	w.signed(0)
	w.byte(opI64GeS)
	w.byte(opIf)
	w.raw(code[in.start+1 : in.end])
	mt.open(true)
	mt.prices = append(mt.prices, c.cost)
}

// endLoop closes a loop. The charge that the header takes again after the host
// was asked is given back first, so that what is used does not depend on how
// often that happens.
func (mt *meter) endLoop(w *writer) {
	again := mt.prices[len(mt.prices)-1]
	mt.prices = mt.prices[:len(mt.prices)-1]
	w.byte(opElse)
	mt.yield(w, again)
	w.indexed(opBr, 1)
	w.byte(opEnd)
	w.byte(opEnd)
}

// branch writes an instruction that is no loop and no end, with its labels and
// function index moved.
func (mt *meter) branch(w *writer, in *instr, code []byte) {
	switch in.op {
	case opBr, opBrIf:
		w.indexed(in.op, mt.label(in.x))
	case opBrTable:
		w.byte(in.op)
		w.u32(in.n - 1)
		r := reader{buf: code, pos: int(in.x)}
		for range in.n {
			w.u32(mt.label(r.u32()))
		}
	case opTryTable:
		w.raw(code[in.start:in.catches])
		r := reader{buf: code, pos: int(in.catches)}
		for range in.n {
			kind := r.byte()
			w.byte(kind)
			if kind < 2 {
				w.u32(r.u32()) // tag
			}
			w.u32(mt.label(r.u32()))
		}
	default:
		w.moved(mt, in, code)
	}
}

// open and shut keep count of the blocks around the code that is written.
// loops[k] is how many of the k outermost are loops.
func (mt *meter) open(loop bool) {
	n := mt.loops[len(mt.loops)-1]
	if loop {
		n++
	}
	mt.loops = append(mt.loops, n)
}

func (mt *meter) shut() (loop bool) {
	last := len(mt.loops) - 1
	loop = mt.loops[last] > mt.loops[last-1]
	mt.loops = mt.loops[:last]
	return loop
}

// label is the depth of a block once every loop up to it has an if inside.
func (mt *meter) label(l uint32) uint32 {
	around := max(0, len(mt.loops)-2-int(l)) // blocks around the target
	return l + mt.loops[len(mt.loops)-1] - mt.loops[around]
}

// charge writes one charge. It leaves the operands of the code around it alone.
func (mt *meter) charge(w *writer, c charge) {
	if c.cost > 0 {
		mt.report.Charges++
		w.indexed(opGlobalGet, mt.fuel)
		w.byte(opI64Const)
		w.signed(int64(c.cost))
		w.byte(opI64Sub)
		w.indexed(opGlobalSet, mt.fuel)
	}
	if c.check {
		mt.check(w)
	}
}

// chargeLength pays for a bulk instruction by the length in a local.
func (mt *meter) chargeLength(w *writer, local uint32, shift int) {
	mt.report.Charges++
	w.indexed(opGlobalGet, mt.fuel)
	w.indexed(opLocalGet, local)
	w.byte(opI64ExtendI32U)
	w.byte(opI64Const)
	w.signed(int64(shift))
	w.byte(opI64ShrU)
	w.byte(opI64Sub)
	w.indexed(opGlobalSet, mt.fuel)
	mt.check(w)
}

// check asks the host for more when the fuel has run out.
func (mt *meter) check(w *writer) {
	mt.report.Checks++
	w.indexed(opGlobalGet, mt.fuel)
	mt.negative(w)
	w.byte(opIf)
	w.byte(blockEmpty)
	mt.yield(w, 0)
	w.byte(opEnd)
}

// yield calls the host and adds to what it answers.
func (mt *meter) yield(w *writer, extra int) {
	w.indexed(opGlobalGet, mt.fuel)
	w.indexed(opCall, mt.imported)
	if extra > 0 {
		w.byte(opI64Const)
		w.signed(int64(extra))
		w.byte(opI64Add)
	}
	w.indexed(opGlobalSet, mt.fuel)
}

func (w *writer) indexed(op byte, index uint32) {
	w.byte(op)
	w.u32(index)
}
