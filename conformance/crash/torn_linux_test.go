package crash

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/b3abf3ee/portcullis/host/turn"
)

// frame is a page of the log with its header; the log's own header comes first. https://sqlite.org/fileformat2.html#walformat
const (
	logHeader   = 32
	frameHeader = 24
	pageSize    = 4096
)

// commits are the ends of the log's transactions, in bytes.
func commits(log []byte) (ends []int) {
	for at := logHeader; at+frameHeader+pageSize <= len(log); at += frameHeader + pageSize {
		if binary.BigEndian.Uint32(log[at+4:]) != 0 { // the size of the database after a commit
			ends = append(ends, at+frameHeader+pageSize)
		}
	}
	return ends
}

// TestTornLogsKeepWhatWasWhole reopens a database whose log was cut off or damaged as a power cut may leave it: what was
// committed in the part that is whole is there, nothing half-written is, and the next host goes on.
func TestTornLogsKeepWhatWasWhole(t *testing.T) {
	const all = 2000
	step := stride(t, 40)
	images := all / step
	exe, err := withPoints()
	if err != nil {
		t.Fatal(err)
	}
	// Killed as the last write is acknowledged: the log holds everything.
	first := fresh(t, t.TempDir())
	e := run(t, first, exe, []string{"PORTCULLIS_FAILPOINT=sqlite.Append.committed=kill"})
	if !e.killed {
		t.Fatalf("the child was not killed: %+v", e)
	}
	// What was acknowledged may be gone with the log; what happened outside has happened.
	outside := &book{did: read(e.out).did, torn: true}
	log, err := os.ReadFile(first + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	ends := commits(log)
	if len(ends) < 10 {
		t.Fatalf("%d commits in the log", len(ends))
	}
	counts := prefixes(t, first, log, ends)
	seed := uint64(images)
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	var faults []string
	each(1, func(n int) bool {
		if n > images {
			return false
		}
		mu.Lock()
		torn, whole, how := tear(random, log, ends, n*step)
		mu.Unlock()
		got := reopen(t, first, torn, counts, whole, outside)
		mu.Lock()
		defer mu.Unlock()
		for _, f := range got {
			faults = append(faults, fmt.Sprintf("image %d (%s): %s", n, how, f))
		}
		return true
	})
	for _, f := range faults {
		t.Error(f)
	}
	visited.add(images, 0, 0)
	t.Logf("torn: %d images of %d commits, %d faults", images, len(ends), len(faults))
}

// prefixes is how many audit records the database has after each number of commits.
func prefixes(t *testing.T, first string, log []byte, ends []int) []int {
	t.Helper()
	var counts []int
	for n := range len(ends) + 1 {
		end := logHeader
		if n > 0 {
			end = ends[n-1]
		}
		dir := t.TempDir()
		path := copied(t, first, dir)
		if err := os.WriteFile(path+"-wal", log[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		counts = append(counts, records(t, path))
	}
	if !slices.IsSorted(counts) || counts[0] != 0 || counts[len(counts)-1] < 10 {
		t.Fatalf("audit records after each commit: %v", counts)
	}
	return counts
}

func records(t *testing.T, path string) int {
	t.Helper()
	w, err := openWorld(t.Context(), path)
	if err != nil {
		t.Error(err)
		return -1
	}
	defer w.close()
	w.by, err = operator(w)
	if err != nil {
		t.Error(err)
		return -1
	}
	n, err := w.records(t.Context())
	if err != nil {
		t.Error(err)
	}
	return n
}

// records is how many audit records the database has.
func (w *world) records(ctx context.Context) (int, error) {
	all, err := w.store.Events(ctx, w.by, turn.EventQuery{Limit: 1000})
	return len(all), err
}

// tear damages a copy of the log. whole is how many of its commits lie before the damage.
func tear(random *rand.Rand, log []byte, ends []int, n int) (torn []byte, whole int, how string) {
	sectors := len(log) / 512
	at := 512 * (n % (sectors + 1)) // cut off after a sector
	torn = bytes.Clone(log[:at])
	how = fmt.Sprintf("cut at %d", at)
	if n/20%2 == 1 { // or a sector of it scrambled
		at = 512 * random.IntN(sectors)
		torn = bytes.Clone(log)
		for i := at; i < at+512; i++ {
			torn[i] = byte(random.Uint32())
		}
		how = fmt.Sprintf("scrambled at %d", at)
	}
	for whole < len(ends) && ends[whole] <= at {
		whole++
	}
	if at < logHeader {
		whole = 0
	}
	return torn, whole, how
}

// reopen opens a copy of the database with a torn log.
func reopen(t *testing.T, first string, torn []byte, counts []int, whole int, outside *book) []string {
	dir, err := os.MkdirTemp(os.Getenv(dirEnv), "portcullis-crash-")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "portcullis.db")
	text, err := os.ReadFile(first)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(path+"-wal", torn, 0o600)
	}
	if err != nil {
		return []string{err.Error()}
	}
	b := *outside
	b.records = counts[whole]
	return hold(t, path, &b)
}
