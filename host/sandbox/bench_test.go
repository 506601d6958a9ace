package sandbox_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox"
)

// BenchmarkCallEcho is one whole call with a fresh instance: bytes in, through
// the guest's memory, bytes out.
func BenchmarkCallEcho(b *testing.B) {
	e := open(b, sandbox.Config{})
	p := loadWith(b, e, sandbox.Foreign{Name: "echo", Wasm: fixture(b, "echo"), Exports: []string{"run"}})
	for _, size := range []int{13, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			in := bytes.Repeat([]byte{'x'}, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if out := p.Call(b.Context(), "run", in, sandbox.CallOptions{}); out.Status != sandbox.OK || len(out.Output) != size {
					b.Fatalf("%s (%s)", out.Status, out.Reason)
				}
			}
		})
	}
}
