package console

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLineShowsNothingThatATerminalObeys(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":               {"calc.eval ok", "calc.eval ok"},
		"letters and emoji":   {"žluťoučký 漢字 🙂", "žluťoučký 漢字 🙂"},
		"colour sequence":     {"\x1b[31mred", "‹U+001B›[31mred"},
		"title sequence":      {"\x1b]0;owned\a", "‹U+001B›]0;owned‹U+0007›"},
		"one-byte CSI":        {"\u009b2J", "‹U+009B›2J"},
		"line break":          {"a\nb", "a‹U+000A›b"},
		"carriage return":     {"deny\rallow", "deny‹U+000D›allow"},
		"backspace":           {"rm\b\bls", "rm‹U+0008›‹U+0008›ls"},
		"delete":              {"a\x7f", "a‹U+007F›"},
		"right to left":       {"a\u202eb", "a‹U+202E›b"},
		"isolate":             {"\u2066x\u2069", "‹U+2066›x‹U+2069›"},
		"zero width":          {"a\u200bb", "a‹U+200B›b"},
		"byte order mark":     {"\ufeffa", "‹U+FEFF›a"},
		"tag characters":      {"a\U000e0041", "a‹U+E0041›"},
		"line separator":      {"a\u2028b", "a‹U+2028›b"},
		"fillers":             {"a\u3164\u115f\uffa0\u2800b", "a‹U+3164›‹U+115F›‹U+FFA0›‹U+2800›b"},
		"selectors":           {"a\ufe0fb\U000e0100", "a‹U+FE0F›b‹U+E0100›"},
		"not UTF-8":           {"a\xff\xfeb", "a‹0xFF›‹0xFE›b"},
		"replacement is kept": {"a\ufffdb", "a\ufffdb"},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("%s: Line(%q) = %q, want %q", name, c.in, got, c.want)
		}
	}
}

func TestProseKeepsLinesAndNothingElse(t *testing.T) {
	in := "one\r\ntwo\tthree\u00a0four\x1b[1Afive\rsix\u202e"
	want := "one\ntwo\tthree\u00a0four‹U+001B›[1Afive‹U+000D›six‹U+202E›"
	if got := Prose(in); got != want {
		t.Errorf("Prose = %q, want %q", got, want)
	}
}

func TestCutSaysWhatIsMissing(t *testing.T) {
	if got := Cut("žluť", 2); got != "žl… (3 bytes more)" {
		t.Errorf("Cut = %q", got)
	}
	if got := Cut("abc", 3); got != "abc" {
		t.Errorf("Cut of a text that fits = %q", got)
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a\x1b[2J", "\u202e\xff", "a\r\nb\tc", "\U000e0041", "‹U+001B›"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := Line(s)
		if !utf8.ValidString(line) || Line(line) != line {
			t.Fatalf("Line(%q) = %q is not settled", s, line)
		}
		for _, r := range line {
			if !strconv.IsPrint(r) {
				t.Fatalf("Line(%q) shows %U", s, r)
			}
		}
		if prose := Prose(s); strings.ContainsFunc(prose, func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e
		}) {
			t.Fatalf("Prose(%q) = %q", s, prose)
		}
		in, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		out := asciiJSON(in)
		if json.Unmarshal(in, &before) != nil || json.Unmarshal(out, &after) != nil || before != after {
			t.Fatalf("asciiJSON changed %q to %q", in, out)
		}
		if bytes.ContainsFunc(out, func(r rune) bool { return !strconv.IsPrint(r) }) {
			t.Fatalf("asciiJSON shows control characters: %q", out)
		}
	})
}
