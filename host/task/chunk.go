package task

import (
	"strings"
	"unicode/utf8"
)

// chunks cuts a text into appends to a log, behind a line's end where there is one, and never through a rune. Each has
// at most half the lines that a log keeps: one with more would make itself go. What is not UTF-8 is replaced.
func chunks(text string) (out []string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for len(text) > MaxChunk || strings.Count(text, "\n") > MaxLogLines/2 {
		n := min(len(text), MaxChunk)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		if lines := strings.SplitAfterN(text[:n], "\n", MaxLogLines/2+1); len(lines) > MaxLogLines/2 {
			n = n - len(lines[MaxLogLines/2])
		} else if line := strings.LastIndexByte(text[:n], '\n'); line >= 0 {
			n = line + 1
		}
		out, text = append(out, text[:n]), text[n:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}
