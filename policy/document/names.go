package document

import "bytes"

// names are those of an object so far.
type names struct {
	last     int32 // the token of the one before; 0: none, as an object stands before its names
	count    int
	unsorted bool
	seen     map[string]struct{} // of an object with many names out of order
}

// fewNames is how many are compared one by one before a map is made of them.
const fewNames = 16

// unique takes the name at i into those of the object at at, and is false for one that is there already, in strict
// reading. Names in order, which canonical documents have, need no more than to be compared with the one before.
func (p *parser) unique(n *names, at, i int32) bool {
	last := n.last
	n.last = i
	n.count++
	if !p.tape[i].ASCII {
		p.foreign = true
		n.unsorted = true // their order is that of UTF-16 units, which is not looked at
	}
	if !n.unsorted && (last == 0 || p.before(last, i)) {
		return true
	}
	n.unsorted, p.mixed = true, true
	if !p.strict {
		return true
	}
	if n.count > fewNames {
		return p.unseen(n, at, i)
	}
	name := p.Text(i)
	for k := at + 1; k < i; k = p.tape[k+1].Next {
		if string(p.Text(k)) == string(name) {
			return false
		}
	}
	return true
}

// before reports that the name at i is less than the one at j. Most differ in the first byte.
func (p *parser) before(i, j int32) bool {
	a, b := &p.tape[i], &p.tape[j]
	if x, y := p.raw[a.Start+1], p.raw[b.Start+1]; x != y && x != '"' && y != '"' {
		return x < y
	}
	return bytes.Compare(p.raw[a.Start+1:a.End-1], p.raw[b.Start+1:b.End-1]) < 0
}

// unseen is unique by a map of all names.
func (p *parser) unseen(n *names, at, i int32) bool {
	if n.seen == nil {
		n.seen = map[string]struct{}{}
		for k := at + 1; k < i; k = p.tape[k+1].Next {
			n.seen[string(p.Text(k))] = struct{}{}
		}
	}
	before := len(n.seen)
	n.seen[string(p.Text(i))] = struct{}{}
	return len(n.seen) > before
}
