package hostile_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// binaryGuests are modules that hurt whoever reads or compiles them. Those that no text form can say, and those too
// large to commit, are made here.
func binaryGuests() []guest {
	bad := func(name, says string, wasm func() []byte) guest {
		return guest{name: name, wasm: wasm, status: effect.Failed, reason: "plugin_malformed", says: says}
	}
	raw := func(sections ...string) func() []byte {
		return func() []byte { return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, "")) }
	}
	many := func(n int) func() []byte { return func() []byte { return functions(n, body(0x0b)) } }
	return []guest{
		// Each of these counts takes a decoder that believes it out of memory.
		bad("count-of-types", "it", raw("\x01\x05\xf0\xff\xff\xff\x0f")),
		bad("count-of-functions", "it", raw("\x03\x05\xf0\xff\xff\xff\x0f")),
		bad("count-of-exports", "it", raw("\x07\x05\xf0\xff\xff\xff\x0f")),
		bad("count-of-data", "it", raw("\x0b\x05\xf0\xff\xff\xff\x0f")),
		bad("count-of-parameters", "it", raw("\x01\x08\x01\x60\xf0\xff\xff\xff\x0f\x00")),
		bad("locals", "locals", raw("\x01\x04\x01\x60\x00\x00", "\x03\x02\x01\x00", "\x0a\x0a\x01\x08\x01\xf0\xff\xff\xff\x0f\x7f\x0b")),

		bad("truncated", "only 3 do", raw("\x01\x04\x01\x60\x00")),
		bad("over-long-number", "it", raw("\x01\x80\x80\x80\x80\x80\x00")),
		bad("sections-out-of-order", "it", raw("\x03\x02\x01\x00", "\x01\x04\x01\x60\x00\x00")),
		bad("section-twice", "it", raw("\x01\x01\x00", "\x01\x01\x00")),
		bad("sections-overlap", "it", raw("\x01\x03\x01\x60\x00", "\x00\x03\x02\x01\x00")),
		bad("name-not-utf8", "it", raw("\x01\x04\x01\x60\x00\x00", "\x02\x07\x01\x01\xff\x01a\x00\x00")),
		{name: "not-wasm", wasm: func() []byte { return []byte("MZ\x90\x00 a program") }, status: effect.Failed, reason: "plugin_not_wasm"},
		{name: "component", wasm: func() []byte { return []byte("\x00asm\x0d\x00\x01\x00") }, status: effect.Failed, reason: "plugin_not_wasm"},

		// Each of these takes an optimising compiler minutes or gigabytes.
		bad("nested-blocks", "", func() []byte { return functions(1, body(repeat(20_000, 0x02, 0x40)...), repeat(20_001, 0x0b)) }),
		bad("branch-table", "", func() []byte {
			return functions(1, body(0x02, 0x40, 0x41, 0, 0x0e), leb(100_000), make([]byte, 100_001), []byte{0x0b, 0x0b})
		}),
		bad("locals-and-blocks", "", func() []byte {
			return functions(1, append([]byte{1, 0xd0, 0x86, 0x03, 0x7f}, repeat(2_000, 0x02, 0x40, 0x0b)...), []byte{0x0b})
		}),
		bad("joins-of-values", "", func() []byte {
			return functions(1, body(repeat(1100, join([]byte{0x02, 5}, repeat(100, 0x41, 0), []byte{0x0b}, repeat(100, 0x1a))...)...), []byte{0x0b})
		}),
		bad("forks", "", func() []byte { return functions(1, body(repeat(20_000, 0x41, 0, 0x04, 0x40, 0x0b)...), []byte{0x0b}) }),
		bad("effort-of-all", "", func() []byte {
			return functions(60, body(repeat(5_900, 0x41, 0, 0x04, 0x40, 0x0b)...), []byte{0x0b})
		}),
		bad("functions-200000", "", many(200_000)),
		{name: "functions-60000", wasm: many(60_000), deadline: time.Minute, status: effect.Succeeded, says: `"ok":true`},
		{name: "data-100-mb", wasm: func() []byte { return data(100 << 20) }, status: refused, reason: "manifest_invalid"},
		{
			name: "data-48-mb", wasm: func() []byte { return data(48 << 20) }, deadline: time.Minute, status: effect.Failed, reason: "plugin_memory",
			edit: func(m *manifest.Manifest) { m.Limits.MemoryBytes = 16 << 20 },
		},
	}
}

func repeat(n int, piece ...byte) []byte { return bytes.Repeat(piece, n) }

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// body is the code of a function without locals.
func body(code ...byte) []byte { return append([]byte{0}, code...) }

// functions is a module with n functions of one content, locals first, and an entry point that answers as good ones do.
func functions(n int, content ...[]byte) []byte {
	code := join(content...)
	m := answering()
	for range n {
		m.Funcs = append(m.Funcs, 0)
	}
	out := m.Encode()
	// The bodies are written by hand: some of them are such as no writer makes.
	bodies := append(leb(len(m.Bodies)+n), one(m.Bodies[0])...)
	for range n {
		bodies = append(append(bodies, leb(len(code))...), code...)
	}
	return replaceCode(out, bodies)
}

// answering is a module that answers {"result":{"ok":true}}.
func answering() *wasmbin.Module {
	const text = `{"result":{"ok":true}}`
	n := byte(len(text))
	code := []byte{
		0x42, n, 0x10, 0, 0x22, 0, 0x41, 0, 0x41, n, 0x10, 1, // store(b = alloc(n), 0, n)
		0x20, 0, 0x42, n, 0x10, 2, 0x41, 0, 0x0b, // output_set(b, n)
	}
	i := wasmbin.I64
	return &wasmbin.Module{
		Types: []wasmbin.FuncType{{}, {Results: []byte{wasmbin.I32}}, {Params: []byte{i}, Results: []byte{i}}, {Params: []byte{i, wasmbin.I32, wasmbin.I32}}, {Params: []byte{i, i}}, {Results: repeat(100, wasmbin.I32)}},
		Imports: []wasmbin.Import{
			{Module: wire.ModuleKernel, Name: "alloc", Type: 2}, {Module: wire.ModuleHost, Name: wire.ImportStore, Type: 3}, {Module: wire.ModuleKernel, Name: "output_set", Type: 4},
		},
		Funcs: []uint32{1}, Memories: []wasmbin.LimitsType{{Min: 1}},
		Exports: []wasmbin.Export{{Name: wire.ExportInvoke, Index: 3}, {Name: "memory", Kind: wasmbin.KindMemory}},
		Bodies:  []wasmbin.Body{{Locals: []wasmbin.LocalGroup{{Count: 1, Type: i}}, Code: code}},
		Data:    []wasmbin.Data{{Offset: []byte{0x41, 0, 0x0b}, Bytes: []byte(text)}},
	}
}

// one is a body as it stands in a code section.
func one(b wasmbin.Body) []byte {
	code := append([]byte{1, 1, wasmbin.I64}, b.Code...)
	return append(leb(len(code)), code...)
}

// replaceCode puts another code section into a module.
func replaceCode(wasm, bodies []byte) []byte {
	out := bytes.Clone(wasm[:8])
	for rest := wasm[8:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		whole := rest[:1+n+int(size)]
		if rest[0] == 10 {
			whole = append(append([]byte{10}, leb(len(bodies))...), bodies...)
		}
		out, rest = append(out, whole...), rest[1+n+int(size):]
	}
	return out
}

// data is a module whose memory begins with n bytes of its own.
func data(n int) []byte {
	m := answering()
	m.Memories[0].Min = uint32(n>>16 + 1)
	m.Data = append(m.Data, wasmbin.Data{Offset: []byte{0x41, 0x80, 0x02, 0x0b}, Bytes: make([]byte, n)})
	return m.Encode()
}
