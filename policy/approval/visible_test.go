package approval_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/policy/approval"
)

func TestVisibleShowsWhatIsThere(t *testing.T) {
	for in, want := range map[string]string{
		"plain ~ text":      "plain ~ text",
		"é ü Ž ß":           "é ü Ž ß",
		"\x1b[2J":           "‹U+001B›[2J",
		"a\r\nb\tc":         "a‹U+000D›‹U+000A›b‹U+0009›c",
		"\u202egpj.exe":     "‹U+202E›gpj.exe",
		"\u200b\u3164":      "‹U+200B›‹U+3164›",
		"e\u0301":           "e‹U+0301›",
		"x\ufe0f\U000e0100": "x‹U+FE0F›‹U+E0100›",
		"\u0440m":           "‹U+0440›m",
		"\uff52m":           "‹U+FF52›m",
		"\u05d0":            "‹U+05D0›",
		"ı ſ ĸ ŉ ĳ × ª":     "‹U+0131› ‹U+017F› ‹U+0138› ‹U+0149› ‹U+0133› ‹U+00D7› ‹U+00AA›",
		"a\xffb":            "a‹0xFF›b",
		"‹U+001B›":          "‹U+2039›U+001B‹U+203A›",
		"\u00a0":            "‹U+00A0›",
		"":                  "",
	} {
		if got := approval.Visible(in); got != want {
			t.Errorf("Visible(%+q) = %q, want %q", in, got, want)
		}
	}
	if got := approval.VisibleJSON("{\"a\":\n\t\"\u202e\U0001f600é\"}"); got != `{"a":  "\u202e\ud83d\ude00é"}` {
		t.Errorf("VisibleJSON = %s", got)
	}
}

// Whatever goes in, what comes out holds nothing but what may be shown; a text that is left alone is one that was asked
// about as it is; and JSON keeps its value.
func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b]52;c;x\a", "\u202e\u3164\xff", `{"a":"\u202e"}`, "[\"\u65e5\U0001f600\"]"} {
		f.Add(s)
	}
	harmless := func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool {
			return r < ' ' || r > '~' && r < 0xC0 || r > 0x17F && r != '‹' && r != '›'
		})
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := approval.Visible(s)
		if !harmless(v) || !utf8.ValidString(v) {
			t.Fatalf("Visible(%+q) = %+q", s, v)
		}
		if v != s && !strings.Contains(v, "‹") {
			t.Fatalf("Visible(%+q) = %+q hides that it changed something", s, v)
		}
		j := approval.VisibleJSON(s)
		if !harmless(j) {
			t.Fatalf("VisibleJSON(%+q) = %+q", s, j)
		}
		var before, after any
		if utf8.ValidString(s) && json.Unmarshal([]byte(s), &before) == nil {
			if err := json.Unmarshal([]byte(j), &after); err != nil {
				t.Fatalf("VisibleJSON(%+q) = %+q is no JSON", s, j)
			}
			a, _ := json.Marshal(before)
			b, _ := json.Marshal(after)
			if string(a) != string(b) {
				t.Fatalf("VisibleJSON changed %s to %s", a, b)
			}
		}
	})
}
