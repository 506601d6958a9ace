package wasmbin

// pairs goes through the steps once and writes those that follow each other as
// fewer that do the same.
func (sh *shortener) pairs() {
	steps := sh.steps
	p := pairs{sh: sh, out: sh.spare[:0]}
	for i := range steps {
		p.put(steps[i])
	}
	sh.steps, sh.spare = p.out, steps
}

// pairs are the steps that were written.
type pairs struct {
	sh  *shortener
	out []step
}

// ago is the step that was written so many before the next; a nop without one.
func (p *pairs) ago(n int) *step {
	if n > len(p.out) {
		return &step{op: opNop}
	}
	return &p.out[len(p.out)-n]
}

// cut takes back the last steps.
func (p *pairs) cut(n int) {
	p.out = p.out[:len(p.out)-n]
	p.sh.changed = true
}

func (p *pairs) put(s step) {
	last := p.ago(1)
	switch op := s.op; {
	case op == opNop:
		p.sh.changed = true
		return
	case op == opI32WrapI64:
		switch {
		case last.op == opI64ExtendI32U:
			p.cut(1)
			return
		case last.op == opI64Const:
			p.constant(int32(last.v))
			return
		case last.op == opI64Add && p.ago(2).op == opI64Const && p.ago(3).op == opI64ExtendI32U:
			v := int32(p.ago(2).v)
			p.cut(3)
			p.put(step{op: opI32Const, v: int64(v)})
			s = step{op: opI32Add}
		}
	case op >= opLoadFirst && op < opStoreFirst:
		if n, ok := p.framed(len(p.out), &s); ok {
			s.x += n
			p.cut(2)
		}
	case op >= opStoreFirst && op <= opStoreLast:
		at, ok := p.sh.start(p.out, len(p.out))
		if !ok {
			break
		}
		if n, ok := p.framed(at, &s); ok {
			s.x += n
			p.out = append(p.out[:at-2], p.out[at:]...)
			p.sh.changed = true
		}
	case op == opI64Eqz && last.op == opI64ExtendI32U:
		p.cut(1)
		p.put(step{op: opI32Eqz})
		return
	case op == opI32Eqz:
		if opposite := inverse(last.op); opposite != 0 {
			last.op, last.raw = opposite, nil
			p.sh.changed = true
			return
		}
		if last.op == opI32Eqz && truth(p.ago(2).op) {
			p.cut(1)
			return
		}
	case op == opIf || op == opBrIf || op == opSelect:
		if last.op == opI32Eqz && p.ago(2).op == opI32Eqz {
			p.cut(2)
		}
	case op == opLocalGet:
		if p.got(s) {
			return
		}
	case op == opLocalSet && last.op == opLocalTee && last.x == s.x:
		p.cut(1)
	case op == opLocalSet && last.op == opLocalGet && last.x == s.x,
		op == opGlobalSet && last.op == opGlobalGet && last.x == s.x:
		p.cut(1)
		return
	case op == opLocalTee && (last.op == opLocalGet || last.op == opLocalTee) && last.x == s.x:
		p.sh.changed = true
		return
	case op == opDrop:
		switch {
		case last.value():
			p.cut(1)
			return
		case last.op == opLocalTee:
			last.op = opLocalSet
			p.sh.changed = true
			return
		case unary(last.op) && !traps(last.op):
			p.cut(1)
			p.put(s)
			return
		}
	}
	p.out = append(p.out, s)
}

// constant makes the last step a constant of 32 bits.
func (p *pairs) constant(v int32) {
	*p.ago(1) = step{op: opI32Const, v: int64(v)}
	p.sh.changed = true
}

// framed is what is added to the stack pointer at the end of the first steps, when
// they end with such an address of an access that can add it as well.
func (p *pairs) framed(end int, s *step) (uint32, bool) {
	if end < 3 || p.sh.stack == none {
		return 0, false
	}
	base, n, add := &p.out[end-3], &p.out[end-2], &p.out[end-1]
	if base.op != opGlobalGet || base.x != p.sh.stack || n.op != opI32Const || add.op != opI32Add {
		return 0, false
	}
	return uint32(n.v), n.v >= 0 && n.v < maxFrame && s.x < maxFrame
}

// got writes a reading of a local after what was set into it, if it can be done
// without the local.
func (p *pairs) got(s step) bool {
	last := p.ago(1)
	switch {
	case last.op == opLocalSet && last.x == s.x:
		if s.last {
			p.cut(1)
			return true
		}
		last.op, last.raw = opLocalTee, nil
		p.sh.changed = true
		return true
	case !s.last || !last.value() || last.op == opLocalGet && last.x == s.x:
		return false
	}
	// What was set is the operand after the one that stands between: it can be
	// computed there, and the other before it, which has no effect.
	set := len(p.out) - 2
	if set < 0 || p.out[set].op != opLocalSet || p.out[set].x != s.x {
		return false
	}
	at, ok := p.sh.start(p.out, set)
	if !ok || p.writes(p.out[at:set], last) {
		return false
	}
	between := *last
	copy(p.out[at+1:set+1], p.out[at:set])
	p.out[at] = between
	p.cut(1)
	return true
}

// writes says whether steps may change what a value reads.
func (p *pairs) writes(steps []step, value *step) bool {
	for i := range steps {
		switch s := &steps[i]; s.op {
		case opLocalSet, opLocalTee:
			if value.op == opLocalGet && value.x == s.x {
				return true
			}
		case opGlobalSet:
			if value.op == opGlobalGet && value.x == s.x {
				return true
			}
		case opCall, opCallIndirect:
			if value.op == opGlobalGet {
				return true
			}
		}
	}
	return false
}

// truth says that an opcode gives 0 or 1.
func truth(op byte) bool { return op >= opI32Eqz && op <= 0x66 }

// inverse is the comparison of integers that says the opposite, 0 of any other.
func inverse(op byte) byte {
	const equal, first, last = 0, 2, 9 // within those of one type: equal and not, then less, greater, at most and at least
	group := byte(0)
	switch {
	case op >= 0x46 && op <= 0x4f:
		group = 0x46
	case op >= 0x51 && op <= 0x5a:
		group = 0x51
	default:
		return 0
	}
	switch n := op - group; {
	case n <= equal+1:
		return group + (n ^ 1)
	case n >= first && n <= last:
		// less, greater, at most, at least, each signed and unsigned
		return group + [...]byte{8, 9, 6, 7, 4, 5, 2, 3}[n-first]
	}
	return 0
}
