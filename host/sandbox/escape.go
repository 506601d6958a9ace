package sandbox

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape makes guest text safe to show on one line of a terminal or a log: at
// most limit bytes, valid UTF-8, control characters, line breaks and characters
// that reorder text written out as escapes. Cut text ends in "…".
func escape(text []byte, limit int) string {
	out, _ := escapeWhole(text, limit)
	return out
}

// escapeWhole is escape, and whether nothing was cut.
func escapeWhole(text []byte, limit int) (out string, whole bool) {
	var b strings.Builder
	fits := 0 // with a mark behind it
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		piece := shown(text[:n], r, n)
		if b.Len()+len(piece) > limit {
			return b.String()[:fits] + "…", false
		}
		b.WriteString(piece)
		if b.Len() <= limit-len("…") {
			fits = b.Len()
		}
		text = text[n:]
	}
	return b.String(), true
}

// escapeEnd is escape for the last of a text, without a mark where it was cut.
func escapeEnd(text []byte, limit int) string {
	from := len(text)
	for from > 0 {
		r, n := utf8.DecodeLastRune(text[:from])
		if limit -= len(shown(text[from-n:from], r, n)); limit < 0 {
			break
		}
		from -= n
	}
	return escape(text[from:], len(text)*len(`\u{10ffff}`))
}

// shown is one character as it is, or written out.
func shown(raw []byte, r rune, n int) string {
	if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
		return escaped(raw, r, n)
	}
	return string(raw)
}

// escaped writes one character out: \n, \t, \x1b for a byte, \u{200e} for others, as package redact does.
func escaped(raw []byte, r rune, n int) string {
	const hex = "0123456789abcdef"
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case n == 1:
		return `\x` + string(hex[raw[0]>>4]) + string(hex[raw[0]&15])
	}
	return fmt.Sprintf(`\u{%04x}`, r)
}
