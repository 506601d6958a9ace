package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// goLike writes functions as Go's compiler does: a loop around a table of the
// places where a function may go on, a copy of the stack pointer in a local,
// operands in memory, and calls that leave their place there. Function f calls
// none before it, and what jumps back counts down, so that all of it ends.
type goLike struct {
	generator
	f, places int
	depth     int // blocks around the code, with the loop and the one outside of it
}

const (
	goFuncs  = 3
	goLocals = 6 // the place, the stack pointer, four i64
)

func (g *goLike) n(v int) { g.code = append(g.code, leb(v)...) }

// leb is a signed number.
func leb(v int) []byte {
	var out []byte
	for v < -64 || v > 63 {
		out = append(out, byte(v&0x7f)|0x80)
		v >>= 7
	}
	return append(out, byte(v&0x7f))
}

func (g *goLike) i64() byte { return byte(2 + g.pick(goLocals-2)) }

// address is a place of the frame, computed one way or another.
func (g *goLike) address() (offset byte) {
	g.emit(0x20, 1)
	if g.pick(4) > 0 {
		g.emit(0xad, 0x42)
		g.n(8 * g.pick(40))
		g.emit(0x7c, 0xa7)
	}
	return byte(8 * g.pick(16))
}

// value leaves an i64.
func (g *goLike) value(depth int) {
	kind := g.pick(9)
	if depth <= 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		g.emit(0x42)
		g.n(g.pick(256) - 100)
	case 1, 2:
		g.emit(0x20, g.i64())
	case 3:
		g.emit(0x29, 3, g.address())
	case 4, 5:
		g.value(depth - 1)
		g.value(depth - 1)
		g.emit([]byte{0x7c, 0x7d, 0x7e, 0x83, 0x84, 0x7f}[g.pick(6)]) // with division, which traps
	case 6:
		g.condition(depth - 1)
		g.emit(0xad)
	case 7:
		g.value(depth - 1)
		g.emit(0x22, g.i64())
	case 8:
		g.value(depth - 1)
		g.emit(0xa7, 0xad) // not what was there
	}
}

// condition leaves an i32.
func (g *goLike) condition(depth int) {
	switch g.pick(4) {
	case 0:
		g.value(depth)
		g.emit(0x50)
	case 1:
		g.value(depth)
		g.emit(0x50, 0xad, 0x22, g.i64(), 0x50, 0x45)
	case 2:
		g.value(depth)
		g.value(depth)
		g.emit([]byte{0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a}[g.pick(10)])
		for range g.pick(4) {
			g.emit(0x45)
		}
	case 3:
		g.value(depth)
		g.emit(0xa7)
	}
}

// jump goes to a place through the table, and backward only while there is patience.
func (g *goLike) jump(inside int) {
	g.emit(0x41, byte(g.pick(g.places+1)), 0x21, 0, 0x0c, byte(g.depth-2+inside))
}

func (g *goLike) statement() {
	switch g.pick(10) {
	case 0, 1:
		g.value(3)
		g.emit(0x21, g.i64())
	case 2, 3:
		offset := g.address()
		g.value(2)
		g.emit(0x37, 3, offset)
	case 4:
		g.emit(0x01)
	case 5: // a jump under a condition
		g.condition(2)
		g.patience()
		g.emit(0x71, 0x04, 0x40)
		g.jump(1)
		g.emit(0x0b)
	case 6: // a jump from within two conditions
		g.condition(2)
		g.emit(0x04, 0x40)
		g.patience()
		g.emit(0x04, 0x40)
		g.jump(2)
		g.emit(0x05)
		g.value(1)
		g.emit(0x21, g.i64(), 0x0b, 0x0b)
	case 7: // a local that is set and read at once
		x := g.i64()
		g.value(2)
		g.emit(0x21, x, 0x20, g.i64(), 0x20, x, 0x7c, 0x21, g.i64())
	case 8: // a call, which moves the stack pointer and moves it back
		if g.f+1 >= goFuncs {
			return
		}
		g.emit(0x20, 1, 0x41, 8, 0x6b, 0x22, 1, 0x24, 0, 0x20, 1, 0x42, byte(g.pick(64)), 0x37, 3, 0)
		g.emit(0x41, byte(g.pick(3)), 0x10, byte(g.f+1+g.pick(goFuncs-g.f-1)))
		if g.pick(8) > 0 {
			g.emit(0x23, 0, 0x21, 1)
		}
		g.emit(0x0d, byte(g.depth-1)) // out of all of it, when the call says so
	case 9: // the stack pointer and the local are two
		if g.pick(4) == 0 {
			g.emit(0x20, 1, 0x41, 16, 0x6a, 0x24, 0)
		} else if g.pick(4) == 0 {
			g.emit(0x20, 1, 0x41, 16, 0x6a, 0x21, 1)
		}
	}
}

// function is one body.
func (g *goLike) function() {
	g.code, g.places = nil, 1+g.pick(6)
	g.emit(0x23, 0, 0x21, 1, 0x02, 0x40, 0x03, 0x40)
	for range g.places {
		g.emit(0x02, 0x40)
	}
	g.emit(0x20, 0, 0x0e, byte(g.places))
	for i := range g.places + 1 {
		g.emit(byte(min(i, g.places-1)))
	}
	for at := range g.places {
		g.emit(0x0b)
		g.depth = g.places - at - 1 + 2
		if at == 0 {
			g.emit(0x20, 1, 0x41, 32, 0x6b, 0x22, 1, 0x24, 0)
		}
		for range g.pick(6) {
			g.statement()
		}
	}
	// Back to where the caller had it, and what was made of it all.
	g.emit(0x20, 2, 0x20, 3, 0x85, 0x20, 4, 0x85, 0x20, 5, 0x85, 0xa7, 0x41, 7, 0x71, 0x45)
	g.emit(0x41, 0x80, 0xc0, 0, 0x24, 0, 0x0f, 0x0b, 0x0b)
	g.emit(0x41, 1, 0x0b)
}

// generateGoLike makes a module of the choices.
func generateGoLike(choices []byte) *wasmbin.Module {
	m := generate(nil)
	m.Globals[0].Init = []byte{0x41, 0x80, 0xc0, 0, 0x0b}
	m.Funcs, m.Bodies, m.Segments = nil, nil, nil
	m.Exports = []wasmbin.Export{{Name: "memory", Kind: wasmbin.KindMemory}, {Name: "stack", Kind: wasmbin.KindGlobal}}
	g := &goLike{generator: generator{choices: choices}}
	for g.f = range goFuncs {
		g.function()
		m.Funcs = append(m.Funcs, 0)
		m.Bodies = append(m.Bodies, wasmbin.Body{
			Locals: []wasmbin.LocalGroup{{Count: 1, Type: wasmbin.I32}, {Count: goLocals - 2, Type: wasmbin.I64}}, Code: g.code,
		})
		m.Exports = append(m.Exports, wasmbin.Export{Name: string(rune('a' + g.f)), Kind: wasmbin.KindFunc, Index: uint32(g.f)})
	}
	return m
}

// checkShorter runs a module and the shorter one: the same answers, failures and memory. It says how many calls came back
// and how many bytes there were, and are.
func checkShorter(t *testing.T, m *wasmbin.Module) (ran, was, is int) {
	t.Helper()
	before := m.Encode()
	m, err := wasmbin.Read(before, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatalf("the generator made a bad module: %v", err)
	}
	short := m.Shorten(0)
	after := short.Encode()
	if !bytes.Equal(after, m.Shorten(0).Encode()) || !bytes.Equal(before, m.Encode()) {
		t.Fatal("it is shortened in two ways, or was changed")
	}
	// Metered, since not all of them end.
	var mods [2]*fueled
	for i, of := range []*wasmbin.Module{m, short} {
		if mods[i], err = fuel(t, wazero.NewRuntimeConfigInterpreter(), meteredBytes(t, of), 300_000, 300_000); err != nil {
			t.Fatalf("%x\nis invalid: %v", of.Encode(), err)
		}
	}
	for _, e := range m.Exports {
		if e.Kind != wasmbin.KindFunc {
			continue
		}
		for arg := range uint64(4) {
			var said [2]string
			for i, f := range mods {
				res, err := f.mod.ExportedFunction(e.Name).Call(context.Background(), arg)
				if (answer{res, err, 0}).stopped() {
					return ran, len(before), len(after)
				}
				said[i] = fmt.Sprint(clean(f.mod, e.Name, append(res, 0)[:1]), state(f.mod))
				if err != nil {
					said[i] = fmt.Sprint(unlike(err, nil), state(f.mod))
				}
			}
			if said[0] != said[1] {
				t.Fatalf("%s(%d): %.200s, shorter %.200s\n%x\n%x", e.Name, arg, said[0], said[1], before, after)
			}
			ran++
		}
	}
	return ran, len(before), len(after)
}

// state is what a call leaves.
func state(mod api.Module) string {
	out := ""
	if g := mod.ExportedGlobal("stack"); g != nil {
		out = fmt.Sprint(g.Get())
	}
	if m := mod.ExportedMemory("memory"); m != nil {
		b, _ := m.Read(0, 16<<10)
		out += string(b)
	}
	return out
}

// TestShorterModulesDoTheSame goes through modules of random control flow, as any compiler and as Go's writes them.
func TestShorterModulesDoTheSame(t *testing.T) {
	ran, was, is := 0, 0, 0
	for seed := range uint64(150) {
		r, _, _ := checkShorter(t, generate(choices(seed)))
		ran += r
	}
	if ran < 100 {
		t.Errorf("only %d calls came back", ran)
	}
	ran = 0
	for seed := range uint64(250) {
		r, w, i := checkShorter(t, generateGoLike(choices(seed)))
		ran, was, is = ran+r, was+w, is+i
	}
	if ran < 1000 || is > was*7/8 {
		t.Errorf("%d calls came back; %d bytes became %d", ran, was, is)
	}
	t.Logf("%d calls came back; %d bytes became %d", ran, was, is)
}

// FuzzShorten searches for code that does something else when it is shorter.
func FuzzShorten(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(choices(seed))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		checkShorter(t, generate(choices))
		checkShorter(t, generateGoLike(choices))
	})
}
