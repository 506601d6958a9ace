package wasmbin

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// segmentsAt makes active segments.
func segmentAt(at int32, b ...byte) Data {
	w := writer{out: []byte{opI32Const}}
	w.signed(int64(at))
	w.byte(opEnd)
	return Data{Offset: w.out, Bytes: b}
}

// lay puts segments into a memory of zeros.
func lay(t *testing.T, m *Module) []byte {
	t.Helper()
	mem := make([]byte, 4096)
	for _, d := range m.Data {
		at, ok := d.at()
		if !ok {
			t.Fatal("a segment has no place")
		}
		copy(mem[at:], d.Bytes)
	}
	return mem
}

// Whatever the order, gaps and overlaps, memory is the same, and the segments
// that were read are as they were.
func TestJoinedDataMakesTheSameMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	fewer := 0
	for round := range 2000 {
		m := &Module{}
		at := 0
		for range 2 + random.IntN(12) {
			if round%2 == 0 && random.IntN(4) == 0 {
				at = random.IntN(3000)
			}
			b := make([]byte, random.IntN(20))
			for i := range b {
				b[i] = byte(1 + random.IntN(255))
			}
			m.Data = append(m.Data, segmentAt(int32(at), b...))
			at += len(b) + []int{0, 1, 50, joinGap, joinGap + 1}[random.IntN(5)]
		}
		if round%3 == 0 {
			random.Shuffle(len(m.Data), func(i, k int) { m.Data[i], m.Data[k] = m.Data[k], m.Data[i] })
		}
		before := (&Module{Data: m.Data}).Encode()
		want := lay(t, m)
		out := m.JoinData()
		if got := lay(t, out); !bytes.Equal(got, want) {
			t.Fatalf("%d segments joined to %d make another memory", len(m.Data), len(out.Data))
		}
		if !bytes.Equal((&Module{Data: m.Data}).Encode(), before) {
			t.Fatal("the segments that were read were changed")
		}
		if len(out.Data) < len(m.Data) {
			fewer++
		}
	}
	if fewer < 1000 {
		t.Errorf("only %d of 2000 modules have fewer segments", fewer)
	}
}

// Segments that code may name, and those whose place is not known yet, stay.
func TestDataThatMayBeNamedIsNotJoined(t *testing.T) {
	two := []Data{segmentAt(0, 1), segmentAt(1, 2)}
	n := uint32(2)
	passive, global := two[1], two[1]
	passive.Mode, global.Offset = 1, []byte{opGlobalGet, 0, opEnd}
	for name, m := range map[string]*Module{
		"data count": {Data: two, DataCount: &n},
		"passive":    {Data: []Data{two[0], passive}},
		"a global":   {Data: []Data{two[0], global}},
		"one":        {Data: two[:1]},
	} {
		if m.JoinData() != m {
			t.Errorf("%s: joined", name)
		}
	}
	if out := (&Module{Data: two}).JoinData(); len(out.Data) != 1 || !bytes.Equal(out.Data[0].Bytes, []byte{1, 2}) {
		t.Errorf("joined to %v", out.Data)
	}
}
