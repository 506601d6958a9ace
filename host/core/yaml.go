package core

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/b3abf3ee/portcullis/policy/approval"
)

// Bounds of one YAML file. The parser is recursive and quadratic in places, so that what reaches it is bounded by
// what a person would write: the lexer, which is linear, counts first.
const (
	MaxYAMLBytes  = 256 << 10
	maxYAMLTokens = 20_000
	maxYAMLDepth  = 24
)

// Position is where something stands in a file: its path below the home, line and column. The zero Line is the file
// as a whole.
type Position = approval.Position

// reading collects the faults of one file while it is taken apart.
type reading struct {
	path   string
	faults LoadErrors
}

func (r *reading) fault(at Position, format string, args ...any) {
	const enough = 20 // a file with more is another file
	if len(r.faults) < enough {
		r.faults = append(r.faults, &LoadError{r.path, at.Line, at.Column, fmt.Sprintf(format, args...)})
	}
}

// err is what the reading came to, in the order of the file.
func (r *reading) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b *LoadError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.faults
}

func (r *reading) at(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{File: r.path}
	}
	return Position{File: r.path, Line: t.Position.Line, Column: t.Position.Column}
}

// root parses data into the one mapping of a file. ok is false when there is none; the fault is noted then.
// Refused before the parser sees anything: bytes that are not UTF-8, control characters, too many tokens, deep
// nesting, and all of YAML that a configuration does not need: anchors, aliases, tags, merge keys, directives,
// complex keys and a second document.
func (r *reading) root(data []byte) (root value, ok bool) {
	if len(data) > MaxYAMLBytes {
		r.fault(Position{}, "has %d bytes, at most %d are allowed", len(data), MaxYAMLBytes)
		return value{}, false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !r.plainText(data) {
		return value{}, false
	}
	tokens := lexer.Tokenize(string(data))
	if !r.plainTokens(tokens) {
		return value{}, false
	}
	file, err := parse(tokens)
	if err != nil {
		r.syntax(err)
		return value{}, false
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		r.fault(Position{}, "is empty; it begins with schema_version: %d", SchemaVersion)
		return value{}, false
	}
	if len(file.Docs) > 1 {
		r.fault(r.at(file.Docs[1].Start), "a second document begins here; the file has one")
		return value{}, false
	}
	root = value{node: file.Docs[0].Body}
	root.at = r.begin(root.node)
	return root, true
}

// parse turns a panic of the parser into an error: the file is at fault, and the host goes on.
func parse(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("is not YAML")
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // [reading.object] finds every duplicate itself
}

func (r *reading) plainText(data []byte) bool {
	line, start := 1, 0
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		bad := ""
		switch {
		case c == utf8.RuneError && size <= 1:
			bad = "is not UTF-8 here"
		case c < 0x20 && c != '\n' && c != '\r' && c != '\t', c >= 0x7f && c < 0xa0, c == '\u2028', c == '\u2029', c == '\ufeff':
			bad = fmt.Sprintf("has the control character %U here; remove it", c)
		case c == '\r' && (i+1 == len(data) || data[i+1] != '\n'): // a line break for YAML, and for no editor
			bad = "has a carriage return without a line feed here; end lines with a line feed"
		}
		if bad != "" {
			r.fault(Position{File: r.path, Line: line, Column: 1 + utf8.RuneCount(data[start:i])}, "%s", bad)
			return false
		}
		if c == '\n' {
			line, start = line+1, i+1
		}
		i += size
	}
	return true
}

func (r *reading) plainTokens(tokens token.Tokens) bool {
	depth, entries, line := 0, 0, 0
	for n, t := range tokens {
		if t.Position != nil && t.Position.Line != line {
			line, entries = t.Position.Line, 0
		}
		refused := ""
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		case token.AnchorType, token.AliasType:
			refused = "anchors and aliases (& and *) are not read; write the value out, or quote it"
		case token.TagType:
			refused = "tags (!) are not read; remove it, or quote the value"
		case token.MergeKeyType:
			refused = "merge keys (<<) are not read; write the values out"
		case token.DirectiveType:
			refused = "directives (%) are not read; remove the line"
		case token.InvalidType:
			refused = "is not YAML here: " + t.Error
		}
		if t.Type == token.MappingKeyType {
			refused = "keys written with ? are not read; write key: value"
		}
		if depth > maxYAMLDepth || entries > maxYAMLDepth || t.Position != nil && t.Position.IndentNum > 8*maxYAMLDepth {
			refused = "is nested too deep here"
		}
		if n >= maxYAMLTokens {
			refused = "is too long: the part from here on would not be read"
		}
		if refused != "" {
			r.fault(r.at(t), "%s", refused)
			return false
		}
	}
	return true
}

// syntax notes an error of the parser, in its words and at its place, without the excerpt it would print: that may
// hold a value which is nobody's business.
func (r *reading) syntax(err error) {
	var y yaml.Error
	if errors.As(err, &y) {
		r.fault(r.at(y.GetToken()), "is not YAML here: %s", strings.TrimSpace(y.GetMessage()))
		return
	}
	r.fault(Position{}, "is not YAML")
}

// begin is the first character of a node. A block mapping's own token is its first colon.
func (r *reading) begin(n ast.Node) Position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return r.at(m.Values[0].Key.GetToken())
	}
	if n == nil {
		return Position{File: r.path}
	}
	return r.at(n.GetToken())
}
