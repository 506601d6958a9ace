package sandbox_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// bombs are functions just within the default limits, of the shapes that make an
// optimising compiler slow: written without limits, each of them takes minutes
// or gigabytes. See the limits' comments for what each is about.
func bombs() map[string][]byte {
	leb := func(n int) []byte { return []byte{byte(n) | 0x80, byte(n>>7) | 0x80, byte(n >> 14)} }
	rep := func(n int, piece ...byte) []byte { return bytes.Repeat(piece, n) }
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	function := func(locals uint32, code ...[]byte) []byte {
		return (&wasmbin.Module{
			Types:  []wasmbin.FuncType{{}, {Results: rep(100, wasmbin.I32)}},
			Funcs:  []uint32{0},
			Bodies: []wasmbin.Body{{Locals: []wasmbin.LocalGroup{{Count: locals, Type: wasmbin.I32}}, Code: append(cat(code...), 0x0b)}},
		}).Encode()
	}
	mixed := func(op byte, n, locals int, tail ...byte) []byte {
		var code []byte
		for i := range n {
			if op == 0x04 {
				code = append(code, 0x20, byte(i%locals))
			}
			code = append(code, op, 0x40)
			for j := range 6 {
				code = append(code, 0x20, byte((i+j)%locals), 0x21, byte((i+j+1)%locals))
			}
			code = append(append(code, tail...), 0x0b)
		}
		return code
	}
	labels := []byte{}
	for i := range 8000 {
		labels = append(labels, leb(i)...)
	}
	return map[string][]byte{
		"nesting":      function(1, rep(8192, 0x02, 0x40), rep(8192, 0x0b)),
		"depth":        function(1, rep(511, 0x41, 0, 0x04, 0x40), rep(511, 0x0b)),
		"forks":        function(1, rep(5999, 0x41, 0, 0x04, 0x40, 0x0b)),
		"forks locals": function(120, mixed(0x04, 5999, 120)),
		"loops locals": function(120, mixed(0x03, 999, 120, 0x20, 3, 0x0d, 0)),
		"branches":     function(1, []byte{0x02, 0x40, 0x41, 0, 0x0e}, leb(16_000), rep(16_001, 0), []byte{0x0b}),
		"dispatch":     function(1, rep(8000, 0x02, 0x40), []byte{0x41, 0, 0x0e}, leb(7999), labels, rep(8000, 0x0b)),
		"values":       function(1, rep(900, cat([]byte{0x02, 1}, rep(100, 0x41, 0), []byte{0x0b}, rep(100, 0x1a))...)),
		"pressure":     function(100, rep(60_000, 0x20, 1), rep(60_000, 0x21, 3)),
	}
}

// TestBombsDoNotAddUp refuses many functions of which each would pass.
func TestBombsDoNotAddUp(t *testing.T) {
	for _, shape := range []string{"nesting", "forks", "forks locals"} {
		m, err := wasmbin.Read(bombs()[shape], wasmbin.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			m.Funcs, m.Bodies = append(m.Funcs, 0), append(m.Bodies, m.Bodies[0])
		}
		var no *wasmbin.Refusal
		if err := wasmbin.Verify(m.Encode(), wasmbin.DefaultLimits()); !errors.As(err, &no) || no.Code != wasmbin.CodeEffort {
			t.Errorf("100 functions of %s: %v", shape, err)
		}
	}
}

// TestWhatPassesCompilesSoon compiles what the limits just let through. The
// bound is on processor time and wide, for slow machines and the race detector;
// without the limits it is passed many times over.
func TestWhatPassesCompilesSoon(t *testing.T) {
	for name, wasm := range bombs() {
		t.Run(name, func(t *testing.T) {
			metered, _ := meterWith(t, wasm, wasmbin.DefaultLimits())
			rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
			defer func() { _ = rt.Close(t.Context()) }()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			begun := threadTime(t)
			if _, err := rt.CompileModule(t.Context(), metered); err != nil {
				t.Fatal(err)
			}
			if took := threadTime(t) - begun; took > 20*time.Second {
				t.Errorf("%d bytes took %s to compile", len(wasm), took)
			}
		})
	}
}
