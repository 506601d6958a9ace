package wasmbin

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// file is a module of raw sections: pairs of id and content.
func file(sections ...any) []byte {
	w := writer{out: append([]byte(nil), header[:]...)}
	for i := 0; i < len(sections); i += 2 {
		w.byte(byte(sections[i].(int)))
		w.bytes([]byte(sections[i+1].(string)))
	}
	return w.out
}

// withBody is a module of one function () -> () with the locals and code.
func withBody(locals []LocalGroup, code ...byte) []byte {
	m := &Module{
		Types:  []FuncType{{}, {Params: []ValType{I32}}, {Results: repeat(9, I32)}},
		Funcs:  []uint32{0},
		Bodies: []Body{{Locals: locals, Code: code}},
	}
	m.Tables = []Table{{FuncRef, LimitsType{Min: 1}}}
	m.Memories = []LimitsType{{Min: 1}}
	return m.Encode()
}

func repeat(times int, piece ...byte) []byte { return []byte(strings.Repeat(string(piece), times)) }

func join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// brTable is a block with a br_table of n labels.
func brTable(n int) []byte {
	w := writer{out: []byte{opBlock, blockEmpty, opI32Const, 0, opBrTable}}
	w.count(n)
	w.raw(make([]byte, n+1))
	w.byte(opEnd)
	return w.out
}

// huge is the LEB128 number 0xfffffff0, which 15 bytes of file cannot hold.
const huge = "\xf0\xff\xff\xff\x0f"

// TestRefusals shows one module for each reason, the first few of which take an
// engine's process down.
func TestRefusals(t *testing.T) {
	type c struct {
		name string
		wasm []byte
		code Code
	}
	var cases []c
	for id, name := range map[int]string{
		secType: "types", secImport: "imports", secTable: "tables", secMemory: "memories", secGlobal: "globals",
		secExport: "exports", secElement: "element segments", secCode: "bodies", secData: "data segments", secFunction: "functions",
	} {
		cases = append(cases, c{"huge count of " + name, file(id, huge), CodeCount})
	}
	block := []byte{opBlock, blockEmpty}
	cases = append(cases, []c{
		{"huge count of parameters", file(secType, "\x01\x60"+huge), CodeCount},
		{"huge count of elements", file(secTable, "\x01\x70\x00\x01", secElement, "\x01\x00\x41\x00\x0b"+huge), CodeCount},
		{"huge count of label", withBody(nil, join([]byte{opBrTable}, []byte(huge), []byte{opEnd})...), CodeCount},
		{"huge data", file(secMemory, "\x01\x00\x01", secData, "\x01\x00\x41\x00\x0b"+huge), CodeTruncated},
		{"huge name", file(secCustom, huge), CodeTruncated},
		{"huge locals", file(secType, "\x01\x60\x00\x00", secFunction, "\x01\x00", secCode, "\x01\x08\x01"+huge+"\x7f\x0b"), CodeLocals},
		{"huge section", append(file(), secType, 0xf0, 0xff, 0xff, 0xff, 0x0f), CodeTruncated},

		{"empty", nil, CodeHeader},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), CodeHeader},
		{"number too long", file(secType, "\x80\x80\x80\x80\x80\x00"), CodeNumber},
		{"number too large", file(secType, "\xff\xff\xff\xff\x1f"), CodeNumber},
		{"constant too large", withBody(nil, opI32Const, 0xff, 0xff, 0xff, 0xff, 0x0f, opDrop, opEnd), CodeNumber},
		{"unknown section", file(14, ""), CodeSection},
		{"repeated section", file(secType, "\x00", secType, "\x00"), CodeSection},
		{"sections out of order", file(secFunction, "\x00", secType, "\x00"), CodeSection},
		{"bytes left over", file(secType, "\x00\x00"), CodeSection},
		{"bad type form", file(secType, "\x01\x5f\x00\x00"), CodeForm},
		{"bad value type", file(secType, "\x01\x60\x01\x40\x00"), CodeForm},
		{"64-bit memory", file(secMemory, "\x01\x04\x01"), CodeForm},
		{"bad name", file(secImport, "\x01\x01\xff\x01a\x00\x00"), CodeName},
		{"long name", file(secCustom, "\x81\x08"+strings.Repeat("n", 1025)), CodeName},
		{"type that is not there", file(secFunction, "\x01\x00"), CodeIndex},
		{"export that is not there", file(secExport, "\x01\x01a\x00\x00"), CodeIndex},
		{"global that the meter will add", withBody(nil, opGlobalGet, 0, opDrop, opEnd), CodeIndex},
		{"function that the meter will add", withBody(nil, opCall, 1, opEnd), CodeIndex},
		{"type that the meter will add", withBody(nil, opBlock, 3, opEnd, opEnd), CodeIndex},
		{"local that the meter will add", withBody(nil, opLocalGet, 0, opDrop, opEnd), CodeIndex},
		{"export of the global that the meter will add", file(secExport, "\x01\x01a\x03\x00"), CodeIndex},
		{"initialiser of a later global", file(secGlobal, "\x01\x7f\x00\x23\x00\x0b"), CodeIndex},
		{"branch out of the function", withBody(nil, opBr, 1, opEnd), CodeIndex},
		{"functions without bodies", file(secType, "\x01\x60\x00\x00", secFunction, "\x01\x00"), CodeMismatch},
		{"wrong data count", file(secDataCount, "\x01"), CodeMismatch},
		{"unknown instruction", withBody(nil, 0xff, opEnd), CodeInstruction},
		{"unknown vector instruction", withBody(nil, opVector, 0x9a, 1, opEnd), CodeInstruction},
		{"vector constant in disguise", withBody(nil, opVector, 0x8c, 0x00, opEnd), CodeInstruction},
		{"relaxed vector instruction", withBody(nil, opVector, 0x80, 0x02, opEnd), CodeInstruction},
		{"second memory", withBody(nil, opMemorySize, 1, opDrop, opEnd), CodeInstruction},
		{"padded memory index", withBody(nil, opMemorySize, 0x80, 0, opDrop, opEnd), CodeInstruction},
		{"code after the end", withBody(nil, opEnd, opNop, opEnd), CodeStructure},
		{"no end", withBody(nil, opNop), CodeTruncated},
		{"else without if", withBody(nil, opElse, opEnd), CodeStructure},
		{"initialiser that computes", file(secGlobal, "\x01\x7f\x00\x45\x0b\x00"), CodeStructure},
		{"two constants", file(secGlobal, "\x01\x7f\x00\x41\x00\x41\x00\x0b"), CodeFeature},
		{"tail call", withBody(nil, opReturnCall, 0, opEnd), CodeFeature},
		{"atomic", withBody(nil, opAtomic, 3, 0, opEnd), CodeFeature},
		{"exception", withBody(nil, opThrowRef, opEnd), CodeFeature},
		{"shared memory", file(secMemory, "\x01\x03\x01\x01"), CodeFeature},
		{"tags", file(secTag, "\x00"), CodeFeature},

		{"many parameters", file(secType, "\x01\x60\x81\x01"+strings.Repeat("\x7f", 129)+"\x00"), CodeValues},
		{"many tables", file(secTable, "\x11"+strings.Repeat("\x70\x00\x00", 17)), CodeTables},
		{"large table", file(secTable, "\x01\x70\x00\x80\xc2\xd7\x2f"), CodeTableEntries},
		{"large tables together", file(secTable, "\x02\x70\x00\x80\x80\x03\x70\x00\x80\x80\x03"), CodeTableEntries},
		{"table.grow", withBody(nil, opRefNull, FuncRef, opI32Const, 1, opMisc, miscTableGrow, 0, opDrop, opEnd), CodeTableGrow},
		{"two memories", file(secMemory, "\x02\x00\x01\x00\x01"), CodeMemories},
		{"large memory", file(secMemory, "\x01\x00\x81\x80\x04"), CodeMemoryPages},
		{"many exports", file(secExport, "\x81\x20"+strings.Repeat("\x00\x00\x00", 4097)), CodeExports},
		{"large body", withBody(nil, join(repeat(512<<10, opNop), []byte{opEnd})...), CodeBodyBytes},
		{"many locals", withBody([]LocalGroup{{50_001, I32}}, opEnd), CodeLocals},
		{"locals times blocks", withBody([]LocalGroup{{2_000, I32}}, join(repeat(1_001, opBlock, blockEmpty, opEnd), []byte{opEnd})...), CodeLocalBlocks},
		{"deep nesting", withBody(nil, join(repeat(8_193, block...), repeat(8_194, opEnd))...), CodeNesting},
		{"large branch table", withBody(nil, join(brTable(16_385), []byte{opEnd})...), CodeBranchTable},
		{"many branch tables", withBody(nil, join(repeat(17, brTable(1_000)...), []byte{opEnd})...), CodeBranchTable},
		{"blocks of many values", withBody(nil, join(repeat(11_999, opBlock, 2, opEnd), []byte{opEnd})...), CodeBlockValues},
		{"many blocks", withBody(nil, join(repeat(12_001, opBlock, blockEmpty, opEnd), []byte{opEnd})...), CodeBlocks},
		{"many forks", withBody(nil, join(repeat(6_001, opI32Const, 0, opBrIf, 0), []byte{opEnd})...), CodeForks},
		{"many loops", withBody(nil, join(repeat(1_001, opLoop, blockEmpty, opEnd), []byte{opEnd})...), CodeLoops},
		{"deep ifs", withBody(nil, join(repeat(513, opI32Const, 0, opIf, blockEmpty), repeat(514, opEnd))...), CodeDepth},
	}...)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			err := Verify(tc.wasm, DefaultLimits())
			var no *Refusal
			if !errors.As(err, &no) {
				t.Fatalf("accepted, or %v", err)
			}
			if no.Code != tc.code {
				t.Errorf("refused with %s: %v; want %s", no.Code, err, tc.code)
			}
			if no.Offset < 0 || no.Offset > len(tc.wasm) {
				t.Errorf("byte %d of %d", no.Offset, len(tc.wasm))
			}
			if !strings.HasPrefix(no.Sentence, "it") && !strings.HasPrefix(no.Sentence, "function") || strings.HasSuffix(no.Sentence, ".") {
				t.Errorf("sentence %q", no.Sentence)
			}
		})
	}
}

// TestOwnLimits holds those limits that no default module passes.
func TestOwnLimits(t *testing.T) {
	m := &Module{
		Types:  []FuncType{{}, {}},
		Funcs:  []uint32{0, 0},
		Bodies: []Body{{Code: []byte{opEnd}}, {Code: []byte{opEnd}}},
		Imports: []Import{
			{Module: "a", Name: "b"}, {Module: "a", Name: "c"},
		},
		Memories:  []LimitsType{{Min: 2}},
		Tables:    []Table{{FuncRef, LimitsType{Min: 2}}},
		Globals:   []Global{{GlobalType{I32, true}, []byte{opI32Const, 0, opEnd}}},
		Segments:  []Segment{{Offset: []byte{opI32Const, 0, opEnd}, Funcs: []uint32{0, 1}}},
		Data:      []Data{{Offset: []byte{opI32Const, 0, opEnd}, Bytes: []byte("ab")}},
		Customs:   []Custom{{Name: "x", Bytes: []byte("ab")}},
		Start:     new(uint32),
		DataCount: new(uint32(1)),
	}
	wasm := m.Encode()
	if err := Verify(wasm, DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	for code, tighten := range map[Code]func(*Limits){
		CodeModuleBytes:  func(l *Limits) { l.ModuleBytes = len(wasm) - 1 },
		CodeTypes:        func(l *Limits) { l.Types = 1 },
		CodeFunctions:    func(l *Limits) { l.Functions = 1 },
		CodeImports:      func(l *Limits) { l.Imports = 1 },
		CodeMemories:     func(l *Limits) { l.Memories = 0 },
		CodeMemoryPages:  func(l *Limits) { l.MemoryPages = 1 },
		CodeTables:       func(l *Limits) { l.Tables = 0 },
		CodeTableEntries: func(l *Limits) { l.TableEntries = 1 },
		CodeGlobals:      func(l *Limits) { l.Globals = 0 },
		CodeElements:     func(l *Limits) { l.Elements = 1 },
		CodeData:         func(l *Limits) { l.Data = 0 },
		CodeDataBytes:    func(l *Limits) { l.DataBytes = 1 },
		CodeCustomBytes:  func(l *Limits) { l.CustomBytes = 1 },
		CodeStart:        func(l *Limits) { l.Start = false },
		CodeEffort:       func(l *Limits) { l.Effort = 2079 },
		CodeFeature:      func(l *Limits) { l.Features = Core1 },
	} {
		l := DefaultLimits()
		tighten(&l)
		var no *Refusal
		if err := Verify(wasm, l); !errors.As(err, &no) || no.Code != code {
			t.Errorf("%s: got %v", code, err)
		}
	}
}

// TestCountsAllocateNothing reads modules that claim four billion things and
// looks at the memory that took.
func TestCountsAllocateNothing(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for id := secType; id <= secTag; id++ {
		if Verify(file(id, huge), wide()) == nil && id != secStart && id != secDataCount {
			t.Errorf("section %d with 0xfffffff0 items was accepted", id)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for a few hundred bytes of files", n)
	}
}

// TestRefusalSentence is what a person reads.
func TestRefusalSentence(t *testing.T) {
	err := Verify(file(secTable, "\x01\x70\x00\x80\xc2\xd7\x2f"), DefaultLimits())
	const want = "its tables have room for 100000000 entries, and at most 65536 are allowed (byte 17)"
	if fmt.Sprint(err) != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
