package process_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/host/process"
)

func TestOutputKeepsBothEndsAndSaysWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"nothing":      {"", ""},
		"all of it":    {"abcdefgh", "abcdefgh"},
		"one too many": {"abcdefghi", "abcd\n[... 1 bytes left out ...]\nfghi"},
		"many":         {"abcd" + strings.Repeat("x", 1000) + "6789", "abcd\n[... 1000 bytes left out ...]\n6789"},
		"a character at the end of the beginning": {"abcéxxxxefgh", "abc\n[... 5 bytes left out ...]\nefgh"},
		"a character at the beginning of the end": {"abcdxxxxéfgh", "abcd\n[... 5 bytes left out ...]\nfgh"},
		"bytes that are not text":                 {"a\xffb\x00", "a\uFFFDb\uFFFD"},
		"four bytes cut after each of them":       {"a😀xxxxxxxefg", "a\n[... 7 bytes left out ...]\nxefg"},
	} {
		o := process.NewOutput(4, 4, nil)
		for _, b := range []byte(c.in) {
			_, _ = o.Write([]byte{b})
		}
		if got := o.Text(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if o.Total() != int64(len(c.in)) || o.Err() != nil {
			t.Errorf("%s: %d bytes, %v", name, o.Total(), o.Err())
		}
	}
}

// Whatever is written in whatever pieces, the spill gets all of it, what is kept is beginning and end, and the text is
// valid.
func TestOutputProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head, tail := rapid.IntRange(1, 9).Draw(t, "head"), rapid.IntRange(1, 9).Draw(t, "tail")
		var spilled bytes.Buffer
		asked := 0
		o := process.NewOutput(head, tail, func() (io.Writer, error) { asked++; return &spilled, nil })
		var all []byte
		for _, p := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 24)).Draw(t, "pieces") {
			all = append(all, p...)
			if n, err := o.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		over := len(all) > head+tail
		if over != (o.Cut() > 0) || over != (asked == 1) || asked > 1 {
			t.Fatalf("%d of %d bytes, %d cut, asked %d times", len(all), head+tail, o.Cut(), asked)
		}
		if over && !bytes.Equal(spilled.Bytes(), all) {
			t.Fatalf("spilled %q of %q", spilled.Bytes(), all)
		}
		if o.Total() != int64(len(all)) || over && o.Cut() != int64(len(all)-head-tail) || !utf8.ValidString(o.Text()) {
			t.Fatalf("%d, %d, %q", o.Total(), o.Cut(), o.Text())
		}
	})
}

func TestASpillThatFailsIsToldAndEndsNothing(t *testing.T) {
	broken := errors.New("disk")
	for _, spill := range []func() (io.Writer, error){
		func() (io.Writer, error) { return nil, broken },
		func() (io.Writer, error) { return failing{broken}, nil },
	} {
		o := process.NewOutput(1, 1, spill)
		for range 5 {
			if n, err := o.Write([]byte("abc")); n != 3 || err != nil {
				t.Fatal(n, err)
			}
		}
		if !errors.Is(o.Err(), broken) || o.Total() != 15 {
			t.Fatal(o.Err(), o.Total())
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestArtifactsArePrivateBoundedAndLetTheOldestGo(t *testing.T) {
	a := &process.Artifacts{Dir: filepath.Join(t.TempDir(), "artifacts"), Each: 10, Count: 3, Bytes: 30}
	keep := func(name string, n int) *process.Kept {
		t.Helper()
		k, err := a.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Write(bytes.Repeat([]byte("x"), n)); err != nil {
			t.Fatal(err)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		return k
	}
	if k := keep("art_1.stdout", 25); k.Lost() != 15 {
		t.Errorf("%d lost", k.Lost())
	}
	for _, at := range []struct {
		path string
		mode os.FileMode
	}{{a.Dir, 0o700 | os.ModeDir}, {filepath.Join(a.Dir, "art_1.stdout"), 0o600}} {
		if info, err := os.Stat(at.path); err != nil || info.Mode() != at.mode {
			t.Error(info.Mode(), err)
		}
	}
	keep("art_2.stdout", 5)
	keep("art_3.stdout", 5)
	keep("art_4.stdout", 5)
	if list, err := a.List(); err != nil || strings.Join(list, " ") != "art_2.stdout art_3.stdout art_4.stdout" {
		t.Error(list, err) // by number
	}
	a.Count, a.Bytes = 100, 22
	keep("art_5.stdout", 10)
	if list, _ := a.List(); strings.Join(list, " ") != "art_3.stdout art_4.stdout art_5.stdout" {
		t.Error(list) // by size: room for the largest one there may be
	}
	for _, name := range []string{"", "../x", "a/b", ".x", "A", "art_5.stdout"} {
		if k, err := a.Create(name); err == nil {
			t.Errorf("%q was made: %v", name, k)
		}
	}
	if none, err := (&process.Artifacts{Dir: filepath.Join(t.TempDir(), "no")}).List(); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
}
