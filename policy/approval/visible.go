package approval

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible is text as whoever approves may be shown it, on every surface: printable ASCII and the letters of Latin-1 and
// Latin Extended-A stay, everything else becomes its code point in brackets, ‹U+202E›, and a byte that is not UTF-8
// ‹0x9B›. It lists what may be shown, so that a new kind of invisible or misleading character is caught as well; the
// brackets are not on the list, so no text can pretend to hold one. Letters of other scripts are written as they are
// nowhere: some look like Latin ones, some reorder the line that they stand in.
func Visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "‹0x%02X›", text[0])
		case shown(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "‹U+%04X›", r)
		}
		text = text[n:]
	}
	return b.String()
}

// VisibleJSON is [Visible] for a JSON text: what may not be shown becomes its JSON escape, so that the text stays JSON of
// the same value. White space outside strings that is not a space becomes one.
func VisibleJSON(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "‹0x%02X›", text[0]) // it was no JSON; it is no JSON
		case shown(r):
			b.WriteRune(r)
		case r == '\n' || r == '\r' || r == '\t': // never inside a string of a JSON text
			b.WriteByte(' ')
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[n:]
	}
	return b.String()
}

// shown reports the characters that a question may hold. Of Latin Extended-A those are left out that look like plain
// letters or stand for two.
func shown(r rune) bool {
	switch r {
	case 0xAA, 0xBA, 0xD7, 0xF7, 0x131, 0x132, 0x133, 0x138, 0x13F, 0x140, 0x149, 0x17F:
		return false
	}
	return r >= ' ' && r < 0x7F || r >= 0xC0 && r <= 0x17F
}
