package redact

import (
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// token is one value of a JSON text, or one member's name. Values stand in the order of the text; next leads over a
// container to its sibling. It holds no pointers: a result has thousands of tokens.
type token struct {
	kind       byte  // '{', '[', '"', 'k' for a member's name, or '0' for number, true, false and null
	plain      bool  // a string that may be written again as it stands
	start, end int32 // of a scalar in the raw text, with its quotes
	next       int32 // index of the token after this value and all in it
	count      int32 // members or elements
	text       int32 // of a string with escapes: index of its decoded text
	spans      int32 // of a string with secrets in it: index of their spans
	whole      int32 // index of the mark that stands for all of it, or -1
}

// document is a JSON text with what was found in it.
type document struct {
	raw   []byte
	tape  []token
	texts [][]byte // the first is unused, so that 0 is none
	spans [][]span // likewise
}

var errNotJSON = errors.New("redact: the result is not JSON")

// parseDocument reads raw, which must be one JSON text.
func parseDocument(raw []byte) (document, error) {
	if !json.Valid(raw) {
		return document{}, errNotJSON
	}
	p := parser{document: document{
		raw: raw, tape: make([]token, 0, len(raw)/10+8), texts: make([][]byte, 1), spans: make([][]span, 1),
	}}
	p.value()
	return p.document, nil
}

// literal is the raw text of a scalar.
func (d *document) literal(t *token) []byte { return d.raw[t.start:t.end] }

// text is the decoded text of a string or name, and the raw text of another scalar. A container has none.
func (d *document) text(t *token) []byte {
	switch {
	case t.text > 0:
		return d.texts[t.text]
	case t.kind == '"' || t.kind == 'k':
		return d.raw[t.start+1 : t.end-1]
	}
	return d.literal(t)
}

func (d *document) setSpans(t *token, spans []span) {
	if len(spans) > 0 {
		t.spans = int32(len(d.spans))
		d.spans = append(d.spans, spans)
	}
}

// parser walks text that is known to be valid, so it looks only at what ends a token.
type parser struct {
	document
	pos int
}

func (p *parser) blanks() byte {
	for {
		switch c := p.raw[p.pos]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			p.pos++
		default:
			return c
		}
	}
}

func (p *parser) value() {
	switch c := p.blanks(); c {
	case '{', '[':
		p.container(c)
	case '"':
		p.str('"')
	default:
		start := p.pos
		for p.pos < len(p.raw) && isLiteral(p.raw[p.pos]) {
			p.pos++
		}
		p.add(token{kind: '0', start: int32(start), end: int32(p.pos)})
	}
}

func (p *parser) add(t token) {
	t.next, t.whole = int32(len(p.tape)+1), -1
	p.tape = append(p.tape, t)
}

func isLiteral(c byte) bool { return isAlnum(c) || c == '.' || c == '+' || c == '-' }

func (p *parser) container(open byte) {
	at := len(p.tape)
	p.add(token{kind: open})
	p.pos++
	count := 0
	for c := p.blanks(); c != '}' && c != ']'; c = p.blanks() {
		if open == '{' {
			p.str('k')
		}
		p.value()
		count++
	}
	p.pos++
	p.tape[at].next, p.tape[at].count = int32(len(p.tape)), int32(count)
}

func (p *parser) str(kind byte) {
	start := p.pos
	escaped := false
	for p.pos++; p.raw[p.pos] != '"'; p.pos++ {
		if p.raw[p.pos] == '\\' {
			escaped = true
			p.pos++
		}
	}
	p.pos++
	t := token{kind: kind, start: int32(start), end: int32(p.pos)}
	inner := p.raw[start+1 : p.pos-1]
	t.plain = !escaped && utf8.Valid(inner)
	if escaped {
		t.text = int32(len(p.texts))
		p.texts = append(p.texts, decodeString(inner))
	}
	p.add(t)
}

// decodeString undoes the escapes of a valid JSON string. A lone surrogate becomes U+FFFD.
func decodeString(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] == '\\' {
			var n int
			out, n = backslashAt(out, s[i:])
			i += n
			continue
		}
		out = append(out, s[i])
		i++
	}
	return out
}
