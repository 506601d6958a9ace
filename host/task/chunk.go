package task

import (
	"strings"
	"unicode/utf8"
)

// chunks cuts a text into appends to a log, behind a line's end where there is one, and never through a rune. What is not
// UTF-8 is replaced.
func chunks(text string) (out []string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for len(text) > MaxChunk {
		n := MaxChunk
		for !utf8.RuneStart(text[n]) {
			n--
		}
		if line := strings.LastIndexByte(text[:n], '\n'); line >= 0 {
			n = line + 1
		}
		out, text = append(out, text[:n]), text[n:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}
