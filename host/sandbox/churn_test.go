package sandbox

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// resident is the memory of this process in bytes, after all that is free was
// given back. It is 0 where the system does not tell.
func resident(t testing.TB) int64 {
	t.Helper()
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what finalizers of the first let go
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

func descriptors() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

// Plugins come and go for ever: memory stays where it was, and no goroutine or
// descriptor is left behind. Every second one is called.
func TestTenThousandLoadsLeaveNothing(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir()})
	wasm := fixture(t, "echo.wasm")
	round := func(n int) {
		for i := range n {
			p, err := e.LoadForeign(t.Context(), Foreign{Name: "echo", Wasm: wasm, Exports: []string{"run"}})
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				if out := p.Call(t.Context(), "run", []byte("x"), CallOptions{}); out.Status != OK {
					t.Fatalf("call %d: %s (%s) %v", i, out.Status, out.Reason, out.Err)
				}
			}
			if err := p.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	round(500)
	memory, files, routines := resident(t), descriptors(), runtime.NumGoroutine()
	round(10_000)
	until(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= routines })
	if now := resident(t); now > memory+16<<20 {
		t.Errorf("resident memory grew from %d to %d KiB", memory>>10, now>>10)
	} else {
		t.Logf("resident memory %d KiB, was %d KiB", now>>10, memory>>10)
	}
	if now := descriptors(); now > files {
		t.Errorf("%d descriptors, were %d", now, files)
	}
	if e.resident != 0 || len(e.modules) != 0 {
		t.Errorf("the engine holds %d bytes and %d modules", e.resident, len(e.modules))
	}
}
