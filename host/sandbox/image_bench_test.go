//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkRestore is what the ways to restore memory cost with the writes of a
// call, on one thread and on two: copying all of it, copying what was written,
// giving back what was written so that it faults in again.
func BenchmarkRestore(b *testing.B) {
	pages := openPageMap()
	defer pages.close()
	for _, c := range []struct{ size, dirty int }{{pageSize, 4}, {2 * pageSize, 8}, {52 * pageSize, 10}, {52 * pageSize, 68}, {320 * pageSize, 68}} {
		for _, way := range []string{"all", "written", "give-back"} {
			b.Run(fmt.Sprintf("%dKiB/%dpages/%s", c.size>>10, c.dirty, way), func(b *testing.B) {
				im := &image{size: uint64(c.size), file: -1, data: make([]byte, c.size)}
				for i := range im.data {
					im.data[i] = byte(i)
				}
				if way != "all" {
					with := map[string]*pageMap{"written": pages, "give-back": nil}[way]
					im = newFile(b, im.data, with)
					defer im.close()
				}
				run := func(threads int) time.Duration {
					var wg sync.WaitGroup
					begun := time.Now()
					for range threads {
						wg.Go(func() {
							runtime.LockOSThread()
							defer runtime.UnlockOSThread()
							l := &linear{max: 1024 * pageSize, mem: &budget{}}
							l.base, l.held = reserve(l.max)
							defer unreserve(l.base)
							l.high = im.size
							im.restore(l)
							for range 400 / threads {
								for p := range c.dirty {
									l.base[p*(c.size/pageBytes/c.dirty)*pageBytes]++
								}
								im.restore(l)
							}
						})
					}
					wg.Wait()
					return time.Since(begun)
				}
				var one, two []time.Duration
				for b.Loop() {
					one, two = append(one, run(1)), append(two, run(2))
				}
				slices.Sort(one)
				slices.Sort(two)
				b.ReportMetric(float64(one[0].Nanoseconds())/400_000, "us/call")
				b.ReportMetric(float64(one[0])/float64(two[0]), "two/one")
			})
		}
	}
}

// newFile is a large image, however small.
func newFile(t testing.TB, data []byte, pages *pageMap) *image {
	big := make([]byte, max(len(data), copyBelow+pageSize))
	copy(big, data)
	im, ok := newImage(big, pages)
	if !ok {
		t.Fatal("no image")
	}
	return im
}

// rss is the process's resident memory in KiB: its own pages and those it shares.
func rss(t testing.TB) (own, shared float64) {
	t.Helper()
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what a sync.Pool held for one cycle more
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var n float64
		if _, err := fmt.Sscanf(line, "RssAnon: %f kB", &n); err == nil {
			own = n
		}
		if _, err := fmt.Sscanf(line, "RssShmem: %f kB", &n); err == nil {
			shared = n
		}
	}
	return own, shared
}

// BenchmarkIdleInstance is the memory that instances keep between calls, each,
// beyond the snapshot that they share: right after a call and once trimmed.
func BenchmarkIdleInstance(b *testing.B) {
	const many = 256 // what the process needs once is little to each
	wasm, err := os.ReadFile("testdata/echo.wasm")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name, export string
		wasm         []byte
		in           int
	}{
		{"small", "run", wasm, 1 << 10},
		{"go", "echo", buildFresh(b), 1 << 10},
		{"go-64KiB", "echo", buildFresh(b), 64 << 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			var hot, idle, shared float64
			for b.Loop() {
				e := openFresh(b, Config{MaxCalls: many, PluginCalls: many, IdleFor: time.Hour})
				p, err := e.LoadForeign(b.Context(), Foreign{Name: "p", Wasm: c.wasm, Exports: []string{c.export}})
				if err != nil {
					b.Fatal(err)
				}
				code := entered(b, p)
				fill := func(n int) {
					var held []*instance
					for range n {
						st := newCallState(p, NewSession(p.spec.limits, CallOptions{}, e.cfg.Clock, e.cfg.Rand), 1<<20)
						if rc, err := p.enter(b.Context(), code, c.export, make([]byte, c.in), st); err != nil || rc != 0 {
							b.Fatal(rc, err)
						}
						held = append(held, st.instance)
					}
					for _, in := range held {
						p.pool.put(b.Context(), in, true)
					}
				}
				fill(1)
				own0, shared0 := rss(b)
				fill(many)
				own1, _ := rss(b)
				p.pool.mu.Lock()
				for _, in := range p.pool.idle {
					in.trim()
					in.trimmed = true
				}
				p.pool.mu.Unlock()
				own2, _ := rss(b)
				hot, idle, shared = (own1-own0)/(many-1), (own2-own0)/(many-1), shared0
			}
			b.ReportMetric(hot, "hot-KiB")
			b.ReportMetric(idle, "idle-KiB")
			b.ReportMetric(shared, "snapshot-KiB")
		})
	}
}

// buildFresh builds the Go guest that keeps state.
func buildFresh(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fresh.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", path, "./testdata/fresh")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
