// Command meter is a guest with work of several kinds, for measuring what
// metering costs. Each export does it n times and returns a checksum.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

type record struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Tags  []string          `json:"tags"`
	Attrs map[string]string `json:"attrs"`
}

var (
	text = func() []byte {
		var rs []record
		for i := range 8 {
			rs = append(rs, record{i, strings.Repeat("n", i%17), []string{"a", "bc", "def"}, map[string]string{"k": "v"}})
		}
		b, err := json.Marshal(rs)
		if err != nil {
			panic(err)
		}
		return b
	}()
	pattern = regexp.MustCompile(`(n+)","tags":\["a"`)
	block   = make([]byte, 4096)
)

//go:wasmexport json
func runJSON(n int32) (sum int32) {
	for range n {
		var rs []record
		if err := json.Unmarshal(text, &rs); err != nil {
			return -1
		}
		b, err := json.Marshal(rs)
		if err != nil {
			return -1
		}
		sum += int32(len(b))
	}
	return sum
}

// nest decodes and encodes n lists in each other: recursion as deep as
// encoding/json lets it be.
//
//go:wasmexport nest
func nest(n int32) int32 {
	var v any
	if json.Unmarshal([]byte(strings.Repeat("[", int(n))+strings.Repeat("]", int(n))), &v) != nil {
		return -1
	}
	b, err := json.Marshal(v)
	if err != nil {
		return -1
	}
	return int32(len(b))
}

//go:wasmexport sha256
func runSHA(n int32) (sum int32) {
	for range n {
		h := sha256.Sum256(block)
		sum += int32(h[0])
	}
	return sum
}

//go:wasmexport sort
func runSort(n int32) (sum int32) {
	for range n {
		xs := make([]int, 300)
		x := uint32(1)
		for i := range xs {
			x = x*1664525 + 1013904223
			xs[i] = int(x >> 8)
		}
		slices.SortFunc(xs, func(a, b int) int { return a - b })
		sum += int32(xs[7])
	}
	return sum
}

//go:wasmexport regexp
func runRegexp(n int32) (sum int32) {
	for range n {
		sum += int32(len(pattern.FindAllIndex(text, -1)))
	}
	return sum
}

func fib(n int32) int32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:wasmexport fib
func runFib(n int32) (sum int32) {
	for range n {
		sum += fib(18)
	}
	return sum
}

//go:wasmexport spin
func runSpin(n int32) int32 {
	x := uint32(1)
	for range n * 10_000 {
		x = x*1664525 + 1013904223
	}
	return int32(x)
}

func main() {}
