package guestbuild_test

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
)

// entry is one function as the linker's tables have it, read without the code under test.
type entry struct {
	name     string
	id       byte
	tables   []uint32 // offsets by counter: depth, file, line, and those that follow
	data     []uint32 // offsets
	tablesAt int
	dataAt   int
}

// linked is the linker's tables in memory.
type linked struct {
	memory                []byte
	counters, data, names int
	funcs                 []entry
}

// readLinked reads them from where module, a runtime.moduledata, says they are.
func readLinked(memory []byte, module int) linked {
	word := func(i int) int { return int(binary.LittleEndian.Uint64(memory[module+8*i:])) }
	short := func(at int) uint32 { return binary.LittleEndian.Uint32(memory[at:]) }
	l := linked{memory: memory, names: word(1), counters: word(10), data: word(40)}
	funcs := word(13)
	for i := range word(17) - 1 {
		at := funcs + int(short(funcs+8*i+4))
		name, _, _ := bytes.Cut(memory[l.names+int(short(at+4)):], []byte{0})
		e := entry{name: string(name), id: memory[at+40], tables: []uint32{short(at + 16), short(at + 20), short(at + 24)}}
		e.tablesAt = at + 44
		e.dataAt = e.tablesAt + 4*int(short(at+28))
		for i := e.tablesAt; i < e.dataAt; i += 4 {
			e.tables = append(e.tables, short(i))
		}
		for i := range int(memory[at+43]) {
			e.data = append(e.data, short(e.dataAt+4*i))
		}
		l.funcs = append(l.funcs, e)
	}
	return l
}

// table is the bytes of a table by counter, to the zero that ends it.
func (l linked) table(offset uint32) []byte {
	from := l.memory[l.counters+int(offset):]
	for at := 0; ; {
		delta, n := binary.Uvarint(from[at:])
		if at > 0 && delta == 0 {
			return from[:at+n]
		}
		at += n
		_, n = binary.Uvarint(from[at:])
		at += n
	}
}

// Every function that a stack can show says the same as before, and every other the same but for lines and inlined calls.
func TestOnlyLinesOfWhatNoStackShowsAreTrimmed(t *testing.T) {
	before := guestbuild.Memory(linkSample(t))
	after := slices.Clone(before)
	guestbuild.TrimLines(after)
	module := int(guestbuild.Module(before))
	was, is := readLinked(before, module), readLinked(after, module)
	if len(was.funcs) < 1000 || len(was.funcs) != len(is.funcs) {
		t.Fatalf("%d functions, were %d", len(is.funcs), len(was.funcs))
	}
	var starts []int // of data, and its end
	for _, f := range was.funcs {
		for _, offset := range f.data {
			if offset != 1<<32-1 {
				starts = append(starts, int(offset))
			}
		}
	}
	slices.Sort(starts)
	free := map[int]bool{} // bytes that may have changed
	span := func(at, n int) {
		for i := range n {
			free[at+i] = true
		}
	}
	shown := regexp.MustCompile(`^runtime\.(gopanic|[A-Z]\w*|\(\*[A-Z]\w*\)\.[A-Z]\w*|[A-Z]\w*\.[A-Z]\w*)$`)
	trimmed := 0
	for i, f := range was.funcs {
		now := is.funcs[i]
		hidden := strings.HasPrefix(f.name, "runtime.") && !shown.MatchString(f.name) && f.id == 0
		if now.name != f.name || now.id != f.id || len(now.tables) != len(f.tables) || len(now.data) != len(f.data) {
			t.Fatalf("%s is %+v, was %+v", f.name, now, f)
		}
		for n, offset := range f.tables {
			lines := n == 1 || n == 2 || n == 3+2
			switch {
			case now.tables[n] == offset && (offset == 0 || bytes.Equal(is.table(offset), was.table(offset))):
			case hidden && lines && now.tables[n] == 0:
				trimmed++
				span(was.counters+int(offset), len(was.table(offset)))
				field := f.tablesAt + 4*(n-3)
				if n < 3 {
					field = f.tablesAt - 44 + 16 + 4*n
				}
				span(field, 4)
			default:
				t.Errorf("table %d of %s is another", n, f.name)
			}
		}
		for n, offset := range f.data {
			end := len(before)
			if at, _ := slices.BinarySearch(starts, int(offset)+1); at < len(starts) {
				end = was.data + starts[at]
			}
			switch from := was.data + int(offset); {
			case now.data[n] == offset && (offset == 1<<32-1 || end == len(before) || bytes.Equal(after[from:end], before[from:end])):
			case hidden && n == 3 && now.data[n] == 1<<32-1:
				span(from, end-from)
				span(f.dataAt+4*n, 4)
			default:
				t.Errorf("data %d of %s is another", n, f.name)
			}
		}
	}
	if trimmed < 2000 {
		t.Errorf("%d tables of lines were trimmed: see whether this version of Go lays them out as before", trimmed)
	}
	for i := range before {
		if before[i] != after[i] && !free[i] {
			t.Fatalf("byte %d of memory was %d and is %d", i, before[i], after[i])
		}
	}
}

// Nothing is trimmed where the tables are not as the linker writes them, or where profiles count calls.
func TestLinesStayWhereAnythingIsElse(t *testing.T) {
	memory := guestbuild.Memory(linkSample(t))
	module := int(guestbuild.Module(memory))
	l := readLinked(memory, module)
	header := int(binary.LittleEndian.Uint64(memory[module:]))
	last := l.funcs[len(l.funcs)-1]
	name := bytes.Index(memory[l.names:], []byte("\x00runtime.gopanic\x00")) + l.names + 1
	for what, change := range map[string]func(m []byte){
		"names elsewhere":        func(m []byte) { m[module+8]++ },
		"names without an end":   func(m []byte) { m[module+16+4] = 1 },
		"tables elsewhere":       func(m []byte) { m[header+56]++ },
		"functions elsewhere":    func(m []byte) { m[header+64]++ },
		"data elsewhere":         func(m []byte) { m[module+8*40]++ },
		"many tables":            func(m []byte) { m[last.tablesAt-44+28] = 9 },
		"much data":              func(m []byte) { m[last.tablesAt-1] = 99 },
		"another counter":        func(m []byte) { m[last.tablesAt-44]++ },
		"a name outside":         func(m []byte) { m[last.tablesAt-44+7] = 0x7f },
		"a table outside":        func(m []byte) { m[last.tablesAt-44+27] = 0x7f },
		"data outside":           func(m []byte) { m[last.dataAt+3] = 0x7f },
		"a table without an end": func(m []byte) { binary.LittleEndian.PutUint32(m[last.tablesAt-44+24:], uint32(l.data-1-l.counters)) },
		"profiles":               func(m []byte) { copy(m[name:], "runtime.MemProfile\x00") },
		"traces":                 func(m []byte) { copy(m[name:], "runtime/trace.x\x00") },
	} {
		changed := slices.Clone(memory)
		change(changed)
		now := slices.Clone(changed)
		guestbuild.TrimLines(now)
		if !bytes.Equal(now, changed) {
			t.Errorf("%s: lines were trimmed", what)
		}
	}
}
