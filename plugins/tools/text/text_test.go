package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
)

func TestRegexFinds(t *testing.T) {
	p := plugintest.New(t)
	for _, c := range []struct {
		in   RegexIn
		want []Match
	}{
		{
			RegexIn{Pattern: `(?m)^(?P<key>\w+)=(.*)$`, Text: "a=1\nb=\n", MaxMatches: 9},
			[]Match{
				{Text: "a=1", Line: 1, Start: 0, End: 3, Groups: map[string]string{"key": "a", "2": "1"}},
				{Text: "b=", Line: 2, Start: 4, End: 6, Groups: map[string]string{"key": "b", "2": ""}},
			},
		},
		{
			RegexIn{Pattern: `(a)|(b)`, Text: "b", MaxMatches: 9},
			[]Match{{Text: "b", Line: 1, Start: 0, End: 1, Groups: map[string]string{"2": "b"}}},
		},
		{ // positions count characters, not bytes
			RegexIn{Pattern: `本`, Text: "日本\n日本", MaxMatches: 9},
			[]Match{{Text: "本", Line: 1, Start: 1, End: 2}, {Text: "本", Line: 2, Start: 4, End: 5}},
		},
		{
			RegexIn{Pattern: `x*`, Text: "ab", MaxMatches: 9},
			[]Match{{Line: 1, Start: 0, End: 0}, {Line: 1, Start: 1, End: 1}, {Line: 1, Start: 2, End: 2}},
		},
		{RegexIn{Pattern: `z`, Text: "", MaxMatches: 9}, []Match{}},
	} {
		out := plugintest.Call[RegexOut](t, p, "text.regex", c.in)
		if !reflect.DeepEqual(out.Matches, c.want) || out.Truncated {
			t.Errorf("%+v gave %+v, want %+v", c.in, out, c.want)
		}
	}
}

func TestRegexIsBounded(t *testing.T) {
	p := plugintest.New(t)
	out := plugintest.Call[RegexOut](t, p, "text.regex", RegexIn{Pattern: "a", Text: "aaa", MaxMatches: 2})
	if len(out.Matches) != 2 || !out.Truncated {
		t.Errorf("three matches with a limit of two gave %+v", out)
	}
	long := strings.Repeat("a", 100_000) + "\n"
	out = plugintest.Call[RegexOut](t, p, "text.regex", RegexIn{Pattern: "a+", Text: strings.Repeat(long, 4), MaxMatches: 10})
	if len(out.Matches) != 2 || !out.Truncated {
		t.Errorf("matches of 100 KB each gave %d, truncated %v", len(out.Matches), out.Truncated)
	}
	for pattern, code := range map[string]sdk.Code{
		"(a{100}){100}":                     sdk.Invalid, // refused by the parser of Go
		"(a{50}){20}":                       "",
		"((a{10}){10}){10}":                 "",
		"a{1000}b{1000}c{1000}d{1000}":      sdk.TooLarge,
		"(?i)[a-z]{1,1000}x{900}(bcd){900}": sdk.TooLarge,
		"(a":                                sdk.Invalid,
		`(?=a)`:                             sdk.Invalid,
		`(a)\1`:                             sdk.Invalid,
		"\xff":                              sdk.Invalid,
	} {
		_, err := compilePattern(pattern)
		if got := codeOf(err); got != code {
			t.Errorf("pattern %q gave %v (%q), want %q", pattern, err, got, code)
		}
	}
	if f := p.Fault(t, "text.regex", `{"pattern":"(?=a)","text":""}`); f.Code != sdk.Invalid || !strings.Contains(f.Message, "RE2") {
		t.Errorf("lookaround gave %v", f)
	}
	if _, err := Regex(t.Context(), RegexIn{Pattern: "a", Text: strings.Repeat("a", maxText+1)}, sdk.Host{}); codeOf(err) != sdk.TooLarge {
		t.Errorf("a text past the bound gave %v", err)
	}
	if _, err := compilePattern(strings.Repeat("a", maxPattern+1)); codeOf(err) != sdk.TooLarge {
		t.Errorf("a pattern past the bound gave %v", err)
	}
}

func codeOf(err error) sdk.Code {
	if f, ok := err.(*sdk.Fault); ok {
		return f.Code
	}
	return ""
}

func TestDiff(t *testing.T) {
	p := plugintest.New(t)
	out := plugintest.Call[DiffOut](t, p, "text.diff", DiffIn{
		Old: "a\nb\nc\nd\ne\n", New: "a\nb\nC\nd\ne\n", OldName: "one", NewName: "two", Context: 1,
	})
	if want := "--- one\n+++ two\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"; out.Diff != want || out.Added != 1 || out.Removed != 1 || out.Equal {
		t.Errorf("got %+v, want the diff\n%s", out, want)
	}
	// Lines that look like the header are counted all the same.
	out = plugintest.Call[DiffOut](t, p, "text.diff", DiffIn{Old: "-- a\n", New: "++ a\n++ b", OldName: "x", NewName: "y"})
	if out.Added != 2 || out.Removed != 1 || !strings.Contains(out.Diff, "No newline at end of file") {
		t.Errorf("got %+v", out)
	}
	out = plugintest.Call[DiffOut](t, p, "text.diff", DiffIn{Old: "日本", New: "日本", OldName: "x", NewName: "y"})
	if !out.Equal || out.Diff != "" {
		t.Errorf("equal texts gave %+v", out)
	}
	if f := p.Fault(t, "text.diff", `{"old":"a","new":"b","old_name":"x\n+++ y"}`); f.Code != sdk.Invalid {
		t.Errorf("a name with a line break gave %v", f)
	}
}

func TestDiffIsBounded(t *testing.T) {
	p := plugintest.New(t)
	var a, b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&a, "old %d\n", i)
		fmt.Fprintf(&b, "new %d\n", i)
	}
	out := plugintest.Call[DiffOut](t, p, "text.diff", DiffIn{Old: a.String(), New: b.String(), OldName: "x", NewName: "y"})
	if !out.Truncated || len(out.Diff) > maxResult || !strings.HasSuffix(out.Diff, "\n") || out.Added != 40_000 || out.Removed != 40_000 {
		t.Errorf("truncated %v, %d bytes, +%d -%d", out.Truncated, len(out.Diff), out.Added, out.Removed)
	}
	if _, err := Diff(t.Context(), DiffIn{New: strings.Repeat("a", maxText+1)}, sdk.Host{}); codeOf(err) != sdk.TooLarge {
		t.Errorf("a text past the bound gave %v", err)
	}
}

// Digests from FIPS 180-4 examples and RFC 1321.
func TestHash(t *testing.T) {
	p := plugintest.New(t)
	for _, c := range []struct{ args, want string }{
		{`{"text":"abc"}`, `{"algorithm":"sha256","digest":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","bytes":3}`},
		{`{"base64":"YWJj","algorithm":"sha1"}`, `{"algorithm":"sha1","digest":"a9993e364706816aba3e25717850c26c9cd0d89d","bytes":3}`},
		{`{"text":"","algorithm":"md5"}`, `{"algorithm":"md5","digest":"d41d8cd98f00b204e9800998ecf8427e","bytes":0}`},
		{`{"text":"abc","algorithm":"sha512","encoding":"base64"}`, `{"algorithm":"sha512","digest":"3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==","bytes":3}`},
	} {
		if got := string(p.Call(t, "text.hash", c.args)); got != c.want {
			t.Errorf("%s gave %s, want %s", c.args, got, c.want)
		}
	}
	for _, args := range []string{`{}`, `{"text":"a","base64":"YQ=="}`, `{"base64":"YQ"}`, `{"base64":"Y Q=="}`, `{"base64":"YR=="}`, `{"text":"a","algorithm":"crc32"}`} {
		if f := p.Fault(t, "text.hash", args); f.Code != sdk.Invalid {
			t.Errorf("%s gave %v, want invalid", args, f)
		}
	}
	if _, err := Hash(t.Context(), HashIn{Text: new(string), Algorithm: "none"}, sdk.Host{}); codeOf(err) != sdk.Invalid {
		t.Errorf("an unknown algorithm gave %v", err)
	}
}

func TestCount(t *testing.T) {
	p := plugintest.New(t)
	for _, c := range []struct{ args, want string }{
		{`{"text":"strawberry","find":"r"}`, `{"bytes":10,"characters":10,"words":1,"lines":1,"occurrences":3}`},
		{`{"text":"日本 語\nb\n"}`, `{"bytes":13,"characters":7,"words":3,"lines":2}`},
		{`{"text":""}`, `{"bytes":0,"characters":0,"words":0,"lines":0}`},
		{`{"text":"aaaa","find":"aa"}`, `{"bytes":4,"characters":4,"words":1,"lines":1,"occurrences":2}`},
		{`{"text":"a","find":"b"}`, `{"bytes":1,"characters":1,"words":1,"lines":1,"occurrences":0}`},
	} {
		if got := string(p.Call(t, "text.count", c.args)); got != c.want {
			t.Errorf("%s gave %s, want %s", c.args, got, c.want)
		}
	}
	if _, err := Count(t.Context(), CountIn{Text: strings.Repeat("a", maxText+1)}, sdk.Host{}); codeOf(err) != sdk.TooLarge {
		t.Errorf("a text past the bound gave %v", err)
	}
}

// What a match says about its place is where it is, in any text.
func TestMatchesAreWhereTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab日\n]{0,40}`).Draw(t, "text")
		pattern := rapid.SampledFrom([]string{"a", "b*", "日|a+", `(?m)^.`, `\n`, "(?P<x>a)?b"}).Draw(t, "pattern")
		out, err := Regex(t.Context(), RegexIn{Pattern: pattern, Text: text}, sdk.Host{})
		if err != nil {
			t.Fatal(err)
		}
		runes := []rune(text)
		for _, m := range out.Matches {
			if got := string(runes[m.Start:m.End]); got != m.Text {
				t.Fatalf("%q in %q: match %+v, but there is %q", pattern, text, m, got)
			}
			if line := 1 + strings.Count(string(runes[:m.Start]), "\n"); line != m.Line {
				t.Fatalf("%q in %q: match %+v is on line %d", pattern, text, m, line)
			}
			if utf8.RuneCountInString(m.Text) != m.End-m.Start {
				t.Fatalf("%q in %q: match %+v has another length", pattern, text, m)
			}
		}
	})
}
