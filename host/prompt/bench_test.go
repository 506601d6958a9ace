package prompt_test

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/store/sqlite"
	"github.com/b3abf3ee/portcullis/store/storetest"
)

// BenchmarkPrepare is what a turn pays before its first request, in sessions of very different length that had a turn before:
// reading the window from a database and fitting it. The cost must not follow the length. BenchmarkPrepareAnew is
// the same for the first turn of a session after the host's start.
func BenchmarkPrepare(b *testing.B) { benchmarkPrepare(b, false) }

func BenchmarkPrepareAnew(b *testing.B) { benchmarkPrepare(b, true) }

func benchmarkPrepare(b *testing.B, anew bool) {
	for _, messages := range []int{100, 1_000, 100_000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			clock := storetest.NewClock()
			ids := id.NewSource(clock.Now, rand.Reader)
			store, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "portcullis.db"), Clock: clock.Now, IDs: ids})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			w := worldOver(b, store, clock, ids)
			var all []provider.Message
			for n := range messages / 4 {
				all = append(all, exchange(n, 400)...)
			}
			w.say(all...)
			m := w.manager()
			if anew {
				m = w.manager(forgetful{store})
			}
			for b.Loop() {
				c, err := m.Open(b.Context(), w.bound, model(32_000, nil))
				if err != nil {
					b.Fatal(err)
				}
				if p := w.prepare(c, step(1)); p.Overflow || len(p.Messages) < 50 {
					b.Fatalf("%+v", p)
				}
			}
		})
	}
}
