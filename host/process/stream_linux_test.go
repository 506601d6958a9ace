package process_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/process"
)

// F19: a program sees exactly the environment that it was given, and nothing of the host's.
func TestAProgramSeesTheEnvironmentItWasGiven(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("LD_PRELOAD", "")
	w := newWorld(t)
	w.env = []string{"A=1", "B=two words", "EMPTY="}
	if end, err := w.run(t.Context(), "env"); err != nil || !end.Clean {
		t.Fatal(end, err)
	}
	got := strings.Split(strings.TrimSpace(w.out.Text()), "\n")
	want := []string{w.mark, "PATH=/usr/bin:/bin", "A=1", "B=two words", "EMPTY="}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestInputIsGivenWhole(t *testing.T) {
	w := newWorld(t)
	raw := make([]byte, 1<<20)
	_, _ = rand.Read(raw)
	w.stdin = []byte(hex.EncodeToString(raw))
	var out bytes.Buffer
	end, err := w.engine.Run(t.Context(), w.command("cat"), process.Streams{Stdin: w.stdin, Stdout: &out})
	if err != nil || !end.Clean || !bytes.Equal(out.Bytes(), w.stdin) {
		t.Fatal(end, err, out.Len())
	}
	if end, err := w.run(t.Context(), "true"); err != nil || end.Code != 0 { // input that nobody reads holds nothing up
		t.Fatal(end, err)
	}
}

// A gigabyte passes through in bounded memory, and what is over an artifact's size is counted and dropped.
func TestAFloodIsBoundedInMemoryAndOnDisk(t *testing.T) {
	w := newWorld(t)
	a := &process.Artifacts{Dir: t.TempDir(), Each: 1 << 20, Count: 10, Bytes: 1 << 30}
	var kept *process.Kept
	out := process.NewOutput(16<<10, 16<<10, func() (io.Writer, error) {
		var err error
		kept, err = a.Create("art_x.stdout")
		return kept, err
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	end, err := w.engine.Run(t.Context(), w.command("head", "-c", "1073741824", "/dev/zero"), process.Streams{Stdout: out})
	runtime.ReadMemStats(&after)
	if err != nil || !end.Clean || out.Total() != 1<<30 || out.Err() != nil {
		t.Fatal(end, err, out.Total(), out.Err())
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes were allocated on the way", used)
	}
	if err := kept.Close(); err != nil || kept.Lost() != 1<<30-1<<20 || out.Cut() != 1<<30-32<<10 {
		t.Errorf("%d lost, %d cut, %v", kept.Lost(), out.Cut(), err)
	}
}
