package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
)

// The sections that tests write by hand.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
)

// prepared reads a module and writes what would be compiled, unmetered.
func prepared(wasm []byte) (*wasmbin.Module, []byte, error) {
	m, err := read(wasm)
	if err != nil {
		return nil, nil, err
	}
	return m, m.Encode(), nil
}

const moduleHeader = "\x00asm\x01\x00\x00\x00"

// sec is one section with its size.
func sec(id byte, body ...byte) []byte {
	return slices.Concat([]byte{id}, uleb(uint64(len(body))), body)
}

func uleb(v uint64) []byte {
	var out []byte
	for v >= 0x80 {
		out = append(out, byte(v)|0x80)
		v >>= 7
	}
	return append(out, byte(v))
}

func mod(sections ...[]byte) []byte {
	return slices.Concat([]byte(moduleHeader), slices.Concat(sections...))
}

// huge is the count 0xfffffff0: an engine that allocates by it dies, and takes
// the process with it. None of these may reach one.
var huge = []byte{0xf0, 0xff, 0xff, 0xff, 0x0f}

func TestCountsAreHeldAgainstTheBytesThatFollow(t *testing.T) {
	oneFunc := slices.Concat(sec(secType, 1, 0x60, 0, 0), sec(secFunction, 1, 0))
	for name, wasm := range map[string][]byte{
		"types":          mod(sec(secType, huge...)),
		"parameters":     mod(sec(secType, slices.Concat([]byte{1, 0x60}, huge)...)),
		"results":        mod(sec(secType, slices.Concat([]byte{1, 0x60, 0}, huge)...)),
		"imports":        mod(sec(secImport, huge...)),
		"import module":  mod(sec(secImport, slices.Concat([]byte{1}, huge, []byte{0, 0, 0})...)),
		"functions":      mod(sec(secFunction, huge...)),
		"tables":         mod(sec(secTable, huge...)),
		"memories":       mod(sec(secMemory, huge...)),
		"globals":        mod(sec(secGlobal, huge...)),
		"exports":        mod(sec(secExport, huge...)),
		"elements":       mod(sec(secElement, huge...)),
		"element funcs":  mod(sec(secElement, slices.Concat([]byte{1, 0, 0x41, 0, 0x0b}, huge)...)),
		"element exprs":  mod(sec(secElement, slices.Concat([]byte{1, 4, 0x41, 0, 0x0b}, huge)...)),
		"code":           mod(sec(secCode, huge...)),
		"locals groups":  mod(oneFunc, sec(secCode, slices.Concat([]byte{1, 7}, huge, []byte{0x7f, 0x0b})...)),
		"locals":         mod(oneFunc, sec(secCode, slices.Concat([]byte{1, 8, 1}, huge, []byte{0x7f, 0x0b})...)),
		"locals sum":     mod(oneFunc, sec(secCode, slices.Concat([]byte{1, 10, 2}, uleb(30_000), []byte{0x7f}, uleb(30_000), []byte{0x7f, 0x0b})...)),
		"body":           mod(oneFunc, sec(secCode, slices.Concat([]byte{1}, huge)...)),
		"data":           mod(sec(secData, huge...)),
		"data bytes":     mod(sec(secData, slices.Concat([]byte{1, 1}, huge)...)),
		"data count":     mod(sec(secDataCount, huge...)),
		"section":        append([]byte(moduleHeader), append([]byte{secType}, huge...)...),
		"table entries":  mod(sec(secTable, slices.Concat([]byte{1, 0x70, 0}, uleb(65_537))...)),
		"table sum":      mod(sec(secTable, slices.Concat([]byte{2, 0x70, 0}, uleb(40_000), []byte{0x70, 0}, uleb(40_000))...)),
		"two memories":   mod(sec(secMemory, 2, 0, 1, 0, 1)),
		"shared memory":  mod(sec(secMemory, 1, 3, 1, 1)),
		"64-bit memory":  mod(sec(secMemory, 1, 4, 1)),
		"long number":    mod(sec(secFunction, 0x80, 0x80, 0x80, 0x80, 0x80, 0)),
		"large number":   mod(sec(secFunction, 0xff, 0xff, 0xff, 0xff, 0x1f)),
		"unknown id":     mod(sec(13, 0)),
		"twice":          mod(sec(secType, 0), sec(secType, 0)),
		"out of order":   mod(sec(secFunction, 0), sec(secType, 0)),
		"data before":    mod(sec(secData, 0), sec(secDataCount, 0)),
		"left over":      mod(sec(secType, 0, 0)),
		"no bodies":      mod(oneFunc),
		"no functions":   mod(sec(secCode, 1, 2, 0, 0x0b)),
		"function type":  mod(sec(secFunction, 1, 0), sec(secCode, 1, 2, 0, 0x0b)),
		"import type":    mod(sec(secImport, 1, 1, 'a', 1, 'b', 0, 9)),
		"import kind":    mod(sec(secImport, 1, 1, 'a', 1, 'b', 4, 0)),
		"export index":   mod(sec(secExport, 1, 1, 'a', 0, 0)),
		"name":           mod(sec(secExport, 1, 1, 0xff, 1, 0)),
		"extended const": mod(sec(secGlobal, 1, 0x7f, 0, 0x41, 1, 0x41, 2, 0x6a, 0x0b)),
		"value type":     mod(sec(secGlobal, 1, 0x64, 0, 0x41, 1, 0x0b)),
	} {
		t.Run(name, func(t *testing.T) {
			m, out, err := prepared(wasm)
			if err == nil || out != nil && m == nil {
				t.Errorf("accepted: % x", wasm)
			}
		})
	}
}

func TestCustomSectionsAreDroppedAndTablesClosed(t *testing.T) {
	poison := sec(secCustom, slices.Concat([]byte{4}, []byte("name"), []byte{1, 5}, huge)...)
	wasm := mod(poison,
		sec(secTable, 2, 0x70, 0, 7, 0x6f, 1, 3, 9),
		poison,
		sec(secMemory, 1, 0, 2),
		sec(secCustom, 0))
	m, out, err := prepared(wasm)
	if err != nil {
		t.Fatal(err)
	}
	want := mod(sec(secTable, 2, 0x70, 1, 7, 7, 0x6f, 1, 3, 9), sec(secMemory, 1, 0, 2))
	if !bytes.Equal(out, want) {
		t.Errorf("prepared\n% x\nwant\n% x", out, want)
	}
	if b := declared(m); !b.hasMemory || b.memoryMin != 2 {
		t.Errorf("read as %+v", b)
	}
}

// What needs no change is written as it was.
func TestFixturesPassUnchanged(t *testing.T) {
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	for _, f := range files {
		wasm, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, out, err := prepared(wasm); err != nil || !strings.Contains(f, "outcomes") && !bytes.Equal(out, wasm) {
			t.Errorf("%s: changed or refused: %v", f, err)
		}
	}
}

// Accepted bytes are scanned again without a change, and never claim more than
// the bounds; refused bytes give an error and nothing else.
func FuzzScan(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.wasm")
	for _, name := range files {
		if wasm, err := os.ReadFile(name); err == nil {
			f.Add(wasm)
		}
	}
	f.Add(mod(sec(secType, huge...)))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if headerFault(wasm) != "" {
			return
		}
		m, out, err := prepared(wasm)
		if err != nil {
			return
		}
		b := declared(m)
		if len(b.funcs) > len(wasm) || len(b.exports) > len(wasm) {
			t.Fatalf("claims more than its bytes: %d functions, %d exports", len(b.funcs), len(b.exports))
		}
		_, again, err := prepared(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("prepared module does not scan to itself: %v", err)
		}
		for _, e := range b.exports {
			if _, ok := b.exported(e.name); e.kind == wasmbin.KindFunc && !ok {
				t.Fatalf("an exported function has no type")
			}
		}
	})
}

func TestArena(t *testing.T) {
	mem := &budget{limit: 1000}
	a := newArena(mem)
	first, second := a.alloc(100), a.alloc(16)
	if first == 0 || second <= first+100 {
		t.Fatalf("offsets %d and %d touch", first, second)
	}
	if _, ok := a.view(first, 100); !ok {
		t.Error("a whole block cannot be read")
	}
	for _, bad := range [][2]uint64{{first, 101}, {first + 1, 100}, {first - 1, 1}, {first + 100, 1}, {second + 16, 1}, {0, 1}, {^uint64(0), 1}, {first, ^uint64(0)}} {
		if _, ok := a.view(bad[0], bad[1]); ok {
			t.Errorf("read %d bytes at %d of blocks %d+100 and %d+16", bad[1], bad[0], first, second)
		}
	}
	used := mem.used
	if used < 116 {
		t.Errorf("%d bytes booked for 116", used)
	}
	a.free(first + 1)
	a.free(12345)
	if mem.used != used {
		t.Error("freeing what is no block gave budget back")
	}
	a.free(first)
	a.free(first)
	if mem.used >= used-99 || a.length(first) != 0 {
		t.Errorf("free left %d of %d booked", mem.used, used)
	}
	if third := a.alloc(100); third == first {
		t.Error("an offset was given twice")
	}
	if a.alloc(900) != 0 || !mem.refused {
		t.Error("the budget was passed")
	}
	shared := []byte("shared")
	off, _ := a.put(shared, true)
	if b, ok := a.edit(off, 1); !ok || string(shared) != "shared" {
		t.Error("borrowed bytes are open to writing")
	} else if b[0] = 'X'; string(shared) != "shared" {
		t.Error("borrowed bytes were written")
	}
}

func TestBudgetCannotWrap(t *testing.T) {
	b := budget{limit: 10}
	if !b.take(10) || b.take(1) || b.take(^uint64(0)) || b.used != 10 || b.peak != 10 {
		t.Errorf("budget %+v", b)
	}
}

func TestEscape(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain text ü 漢", 100, "plain text ü 漢"},
		{"a\nb\tc\rd\x00", 100, `a\nb\tc\x0dd\x00`},
		{"\x1b]0;title\x07", 100, `\x1b]0;title\x07`},
		{"\xff\xc3", 100, `\xff\xc3`},
		{"a\u202eb\u2028c\U000e0001", 100, `a\u{202e}b\u{2028}c\u{e0001}`},
		{"12345678", 8, "12345678"},
		{"123456789", 8, "12345…"},
		{"漢漢漢漢", 7, "漢…"},
		{"123456\x00", 8, "12345…"},
		{"1234567\u202e", 8, "12345…"},
	} {
		if got := escape([]byte(c.in), c.limit); got != c.want || len(got) > c.limit {
			t.Errorf("escape(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var tl tail
	for i := range 5000 {
		fmt.Fprintf(&tl, "line %04d\n", i)
	}
	if kept := string(tl.text()); len(kept) != maxStderr || !strings.HasSuffix(kept, "line 4999\n") || len(tl.kept) > 2*maxStderr {
		t.Errorf("%d bytes of %d kept, ending %q", len(kept), len(tl.kept), kept[len(kept)-10:])
	}
	big := bytes.Repeat([]byte("x"), 3*maxStderr)
	if n, err := tl.Write(big); n != len(big) || err != nil || len(tl.text()) != maxStderr || len(tl.kept) > 2*maxStderr {
		t.Errorf("wrote %d, kept %d, %v", n, len(tl.kept), err)
	}
}
