package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk"
)

// maxNamed is how many line numbers a message lists.
const maxNamed = 10

// lines names the lines of places in content, which are in order.
func lines(content string, at []int) string {
	var b strings.Builder
	b.WriteString("at line ")
	line, done := 1, 0
	for i, place := range at {
		if i == maxNamed {
			b.WriteString(" and more")
			break
		}
		line += strings.Count(content[done:place], "\n")
		done = place
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(line))
	}
	return b.String()
}

// maxHintLines bounds the search for text that is nearly old.
const maxHintLines = 50

// missing explains why old is not found: most often the spaces differ, or the
// line numbers of files.read were copied along.
func missing(content, old string) error {
	text, wanted := trimmedLines(content), trimmedLines(strings.Trim(old, "\r\n"))
	if n := findLines(text, wanted); n > 0 {
		return sdk.Errorf(sdk.NotFound, "old_text is not in the file; text that differs only in spaces at the ends of lines is at line %d: copy it from files.read with plain", n)
	}
	if n := findLines(text, withoutNumbers(wanted)); n > 0 {
		return sdk.Errorf(sdk.NotFound, "old_text has the line numbers of files.read in it, which are not in the file; leave them out. The text is at line %d", n)
	}
	return sdk.Errorf(sdk.NotFound, "old_text is not in the file; look at it with files.read")
}

func trimmedLines(s string) []string {
	out := strings.Split(s, "\n")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// withoutNumbers takes the line numbers of files.read off, or gives nil when a
// line has none.
func withoutNumbers(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		number, rest, _ := strings.Cut(line, "\t")
		if _, err := strconv.Atoi(number); err != nil {
			return nil
		}
		out[i] = strings.TrimSpace(rest)
	}
	return out
}

// findLines is the first line of text, from 1, where all of wanted follow each
// other, or 0.
func findLines(text, wanted []string) int {
	if len(wanted) > maxHintLines || strings.Join(wanted, "") == "" {
		return 0
	}
	for i := 0; i+len(wanted) <= len(text); i++ {
		if slices.Equal(text[i:i+len(wanted)], wanted) {
			return i + 1
		}
	}
	return 0
}
