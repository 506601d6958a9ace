package sandbox

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
)

// stateMachine is the fixture with another size of memory to begin with.
func stateMachine(t testing.TB, pages uint32) []byte {
	t.Helper()
	m, err := wasmbin.Read(fixture(t, "machine.wasm"), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	m.Memories[0].Min = pages
	return m.Encode()
}

// twins are the same plugin on two engines: one restores instances, the other
// makes each call a new one.
func twins(t testing.TB, pages uint32) (pooled, plain *Plugin) {
	t.Helper()
	for _, p := range []**Plugin{&pooled, &plain} {
		var err error
		if *p, err = openFresh(t, Config{}).LoadForeign(t.Context(), Foreign{Name: "machine", Wasm: stateMachine(t, pages), Exports: []string{"run"}}); err != nil {
			t.Fatal(err)
		}
	}
	if pooled.binary.plain != "" {
		t.Fatal("the machine cannot be restored:", pooled.binary.plain)
	}
	plain.binary.plain = "it is the twin"
	return pooled, plain
}

// A sequence of calls in restored instances ends as the same calls in new ones:
// status, reason, output, fuel and memory.
func FuzzRestoredCallsEqualFreshOnes(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		program := make([]byte, 4*random.IntN(120))
		for i := range program {
			if program[i] = byte(random.IntN(256)); i%4 == 0 {
				program[i] = byte(random.IntN(11))
			}
		}
		f.Add(program)
	}
	type pair struct{ pooled, plain *Plugin }
	var pairs []pair
	for _, pages := range []uint32{1, 2, 5, 24} {
		pooled, plain := twins(f, pages)
		pairs = append(pairs, pair{pooled, plain})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Four calls, cut where the bytes say.
		for range 4 {
			program := data
			if len(data) > 8 {
				n := int(data[0]) % len(data) &^ 3
				program, data = data[:n], data[n:]
			}
			for i, p := range pairs {
				a, b := p.pooled.Call(t.Context(), "run", program, CallOptions{}), p.plain.Call(t.Context(), "run", program, CallOptions{})
				if a.Status != b.Status || a.Reason != b.Reason || !bytes.Equal(a.Output, b.Output) ||
					a.Stats.Fuel != b.Stats.Fuel || a.Stats.MemoryPeak != b.Stats.MemoryPeak {
					t.Fatalf("pair %d: restored %s (%s) %x %+v\nfresh %s (%s) %x %+v",
						i, a.Status, a.Reason, a.Output, a.Stats, b.Status, b.Reason, b.Output, b.Stats)
				}
			}
		}
	})
}

// Instances are in fact used again by the property above.
func TestTheTwinsDiffer(t *testing.T) {
	for _, pages := range []uint32{1, 5} {
		pooled, plain := twins(t, pages)
		for _, p := range []*Plugin{pooled, plain} {
			for range 3 {
				if out := p.Call(t.Context(), "run", []byte{2, 0, 0, 3, 1, 9, 9, 9}, CallOptions{}); out.Status != OK {
					t.Fatal(out.Status, out.Reason, out.Err)
				}
			}
			p.engine.running.Wait()
		}
		if pooled.pool.settled() != 1 || plain.pool.settled() != 0 {
			t.Errorf("%d and %d instances are kept", pooled.pool.settled(), plain.pool.settled())
		}
	}
}

// Whatever was written, and however far memory grew, it is what it was; by every
// way of restoring that this machine has.
func TestImagesRestoreEveryByte(t *testing.T) {
	pages := openPageMap()
	defer pages.close()
	random := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{0, pageSize, 2 * pageSize, 9 * pageSize, 100 * pageSize} {
		for _, with := range []*pageMap{pages, nil} {
			for _, held := range []bool{true, false} {
				t.Run(fmt.Sprintf("%d bytes, told %v, reserved %v", size, with != nil, held), func(t *testing.T) {
					want := make([]byte, size)
					for i := range want {
						if i/5000%2 == 0 { // some pages are zero
							want[i] = byte(i * 7)
						}
					}
					im, ok := newImage(want, with)
					if !ok {
						t.Fatal("no image")
					}
					defer im.close()
					l := &linear{max: 160 * pageSize, mem: &budget{limit: 1 << 30}}
					if held {
						l.base, l.held = reserve(l.max)
						defer unreserve(l.base)
					} else {
						l.base = make([]byte, l.max)
					}
					l.size = uint64(size)
					for round := range 12 {
						if !im.restore(l) {
							t.Fatal("not restored")
						}
						if !bytes.Equal(l.base[:size], want) {
							t.Fatalf("round %d: memory is not the image", round)
						}
						if rest := l.base[size:]; bytes.Count(rest, []byte{0}) != len(rest) {
							t.Fatalf("round %d: bytes beyond the image are not zero", round)
						}
						if round == 6 {
							im.trim(l)
							continue
						}
						l.high = uint64(size + random.IntN(60)*pageSize)
						for range []int{0, 3, 500, 3000}[random.IntN(4)] {
							if l.high > 0 {
								l.base[random.IntN(int(l.high))] ^= 0x55
							}
						}
					}
				})
			}
		}
	}
}
