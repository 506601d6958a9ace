package wasmbin

// live finds what nothing reads: values that are set into a local that is set
// again, or left, before it is read. It marks each last reading.
func (sh *shortener) live() {
	sh.at = append(sh.at[:0], make([]uint64, len(sh.labels))...)
	for sh.walkLive(false) {
	}
	sh.walkLive(true)
}

// arms is an if that is open, from its end.
type arms struct{ end, other uint64 }

// walkLive goes through the steps once, from the last, with what is known of
// loops. It says whether that was not all. With write it changes the steps.
func (sh *shortener) walkLive(write bool) (again bool) {
	var ifs []arms
	live := uint64(0)
	for i := len(sh.steps) - 1; i >= 0; i-- {
		s := &sh.steps[i]
		switch s.op {
		case opLocalGet:
			if write {
				s.last = live&(1<<s.x) == 0
			}
			live |= 1 << s.x
		case opLocalSet:
			if write && live&(1<<s.x) == 0 {
				*s = step{op: opDrop}
				sh.changed = true
				break
			}
			live &^= 1 << s.x
		case opLocalTee:
			if write && live&(1<<s.x) == 0 {
				*s = step{op: opNop}
				sh.changed = true
				break
			}
			live &^= 1 << s.x
		case opBr:
			live = sh.at[s.x]
		case opBrIf:
			live |= sh.at[s.x]
		case opBrTable:
			live = 0
			for _, l := range s.table {
				live |= sh.at[l]
			}
		case opReturn, opUnreachable, opReturnCall, opReturnIndirect:
			live = 0
		case opEnd:
			switch sh.labels[s.x].op {
			case opIf:
				ifs = append(ifs, arms{live, live})
				sh.at[s.x] = live
			case opBlock:
				sh.at[s.x] = live
			}
		case opElse:
			in := &ifs[len(ifs)-1]
			in.other, live = live, in.end
		case opIf:
			live |= ifs[len(ifs)-1].other
			ifs = ifs[:len(ifs)-1]
		case opLoop:
			if sh.at[s.x] != live {
				sh.at[s.x] = live
				again = true
			}
		}
	}
	return again
}
