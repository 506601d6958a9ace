// Fuzzing builds all that a package's tests import anew, and SQLite takes longer than all else.

//go:build !fuzzing

package effect_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// BenchmarkGrantsAtEachCall is an effect without a durable write that reads what its plugin is granted from a database, as
// each does so that a grant which was taken back holds at once, beside one that reads it from nowhere.
func BenchmarkGrantsAtEachCall(b *testing.B) {
	doc := echoDocument("text", 1<<10)
	b.Run("nowhere", func(b *testing.B) { benchExecuteWith(b, echoNative(), doc, 0, ungranted{}) })
	b.Run("database", func(b *testing.B) {
		s, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "s.db"), Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		benchExecuteWith(b, echoNative(), doc, 0, s)
	})
}
