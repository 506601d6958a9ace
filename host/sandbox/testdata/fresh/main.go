// Command fresh is a guest on the raw ABI that keeps state wherever a Go program
// can, for tests and measurements of calls that must not see it.
package main

import (
	"encoding/json"
	"runtime"
	"time"
	"unsafe"
)

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_offset
func inputOffset() uint64

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env output_set
func outputSet(off, n uint64)

//go:wasmimport extism:host/user portcullis_load
func load(off uint64, ptr unsafe.Pointer, n uint32)

//go:wasmimport extism:host/user portcullis_store
func store(off uint64, ptr unsafe.Pointer, n uint32)

func input() []byte {
	b := make([]byte, inputLength())
	if len(b) > 0 {
		load(inputOffset(), unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
	}
	return b
}

func answer(b []byte) int32 {
	off := alloc(uint64(len(b)))
	if len(b) > 0 {
		store(off, unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
	}
	outputSet(off, uint64(len(b)))
	return 0
}

func main() {}

// begun is when the program was initialised, by its own clock.
var begun = time.Now()

var (
	calls int
	seen  = map[string]int{}
	kept  [][]byte
)

//go:wasmexport nothing
func nothing() int32 { return answer(nil) }

//go:wasmexport echo
func echo() int32 { return answer(input()) }

// state counts its calls in a variable, a map and the heap, and answers the sum.
//
//go:wasmexport state
func state() int32 {
	calls++
	seen[string(input())]++
	kept = append(kept, make([]byte, 100<<10))
	sum := 0
	for _, n := range seen {
		sum += n
	}
	return answer([]byte{byte(calls), byte(sum), byte(len(seen)), byte(len(kept))})
}

// grow takes megabytes and lets the collector run.
//
//go:wasmexport grow
func grow() int32 {
	for range 6 {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = byte(i)
		}
		kept = append(kept, b)
	}
	runtime.GC()
	return answer([]byte{byte(len(kept))})
}

// decode is JSON work on the input.
//
//go:wasmexport decode
func decode() int32 { return decoded() }

// decode_again does it twice: what that takes longer is the guest's own compute.
//
//go:wasmexport decode_again
func decodeAgain() int32 {
	if rc := decoded(); rc != 0 {
		return rc
	}
	return decoded()
}

func decoded() int32 {
	var v any
	if err := json.Unmarshal(input(), &v); err != nil {
		return 1
	}
	b, err := json.Marshal(v)
	if err != nil {
		return 2
	}
	return answer(b)
}

// elapsed answers whether time passed since initialisation, as it must.
//
//go:wasmexport elapsed
func elapsed() int32 {
	if time.Since(begun) <= 0 {
		return answer([]byte("backwards"))
	}
	return answer([]byte("forwards"))
}
