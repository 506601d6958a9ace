package wasmbin

// thread makes a jump through a table one to where it leads, as far as that is
// further on. Go's compiler writes a function as one loop around a table of all
// the places that a call may come back to, and every jump as a turn of the loop:
//
//	loop
//	  block block block
//	    local.get 0  br_table 0 1 2
//	  end ...
//	    i32.const 2  local.set 0  br (the loop)
//	  end ...
//	end
//
// The local is set all the same, until nothing is seen to read it.
func (sh *shortener) thread() {
	type dispatch struct {
		local uint32
		table []uint32
	}
	tables := map[uint32]dispatch{}
	for i := range sh.steps {
		if s := &sh.steps[i]; s.op != opLoop || !sh.labels[s.x].empty() {
			continue
		}
		at := i + 1
		for at < len(sh.steps) && sh.steps[at].op == opBlock && sh.labels[sh.steps[at].x].typ == (blockType{}) {
			at++
		}
		if at+1 < len(sh.steps) && sh.steps[at].op == opLocalGet && sh.steps[at+1].op == opBrTable {
			tables[sh.steps[i].x] = dispatch{sh.steps[at].x, sh.steps[at+1].table}
		}
	}
	if len(tables) == 0 {
		return
	}
	for i := range sh.steps {
		switch s := &sh.steps[i]; s.op {
		case opBlock, opLoop, opIf:
			sh.labels[s.x].open = true
		case opEnd:
			sh.labels[s.x].open = false
		case opBr:
			d, ok := tables[s.x]
			if !ok || i < 2 || sh.steps[i-1].op != opLocalSet || sh.steps[i-1].x != d.local || sh.steps[i-2].op != opI32Const {
				continue
			}
			to := d.table[min(uint32(sh.steps[i-2].v), uint32(len(d.table)-1))]
			if l := &sh.labels[to]; to != 0 && l.open && l.empty() {
				s.x = to
			}
		}
	}
}

// structure leaves out code that nothing reaches, blocks that nothing branches
// to, and makes a condition around a branch a branch with one.
func (sh *shortener) structure() {
	sh.merge()
	for i := range sh.labels {
		sh.labels[i].uses = 0
	}
	for i := range sh.steps {
		switch s := &sh.steps[i]; s.op {
		case opBr, opBrIf:
			sh.labels[s.x].uses++
		case opBrTable:
			for _, l := range s.table {
				sh.labels[l].uses++
			}
		}
	}
	out := sh.steps[:0]
	dead := 0 // blocks that are open where nothing leads, with the one that is not
	for _, s := range sh.steps {
		if dead > 0 {
			switch {
			case s.op == opBlock || s.op == opLoop || s.op == opIf:
				dead++
			case s.op == opEnd:
				dead--
			case s.op == opElse && dead == 1:
				dead = 0
			}
			if dead > 0 || s.op != opEnd && s.op != opElse {
				sh.changed = true
				continue
			}
		}
		switch s.op {
		case opBr, opBrTable, opReturn, opUnreachable, opReturnCall, opReturnIndirect:
			dead = 1
		case opBlock:
			if sh.labels[s.x].uses == 0 {
				sh.changed = true
				continue
			}
		case opEnd:
			if s.x != 0 && sh.labels[s.x].op == opBlock && sh.labels[s.x].uses == 0 {
				continue
			}
			n := len(out)
			if n >= 2 && out[n-1].op == opBr && out[n-2].op == opIf && out[n-2].x == s.x && sh.labels[s.x].typ == (blockType{}) &&
				out[n-1].x != s.x && sh.labels[out[n-1].x].empty() && out[n-1].x != 0 {
				out[n-2] = step{op: opBrIf, x: out[n-1].x}
				out = out[:n-1]
				sh.changed = true
				continue
			}
		}
		out = append(out, s)
	}
	sh.steps = out
}

// merge makes branches to a block that ends where the one around it ends branches
// to that one.
func (sh *shortener) merge() {
	for i := range sh.labels {
		sh.labels[i].to = uint32(i)
	}
	for i := len(sh.steps) - 2; i >= 0; i-- { // the outer first
		s, next := &sh.steps[i], &sh.steps[i+1]
		if s.op != opEnd || next.op != opEnd || next.x == 0 {
			continue
		}
		inner, outer := &sh.labels[s.x], &sh.labels[next.x]
		if inner.op == opBlock && inner.typ == (blockType{}) && outer.op != opLoop && outer.typ == (blockType{}) {
			inner.to = outer.to
		}
	}
	for i := range sh.steps {
		switch s := &sh.steps[i]; s.op {
		case opBr, opBrIf:
			s.x = sh.labels[s.x].to
		case opBrTable:
			for k, l := range s.table {
				s.table[k] = sh.labels[l].to
			}
		}
	}
}

// follow finds a local that is a copy of the stack pointer, as every function of
// a Go program has one, and reads the global where both hold the same.
func (sh *shortener) follow() {
	if sh.stack == none || len(sh.steps) < 2 || sh.steps[0].op != opGlobalGet || sh.steps[0].x != sh.stack || sh.steps[1].op != opLocalSet {
		return
	}
	local := sh.steps[1].x
	for i := range sh.labels {
		sh.labels[i].copy = true
	}
	for again := true; again; {
		again = sh.walkCopies(local, false)
	}
	sh.walkCopies(local, true)
}

// walkCopies goes through the steps once, from what is assumed of each label. It
// says whether a loop turned out to begin otherwise. With write it makes reads of
// the local reads of the global.
func (sh *shortener) walkCopies(local uint32, write bool) (again bool) {
	same, reached := false, true // where nothing leads, anything holds
	leads := func(to uint32, same bool) {
		l := &sh.labels[to]
		again = again || l.op == opLoop && l.copy && !same
		l.copy = l.copy && same
	}
	for i := range sh.labels {
		if sh.labels[i].op != opLoop {
			sh.labels[i].copy = true
		}
	}
	var conditions []bool // at the ifs that are open, what holds there
	for i := range sh.steps {
		s := &sh.steps[i]
		switch s.op {
		case opLocalGet:
			if write && s.x == local && same && reached {
				*s = step{op: opGlobalGet, x: sh.stack}
			}
		case opLocalSet, opLocalTee:
			if s.x != local {
				break
			}
			if s.op == opLocalSet {
				same = i > 0 && sh.steps[i-1].op == opGlobalGet && sh.steps[i-1].x == sh.stack
			} else {
				same = false
			}
		case opGlobalSet:
			if s.x == sh.stack {
				before := &sh.steps[max(i-1, 0)]
				same = (before.op == opLocalTee || before.op == opLocalGet) && before.x == local ||
					same && before.op == opGlobalGet && before.x == sh.stack
			}
		case opCall, opCallIndirect:
			same = false
		case opBr:
			leads(s.x, same || !reached)
			reached = false
		case opBrIf:
			leads(s.x, same || !reached)
		case opBrTable:
			for _, l := range s.table {
				leads(l, same || !reached)
			}
			reached = false
		case opReturn, opUnreachable, opReturnCall, opReturnIndirect:
			reached = false
		case opLoop:
			leads(s.x, same || !reached)
			same, reached = sh.labels[s.x].copy, true
		case opIf:
			conditions = append(conditions, same || !reached)
		case opElse:
			leads(s.x, same || !reached)
			same, reached = conditions[len(conditions)-1], true
			conditions[len(conditions)-1] = true // what the condition adds at the end is nothing more
		case opEnd:
			if sh.labels[s.x].op == opLoop {
				break
			}
			if sh.labels[s.x].op == opIf {
				leads(s.x, conditions[len(conditions)-1])
				conditions = conditions[:len(conditions)-1]
			}
			leads(s.x, same || !reached)
			same, reached = sh.labels[s.x].copy, true
		}
	}
	return again
}
