package main

import (
	"context"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

const (
	maxPattern = 2 << 10 // bytes
	// maxProgram is the instructions of a compiled pattern. Matching takes at
	// most the product of this and the text; (a{1000}){1000} would be a million.
	maxProgram = 4000
	maxMatches = 1000
)

// RegexIn is a pattern and the text to look in.
type RegexIn struct {
	Pattern    string `json:"pattern" desc:"RE2 regular expression, such as (?m)^(?P<key>\\w+)=(?P<value>.*)$" minLength:"1" maxLength:"2048"`
	Text       string `json:"text" maxLength:"524288"`
	MaxMatches int    `json:"max_matches,omitempty" desc:"Stop after this many matches." default:"100" minimum:"1" maximum:"1000"`
}

// RegexOut is the matches in the order of the text.
type RegexOut struct {
	Truncated bool    `json:"truncated,omitempty" desc:"True when there are more matches than max_matches, or than fit 256 KiB."`
	Matches   []Match `json:"matches"`
}

// Match is one match.
type Match struct {
	Text   string            `json:"text"`
	Line   int               `json:"line" desc:"Line of the first character, from 1."`
	Start  int               `json:"start" desc:"Characters of the text before the match."`
	End    int               `json:"end" desc:"Characters of the text up to the end of the match."`
	Groups map[string]string `json:"groups,omitempty" desc:"Groups that took part, by name or, without one, by number."`
}

// Regex finds the matches, leftmost first and not overlapping.
func Regex(_ context.Context, in RegexIn, _ sdk.Host) (RegexOut, error) {
	if err := fits("text", in.Text); err != nil {
		return RegexOut{}, err
	}
	re, err := compilePattern(in.Pattern)
	if err != nil {
		return RegexOut{}, err
	}
	limit := in.MaxMatches
	if limit < 1 || limit > maxMatches {
		limit = maxMatches
	}
	found := re.FindAllStringSubmatchIndex(in.Text, limit+1)
	out := RegexOut{Truncated: len(found) > limit}
	pos, size := position{text: in.Text, line: 1}, 0
	for _, at := range found[:min(len(found), limit)] {
		m := pos.match(re, at)
		for _, g := range m.Groups {
			size += len(g)
		}
		if size += len(m.Text); size > maxResult {
			out.Truncated = true
			break
		}
		out.Matches = append(out.Matches, m)
	}
	return out, nil
}

// compilePattern refuses a pattern whose program would be large before it is
// compiled for good.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, sdk.Errorf(sdk.TooLarge, "pattern has %d bytes, at most %d are allowed", len(pattern), maxPattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "pattern: %v; the syntax is RE2, without lookaround and backreferences", err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "pattern: %v", err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, sdk.Errorf(sdk.TooLarge, "pattern: its repetitions make it %d steps long, at most %d are allowed", len(prog.Inst), maxProgram)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "pattern: %v", err)
	}
	return re, nil
}

// position counts characters and lines up to a byte, moving forward only, so
// that all matches together cost one walk over the text.
type position struct {
	text  string
	at    int // bytes
	chars int
	line  int
}

func (p *position) advance(to int) {
	passed := p.text[p.at:to]
	p.chars += utf8.RuneCountInString(passed)
	p.line += strings.Count(passed, "\n")
	p.at = to
}

func (p *position) match(re *regexp.Regexp, found []int) Match {
	p.advance(found[0])
	m := Match{Text: p.text[found[0]:found[1]], Line: p.line, Start: p.chars}
	p.advance(found[1])
	m.End = p.chars
	for i, name := range re.SubexpNames() {
		if i == 0 || found[2*i] < 0 {
			continue
		}
		if name == "" {
			name = strconv.Itoa(i)
		}
		if m.Groups == nil {
			m.Groups = map[string]string{}
		}
		m.Groups[name] = p.text[found[2*i]:found[2*i+1]]
	}
	return m
}
