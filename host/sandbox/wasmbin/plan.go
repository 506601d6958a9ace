package wasmbin

// charge is fuel taken at one place of a body: before instruction at, or after
// it where the instruction is a loop, whose header is inside of it.
type charge struct {
	at    int
	cost  int
	check bool // ask for more when it ran out
}

// plan decides where one body pays. Reused between bodies.
//
// A charge covers the most expensive way from its place to the next charge, so
// what a guest pays is an upper bound of what it executes. Loop headers always
// charge and check; the entry does unless the body is cheap and leads straight
// to a loop; between those a charge without a check stands wherever some way
// since the last one would cost more than the span.
type plan struct {
	span    int
	code    []instr
	charges []charge // in the order of the code, after the entry's
	entry   charge   // cost 0: none
	open    []frame
	caught  []bool // by instruction: a block whose end a catch clause leads to
}

// endOfLoop marks, in instr.n, an end that closes a loop.
const endOfLoop = 1

// frame is one open block.
type frame struct {
	opener int // instruction
	end    int // forward: the dearest way that reached its end; backward: what follows its end
	other  int // forward: the dearest way to the else arm; backward: what the else arm costs
	label  int // backward: what a branch to it leads to; a loop's header pays for itself
	isElse bool
}

// decode splits a body into instructions.
func (p *plan) decode(m *Module, s *spaces, function int) *Refusal {
	b := &m.Bodies[function]
	r := &reader{buf: b.Code, base: b.Offset}
	locals := m.localCount(function)
	p.code = p.code[:0]
	for r.no == nil && r.left() > 0 {
		in := r.next(s, locals)
		in.cost = uint16(cost(&in))
		p.code = append(p.code, in)
	}
	return r.no
}

// build fills in charges and entry for the decoded body. leaf is the price of a
// callee that pays nothing itself, 0 for others.
func (p *plan) build(code []byte, s *spaces, leaf func(uint32) int) {
	p.charges = p.charges[:0]
	p.place(code, s, leaf)
	p.entry = charge{cost: p.price(code, leaf)}
	p.shareEntry()
	if p.entry.cost > 0 {
		p.entry.check = p.calls(s, leaf)
	}
}

// calls says whether the body calls a function that might call it back, or as
// many more as it likes. Only such bodies can take part in a recursion or a
// tree of calls, so only they must check at their entry.
func (p *plan) calls(s *spaces, leaf func(uint32) int) bool {
	imported := uint32(s.imported)
	for i := range p.code {
		switch in := &p.code[i]; in.op {
		case opCallIndirect, opReturnIndirect:
			return true
		case opCall, opReturnCall:
			if in.x >= imported && leaf(in.x) == 0 {
				return true
			}
		}
	}
	return false
}

// costOf is the price of an instruction with what its callee leaves to it: of a
// function that is called through a table, what any may leave.
func (p *plan) costOf(in *instr, leaf func(uint32) int) int {
	switch in.op {
	case opCall, opReturnCall:
		return int(in.cost) + leaf(in.x)
	case opCallIndirect, opReturnIndirect:
		return int(in.cost) + p.leafMax()
	}
	return int(in.cost)
}

// leafMax is the most that a function may cost which does not pay itself. With a span of 1 that is nothing: then the count is
// exact, also of a call through a table, which has to pay for the dearest of such functions whichever it calls.
func (p *plan) leafMax() int { return min(maxLeaf, p.span-1) }

// labels calls f for each block that an instruction may branch to.
func (p *plan) labels(in *instr, code []byte, f func(*frame)) {
	if in.op != opBrTable {
		f(&p.open[len(p.open)-1-int(in.x)])
		return
	}
	r := reader{buf: code, pos: int(in.x)}
	last := ^uint32(0)
	for range in.n {
		if l := r.u32(); l != last {
			f(&p.open[len(p.open)-1-int(l)])
			last = l
		}
	}
}

// place walks forward and sets charges where a way since the last would become
// too dear. d is the dearest way to here, exitsNothing where none leads.
func (p *plan) place(code []byte, s *spaces, leaf func(uint32) int) {
	p.open = append(p.open[:0], frame{opener: -1, end: exitsNothing})
	p.markCaught(code, s)
	d := 0
	for i := range p.code {
		in := &p.code[i]
		c := p.costOf(in, leaf)
		if d > 0 && d+c > p.span {
			p.charges = append(p.charges, charge{at: i})
			d = 0
		}
		if d >= 0 {
			d += c
		}
		reach := func(f *frame) { f.end = max(f.end, d) }
		switch in.op {
		case opBlock, opTryTable:
			p.open = append(p.open, frame{opener: i, end: exitsNothing})
		case opLoop:
			p.open = append(p.open, frame{opener: i, end: exitsNothing})
			p.charges = append(p.charges, charge{at: i, check: true})
			d = 0
		case opIf:
			p.open = append(p.open, frame{opener: i, end: exitsNothing, other: d})
		case opElse:
			f := &p.open[len(p.open)-1]
			f.end, d = max(f.end, d), f.other
			f.isElse = true
		case opEnd:
			f := p.open[len(p.open)-1]
			p.open = p.open[:len(p.open)-1]
			if f.opener >= 0 && p.code[f.opener].op == opLoop {
				in.n = endOfLoop
			} else if f.opener >= 0 {
				d = max(d, f.end)
				if p.code[f.opener].op == opIf && !f.isElse {
					d = max(d, f.other)
				}
			}
			if f.opener >= 0 && p.caught != nil && p.caught[f.opener] && i+1 < len(p.code) {
				p.charges = append(p.charges, charge{at: i + 1})
				d = 0
			}
		case opBr, opBrTable:
			p.labels(in, code, reach)
			d = exitsNothing
		case opBrIf:
			p.labels(in, code, reach)
		case opReturn, opUnreachable, opReturnCall, opReturnIndirect, opThrow, opThrowRef:
			d = exitsNothing
		}
	}
}

// markCaught finds blocks whose end a catch clause leads to. An exception may
// come from anywhere inside, so the code after such an end pays for itself.
func (p *plan) markCaught(code []byte, s *spaces) {
	p.caught = nil
	var open []int
	for i := range p.code {
		in := &p.code[i]
		switch in.op {
		case opTryTable:
			if p.caught == nil {
				p.caught = make([]bool, len(p.code))
			}
			r := reader{buf: code, pos: int(in.catches)}
			for range in.n {
				if l := int(r.catch(s)); l < len(open) {
					p.caught[open[len(open)-1-l]] = true
				}
			}
			open = append(open, i)
		case opBlock, opLoop, opIf:
			open = append(open, i)
		case opEnd:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
}

// price walks backward and gives each charge the dearest way from it to the
// next. It returns that of the entry.
func (p *plan) price(code []byte, leaf func(uint32) int) int {
	p.open = p.open[:0]
	next := len(p.charges) - 1
	ahead := 0
	for i := len(p.code) - 1; i >= 0; i-- {
		in := &p.code[i]
		c := p.costOf(in, leaf)
		if in.op == opLoop {
			p.charges[next].cost = ahead
			next--
			ahead = 0
		}
		far := 0
		reach := func(f *frame) { far = max(far, f.label) }
		switch in.op {
		case opEnd:
			f := frame{end: ahead, other: ahead, label: ahead}
			if in.n == endOfLoop {
				f.label = 0
			}
			p.open = append(p.open, f)
		case opElse:
			f := &p.open[len(p.open)-1]
			f.other, ahead = ahead, f.end
		case opIf:
			ahead = c + max(ahead, p.open[len(p.open)-1].other)
			p.open = p.open[:len(p.open)-1]
		case opBlock, opTryTable, opLoop:
			p.open = p.open[:len(p.open)-1]
		case opBr, opBrTable:
			p.labels(in, code, reach)
			ahead = c + far
		case opBrIf:
			p.labels(in, code, reach)
			ahead = c + max(ahead, far)
		case opReturn, opUnreachable, opReturnCall, opReturnIndirect, opThrow, opThrowRef:
			ahead = c
		default:
			ahead += c
		}
		if next >= 0 && p.charges[next].at == i {
			p.charges[next].cost = ahead
			next--
			ahead = 0
		}
	}
	return ahead
}

// shareEntry lets the first loop pay for a short straight way to it, as in every
// function of a Go program, and marks what needs no check.
func (p *plan) shareEntry() {
	if len(p.charges) == 0 {
		return
	}
	for i := range p.code {
		switch p.code[i].op {
		case opLoop:
			if p.charges[0].at == i && p.entry.cost <= min(maxPrologue, p.span/6) {
				p.charges[0].cost += p.entry.cost
				p.entry = charge{}
			}
			return
		case opIf, opBr, opBrIf, opBrTable, opCall, opCallIndirect, opReturn, opReturnCall, opReturnIndirect, opTryTable, opMisc:
			return
		}
	}
}
