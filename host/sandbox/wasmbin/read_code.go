package wasmbin

import "slices"

// expr reads an initialiser: constant instructions and the end, Core 2.0
// section 3.3.8. globals is how many of them come before it.
func (d *decoder) expr(r *reader, globals int) []byte {
	at := r.pos
	s := spaces{m: d.m, features: d.l.Features, funcs: d.space(KindFunc), globals: globals}
	for n := 0; r.no == nil; n++ {
		in := r.next(&s, 0)
		switch in.op {
		case opEnd:
			return r.buf[at:r.pos:r.pos]
		case opI32Const, opI64Const, opF32Const, opF64Const, opGlobalGet, opRefNull, opRefFunc:
		case opI32Add, opI32Add + 1, opI32Mul, opI64Add, opI64Sub, opI64Mul:
			r.need(&s, ExtendedConst)
		case opVector:
			if in.sub != vecConst {
				r.fail(CodeStructure, "it has an initialiser that is not constant")
			}
		default:
			r.fail(CodeStructure, "it has an initialiser that is not constant")
		}
		if n > 0 {
			r.need(&s, ExtendedConst)
		}
		if n > 1000 {
			r.fail(CodeStructure, "it has an initialiser of more than 1000 instructions")
		}
	}
	return nil
}

// code splits the code section into bodies. Their instructions are walked once
// the whole file is known.
func (d *decoder) code(r *reader) {
	n := r.count(CodeFunctions, "function bodies", 2, d.l.Functions)
	if r.no == nil && n != len(d.m.Funcs) {
		r.fail(CodeMismatch, "it declares %d functions and has %d bodies", len(d.m.Funcs), n)
	}
	if r.no != nil {
		return
	}
	d.m.Bodies = slices.Grow([]Body(nil), n)
	for i := 0; i < n && r.no == nil; i++ {
		size := r.u32()
		if r.no == nil && uint64(size) <= uint64(r.left()) && uint64(size) > uint64(d.l.BodyBytes) {
			r.fail(CodeBodyBytes, "function %d has %d bytes, and at most %d are allowed", i, size, d.l.BodyBytes)
		}
		at := r.base + r.pos
		body := &reader{buf: r.take(size), base: at}
		if r.no != nil {
			return
		}
		b := Body{Locals: d.locals(body, i)}
		b.Offset = at + body.pos
		b.Code = body.buf[body.pos:]
		r.no = body.no
		d.m.Bodies = append(d.m.Bodies, b)
	}
}

func (d *decoder) locals(r *reader, function int) []LocalGroup {
	n := r.count(CodeLocals, "groups of locals", 2, d.l.Locals)
	if n == 0 {
		return nil
	}
	groups := make([]LocalGroup, 0, n)
	sum := uint64(0)
	for i := 0; i < n && r.no == nil; i++ {
		g := LocalGroup{Count: r.u32(), Type: r.valType(d.l.Features)}
		if sum += uint64(g.Count); sum > uint64(d.l.Locals) {
			r.fail(CodeLocals, "function %d has %d locals, and at most %d are allowed", function, sum, d.l.Locals)
		}
		groups = append(groups, g)
	}
	return groups
}

// localCount is the size of a function's local space.
func (m *Module) localCount(function int) int {
	n := len(m.Types[m.Funcs[function]].Params)
	for _, g := range m.Bodies[function].Locals {
		n += int(g.Count)
	}
	return n
}

// bodies walks all code.
func (d *decoder) bodies() *Refusal {
	s := d.m.spaces(d.l.Features)
	var open []instr
	for i := range d.m.Bodies {
		b := &d.m.Bodies[i]
		r := &reader{buf: b.Code, base: b.Offset}
		w := bodyWalk{d: d, r: r, function: i, locals: d.m.localCount(i), open: open[:0]}
		w.walk(&s)
		d.effort += 1000 + 40*w.instructions + w.forks*w.forks + w.blocks*w.blocks/4 + 20*w.locals*w.blocks
		if r.no == nil && d.effort > d.l.Effort {
			r.fail(CodeEffort, "it is too much to compile: from function %d on it goes past the limit", i)
		}
		if r.no != nil {
			return r.no
		}
		open = w.open
	}
	return nil
}

// bodyWalk holds one body against the limits.
type bodyWalk struct {
	d                        *decoder
	r                        *reader
	function, locals         int
	open                     []instr // blocks, outermost first, without the function's own
	blocks, values, branches int
	loops, depth, forks      int
	instructions             int
}

func (w *bodyWalk) walk(s *spaces) {
	r, l := w.r, &w.d.l
	for r.no == nil {
		in := r.next(s, w.locals)
		if r.no != nil {
			return
		}
		w.instructions++
		switch in.op {
		case opBlock, opLoop, opIf, opTryTable:
			w.open = append(w.open, in)
			w.blocks++
			w.values += int(in.typ.params) + int(in.typ.results)
			if in.op != opBlock {
				w.depth++
			}
			switch in.op {
			case opLoop:
				w.loops++
			case opIf:
				w.fork(l)
			}
			w.bounds(l)
			if in.op == opTryTable {
				w.catches(s, in)
			}
		case opElse:
			if len(w.open) == 0 || w.open[len(w.open)-1].op != opIf {
				r.fail(CodeStructure, "function %d has an else without its if", w.function)
				return
			}
			w.open[len(w.open)-1].op = opElse
		case opEnd:
			if len(w.open) > 0 {
				if w.open[len(w.open)-1].op != opBlock {
					w.depth--
				}
				w.open = w.open[:len(w.open)-1]
				continue
			}
			if r.left() > 0 {
				r.fail(CodeStructure, "function %d goes on after its end", w.function)
			}
			return
		case opBrIf:
			w.fork(l)
			w.label(in.x)
		case opBr:
			w.label(in.x)
		case opBrTable:
			if w.branches += int(in.n) - 1; w.branches > l.BranchTable {
				r.fail(CodeBranchTable, "function %d has branch tables of %d labels, and at most %d are allowed", w.function, w.branches, l.BranchTable)
				return
			}
			labels := reader{buf: r.buf, pos: int(in.x), base: r.base}
			for range in.n {
				w.label(labels.u32())
			}
		case opMisc:
			if in.sub == miscTableGrow && !l.TableGrow {
				r.fail(CodeTableGrow, "function %d grows a table, which is not allowed", w.function)
			}
		}
	}
}

// bounds holds the products that make compilers slow against their limits.
func (w *bodyWalk) bounds(l *Limits) {
	switch n := w.locals * w.blocks; {
	case len(w.open) > l.Nesting:
		w.r.fail(CodeNesting, "function %d nests more than %d blocks", w.function, l.Nesting)
	case w.blocks > l.Blocks:
		w.r.fail(CodeBlocks, "function %d has more than %d blocks", w.function, l.Blocks)
	case w.loops > l.Loops:
		w.r.fail(CodeLoops, "function %d has more than %d loops", w.function, l.Loops)
	case w.depth > l.Depth:
		w.r.fail(CodeDepth, "function %d nests more than %d ifs and loops", w.function, l.Depth)
	case n > l.LocalBlocks:
		w.r.fail(CodeLocalBlocks, "function %d has %d locals in more than %d blocks, which takes too long to compile", w.function, w.locals, w.blocks-1)
	case w.values > l.BlockValues:
		w.r.fail(CodeBlockValues, "function %d has blocks of more than %d values together", w.function, l.BlockValues)
	}
}

// fork counts one conditional way.
func (w *bodyWalk) fork(l *Limits) {
	if w.forks++; w.forks > l.Forks {
		w.r.fail(CodeForks, "function %d has more than %d conditional branches", w.function, l.Forks)
	}
}

func (w *bodyWalk) label(depth uint32) {
	if w.r.no == nil && int64(depth) > int64(len(w.open)) {
		w.r.fail(CodeIndex, "function %d branches out of %d blocks and is in %d", w.function, depth, len(w.open))
	}
}

// catches checks the labels of a try_table, which are counted outside of it.
func (w *bodyWalk) catches(s *spaces, in instr) {
	clauses := reader{buf: w.r.buf, pos: int(in.catches), base: w.r.base}
	for range in.n {
		if label := clauses.catch(s); int64(label) >= int64(len(w.open)) {
			w.label(uint32(len(w.open)) + 1)
		}
	}
	if w.r.no == nil && in.n > uint32(w.d.l.BranchTable) {
		w.r.fail(CodeBranchTable, "function %d has a try of %d clauses, and at most %d are allowed", w.function, in.n, w.d.l.BranchTable)
	}
}
