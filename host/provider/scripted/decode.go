package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a script file.
const (
	maxBytes  = 1 << 20
	maxSteps  = 10_000
	maxChunks = 1_000
	maxDepth  = 64
)

// SyntaxError says where a script is wrong. Line and Column count from 1 and
// are 0 when the fault belongs to the file as a whole.
type SyntaxError struct {
	Script       string
	Line, Column int
	Sentence     string
}

// Error returns file, line, column and sentence.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("script %s: %s", e.Script, e.Sentence)
	}
	return fmt.Sprintf("script %s, line %d, column %d: %s", e.Script, e.Line, e.Column, e.Sentence)
}

// Load reads and parses a script file of at most 1 MiB.
func Load(path string) (*Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scripted: open script: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("scripted: read script %s: %w", path, err)
	}
	return Parse(path, data)
}

// Parse decodes a script. name is used in messages only. The error is a
// [*SyntaxError].
func Parse(name string, data []byte) (*Script, error) {
	d := decoder{name: name}
	if len(data) > maxBytes {
		return nil, d.fail(nil, "is larger than %d bytes", maxBytes)
	}
	if bytes.Count(data, []byte("\r")) != bytes.Count(data, []byte("\r\n")) { // a line break for YAML, and for no editor
		return nil, d.fail(nil, "has a carriage return without a line feed; end lines with a line feed")
	}
	root, err := d.parse(data)
	if err != nil {
		return nil, err
	}
	var file fileYAML
	if err := d.decode(root, &file); err != nil {
		return nil, err
	}
	return d.script(file)
}

// The shape of the file. Pointers tell an absent key from an empty value.
type fileYAML struct {
	Version int        `yaml:"version"`
	Model   string     `yaml:"model"`
	Limits  limitsYAML `yaml:"limits"`
	Repeat  bool       `yaml:"repeat"`
	Steps   ast.Node   `yaml:"steps"`
}

type limitsYAML struct {
	ContextWindow int `yaml:"context_window"`
	MaxOutput     int `yaml:"max_output"`
}

type stepYAML struct {
	Note   string      `yaml:"note"`
	Expect *expectYAML `yaml:"expect"`
	Say    *string     `yaml:"say"`
	Call   []callYAML  `yaml:"call"`
	Error  *errorYAML  `yaml:"error"`
	Text   *string     `yaml:"text"`
	Finish *string     `yaml:"finish"`
	Chunks *int        `yaml:"chunks"`
	Usage  *usageYAML  `yaml:"usage"`
}

type callYAML struct {
	Tool     string         `yaml:"tool"`
	ID       string         `yaml:"id"`
	Args     map[string]any `yaml:"args"`
	ArgsText *string        `yaml:"args_text"`
}

type errorYAML struct {
	Kind       string        `yaml:"kind"`
	Status     int           `yaml:"status"`
	RetryAfter time.Duration `yaml:"retry_after"`
	Message    string        `yaml:"message"`
	After      string        `yaml:"after"`
}

type usageYAML struct {
	Input      int `yaml:"input"`
	Output     int `yaml:"output"`
	CacheRead  int `yaml:"cache_read"`
	CacheWrite int `yaml:"cache_write"`
}

type expectYAML struct {
	LastUser    textYAML    `yaml:"last_user"`
	System      textYAML    `yaml:"system"`
	Tools       toolsYAML   `yaml:"tools"`
	ToolResult  resultsYAML `yaml:"tool_result"`
	NotContains texts       `yaml:"not_contains"`
}

type textYAML struct {
	Equals      *string `yaml:"equals"`
	Contains    texts   `yaml:"contains"`
	NotContains texts   `yaml:"not_contains"`
}

type toolsYAML struct {
	Include texts `yaml:"include"`
	Exclude texts `yaml:"exclude"`
}

type resultYAML struct {
	Name        string `yaml:"name"`
	Status      string `yaml:"status"`
	Contains    texts  `yaml:"contains"`
	NotContains texts  `yaml:"not_contains"`
}

// texts is one text or a list of texts.
type texts []string

// UnmarshalYAML accepts both spellings.
func (t *texts) UnmarshalYAML(node ast.Node) error {
	if _, list := node.(*ast.SequenceNode); list {
		return yaml.NodeToValue(node, (*[]string)(t), yaml.Strict())
	}
	var one string
	if err := yaml.NodeToValue(node, &one, yaml.Strict()); err != nil {
		return err
	}
	*t = texts{one}
	return nil
}

// resultsYAML is one result expectation or a list of them.
type resultsYAML []resultYAML

// UnmarshalYAML accepts both spellings.
func (r *resultsYAML) UnmarshalYAML(node ast.Node) error {
	if _, list := node.(*ast.SequenceNode); list {
		return yaml.NodeToValue(node, (*[]resultYAML)(r), yaml.Strict())
	}
	var one resultYAML
	if err := yaml.NodeToValue(node, &one, yaml.Strict()); err != nil {
		return err
	}
	*r = resultsYAML{one}
	return nil
}

// decoder turns bytes into a script and remembers the file's name for messages.
type decoder struct{ name string }

func (d decoder) fail(at ast.Node, format string, args ...any) *SyntaxError {
	e := &SyntaxError{Script: d.name, Sentence: fmt.Sprintf(format, args...)}
	e.Line, e.Column = start(at)
	return e
}

// start returns where a node begins. A mapping's own token is its first colon,
// which is not where a reader looks: its first key is.
func start(at ast.Node) (line, column int) {
	if m, ok := at.(*ast.MappingNode); ok && len(m.Values) > 0 {
		at = m.Values[0].Key
	}
	if at == nil || at.GetToken() == nil {
		return 0, 0
	}
	return position(at.GetToken())
}

// parse returns the one document of the file, free of everything in YAML that
// makes a value mean something its reader does not see.
func (d decoder) parse(data []byte) (root ast.Node, err error) {
	// The parser is a foreign one and a script is foreign text: a panic in it is a
	// file we cannot read, not the end of the host.
	defer func() {
		if recover() != nil {
			root, err = nil, d.fail(nil, "is not valid YAML")
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if deep := tooDeep(tokens); deep != nil {
		e := d.fail(nil, "is nested more than %d levels deep", maxDepth)
		e.Line, e.Column = position(deep)
		return nil, e
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, d.translate(err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, d.fail(nil, "must hold exactly one YAML document")
	}
	root = file.Docs[0].Body
	plain := plainness{}
	ast.Walk(&plain, root)
	if plain.odd != nil {
		return nil, d.fail(plain.odd, "anchors, aliases, tags and merge keys are not allowed in a script")
	}
	return root, nil
}

// tooDeep finds the token with which nesting goes over its bound, before the
// parser sees it: the parser recurses, and its time grows with the square of the
// depth. Brackets, indentation and dashes on one line each have the bound.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, dashes, line := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position != nil && tk.Position.Line != line {
			line, dashes = tk.Position.Line, 0
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if flow > maxDepth || dashes > maxDepth || (tk.Position != nil && tk.Position.IndentLevel > maxDepth) {
			return tk
		}
	}
	return nil
}

// plainness finds the first node of a kind scripts do not have.
type plainness struct{ odd ast.Node }

func (p *plainness) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode, *ast.DirectiveNode:
		if p.odd == nil {
			p.odd = n
		}
		return nil
	}
	return p
}

func (d decoder) decode(node ast.Node, into any) (err error) {
	defer func() {
		if recover() != nil {
			err = d.fail(node, "is not valid YAML here")
		}
	}()
	if err := yaml.NodeToValue(node, into, yaml.Strict()); err != nil {
		return d.translate(err)
	}
	return nil
}

// translate keeps the library's message and position and drops its excerpt.
func (d decoder) translate(err error) *SyntaxError {
	e := &SyntaxError{Script: d.name, Sentence: err.Error()}
	var located yaml.Error
	if errors.As(err, &located) {
		e.Sentence = located.GetMessage()
		if tk := located.GetToken(); tk != nil {
			e.Line, e.Column = position(tk)
		}
	}
	return e
}

func position(tk *token.Token) (line, column int) {
	if tk.Position == nil {
		return 0, 0
	}
	return tk.Position.Line, tk.Position.Column
}
