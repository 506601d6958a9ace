package redact

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// appendInert writes text with everything escaped that a terminal would act on or a person would not see: control
// characters, escape sequences, bidirectional controls, invisible and unassigned characters, and bytes that are not
// UTF-8. Line feeds and tabs are left alone.
func appendInert(out, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c >= ' ' && c < 0x7f, c == '\n', c == '\t':
				out = append(out, c)
			case c == '\r':
				out = append(out, `\r`...)
			default:
				out = appendHex(append(out, `\x`...), rune(c), 2)
			}
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = appendHex(append(out, `\x`...), rune(c), 2)
		case visible(r):
			out = append(out, text[i:i+n]...)
		default:
			out = append(appendHex(append(out, `\u{`...), r, 4), '}')
		}
		i += n
	}
	return out
}

func appendHex(out []byte, r rune, width int) []byte {
	digits := strconv.FormatInt(int64(r), 16)
	for n := len(digits); n < width; n++ {
		out = append(out, '0')
	}
	return append(out, digits...)
}

// visible reports runes that take part in what a person reads. [unicode.IsPrint] leaves out controls, formats
// (bidirectional and zero-width), private and unassigned runes and all spaces but U+0020; what it lets through
// although it draws nothing is left out here.
func visible(r rune) bool {
	switch {
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, // fillers
		r == 0x2800,                                                // braille blank
		0x180B <= r && r <= 0x180F,                                 // Mongolian selectors
		0xFE00 <= r && r <= 0xFE0F,                                 // variation selectors
		0x1D173 <= r && r <= 0x1D17A, 0xE0000 <= r && r <= 0xE0FFF: // musical formats, tags, selectors
		return false
	}
	return unicode.IsPrint(r)
}
