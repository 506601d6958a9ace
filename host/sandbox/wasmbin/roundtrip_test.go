package wasmbin

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
)

// TestWrittenModulesReadTheSame decodes and encodes every module in reach. What
// comes out is a fixed point that decodes to the same, and the very same bytes
// when the producer wrote its numbers without padding.
func TestWrittenModulesReadTheSame(t *testing.T) {
	accepted, identical, refused := 0, 0, 0
	wasmFiles(t, func(path string, wasm []byte) {
		m, err := Read(wasm, wide())
		if err != nil {
			if no := (*Refusal)(nil); !errors.As(err, &no) {
				t.Errorf("%s: %T is no refusal", path, err)
			}
			refused++
			return
		}
		accepted++
		out := m.Encode()
		if bytes.Equal(out, wasm) {
			identical++
			return
		}
		if len(out) >= len(wasm) {
			t.Errorf("%s: %d bytes became %d", path, len(wasm), len(out))
		}
		again, err := Read(out, wide())
		if err != nil {
			t.Errorf("%s: what was written is refused: %v", path, err)
			return
		}
		if !bytes.Equal(again.Encode(), out) {
			t.Errorf("%s: writing it twice differs", path)
		}
		for i := range m.Bodies { // the only thing that may move
			m.Bodies[i].Offset, again.Bodies[i].Offset = 0, 0
		}
		for i := range m.Customs { // one may have stood behind a section without content
			m.Customs[i].After, again.Customs[i].After = 0, 0
		}
		if !reflect.DeepEqual(m, again) {
			t.Errorf("%s: reads differently after writing", path)
		}
	}, append(specDirs(t), realDirs(t)...)...)
	t.Logf("%d modules: %d identical, %d shorter and equal; %d refused", accepted+refused, identical, accepted-identical, refused)
	if accepted < 3000 || identical < 3000 {
		t.Error("the modules of the specification were not found")
	}
}

// TestOrdinaryModulesPass holds what toolchains emit against the default limits,
// with room to grow: half of each limit is refused nothing either.
func TestOrdinaryModulesPass(t *testing.T) {
	half := DefaultLimits()
	half.TableGrow = true // a fixture tries to
	half.Types, half.Imports, half.Functions, half.Globals, half.Exports = half.Types/2, half.Imports/2, half.Functions/2, half.Globals/2, half.Exports/2
	half.BodyBytes = half.BodyBytes * 3 / 4 // the parser tables of one library take 300 KB in code
	half.Locals, half.LocalBlocks, half.BlockValues = half.Locals/2, half.LocalBlocks/2, half.BlockValues/2
	half.Blocks, half.Loops, half.Forks, half.Depth = half.Blocks/2, half.Loops/2, half.Forks/2, half.Depth/2
	half.Nesting, half.BranchTable, half.TableEntries, half.Elements, half.Data = half.Nesting/2, half.BranchTable/2, half.TableEntries/2, half.Elements/2, half.Data/2
	half.Effort /= 2
	n := 0
	wasmFiles(t, func(path string, wasm []byte) {
		n++
		if err := Verify(wasm, half); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}, realDirs(t)...)
	if n < 30 {
		t.Errorf("only %d modules", n)
	}
}

// TestMeteringIsRepeatable meters every module in reach twice; both results are
// the same and are accepted again, custom sections and all.
func TestMeteringIsRepeatable(t *testing.T) {
	n := 0
	opt := Options{YieldModule: "host:meter", YieldName: "yield", FuelExport: "host:fuel", GlobalPrefix: "host:global:"}
	wasmFiles(t, func(path string, wasm []byte) {
		m, err := Read(wasm, wide())
		if err != nil {
			return
		}
		before := m.Encode()
		one, report, err := Meter(m, opt)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		if len(wasm) < 1<<20 { // the large ones take a second each
			two, _, err := Meter(m, opt)
			if err != nil || !bytes.Equal(one.Encode(), two.Encode()) {
				t.Errorf("%s: metering twice differs (%v)", path, err)
			}
		}
		if !bytes.Equal(m.Encode(), before) {
			t.Errorf("%s: metering changed its input", path)
		}
		more := wide()
		more.Exports, more.BodyBytes = 100_000, 8<<20
		if err := Verify(one.Encode(), more); err != nil {
			t.Errorf("%s: the metered module is refused: %v", path, err)
		}
		if got := report.Functions + report.Leaves; got != len(m.Bodies) {
			t.Errorf("%s: %d of %d functions are accounted for", path, got, len(m.Bodies))
		}
		n++
	}, append(specDirs(t), realDirs(t)...)...)
	t.Logf("%d modules", n)
	if n < 3000 {
		t.Error("the modules of the specification were not found")
	}
}
