package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

const (
	maxSearched = 16 << 20 // bytes of all files together
	maxFile     = 4 << 20  // bytes of one file
	maxResults  = 500
	maxLine     = 400  // bytes shown of one line
	maxPattern  = 1024 // bytes
	maxProgram  = 4000 // instructions of a compiled pattern
)

// SearchIn is a pattern and where to look.
type SearchIn struct {
	Pattern    string `json:"pattern" desc:"RE2 regular expression, looked for in each line." minLength:"1" maxLength:"1024"`
	Path       string `json:"path,omitempty" desc:"File or directory; left out, the whole workspace." maxLength:"1024"`
	Glob       string `json:"glob,omitempty" desc:"Only files that match, such as *.go for names or src/**/*.ts for paths below path." maxLength:"256"`
	Literal    bool   `json:"literal,omitempty" desc:"Take pattern as plain text."`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Context    int    `json:"context,omitempty" desc:"Lines to show before and after each match." minimum:"0" maximum:"5"`
	MaxResults int    `json:"max_results,omitempty" desc:"Stop after this many matching lines." default:"50" minimum:"1" maximum:"500"`
}

// SearchOut is the matching lines and how far the search came.
type SearchOut struct {
	Text      string `json:"text" desc:"path:line: text for a match, path-line- text for a line of context, -- between places that do not touch. Long lines are cut."`
	Matches   int    `json:"matches" desc:"Matching lines shown."`
	Files     int    `json:"files" desc:"Files with a match."`
	Searched  int    `json:"searched" desc:"Text files that were looked at."`
	Skipped   int    `json:"skipped,omitempty" desc:"Files not looked at: binary, over 4 MiB, or not readable."`
	Truncated bool   `json:"truncated,omitempty" desc:"True when the search stopped before the end: narrow it with path and glob."`
}

// Search looks through files in the order of their names. It stops at the
// first of: max_results lines, about 64 KiB of text, 16 MiB looked at.
func Search(ctx context.Context, in SearchIn, h sdk.Host) (SearchOut, error) {
	start, err := clean(in.Path)
	if err != nil {
		return SearchOut{}, err
	}
	pattern, err := newGlob(in.Glob)
	if err != nil {
		return SearchOut{}, err
	}
	re, err := in.compile()
	if err != nil {
		return SearchOut{}, err
	}
	s := &searcher{
		files: h.Files(), re: re, context: max(0, min(in.Context, 5)),
		limit: max(1, min(in.MaxResults, maxResults)), left: maxSearched, buf: make([]byte, maxFile+1),
	}
	s.prefix, _ = re.LiteralPrefix()
	info, err := s.files.Stat(start)
	if err != nil {
		return SearchOut{}, err
	}
	if info.IsDir() {
		s.out.Truncated, err = walk(ctx, s.files, start, maxDepth+1, func(name string, e fs.DirEntry) error {
			if !e.Type().IsRegular() || !pattern.match(relative(start, name)) {
				return nil
			}
			return s.found(name)
		})
	} else if err = s.file(start); errors.Is(err, errEnough) {
		s.out.Truncated, err = true, nil
	}
	s.out.Text = s.text.String()
	return s.out, err
}

// compile refuses patterns whose program would be large: each byte searched
// may cost as many steps as it is long.
func (in SearchIn) compile() (*regexp.Regexp, error) {
	text := in.Pattern
	if len(text) > maxPattern {
		return nil, sdk.Errorf(sdk.TooLarge, "pattern has %d bytes, at most %d are allowed", len(text), maxPattern)
	}
	if in.Literal {
		text = regexp.QuoteMeta(text)
	}
	if in.IgnoreCase {
		text = "(?i:" + text + ")"
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "pattern: %v; the syntax is RE2, and literal takes a pattern as plain text", err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "pattern: %v", err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, sdk.Errorf(sdk.TooLarge, "pattern: its repetitions make it %d steps long, at most %d are allowed", len(prog.Inst), maxProgram)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "pattern: %v", err)
	}
	return re, nil
}

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
