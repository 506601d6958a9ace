package main

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

// searcher is one search.
type searcher struct {
	files   sdk.Files
	re      *regexp.Regexp
	prefix  string // that every match begins with
	context int
	limit   int
	left    int64 // bytes that may still be read
	buf     []byte
	text    strings.Builder
	out     SearchOut
}

// found searches a file that was found on the way. One that cannot be read is
// skipped; when the host's budget for the call is used up, so is ours.
func (s *searcher) found(name string) error {
	err := s.file(name)
	switch {
	case err == nil || errors.Is(err, errEnough):
		return err
	case errors.Is(err, sdk.TooLarge):
		return errEnough
	}
	s.out.Skipped++
	return nil
}

// file searches one file, or counts it as skipped when it is not text.
func (s *searcher) file(name string) error {
	if s.left <= 0 {
		return errEnough
	}
	n, err := s.files.ReadRange(name, s.buf, 0)
	if err != nil {
		return err
	}
	content := s.buf[:n]
	s.left -= int64(n)
	if n > maxFile || bytes.IndexByte(content[:min(n, sniffSize)], 0) >= 0 {
		s.out.Skipped++
		return nil
	}
	s.out.Searched++
	if !bytes.Contains(content, []byte(s.prefix)) {
		return nil
	}
	return s.lines(name, strings.Split(string(content), "\n"))
}

func (s *searcher) lines(name string, lines []string) error {
	shown, found := 0, false // lines before shown are in the text already
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if i == len(lines)-1 && line == "" || !strings.Contains(line, s.prefix) || !s.re.MatchString(line) {
			continue
		}
		if s.out.Matches == s.limit || s.text.Len() > maxShown {
			return errEnough
		}
		if !found {
			found = true
			s.out.Files++
		}
		s.out.Matches++
		shown = s.show(name, lines, i, shown)
	}
	return nil
}

// show writes the match in line i with its context and gives the first line
// after that. The context after a match ends where the next match begins.
func (s *searcher) show(name string, lines []string, i, shown int) int {
	from := max(i-s.context, shown)
	if s.context > 0 && s.text.Len() > 0 && (from > shown || shown == 0) {
		s.text.WriteString("--\n")
	}
	for j := from; j < i; j++ {
		s.write(name, '-', j, lines[j])
	}
	s.write(name, ':', i, lines[i])
	to := min(i+s.context+1, len(lines))
	if to == len(lines) && lines[to-1] == "" {
		to-- // what follows the last line break is no line
	}
	j := i + 1
	for ; j < to && !s.re.MatchString(strings.TrimSuffix(lines[j], "\r")); j++ {
		s.write(name, '-', j, lines[j])
	}
	return j
}

func (s *searcher) write(name string, mark byte, i int, line string) {
	s.text.WriteString(name)
	s.text.WriteByte(mark)
	s.text.WriteString(strconv.Itoa(i + 1))
	s.text.WriteByte(mark)
	s.text.WriteByte(' ')
	line = strings.TrimSuffix(line, "\r")
	if len(line) > maxLine {
		cut := maxLine
		for cut > maxLine-utf8.UTFMax && !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut] + "…"
	}
	s.text.WriteString(strings.ToValidUTF8(line, "\uFFFD"))
	s.text.WriteByte('\n')
}
