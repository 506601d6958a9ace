package sandbox

import (
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// budget is the memory of one call: linear memory and blocks draw on the same
// bytes, so that neither can be used to go around the other's limit.
type budget struct {
	limit, used, peak uint64
	refused           bool          // some growth did not fit
	shared            *sharedMemory // what all calls draw on; nil has no bound
	crowded           bool          // a growth fitted the call and not what is shared
}

// sharedMemory is the memory of all running calls. It is safe for concurrent use.
type sharedMemory struct {
	limit uint64
	used  atomic.Uint64
}

// take books n bytes, if there is room for them.
func (p *sharedMemory) take(n uint64) bool {
	if p == nil {
		return true
	}
	if p.used.Add(n) > p.limit {
		p.used.Add(-n)
		return false
	}
	return true
}

func (p *sharedMemory) give(n uint64) {
	if p != nil {
		p.used.Add(-n)
	}
}

// take books n bytes, or remembers that they did not fit.
func (b *budget) take(n uint64) bool {
	if n > b.limit-b.used {
		b.refused = true
		return false
	}
	if !b.shared.take(n) {
		b.refused, b.crowded = true, true
		return false
	}
	b.used += n
	b.peak = max(b.peak, b.used)
	return true
}

func (b *budget) give(n uint64) {
	b.used -= n
	b.shared.give(n)
}

// settle gives back what the call still holds, once nothing of it runs any more.
func (b *budget) settle() {
	b.shared.give(b.used)
	*b = budget{limit: b.limit, peak: b.peak, refused: b.refused, crowded: b.crowded, shared: b.shared}
}

// become makes the budget what initialisation left of it, and says whether all
// calls together have room for that.
func (b *budget) become(left budget) bool {
	b.settle()
	if !b.shared.take(left.used) {
		b.refused, b.crowded = true, true
		return false
	}
	b.used, b.peak, b.refused = left.used, left.peak, left.refused
	return true
}

// linear is the guest's memory: one reservation of address space, given to the
// guest page by page within the budget.
//
// The engine calls Free as soon as it considers the module closed; the bytes
// are kept until [linear.release], which the goroutine that ran the guest calls
// last, so that no code of either side can touch memory that is gone.
type linear struct {
	mem  *budget
	base []byte // the reservation; grown by copying where none could be made
	size uint64
	max  uint64
	high uint64 // the size it had at most since it was restored
	held bool   // base is mapped and must be unmapped

	// scratch, when not nil, is what the engine was given instead of base: it
	// writes megabytes of data segments when it instantiates, and each page of
	// them that is touched first costs a fault.
	scratch []byte
	forced  uint64 // the size to answer with, whatever is asked for
	covered bool   // base shows an image
	entries []byte // for looking at what was written
}

// allocator hands the memories of one instance their budget and remembers them.
type allocator struct {
	mem    *budget
	linear []*linear
	plain  bool // no reservations: the garbage collector frees
	// scratch is for the engine to instantiate in; see [linear.scratch].
	scratch *[]byte
}

// Allocate is called by the engine, once for each memory of the module. A memory
// that cannot grow keeps its first bytes for life: no scratch for it.
func (a *allocator) Allocate(size, limit uint64) experimental.LinearMemory {
	l := &linear{mem: a.mem, max: min(limit, a.mem.limit)}
	if !a.plain {
		l.base, l.held = reserve(l.max)
	}
	if a.scratch != nil && size < limit && size > 0 {
		if uint64(len(*a.scratch)) < size {
			*a.scratch = make([]byte, size)
		}
		l.scratch = *a.scratch
	}
	a.linear = append(a.linear, l)
	return l
}

// Reallocate grows to size, or returns nil: memory.grow answers -1.
func (l *linear) Reallocate(size uint64) []byte {
	if l.forced > 0 {
		l.size, l.scratch = l.forced, nil
		return l.base[:l.size:len(l.base)]
	}
	if size > l.max {
		l.mem.refused = true
		return nil
	}
	if size > l.size {
		if !l.mem.take(size - l.size) {
			return nil
		}
		l.size = size
		l.high = max(l.high, size)
	}
	if l.scratch != nil {
		return l.scratch[:size:size]
	}
	if size > uint64(len(l.base)) {
		grown := make([]byte, max(size, min(l.max, 2*uint64(len(l.base)))))
		copy(grown, l.base)
		l.base = grown
	}
	return l.base[:size:len(l.base)]
}

// fits makes room for size bytes, whatever they hold.
func (l *linear) fits(size uint64) bool {
	if size > l.max {
		return false
	}
	if size > uint64(len(l.base)) {
		l.base = make([]byte, size)
	}
	return true
}

// bytes is the memory at its present size.
func (l *linear) bytes() []byte { return l.base[:l.size] }

// charge lets the memory draw on another call's budget, which has it booked
// already; nil between calls.
func (a *allocator) charge(mem *budget) {
	a.mem = mem
	for _, l := range a.linear {
		l.mem = mem
	}
}

// Free is called by the engine; see [linear].
func (l *linear) Free() {}

// release gives the memory of all modules back. Nothing may run any more.
func (a *allocator) release() {
	for _, l := range a.linear {
		if l.held {
			unreserve(l.base)
		}
		l.base, l.held, l.scratch = nil, false, nil
	}
	a.linear = nil
}
