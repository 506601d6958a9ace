package hostile_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
)

// Bounds of containment.
const (
	overDeadline = 250 * time.Millisecond
	overMemory   = 64 << 20
	// floorP99 is the least bound for the calls beside a guest. Below it the scheduler of a machine with two busy
	// cores speaks and not the host.
	floorP99 = 20 * time.Millisecond
	beside   = 30 // calls beside one guest, at the least
	// imageFDs is what a loaded plugin keeps: the file in memory that its instances are restored from.
	imageFDs = 1
	settling = 3 * time.Second
)

// footprint is what the process holds.
type footprint struct {
	resident        int64 // bytes
	goroutines, fds int
}

// footprintNow collects garbage and reads what is left.
func footprintNow(t *testing.T) footprint {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		t.Fatal(err)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return footprint{resident * int64(os.Getpagesize()), runtime.NumGoroutine(), len(fds)}
}

// settled waits until the process holds no more than base allows, and returns what it holds then. What ends in the
// background (a connection, a goroutine on its way out) has a bounded time for it.
func settled(t *testing.T, base footprint) footprint {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(settling); ; <-again.C {
		now := footprintNow(t)
		back := now.resident-base.resident <= overMemory && now.goroutines <= base.goroutines && now.fds <= base.fds+imageFDs
		if back || time.Now().After(end) {
			return now
		}
	}
}

// neighbour calls the good plugin over and over.
type neighbour struct {
	took  []time.Duration
	calls atomic.Int64
	stop  chan struct{}
	done  chan struct{}
}

func (w *world) callBeside(t *testing.T) *neighbour {
	n := &neighbour{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(n.done)
		for {
			begun := time.Now()
			if a := w.call(t, w.good, ""); a.status != effect.Succeeded {
				t.Errorf("a call of the good plugin beside the guest ended with %s", a)
			}
			n.took = append(n.took, time.Since(begun))
			n.calls.Add(1)
			select {
			case <-n.stop:
				return
			default:
			}
		}
	}()
	return n
}

// end stops the calls and returns how long each took.
func (n *neighbour) end() []time.Duration {
	close(n.stop)
	<-n.done
	return n.took
}

// p99 is the 99th percentile; of a hundred calls or less it leaves the slowest out.
func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	s := slices.Clone(took)
	slices.Sort(s)
	return s[max(0, min(len(s)-2, len(s)*99/100))]
}

// figures are the worst that was measured.
type figures struct {
	over             time.Duration // past a deadline
	memory           int64         // bytes more than before
	goroutines, fds  int
	quiet            []time.Duration // calls with nothing beside them
	busy             []time.Duration // calls beside the guests of one class
	worst            float64         // p99 of busy over half its bound, of all classes
	overBy, memoryBy string
	worstBy          string
}

func (f *figures) note(by string, over time.Duration, before, after footprint) {
	if over > f.over || f.overBy == "" {
		f.over, f.overBy = over, by
	}
	if more := after.resident - before.resident; more > f.memory {
		f.memory, f.memoryBy = more, by
	}
	f.goroutines = max(f.goroutines, after.goroutines-before.goroutines)
	f.fds = max(f.fds, after.fds-before.fds)
}
