package console

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes s safe to stand in one line of a terminal: every rune that is not a plain printable character (control
// characters, escape sequences, line breaks, direction marks, invisible and private characters) becomes its code
// point in brackets, ‹U+001B›, and a byte that is not UTF-8 becomes ‹0xFF›. It allows what may be shown and refuses
// the rest, so that a new kind of invisible character is caught as well. The answer of Line is never changed by Line.
func Line(s string) string { return escape(s, plain) }

// Prose makes text of several lines safe: as [Line], and line breaks, tabs, foreign spaces and the joiners that
// emoji and several scripts need stay as they are. "\r\n" becomes "\n"; any other carriage return is shown, because it
// would let text overwrite its own beginning.
func Prose(s string) string {
	return escape(strings.ReplaceAll(s, "\r\n", "\n"), func(r rune) bool {
		switch r {
		case '\n', '\t', zeroWidthNonJoiner, zeroWidthJoiner:
			return true
		}
		return strconv.IsPrint(r) || unicode.Is(unicode.Zs, r)
	})
}

// plain reports characters that are printable and drawn: [strconv.IsPrint] also lets fillers and selectors through, which
// are not.
func plain(r rune) bool {
	switch {
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFFA0, // fillers, blanks
		0x180B <= r && r <= 0x180F, 0xFE00 <= r && r <= 0xFE0F, 0xE0000 <= r && r <= 0xE0FFF: // selectors, tags
		return false
	}
	return strconv.IsPrint(r)
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

func escape(s string, shown func(rune) bool) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || !shown(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "‹0x%02X›", s[0])
		case shown(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "‹U+%04X›", r)
		}
		s = s[size:]
	}
	return b.String()
}

// Cut shortens s to at most limit runes and says how much is missing.
func Cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := 0
	for i := range s {
		if runes == limit {
			return s[:i] + fmt.Sprintf("… (%d bytes more)", len(s)-i)
		}
		runes++
	}
	return s
}

// asciiJSON rewrites a JSON text so that a terminal shows it as it is: inside strings, every character that [Line]
// would not show becomes its \u escape, which any JSON reader reads as the same character.
func asciiJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == utf8.RuneError && size == 1 || plain(r):
			out = append(out, text[:size]...)
		case r > 0xffff:
			hi, lo := surrogates(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}

func surrogates(r rune) (hi, lo rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}
