package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of token.
const (
	Object byte = '{'
	Array  byte = '['
	String byte = '"'
	Name   byte = 'k' // a member's name; its value is the next token
	Scalar byte = '0' // a number, true, false or null
)

// MaxBytes is the longest text that is read.
const MaxBytes = 64 << 20

// ErrTooLong and ErrNotJSON are the refusals. They hold nothing of the text.
var (
	ErrTooLong = errors.New("document: the text is too long to be read")
	ErrNotJSON = errors.New("document: the text is not one JSON value")
)

// Token is one value of a JSON text, or one member's name. It holds no pointers: a result has thousands.
type Token struct {
	Kind  byte
	Plain bool  // of a string or name: no escapes and valid UTF-8, so that it may be written again as it stands
	ASCII bool  // of a string or name: Plain, and every byte is a visible ASCII character or a space
	Start int32 // first byte in the text, the quote or bracket included
	End   int32 // behind its last byte
	Next  int32 // index of the token after this value and all in it
	Count int32 // members or elements of a container
	Nth   int32 // how many values stand before it, names not counted
}

// Document is a JSON text with its tokens. It shares memory with the text, which must not change. The zero Document
// holds no value.
type Document struct {
	raw   []byte
	tape  []Token
	texts map[int32][]byte // of strings with escapes, by index
	root  int32            // the value it stands for: a document may be a part of a larger one
	deep  int              // most containers inside each other, the root among them
	blank bool             // there is white space between tokens
	fancy bool             // some string is not Plain
	wide  bool             // some string is not ASCII
}

// Parse reads raw, which must be one JSON text as RFC 8259 has it, with white space around it or not.
func Parse(raw []byte) (Document, error) {
	return parse(raw, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// ParseStrict reads raw, which must be one I-JSON text: no duplicate names, valid UTF-8, no lone surrogates.
func ParseStrict(raw []byte) (Document, error) { return parse(raw) }

func parse(raw []byte, opts ...jsontext.Options) (Document, error) {
	if len(raw) > MaxBytes {
		return Document{}, ErrTooLong
	}
	if !jsontext.Value(raw).IsValid(opts...) {
		return Document{}, ErrNotJSON
	}
	p := parser{Document: Document{raw: raw, tape: make([]Token, 0, tokensIn(raw))}}
	p.value(0)
	p.blank = p.blank || p.pos != len(raw)
	return p.Document, nil
}

// tokensIn is at least the number of tokens: before each one but the first stands one of these.
func tokensIn(raw []byte) int {
	n := 1
	for _, c := range [...]byte{'{', '[', ',', ':'} {
		n += bytes.Count(raw, []byte{c})
	}
	return n
}

// Root is the index of the document's value.
func (d *Document) Root() int32 { return d.root }

// Len is how many tokens there are; the indexes of a part begin at its Root and end at the Root's Next.
func (d *Document) Len() int32 { return int32(len(d.tape)) }

// At is the token at i.
func (d *Document) At(i int32) *Token { return &d.tape[i] }

// Bytes is the text of the document's value, without white space around it.
func (d *Document) Bytes() []byte {
	if len(d.tape) == 0 {
		return nil
	}
	return d.Literal(&d.tape[d.root])
}

// Depth is the most containers inside each other; a scalar has 0.
func (d *Document) Depth() int { return d.deep }

// Plain reports that every string and name is.
func (d *Document) Plain() bool { return !d.fancy }

// ASCII reports that every string and name is.
func (d *Document) ASCII() bool { return !d.wide }

// Compact reports that there is no white space between tokens or around the text.
func (d *Document) Compact() bool { return !d.blank }

// Literal is the text of a token as it stands, quotes included.
func (d *Document) Literal(t *Token) []byte { return d.raw[t.Start:t.End:t.End] }

// Text is the decoded text of the string or name at i, and the literal of a number, true, false or null; bytes that are
// not UTF-8 stay as they are. A container has none. The caller must not change it.
func (d *Document) Text(i int32) []byte {
	t := &d.tape[i]
	switch {
	case t.Kind == String || t.Kind == Name:
		if text, escaped := d.texts[i]; escaped {
			return text
		}
		return d.raw[t.Start+1 : t.End-1]
	case t.Kind == Scalar:
		return d.Literal(t)
	}
	return nil
}

// Values counts the values, not the names, among the tokens from to to.
func (d *Document) Values(from, to int32) int {
	if from >= to {
		return 0
	}
	end := d.tape[to-1].Nth
	if d.tape[to-1].Kind != Name {
		end++
	}
	return int(end - d.tape[from].Nth)
}

// Part is the document whose value is the one at i, which lies depth containers inside d's own. It shares everything
// with d, so its Depth is at most d's less depth, and Compact, Plain and ASCII speak of all of d.
func (d *Document) Part(i int32, depth int) Document {
	part := *d
	part.root, part.deep = i, max(d.deep-depth, 0)
	return part
}

// parser walks text that is known to be valid, so it looks only at what ends a token.
type parser struct {
	Document
	pos    int
	values int32
}

func (p *parser) blanks() byte {
	for {
		switch c := p.raw[p.pos]; c {
		case ',', ':':
			p.pos++
		case ' ', '\t', '\r', '\n':
			p.blank = true
			p.pos++
		default:
			return c
		}
	}
}

func (p *parser) value(level int) {
	switch c := p.blanks(); c {
	case Object, Array:
		p.container(c, level+1)
	case String:
		p.str(String)
	default:
		start := p.pos
		for p.pos < len(p.raw) && inLiteral[p.raw[p.pos]] {
			p.pos++
		}
		p.add(Token{Kind: Scalar, Start: int32(start), End: int32(p.pos)})
	}
}

func (p *parser) add(t Token) {
	t.Next, t.Nth = int32(len(p.tape)+1), p.values
	if t.Kind != Name {
		p.values++
	}
	p.tape = append(p.tape, t)
}

func (p *parser) container(open byte, level int) {
	p.deep = max(p.deep, level)
	at := len(p.tape)
	p.add(Token{Kind: open, Start: int32(p.pos)})
	p.pos++
	count := int32(0)
	for c := p.blanks(); c != '}' && c != ']'; c = p.blanks() {
		if open == Object {
			p.str(Name)
		}
		p.value(level)
		count++
	}
	p.pos++
	t := &p.tape[at]
	t.End, t.Next, t.Count = int32(p.pos), int32(len(p.tape)), count
}

func (p *parser) str(kind byte) {
	start := p.pos
	n, escaped, ascii := span(p.raw[start+1:])
	inner := p.raw[start+1 : start+1+n]
	p.pos = start + n + 2
	t := Token{Kind: kind, Start: int32(start), End: int32(p.pos), ASCII: ascii, Plain: ascii || !escaped && utf8.Valid(inner)}
	p.wide, p.fancy = p.wide || !t.ASCII, p.fancy || !t.Plain
	if escaped {
		if p.texts == nil {
			p.texts = map[int32][]byte{}
		}
		p.texts[int32(len(p.tape))] = decode(inner)
	}
	p.add(t)
}

// span is how long the string is whose content text begins with, whether it has escapes, and whether it has none and
// no byte of 0x7f or more. It looks at eight bytes at once: most strings are short, and half of a text is strings.
func span(text []byte) (n int, escaped, ascii bool) {
	const high, ones = 0x8080808080808080, 0x0101010101010101
	ascii = true
	for ; n+8 <= len(text); n += 8 {
		word := binary.LittleEndian.Uint64(text[n:])
		quote, slash := word^(ones*'"'), word^(ones*'\\')
		ends := ((quote-ones)&^quote | (slash-ones)&^slash) & high // its lowest bit is the first of either
		// 0x7f and one more is 0x80; a carry comes only from a byte that is high itself.
		large := (word | (word + ones)) & high
		if ends == 0 {
			ascii = ascii && large == 0
			continue
		}
		first := bits.TrailingZeros64(ends)
		ascii = ascii && large&(1<<first-1) == 0
		n += first / 8
		if text[n] == '"' {
			return n, false, ascii
		}
		return n + closing(text[n:]), true, false
	}
	for ; text[n] != '"'; n++ {
		if text[n] == '\\' {
			return n + closing(text[n:]), true, false
		}
		ascii = ascii && text[n] < 0x7f
	}
	return n, false, ascii
}

// closing is the position of the quote that ends the string whose content text goes on with.
func closing(text []byte) int {
	for i := 0; ; i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
}

// inLiteral marks the bytes of numbers, true, false and null.
var inLiteral = func() (table [256]bool) {
	for _, c := range []byte("+-.0123456789Eaeflnrstu") {
		table[c] = true
	}
	return table
}()

// decode undoes the escapes of a valid JSON string. A lone surrogate becomes U+FFFD.
func decode(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			return append(out, s...)
		}
		out = append(out, s[:n]...)
		s = s[n:]
		switch c := s[1]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := unit(s)
			if s = s[6:]; utf16.IsSurrogate(r) {
				if joined := utf16.DecodeRune(r, unit(s)); joined != utf8.RuneError {
					r, s = joined, s[6:]
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		default:
			out = append(out, c)
		}
		s = s[2:]
	}
	return out
}

// unit is the code unit of the escape \uXXXX that s begins with, or U+FFFD without one.
func unit(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return utf8.RuneError
	}
	v, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(v)
}
