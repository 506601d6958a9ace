package wasmbin

import "slices"

// What a frame of native stack is taken for, in bytes. An optimising compiler
// gives each version of a local that outlives a call a slot of its own.
const (
	frameBase = 128 // return address, saved registers, alignment
	frameSlot = 8
	// Of many blocks each is a place that several ways lead to, and what they bring there is kept apart.
	frameBlocks     = 16
	frameBlockSlots = 3
)

// MaxUncounted is how many functions whose frames do not count can stand in each
// other: one that calls nothing but what its callers pay for, and of those as
// many as maxLeaf can pay for.
const MaxUncounted = maxLeaf/costCall + 2

// frame is an estimate of the native stack that a call of the decoded body
// takes: mostly more than it does, for what compilers write, by a factor of
// three, and less by at most a half. Code made for the purpose can need far
// more. Who knows from the engine what frames take sets the bound by that; see
// Options.StackExport.
func (p *plan) frame(locals int) int64 {
	slots, blocks, wide := locals, 0, false
	for i := range p.code {
		switch p.code[i].op {
		case opLocalSet, opLocalTee, opCall, opCallIndirect:
			slots++
		case opBlock:
			blocks++
		case opVector:
			wide = true
		}
	}
	slots += frameBlockSlots * max(0, blocks-frameBlocks)
	if wide {
		slots *= 2
	}
	return int64(frameBase + frameSlot*slots)
}

// stackFrame is how one function's stack is counted; nothing is written for a zero
// one.
//
// Only functions that call what may call them back count: they pay in their
// entry check, and all their ways out lead through one place that gives it back.
// Their code stands in a block of their result type for that, so labels stay as
// they were and only a return becomes a branch. A trap gives nothing back: its
// instance is not used again.
type stackFrame struct {
	size  int64
	local uint32 // with caught: the local that holds what is left inside of this frame
	// caught says that exceptions end here, past frames that gave nothing back.
	caught bool
}

// enter opens the block and takes the frame; the charge of the entry is taken
// with it, so that one comparison is enough for both.
func (mt *meter) enter(w *writer, f stackFrame, c charge, result []byte) {
	mt.charge(w, charge{cost: c.cost})
	w.indexed(opGlobalGet, mt.stack)
	w.byte(opI64Const)
	w.signed(f.size)
	w.byte(opI64Sub)
	w.indexed(opGlobalSet, mt.stack)
	mt.report.Checks++
	w.indexed(opGlobalGet, mt.stack)
	if c.check {
		w.indexed(opGlobalGet, mt.fuel)
		w.byte(opI64Or)
	}
	mt.negative(w)
	w.byte(opIf)
	w.byte(blockEmpty)
	w.indexed(opGlobalGet, mt.stack)
	mt.negative(w)
	w.byte(opIf)
	w.byte(blockEmpty)
	w.byte(opI64Const)
	w.signed(StackPassed)
	w.indexed(opCall, mt.imported)
	w.byte(opUnreachable)
	w.byte(opEnd)
	if c.check {
		mt.yield(w, 0)
	}
	w.byte(opEnd)
	if f.caught {
		w.indexed(opGlobalGet, mt.stack)
		w.indexed(opLocalSet, f.local)
	}
	w.byte(opBlock)
	w.raw(result)
}

// leave gives the frame back.
func (mt *meter) leave(w *writer, f stackFrame) {
	if f.caught {
		mt.restore(w, f)
	}
	w.indexed(opGlobalGet, mt.stack)
	w.byte(opI64Const)
	w.signed(f.size)
	w.byte(opI64Add)
	w.indexed(opGlobalSet, mt.stack)
}

// restore sets what is left as it is inside of this frame.
func (mt *meter) restore(w *writer, f stackFrame) {
	w.indexed(opLocalGet, f.local)
	w.indexed(opGlobalSet, mt.stack)
}

// negative leaves whether the number on the stack is below zero.
func (mt *meter) negative(w *writer) {
	w.byte(opI64Const)
	w.signed(0)
	w.byte(opI64LtS)
}

// resultOf is the block type of a function's results. More than one need a
// signature without parameters, which is added when the module has none.
func (mt *meter) resultOf(function int) []byte {
	results := mt.m.Types[mt.m.Funcs[function]].Results
	switch len(results) {
	case 0:
		return []byte{blockEmpty}
	case 1:
		return []byte{results[0]}
	}
	i := slices.IndexFunc(mt.out.Types, func(t FuncType) bool {
		return len(t.Params) == 0 && slices.Equal(t.Results, results)
	})
	if i < 0 {
		i = len(mt.out.Types)
		mt.out.Types = append(mt.out.Types, FuncType{Results: results})
	}
	w := writer{}
	w.signed(int64(i))
	return w.out
}
