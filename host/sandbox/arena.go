package sandbox

import (
	"math"
	"slices"
	"unsafe"
)

// The arena is the memory both sides of one call share: the Extism blocks. It
// belongs to one call, is served by Go code, and lives outside the guest's
// linear memory.
//
// An offset is a name, not a pointer: the first block lies well above 0, blocks
// are apart, and an offset is never given twice, so that a guest that writes
// past a block or keeps one after free hits nothing and is stopped.
const (
	arenaBase     = 1 << 12
	arenaGap      = 16
	blockOverhead = 64       // bytes of host memory one block costs beside its data
	maxBlocks     = 16 << 10 // alive at once
)

// block is one allocation. borrowed data belongs to someone else and is copied
// before the guest may write to it.
type block struct {
	off      uint64
	data     []byte
	borrowed bool
}

// arena keeps the live blocks in ascending order of offset. It is used by the
// one goroutine that runs the guest.
type arena struct {
	blocks []block
	last   int // index of the block used last: byte-wise guests stay in one
	next   uint64
	mem    *budget
}

func newArena(mem *budget) arena { return arena{next: arenaBase, mem: mem} }

// reserve books n bytes before anything is allocated.
func (a *arena) reserve(n uint64) bool {
	if len(a.blocks) >= maxBlocks || n > math.MaxInt64 {
		a.mem.refused = true
		return false
	}
	return a.mem.take(n + blockOverhead)
}

// alloc makes a zeroed block and returns its offset: 0 for no bytes, and 0 when
// the budget has no room, which is how the Extism kernel answers too.
func (a *arena) alloc(n uint64) uint64 {
	if n == 0 || !a.reserve(n) {
		return 0
	}
	return a.add(make([]byte, n), false)
}

// put makes a block of data that the host already holds. The guest sees the
// same bytes; a borrowed block is copied on the first write.
func (a *arena) put(data []byte, borrowed bool) (off uint64, ok bool) {
	if len(data) == 0 {
		return 0, true
	}
	if !a.reserve(uint64(len(data))) {
		return 0, false
	}
	return a.add(data, borrowed), true
}

func (a *arena) add(data []byte, borrowed bool) uint64 {
	off := a.next
	a.blocks = append(a.blocks, block{off, data, borrowed})
	a.last = len(a.blocks) - 1
	a.next += (uint64(len(data))+15)&^15 + arenaGap
	return off
}

// free returns a block's budget. An offset that is no live block is ignored, as
// PDKs free what the kernel has freed already.
func (a *arena) free(off uint64) {
	i := a.find(off)
	if i < 0 || a.blocks[i].off != off {
		return
	}
	a.mem.give(uint64(len(a.blocks[i].data)) + blockOverhead)
	a.blocks = slices.Delete(a.blocks, i, i+1)
	a.last = 0
}

// costOfFree is the price of moving the blocks behind one that is freed.
func (a *arena) costOfFree() int64 {
	return byLength(uint64(len(a.blocks)) * uint64(unsafe.Sizeof(block{})))
}

// find is the index of the block that holds addr, or -1.
func (a *arena) find(addr uint64) int {
	if a.last < len(a.blocks) && a.blocks[a.last].holds(addr) {
		return a.last
	}
	i, found := slices.BinarySearchFunc(a.blocks, addr, func(b block, addr uint64) int {
		switch {
		case b.off > addr:
			return 1
		case b.holds(addr):
			return 0
		}
		return -1
	})
	if !found {
		return -1
	}
	a.last = i
	return i
}

func (b *block) holds(addr uint64) bool {
	return addr >= b.off && addr-b.off < uint64(len(b.data))
}

// length is the size of the block that begins at off, 0 for anything else.
func (a *arena) length(off uint64) uint64 {
	if i := a.find(off); i >= 0 && a.blocks[i].off == off {
		return uint64(len(a.blocks[i].data))
	}
	return 0
}

// whole is the content of the block that begins at off; offset 0 is the empty
// block. It shares memory with the arena, and with nobody else: a port may keep it.
func (a *arena) whole(off uint64) ([]byte, bool) {
	if off == 0 {
		return nil, true
	}
	if i := a.find(off); i >= 0 && a.blocks[i].off == off {
		return a.blocks[i].own(), true
	}
	return nil, false
}

// own is the data of a block, which is nobody else's from then on.
func (b *block) own() []byte {
	if b.borrowed {
		b.data, b.borrowed = slices.Clone(b.data), false
	}
	return b.data
}

// view is n bytes from addr inside one block, to be read only.
func (a *arena) view(addr, n uint64) ([]byte, bool) {
	if n == 0 {
		return nil, true
	}
	i := a.find(addr)
	if i < 0 {
		return nil, false
	}
	b := &a.blocks[i]
	at := addr - b.off
	if n > uint64(len(b.data))-at {
		return nil, false
	}
	return b.data[at : at+n : at+n], true
}

// edit is view for writing.
func (a *arena) edit(addr, n uint64) ([]byte, bool) {
	if i := a.find(addr); i >= 0 && n > 0 {
		a.blocks[i].own()
	}
	return a.view(addr, n)
}
