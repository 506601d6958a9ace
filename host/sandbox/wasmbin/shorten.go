package wasmbin

import "slices"

// Shorten is [Module.Shorten] of a binary. One that cannot be read stays as it is: whoever loads it says what is wrong.
func Shorten(wasm []byte, stack uint32) []byte {
	m, err := Read(wasm, DefaultLimits())
	if err != nil {
		return wasm
	}
	return m.Shorten(stack).Encode()
}

// Shorten writes the code of a module in fewer instructions that do the same. It
// is made for what Go's linker writes, which does not optimise: every jump goes
// through one table, every call reads the stack pointer anew, and every access to
// the frame computes its address.
//
// stack is the index of the global that holds the stack pointer, a mutable i32.
// The one thing that is taken for granted is about it: that a constant of less
// than [maxFrame] added to it does not pass 4 GiB. A compiler that adds offsets
// of a frame to it relies on that as well; of any other value nothing is assumed,
// and of a module without such a global nothing.
//
// What a body computes, calls, reads, writes and returns, and where it traps,
// stays the same; a function is left as it was where it has exceptions or more
// locals than are followed. Types, indexes and everything but the code stay;
// custom sections do as well, where they name locals or places in the code. A
// module that an engine would refuse for its types may become one that it takes:
// what is wrong may be in code that nothing reaches. m stays as it was, and the
// result is the same for the same input.
func (m *Module) Shorten(stack uint32) *Module {
	out := *m
	out.Bodies = slices.Clone(m.Bodies)
	s := m.spaces(m.features)
	sh := shortener{m: m, s: &s, stack: none}
	if at := int64(stack) - int64(m.imported(KindGlobal)); at >= 0 && at < int64(len(m.Globals)) && m.Globals[at].GlobalType == (GlobalType{I32, true}) {
		sh.stack = stack
	}
	for i := range out.Bodies {
		if b, ok := sh.body(i); ok {
			out.Bodies[i] = b
		}
	}
	return &out
}

const (
	// maxFrame is more than what is added to a stack pointer without looking
	// where that leads.
	maxFrame = 1 << 16
	// maxFollowed is how many locals are followed, each a bit of a word.
	maxFollowed = 64
	// maxRounds bounds how often a body is gone through. The last of them find
	// nothing in what compilers write.
	maxRounds = 12
	none      = ^uint32(0)
)

// shortener is one rewriting; what a body needs is used again for the next.
type shortener struct {
	m      *Module
	s      *spaces
	stack  uint32 // none: there is no such global
	params int
	locals int
	steps  []step
	spare  []step
	labels []label // of blocks by number; the function's own is 0

	at      []uint64 // by label: the locals that live where it leads
	changed bool
}

// label is one block.
type label struct {
	op   byte
	typ  blockType
	open bool
	uses int
	to   uint32 // the block around it that ends at the same place
	copy bool   // a local holds the stack pointer where it leads
}

// body is a shorter one, if there is any.
func (sh *shortener) body(i int) (Body, bool) {
	b := sh.m.Bodies[i]
	sh.params = len(sh.m.Types[sh.m.Funcs[i]].Params)
	sh.locals = sh.m.localCount(i)
	if sh.locals > maxFollowed || !sh.decode(b.Code) {
		return b, false
	}
	sh.thread()
	sh.follow()
	for range maxRounds {
		sh.changed = false
		sh.structure()
		sh.live()
		sh.pairs()
		if !sh.changed {
			break
		}
	}
	out := Body{Offset: b.Offset}
	var moved []uint32
	out.Locals, moved = sh.usedLocals(b.Locals)
	w := writer{out: make([]byte, 0, len(b.Code))}
	sh.encode(&w, moved)
	out.Code = w.out
	return out, len(out.Code) < len(b.Code)
}

// usedLocals are the locals that some step names, and where each is then.
func (sh *shortener) usedLocals(groups []LocalGroup) (out []LocalGroup, moved []uint32) {
	var used uint64
	for i := range sh.steps {
		switch s := &sh.steps[i]; s.op {
		case opLocalGet, opLocalSet, opLocalTee:
			used |= 1 << s.x
		}
	}
	moved = make([]uint32, sh.locals)
	next := uint32(0)
	for ; next < uint32(sh.params); next++ {
		moved[next] = next
	}
	at := sh.params
	for _, g := range groups {
		kept := uint32(0)
		for range g.Count {
			moved[at] = next
			if used&(1<<at) != 0 {
				kept++
				next++
			}
			at++
		}
		switch last := len(out) - 1; {
		case kept == 0:
		case last >= 0 && out[last].Type == g.Type:
			out[last].Count += kept
		default:
			out = append(out, LocalGroup{kept, g.Type})
		}
	}
	return out, moved
}
