package guestbuild

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// A quarter of what the linker writes about functions says which file and line of Go's own runtime an instruction is
// of, and which calls were inlined there. A stack that Go shows has no functions of package runtime in it but those
// that a program can call, and the panic between others; trimLines takes the lines and the inlined calls of those that
// are never shown. Their names stay, and what the collector reads of their frames: a fault of the runtime itself, which
// does show them, has each with its name, its counter, and "?:0" for the line.
//
// Nothing else reads the two but profiles and execution traces, which skip calls by counting them: a guest with those
// keeps everything. (recover counts calls too, between the panic and the deferred function that calls it, which is
// never inlined; the functions that it knows by their ids keep everything.)
func trimLines(memory []byte, t buckets) {
	fs, ok := readFunctions(memory, t)
	if !ok || fs.profiled() {
		return
	}
	// Tables that are the same are written once: what is of hidden functions alone goes.
	var hidden []function
	used := map[*byte]bool{}
	for _, f := range fs.all {
		if f.id == 0 && neverShown(f.name) && fs.noneShown(f.calls) {
			hidden = append(hidden, f)
			continue
		}
		for _, table := range append(f.lines, f.calls) {
			if len(table) > 0 {
				used[&table[0]] = true
			}
		}
	}
	for _, f := range hidden {
		for _, table := range append(f.lines, f.calls) {
			if len(table) > 0 && !used[&table[0]] && !fs.other[&table[0]] {
				clear(table)
			}
		}
		for _, offset := range f.offsets {
			clear(offset)
		}
		if f.callsOffset != nil {
			binary.LittleEndian.PutUint32(f.callsOffset, noData)
		}
	}
}

// functions is the linker's table of functions.
type functions struct {
	names  []byte
	tables []byte // by counter
	data   []byte // of whole functions
	all    []function
	other  map[*byte]bool // where tables begin that are neither lines nor inlined calls
}

// function is one entry, in parts of memory.
type function struct {
	name    string
	id      byte
	lines   [][]byte // tables by counter: files, lines and inlined calls, as far as it has them
	offsets [][]byte // of each in the function, 0 for none
	calls   []byte   // the inlined calls, which the last of the tables counts
	// callsOffset is theirs in the function, nil without.
	callsOffset []byte
}

// Tables of a function (internal/abi, PCDATA_ and FUNCDATA_): the place of the inlined calls among each, and how many
// there are at most.
const (
	inlinedAt   = 2 // by counter
	mostTables  = 5
	inlinedData = 3 // of the whole function
	mostData    = 8
	noData      = 1<<32 - 1
)

// Places in a runtime._func, whose tables' offsets follow it, and in a runtime.inlinedCall.
const (
	funcName   = 4
	funcStack  = 16 // offsets of three tables by counter: the stack's depth, the file and the line
	funcFile   = 20
	funcLine   = 24
	funcTables = 28
	funcID     = 40
	funcData   = 43
	funcSize   = 44

	callSize = 16
	callName = 4
)

// Places in a runtime.moduledata and its header, beyond those that funcTable knows.
const (
	moduleNames  = moduleSlices
	moduleTables = moduleSlices + 3*24
	moduleEntry  = moduleSlices + 4*24
	moduleData   = 40 * 8

	headerNames  = 32
	headerTables = 56
	headerEntry  = 64
	headerSize   = 72
)

// readFunctions reads what runtime.moduledata leads to; false where it is not what the header says as well, or where
// anything lies outside of what holds it.
func readFunctions(memory []byte, t buckets) (fs functions, ok bool) {
	module, long := memory[t.module:], binary.LittleEndian.Uint64
	header := long(module)
	if len(module) < moduleData+8 || header+headerSize > uint64(len(memory)) {
		return fs, false
	}
	slice := func(at, headerAt int) []byte {
		from, n := long(module[at:]), long(module[at+8:])
		if from != header+long(memory[header+uint64(headerAt):]) || from > uint64(t.at) || n > uint64(t.at)-from {
			return nil
		}
		return memory[from:][:n:n]
	}
	fs.names, fs.tables = slice(moduleNames, headerNames), slice(moduleTables, headerTables)
	entries := slice(moduleEntry, headerEntry)
	data := long(module[moduleData:])
	if len(fs.names) == 0 || len(fs.tables) == 0 || data != long(module[moduleEntry:])+uint64(len(entries)) ||
		long(module[moduleFuncs:]) != long(module[moduleEntry:]) || data > uint64(t.at) {
		return fs, false
	}
	fs.data = memory[data:t.at:t.at]
	fs.other = map[*byte]bool{&fs.tables[0]: true}
	n := t.buckets/funcBuckets + 1
	if len(entries) < 8*n {
		return fs, false
	}
	for i := range n {
		pc, at := binary.LittleEndian.Uint32(entries[8*i:]), binary.LittleEndian.Uint32(entries[8*i+4:])
		if uint64(at) > uint64(len(entries)) || !fs.read(entries[at:], pc) {
			return fs, false
		}
	}
	return fs, true
}

// read adds one function, which begins at pc.
func (fs *functions) read(entry []byte, pc uint32) bool {
	if len(entry) < funcSize || number(entry) != int(pc) {
		return false
	}
	f := function{id: entry[funcID]}
	tables, data := number(entry[funcTables:]), int(entry[funcData])
	if tables > mostTables || data > mostData || len(entry) < funcSize+4*(tables+data) {
		return false
	}
	var ok bool
	if f.name, ok = fs.text(number(entry[funcName:])); !ok {
		return false
	}
	var most int
	for i := -3; i < tables; i++ {
		offset := entry[funcSize+4*i:][:4]
		if i < 0 {
			offset = entry[funcTables+4*i:][:4]
		}
		at := number(offset)
		if at == 0 {
			continue
		}
		if at >= len(fs.tables) {
			return false
		}
		size, highest, ok := counterTable(fs.tables[at:])
		if !ok {
			return false
		}
		switch i {
		case -2, -1:
		case inlinedAt:
			most = highest + 1
		default:
			fs.other[&fs.tables[at]] = true
			continue
		}
		f.lines, f.offsets = append(f.lines, fs.tables[at:][:size]), append(f.offsets, offset)
	}
	for i := range data {
		offset := entry[funcSize+4*(tables+i):][:4]
		at := number(offset)
		if at == noData {
			continue
		}
		size := 1
		if i == inlinedData {
			size = most * callSize
		}
		if at+size > len(fs.data) {
			return false
		}
		if i != inlinedData {
			fs.other[&fs.data[at]] = true
			continue
		}
		f.calls, f.callsOffset = fs.data[at:][:size], offset
	}
	fs.all = append(fs.all, f)
	return true
}

func number(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }

// text is the name at an offset.
func (fs *functions) text(at int) (string, bool) {
	if at >= len(fs.names) {
		return "", false
	}
	name, _, ok := bytes.Cut(fs.names[at:], []byte{0})
	return string(name), ok
}

// counterTable walks a table of values by counter: pairs of a difference of values and one of counters, and a zero.
func counterTable(table []byte) (size, highest int, ok bool) {
	value := int64(-1)
	for size = 0; ; {
		delta, n := binary.Varint(table[size:])
		if n <= 0 {
			return 0, 0, false
		}
		if delta == 0 && size > 0 {
			return size + n, highest, true
		}
		size += n
		if value += delta; value < -1<<31 || value >= 1<<31 {
			return 0, 0, false
		}
		highest = max(highest, int(value))
		if _, n = binary.Uvarint(table[size:]); n <= 0 {
			return 0, 0, false
		}
		size += n
	}
}

// profiled reports a guest that can count calls of the runtime.
func (fs *functions) profiled() bool {
	for _, f := range fs.all {
		switch f.name {
		case "runtime.MemProfile", "runtime.BlockProfile", "runtime.MutexProfile", "runtime.StartTrace":
			return true
		}
		if strings.HasPrefix(f.name, "runtime/pprof.") || strings.HasPrefix(f.name, "runtime/trace.") {
			return true
		}
	}
	return false
}

// neverShown is what the runtime decides by a function's name (runtime.showfuncinfo), but for its level of all.
func neverShown(name string) bool {
	name, ok := strings.CutPrefix(name, "runtime.")
	if !ok || name == "gopanic" {
		return false
	}
	receiver := ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		receiver, name = strings.TrimSuffix(strings.TrimPrefix(name[:i], "(*"), ")"), name[i+1:]
	}
	return !exported(name) || receiver != "" && !exported(receiver)
}

func exported(name string) bool { return name != "" && 'A' <= name[0] && name[0] <= 'Z' }

// noneShown reports inlined calls that no stack has: besides the runtime's own those of packages whose inlined functions
// read and write a word of memory and call nothing.
func (fs *functions) noneShown(calls []byte) bool {
	for ; len(calls) > 0; calls = calls[callSize:] {
		name, ok := fs.text(number(calls[callName:]))
		if !ok || !neverShown(name) && !strings.HasPrefix(name, "internal/runtime/atomic.") && !strings.HasPrefix(name, "internal/abi.") &&
			!strings.HasPrefix(name, "internal/runtime/sys.") && !strings.HasPrefix(name, "internal/runtime/math.") {
			return false
		}
	}
	return true
}
