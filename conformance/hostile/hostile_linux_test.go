package hostile_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
)

// TestHostile installs and calls every guest, and prints what was measured. A guest whose figures are out of bounds is
// run up to twice more, because the machine may be to blame; an outcome other than the table's is final.
//
// The 99th percentile of some dozens of calls is one call, and one call is late for many reasons. So all calls beside
// the guests of a class are held together against all calls made before and between the guests of the run: at most
// twice their p99, or 20 ms where that is more. When a class is out of that bound, the calls it is held against are made
// anew beside a goroutine of this test that computes as hard as a guest may: on a machine whose cores are taken by
// others, that is what a second thread costs. They are as many, or a stall of the machine is in one of them only. A single
// guest fails when the p99 beside it passes eight times that of the quiet calls and 250 ms, which is starving and not noise.
func TestHostile(t *testing.T) {
	w := newWorld(t)
	var f figures
	f.quiet = w.quiet(t, 200)
	contained, all := 0, 0
	var counts []string
	for _, c := range classes() {
		n := 0
		t.Run(c.name, func(t *testing.T) {
			if len(c.guests) < c.least {
				t.Errorf("%d guests, at least %d are due", len(c.guests), c.least)
			}
			f.busy = nil
			ran := 0
			for _, g := range c.guests {
				t.Run(g.name, func(t *testing.T) {
					all++
					ran++
					w.contain(t, c.name, &g, &f)
					if !t.Failed() {
						n++
					}
				})
			}
			if ran == len(c.guests) && !w.together(t, c.name, &f) { // the calls beside a few that -run picked are too few for a p99
				n = 0 // who of them it was cannot be told
			}
		})
		contained += n
		counts = append(counts, fmt.Sprintf("%d %s", n, c.name))
	}
	fmt.Printf("%d of %d contained: %s; at worst %d ms past a deadline (%s), %d MiB not given back (%s), %d goroutines, and %d descriptors of a loaded plugin; "+
		"calls beside: p99 %.1f ms without a guest, at most %.2fx of their bound's half (%s)\n",
		contained, all, strings.Join(counts, ", "), f.over.Milliseconds(), f.overBy, f.memory>>20, f.memoryBy, max(0, f.goroutines), max(0, f.fds),
		ms(p99(f.quiet)), f.worst, f.worstBy)
	if contained != all || all == 0 {
		t.Errorf("%d of %d contained", contained, all)
	}
}

// together holds the calls beside the guests of a class against those without.
func (w *world) together(t *testing.T, class string, f *figures) bool {
	alone, busy := p99(f.quiet), p99(f.busy)
	if busy > max(2*alone, floorP99) {
		before := alone
		alone = max(alone, p99(w.besideWork(t, int64(len(f.busy)))))
		t.Logf("calls beside the guests: p99 %s; without them %s, beside a goroutine that computes %s", busy, before, alone)
	}
	if ratio := float64(busy) / float64(max(alone, floorP99/2)); ratio > f.worst {
		f.worst, f.worstBy = ratio, class
	}
	if busy > max(2*alone, floorP99) {
		t.Errorf("the p99 of %d calls beside guests was %s, without them %s", len(f.busy), busy, alone)
		return false
	}
	return true
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// quiet calls the good plugin with nothing beside it.
func (w *world) quiet(t *testing.T, calls int64) []time.Duration {
	n := w.callBeside(t)
	w.until(n, calls)
	return n.end()
}

// besideWork calls the good plugin beside a goroutine that computes without end.
func (w *world) besideWork(t *testing.T, calls int64) []time.Duration {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		block := make([]byte, 4<<10)
		for {
			select {
			case <-stop:
				return
			default:
				sum := sha256.Sum256(block)
				copy(block, sum[:])
			}
		}
	}()
	took := w.quiet(t, calls)
	close(stop)
	<-done
	return took
}

// until waits for so many calls.
func (w *world) until(n *neighbour, calls int64) {
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for n.calls.Load() < calls {
		<-again.C
	}
}

// contain runs one guest and holds it against the table and the bounds.
func (w *world) contain(t *testing.T, class string, g *guest, f *figures) {
	wasm := g.module(t, class)
	var faults []string
	for range 3 {
		if faults = w.measure(t, g, wasm, f); len(faults) == 0 || t.Failed() {
			break
		}
		t.Logf("measured: %s", strings.Join(faults, "; "))
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// measure runs one guest once and returns the figures that are out of bounds. What the guest answered is an error of
// the test at once.
func (w *world) measure(t *testing.T, g *guest, wasm []byte, f *figures) (faults []string) {
	f.quiet = append(f.quiet, w.quiet(t, 10)...)
	before := footprintNow(t)
	n := w.callBeside(t)
	w.over = -g.limit()
	p, got := w.install(t, g, wasm)
	for calls := 0; got.status != refused && !t.Failed() && (calls == 0 || g.play == nil && (calls < 2 || n.calls.Load() < beside)); calls++ {
		got = w.play(t, p)
		g.check(t, got)
		if calls == 0 && g.status == effect.TimedOut {
			w.over = -g.limit() // its plugin was compiled in the first call, before its own deadline began
		}
	}
	if got.status == refused {
		g.check(t, got)
	}
	w.until(n, 1)
	took := n.end()
	if a := w.call(t, w.good, ""); a.status != effect.Succeeded {
		t.Errorf("the next call of the good plugin ended with %s", a)
	}
	after := settled(t, before)
	if w.over > overDeadline {
		faults = append(faults, fmt.Sprintf("took %s more than its deadline of %s", w.over, g.limit()))
	}
	if more := after.resident - before.resident; more > overMemory {
		faults = append(faults, fmt.Sprintf("%d MiB were not given back", more>>20))
	}
	if after.goroutines > before.goroutines || after.fds > before.fds+imageFDs {
		faults = append(faults, fmt.Sprintf("left %d goroutines and %d descriptors behind", after.goroutines-before.goroutines, after.fds-before.fds))
	}
	if p, alone := p99(took), p99(f.quiet); p > max(8*alone, overDeadline) {
		faults = append(faults, fmt.Sprintf("the p99 of %d calls beside it was %s, without it %s", len(took), p, alone))
	}
	if len(faults) == 0 {
		f.busy = append(f.busy, took...)
		f.note(g.name, w.over, before, after)
	}
	return faults
}

// play calls the guest as the table says.
func (w *world) play(t *testing.T, p installed) answer {
	if p.guest.play != nil {
		return p.guest.play(t, w, p)
	}
	return w.call(t, p, p.guest.args)
}

// check holds an answer against the table.
func (g *guest) check(t *testing.T, got answer) {
	t.Helper()
	shown := strings.Join(got.shown, "\n")
	if got.status != g.status || got.reason != g.reason || !strings.Contains(shown, g.says) {
		t.Errorf("ended with %s, want %s (%s) and %q", got, g.status, g.reason, g.says)
	}
	for _, hidden := range g.hides {
		if strings.Contains(shown, hidden) {
			t.Errorf("%q is shown: %s", hidden, got)
		}
	}
}
