package redact_test

import (
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/redact/redacttest"
	"pgregory.net/rapid"
)

// stream pushes the pieces through a Stream.
func stream(set redact.Set, to redact.Audience, pieces ...string) string {
	s := redact.NewStream(set, to)
	var out []byte
	for _, p := range pieces {
		out = append(out, s.Push([]byte(p))...)
	}
	return string(append(out, s.Flush()...))
}

// TestStreamFindsASecretSplitAtEveryByte cuts every encoding of every value at every byte, with so much text before
// and behind it that the stream shows something in between.
func TestStreamFindsASecretSplitAtEveryByte(t *testing.T) {
	before, behind := strings.Repeat("earlier output, line by line\n", 180), strings.Repeat("\nlater output, line by line", 180)
	cases, good := 0, 0
	for kind, value := range values() {
		set := known(t, value)
		for encoding, encode := range encodings() {
			planted, unplanted := encode(value), redacttest.Others(encode, value)
			step := 1
			if kind != "plain" { // every byte of every kind takes long and shows nothing new
				step = 7
			}
			for cut := 0; cut < len(planted); cut += step {
				cases++
				got := stream(set, redact.ForModel, before+planted[:cut], planted[cut:]+behind)
				if l := redacttest.Leak(got, planted, unplanted); l != "" || !strings.Contains(got, redact.Sentinel) {
					t.Fatalf("%s value, %s, cut at %d: %q is shown", kind, encoding, cut, l)
				}
				good++
			}
		}
	}
	t.Logf("split: %d of %d", good, cases)
	if cases < 4000 {
		t.Fatalf("only %d cases", cases)
	}
}

// An encoding inside another takes more than is held back: what has no white space in it stays together.
func TestStreamKeepsAWordTogether(t *testing.T) {
	value := values()["plain"]
	set := known(t, value)
	all := encodings()
	planted := all["html decimal"](all["python escapes"](value))
	if n := redact.NewStream(set, redact.ForModel).HoldBack(); len(planted) < 2*n {
		t.Fatalf("%d bytes are held back anyway", n)
	}
	for cut := range len(planted) {
		got := stream(set, redact.ForModel, "before "+planted[:cut], planted[cut:]+strings.Repeat(" behind", 500))
		if !strings.HasPrefix(got, "before ["+redact.Sentinel+":bound] behind") {
			t.Fatalf("cut at %d: %.200q", cut, got)
		}
	}
	long := strings.Repeat("x", 1<<20) // no word is held for ever
	s := redact.NewStream(set, redact.ForModel)
	if out := s.Push([]byte(long)); len(out) < len(long)-128<<10 {
		t.Errorf("%d bytes of %d are shown", len(out), len(long))
	}
}

// TestStreamEqualsWhole holds that how a text arrives makes no difference to what is shown of it, and that a text
// without secrets comes out as it went in.
func TestStreamEqualsWhole(t *testing.T) {
	set := known(t, values()["symbols"])
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			values()["symbols"], `aB3"dE'f`, "plain words ", "\n", "password=hunter2hunter2 ", "https://u:pw123456@h.example/x ",
			"Authorization: Bearer abcdef0123456789 ", "--token zz11yy22xx33 ", "ghp_0123456789abcdefghijABCDEFGHIJ012345 ", "日本語 ",
		}),
		rapid.StringMatching(`[ -~]{0,40}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces")
		if rapid.Bool().Draw(t, "long") {
			pieces = append(append(pieces, strings.Repeat("filler without anything in it\n", 400)), pieces...)
		}
		whole := set.Text(redact.ForModel, strings.Join(pieces, ""))
		if got := stream(set, redact.ForModel, pieces...); got != whole {
			t.Fatalf("in pieces %q\nas a whole %q", got, whole)
		}
	})
	text := strings.Repeat("nothing to hide, \u65e5\u672c\u8a9e, 42 = 40 + 2; see https://example.com/a?b=c\n", 900)
	for _, size := range []int{1, 7, 1000, 5000, len(text)} {
		var pieces []string
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := stream(set, redact.ForDurable, pieces...); got != text {
			t.Errorf("in pieces of %d a harmless text changes", size)
		}
	}
}

func TestStreamHidesAPrivateKeyLongerThanItsBuffer(t *testing.T) {
	line := "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"
	for _, lines := range []int{3, 30, 400, 3000} {
		key := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(line, lines) + "-----END PRIVATE KEY-----"
		text := "before\n" + key + "\nafter it, " + strings.Repeat("more text ", 2000)
		for _, size := range []int{100, 4096, 1 << 20} {
			var pieces []string
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			got := stream(redact.Set{}, redact.ForModel, pieces...)
			if strings.Contains(got, "MIIEvQ") || !strings.HasPrefix(got, "before\n[") || !strings.Contains(got, "after it, more text") {
				t.Errorf("%d lines in pieces of %d: %.300q", lines, size, got)
			}
		}
	}
}

func TestStreamHoldsBackNoMoreThanItMust(t *testing.T) {
	s := redact.NewStream(known(t, values()["plain"]), redact.ForModel)
	pushed, shown := 0, 0
	for range 100 {
		piece := []byte(strings.Repeat("0123456789 abcdefghij ", 100))
		pushed += len(piece)
		shown += len(s.Push(piece))
		if held := pushed - shown; held > s.HoldBack()+8<<10 {
			t.Fatalf("%d bytes are held back, HoldBack is %d", held, s.HoldBack())
		}
	}
	if s.HoldBack() < 8*len(values()["plain"]) {
		t.Errorf("HoldBack is %d", s.HoldBack())
	}
	if shown += len(s.Flush()); shown != pushed {
		t.Errorf("%d bytes of %d came out", shown, pushed)
	}
	if got := string(append(s.Push([]byte("again "+values()["plain"])), s.Flush()...)); got != "again ["+redact.Sentinel+":bound]" {
		t.Errorf("after Flush: %q", got)
	}
}
