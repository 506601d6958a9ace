package wasmbin

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzVerify reads any bytes. A refusal is a Refusal; what is accepted is
// written to a fixed point, and metered to a module that is accepted too.
func FuzzVerify(f *testing.F) {
	n := 0
	wasmFiles(f, func(_ string, wasm []byte) {
		if n++; len(wasm) < 4<<10 && n%20 == 0 {
			f.Add(wasm)
		}
	}, specDirs(f)...)
	wasmFiles(f, func(_ string, wasm []byte) { f.Add(wasm) }, "../testdata")
	f.Add(file(secType, huge))
	opt := Options{YieldModule: "host:meter", YieldName: "yield", FuelExport: "host:fuel", GlobalPrefix: "host:global:"}
	more := wide()
	more.Exports, more.BodyBytes, more.Nesting, more.Depth, more.Blocks, more.Forks = 1<<20, 1<<24, 1<<20, 1<<20, 1<<20, 1<<20
	more.Locals, more.LocalBlocks, more.BlockValues = more.Locals+1, 1<<40, 1<<40
	more.Types, more.Imports, more.Globals = more.Types+1, more.Imports+1, more.Globals+1
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := Read(wasm, wide())
		if err != nil {
			var no *Refusal
			if !errors.As(err, &no) || no.Code == "" || no.Sentence == "" || no.Offset > len(wasm) {
				t.Fatalf("refused with %#v", err)
			}
			return
		}
		out := m.Encode()
		again, err := Read(out, wide())
		if err != nil || !bytes.Equal(again.Encode(), out) {
			t.Fatalf("written anew it is not the same: %v", err)
		}
		metered, report, err := Meter(m, opt)
		if err != nil {
			var no *Refusal
			if !errors.As(err, &no) || no.Code != CodeReserved {
				t.Fatalf("metering: %v", err)
			}
			return
		}
		if report.Functions+report.Leaves != len(m.Bodies) {
			t.Fatalf("%d bodies, reported %+v", len(m.Bodies), report)
		}
		if err := Verify(metered.Encode(), more); err != nil {
			t.Fatalf("the metered module is refused: %v", err)
		}
	})
}
