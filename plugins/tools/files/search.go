package main

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"regexp/syntax"

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
	Matches   int    `json:"matches" desc:"Matching lines shown."`
	Files     int    `json:"files" desc:"Files with a match."`
	Searched  int    `json:"searched" desc:"Text files that were looked at."`
	Skipped   int    `json:"skipped,omitempty" desc:"Files not looked at: binary, over 4 MiB, or not readable."`
	Truncated bool   `json:"truncated,omitempty" desc:"True when the search stopped before the end: narrow it with path and glob."`
	Text      string `json:"text" desc:"path:line: text for a match, path-line- text for a line of context, -- between places that do not touch. Long lines are cut."`
}

// Search looks through files in the order of their names. It stops at the
// first of: max_results lines, about 48 KiB of text, 16 MiB looked at.
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
