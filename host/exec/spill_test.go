package exec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// A value is hidden in a kept output wherever a program's writes divide it.
func TestAKeptOutputHidesAValueThatWritesDivide(t *testing.T) {
	const value = "s3cr3t-value-in-parts"
	set, err := redact.Set{}.With(redact.NewSecret("KEPT", value))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := &process.Artifacts{Dir: dir, Each: 1 << 20, Count: 1000, Bytes: 1 << 30}
	text := "before " + value + " behind"
	for at := range len(text) + 1 {
		k := &keeping{}
		name := "eff_" + strings.Repeat("x", at+1)
		out, err := k.open(in, name, func() redact.Set { return set })
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{text[:at], text[at:]} {
			if n, err := out.Write([]byte(part)); err != nil || n != len(part) {
				t.Fatal(n, err)
			}
		}
		if err := k.files[0].close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != "before <redacted:KEPT> behind" {
			t.Errorf("divided at %d: %q, %v", at, got, err)
		}
	}
}
