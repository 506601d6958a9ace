package guestbuild

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Go's runtime finds the function of a program counter by a table of buckets, one for each 4096 counters
// (runtime.findfuncbucket). On wasm a counter is a function's index times 65536, so that of the sixteen buckets of each
// function the first alone is ever asked for, and the linker writes all: a tenth of a small guest, as thirty thousand
// data segments, each of which the engine keeps. trim leaves the fifteen others zero. A runtime that does ask for one
// begins at function 0 and goes on until it has found the right one, which is slower and no less right.
const (
	bucketSize  = 20 // four bytes of index and sixteen of differences to it
	funcBuckets = 16
	headerMagic = "\xf1\xff\xff\xff\x00\x00\x01\x08" // of the linker's table of functions, for wasm's 8-byte words
)

// Bounds of what is looked at. A guest past them is left as it is.
const (
	maxFuncs  = 1 << 16
	maxMemory = 64 << 20
)

const sectionData = 11

// stackPointer is the global that Go's linker keeps it in.
const stackPointer = 0

// segment is an active data segment of memory 0.
type segment struct {
	at    int64
	bytes []byte
}

// trim is wasm without the buckets that nothing reads and without the lines of functions that no stack shows (see
// trimLines), and with shorter code where there is who can shorten it; a binary that Go's linker did not write, or in which anything is not as it writes it, stays as it is.
func trim(wasm []byte, shorten func(wasm []byte, stack uint32) []byte) []byte {
	before, data, after, ok := dataSection(wasm)
	if !ok {
		return wasm
	}
	segments, ok := segmentsOf(data)
	if !ok {
		return wasm
	}
	memory, ok := layOut(segments)
	if !ok {
		return wasm
	}
	table, ok := funcTable(memory)
	if !ok {
		return wasm
	}
	for i := range table.buckets {
		if i%funcBuckets != 0 {
			clear(memory[table.at+int64(i)*bucketSize:][:bucketSize])
		}
	}
	trimLines(memory, table)
	body := appendSegments(nil, segmentsFor(memory))
	out := append(make([]byte, 0, len(wasm)), before...)
	out = binary.AppendUvarint(append(out, sectionData), uint64(len(body)))
	if out = append(append(out, body...), after...); shorten != nil {
		out = shorten(out, stackPointer)
	}
	return out
}

// segmentsFor gives the segments that make memory what it is, which begins as zeros: as the linker does, without the
// runs of zeros that take more bytes than another segment.
func segmentsFor(memory []byte) (all []segment) {
	const overhead = 8
	for at := 0; at < len(memory); {
		if memory[at] == 0 {
			at++
			continue
		}
		end, zeros := at, 0
		for i := at; i < len(memory) && zeros < overhead; i++ {
			if zeros++; memory[i] != 0 {
				end, zeros = i+1, 0
			}
		}
		all = append(all, segment{int64(at), memory[at:end]})
		at = end
	}
	return all
}

// dataSection splits a module around its data section. A module with a count of its segments (which code may name) has
// none for us.
func dataSection(wasm []byte) (before, data, after []byte, ok bool) {
	const header, sectionDataCount = 8, 12
	if len(wasm) < header {
		return nil, nil, nil, false
	}
	r := reader{wasm[header:]}
	for len(r.left) > 0 {
		start := len(wasm) - len(r.left)
		id, err := r.byte()
		if err != nil {
			return nil, nil, nil, false
		}
		body, err := r.vector()
		if err != nil || id == sectionDataCount {
			return nil, nil, nil, false
		}
		if id == sectionData {
			return wasm[:start], body, r.left, true
		}
	}
	return nil, nil, nil, false
}

// layOut is memory as it is at the start; false where two segments write to one place.
func layOut(segments []segment) ([]byte, bool) {
	inOrder := slices.SortedFunc(slices.Values(segments), func(a, b segment) int { return cmp.Compare(a.at, b.at) })
	end := int64(0)
	for _, s := range inOrder {
		if s.at < end {
			return nil, false
		}
		end = s.at + int64(len(s.bytes))
	}
	memory := make([]byte, end)
	for _, s := range inOrder {
		copy(memory[s.at:], s.bytes)
	}
	return memory, true
}

// segmentsOf reads segments that are all active and in memory 0.
func segmentsOf(data []byte) ([]segment, bool) {
	r := reader{data}
	n, err := r.u32()
	if err != nil || n == 0 || int(n) > len(r.left) {
		return nil, false
	}
	all := make([]segment, 0, n)
	for range n {
		s, ok := r.segment()
		if !ok || s.at+int64(len(s.bytes)) > maxMemory {
			return nil, false
		}
		all = append(all, s)
	}
	return all, len(r.left) == 0
}

const (
	opEnd      = 0x0b
	opI32Const = 0x41
)

// segment reads one that begins at a number.
func (r *reader) segment() (s segment, ok bool) {
	mode, err := r.u32()
	if err != nil || mode != 0 {
		return s, false
	}
	if op, err := r.byte(); err != nil || op != opI32Const {
		return s, false
	}
	if s.at, ok = r.i32(); !ok {
		return s, false
	}
	if op, err := r.byte(); err != nil || op != opEnd {
		return s, false
	}
	s.bytes, err = r.vector()
	return s, err == nil
}

// i32 reads a signed LEB128 that is not negative.
func (r *reader) i32() (int64, bool) {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		b, err := r.byte()
		if err != nil {
			return 0, false
		}
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			return v, b&0x40 == 0 && v < 1<<31
		}
	}
	return 0, false
}

func appendSegments(out []byte, all []segment) []byte {
	out = binary.AppendUvarint(out, uint64(len(all)))
	for _, s := range all {
		out = append(out, 0, opI32Const)
		at := s.at
		for ; at >= 0x40; at >>= 7 {
			out = append(out, byte(at)|0x80)
		}
		out = append(out, byte(at), opEnd)
		out = binary.AppendUvarint(out, uint64(len(s.bytes)))
		out = append(out, s.bytes...)
	}
	return out
}

// buckets is where the table of buckets is, and the runtime.moduledata that says so.
type buckets struct {
	at      int64
	buckets int
	module  int64
}

// Places in a runtime.moduledata: a pointer to the header and six slices, of which the last is of the functions.
const (
	moduleSlices  = 8
	moduleFuncs   = moduleSlices + 5*24
	moduleBuckets = moduleSlices + 6*24
)

// funcTable finds the table of buckets in memory as it is at the start: where runtime.moduledata says it is, between a
// table of functions with the magic and the counts that belong to it, and with the buckets that belong to those.
func funcTable(memory []byte) (t buckets, ok bool) {
	header := bytes.Index(memory, []byte(headerMagic))
	if header < 0 || header+16 > len(memory) {
		return t, false
	}
	n := binary.LittleEndian.Uint64(memory[header+8:])
	if n == 0 || n > maxFuncs {
		return t, false
	}
	pointer := binary.LittleEndian.AppendUint64(nil, uint64(header))
	for from := 0; ; {
		i := bytes.Index(memory[from:], pointer)
		if i < 0 {
			return t, false
		}
		from += i
		if module := memory[from:]; from%8 == 0 && len(module) >= moduleBuckets+8 {
			// There is one function more, for the end.
			entries, table := binary.LittleEndian.Uint64(module[moduleFuncs+8:]), binary.LittleEndian.Uint64(module[moduleBuckets:])
			t = buckets{int64(table), (int(n) - 1) * funcBuckets, int64(from)} // and some of the last function, which has no end to count to
			if entries == n+1 && table < uint64(len(memory)) && areBuckets(memory[table:], t.buckets) {
				return t, true
			}
		}
		from++
	}
}

// areBuckets reports n buckets at the start of memory: sixteen for each function with its index, and no differences.
func areBuckets(memory []byte, n int) bool {
	if len(memory) < n*bucketSize {
		return false
	}
	for i := range n {
		bucket := memory[i*bucketSize:][:bucketSize]
		if binary.LittleEndian.Uint32(bucket) != uint32(i/funcBuckets) || !bytes.Equal(bucket[4:], make([]byte, bucketSize-4)) {
			return false
		}
	}
	return true
}
