package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
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

// No part of a value is shown that stands where a long output is cut: neither one that the host holds nor one that only looks
// like a secret.
func TestNoPartOfAValueIsShownWhereAnOutputIsCut(t *testing.T) {
	const value, token = "s3cr3t-value-in-parts-that-is-held", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	set, err := redact.Set{}.With(redact.NewSecret("HELD", value))
	if err != nil {
		t.Fatal(err)
	}
	s := &Source{cfg: Config{Artifacts: &process.Artifacts{Dir: t.TempDir(), Each: 1 << 20, Count: 10_000, Bytes: 1 << 30}}}
	const size = headBytes + tailBytes + 5000
	line := strings.Repeat("all is well. ", size/13+1)[:size]
	for n, hidden := range []string{value, token} {
		for _, cut := range []int{headBytes, size - tailBytes} {
			for at := cut - len(hidden) - 1; at <= cut+1; at += 3 {
				k := s.keep(effect.Call{Effect: id.Effect(fmt.Sprintf("eff_%d_%d", n, at)), Redactor: func() redact.Set { return set }})
				text := line[:at] + " " + hidden + " " + line[at+len(hidden)+2:]
				if _, err := k.stdout.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				if err := k.close(); err != nil {
					t.Fatal(err)
				}
				got := resultOf(process.Ended{}, k)
				if got.StdoutBytes != size || !strings.Contains(got.Stdout, "bytes left out") || len(got.Stdout) > headBytes+tailBytes+100 {
					t.Fatalf("%d bytes of %d", len(got.Stdout), got.StdoutBytes)
				}
				if strings.Contains(got.Stdout, hidden[:8]) || strings.Contains(got.Stdout, hidden[len(hidden)-8:]) {
					t.Errorf("at %d a part of %s is shown", at-cut, hidden)
				}
			}
		}
	}
}

// A value in UTF-16, whose zeros no reader expects, is hidden before they are replaced.
func TestWhatIsNoTextIsHiddenBeforeItIsMadeReadable(t *testing.T) {
	const value = "s3cr3t-value-of-two-bytes"
	set, err := redact.Set{}.With(redact.NewSecret("HELD", value))
	if err != nil {
		t.Fatal(err)
	}
	s := &Source{cfg: Config{Artifacts: &process.Artifacts{Dir: t.TempDir(), Each: 1 << 20, Count: 10, Bytes: 1 << 30}}}
	for n, letter := range []func(c rune) string{
		func(c rune) string { return string(c) + "\x00" },
		func(c rune) string { return "\x00" + string(c) },
	} {
		text := ""
		for _, c := range value {
			text += letter(c)
		}
		k := s.keep(effect.Call{Effect: id.Effect(fmt.Sprint("eff_", n)), Redactor: func() redact.Set { return set }})
		for _, out := range []*watched{k.stdout, k.stderr} {
			if _, err := out.Write([]byte("before " + text + " behind")); err != nil {
				t.Fatal(err)
			}
		}
		if err := k.close(); err != nil {
			t.Fatal(err)
		}
		got := resultOf(process.Ended{}, k)
		for _, shown := range []string{got.Stdout, got.Stderr} {
			if !strings.HasPrefix(shown, "before ") || !strings.HasSuffix(shown, " behind") || strings.Contains(strings.ReplaceAll(shown, "\uFFFD", ""), value[:8]) {
				t.Errorf("shown: %q", shown)
			}
		}
	}
}
