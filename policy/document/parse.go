package document

import "unicode/utf8"

// maxDepth is the most containers inside each other that are read, as jsontext and encoding/json have it.
const maxDepth = 10_000

// Parse reads raw, which must be one JSON text as RFC 8259 has it, with white space around it or not.
func Parse(raw []byte) (Document, error) {
	d, _, err := parse(raw, nil, false)
	return d, err
}

// ParseStrict reads raw, which must be one I-JSON text: no duplicate names, valid UTF-8, no lone surrogates.
func ParseStrict(raw []byte) (Document, error) {
	d, _, err := parse(raw, nil, true)
	return d, err
}

// parse writes the tokens to tape, whatever that held, and returns the tape as it became, also of a text that it refuses.
func parse(raw []byte, tape []Token, strict bool) (Document, []Token, error) {
	if len(raw) > MaxBytes {
		return Document{}, tape, ErrTooLong
	}
	p := parser{Document: Document{raw: raw, tape: tape[:0]}, strict: strict, spare: credit(raw)}
	return p.all()
}

// all reads the text.
func (p *parser) all() (Document, []Token, error) {
	end := p.value(0, 0)
	if end < 0 || p.skip(end) != len(p.raw) {
		return Document{}, p.tape, ErrNotJSON
	}
	return p.Document, p.tape, nil
}

// parser judges a text and writes down its tokens in one walk, which takes half the time of asking jsontext and walking
// again. Its methods take a position and return the one behind what they read, or -1 where there is no such thing.
type parser struct {
	Document
	strict bool
	spare  int // bytes that may be read in vain
}

// blanks is the position of the next byte that is no white space, which may be the end.
func (p *parser) blanks(pos int) int {
	if pos < len(p.raw) && p.raw[pos] > ' ' {
		return pos
	}
	return p.skip(pos)
}

func (p *parser) skip(pos int) int {
	for ; pos < len(p.raw); pos++ {
		switch p.raw[pos] {
		case ' ', '\t', '\r', '\n':
			p.blank = true
		default:
			return pos
		}
	}
	return pos
}

// value reads one value that lies in level containers.
func (p *parser) value(pos, level int) int {
	if pos = p.blanks(pos); pos == len(p.raw) {
		return -1
	}
	switch p.raw[pos] {
	case '{':
		return p.object(pos, level+1)
	case '[':
		return p.array(pos, level+1)
	}
	return p.leaf(pos)
}

// leaf reads a string, a number or a word at pos; -1 where there is none.
func (p *parser) leaf(pos int) int {
	if pos >= len(p.raw) {
		return -1
	}
	switch p.raw[pos] {
	case '"':
		return p.str(pos, String)
	case 't':
		return p.word(pos, "true", Boolean)
	case 'f':
		return p.word(pos, "false", Boolean)
	case 'n':
		return p.word(pos, "null", Null)
	}
	return p.number(pos)
}

// add keeps a token that begins here; what ends later is filled in then.
func (p *parser) add(kind byte, start, end int) *Token {
	n := len(p.tape)
	if n == cap(p.tape) {
		p.grow(start, 16)
	}
	p.tape = p.tape[:n+1]
	t := &p.tape[n]
	// Written whole it would go by the stack, and what is read back there waits until it has been written.
	t.Kind, t.Class, t.Plain, t.ASCII = kind, 0, false, false
	t.Start, t.End, t.Next = int32(start), int32(end), int32(n+1)
	return t
}

// grow makes room for as many tokens as the rest of the text has if it goes on like this, and not for many times those
// that there are: a text says little about its end. To count them first would take four passes over the text.
// There is room for least more in any case.
func (p *parser) grow(pos, least int) {
	n := len(p.tape)
	room := 16
	if pos > 0 && n > 1 {
		room = min(32*n, n*(len(p.raw)/16+1)/(pos/16+1)*17/16)
	}
	tape := make([]Token, n, max(room, n+least))
	copy(tape, p.tape)
	p.tape = tape
}

func (p *parser) open(pos, level int) (at int, ok bool) {
	if level > maxDepth {
		return 0, false
	}
	p.deep = max(p.deep, level)
	at = len(p.tape)
	p.add(p.raw[pos], pos, 0)
	p.values++
	return at, true
}

// close ends the container at at, which has so many members or elements.
func (p *parser) close(at, end, count int) int {
	p.widest = max(p.widest, count)
	t := &p.tape[at]
	t.End, t.Next = int32(end), int32(len(p.tape))
	return end
}

func (p *parser) array(pos, level int) int {
	at, ok := p.open(pos, level)
	if !ok {
		return -1
	}
	if pos = p.blanks(pos + 1); pos < len(p.raw) && p.raw[pos] == ']' {
		return p.close(at, pos+1, 0)
	}
	before := -1 // where the element before begins, if it is a container
	for count := 1; ; count++ {
		from := len(p.tape)
		if pos = p.element(pos, before, level); pos < 0 {
			return -1
		}
		if before = -1; len(p.tape)-from > 1 {
			before = from
		}
		if pos = p.blanks(pos); pos == len(p.raw) {
			return -1
		}
		switch p.raw[pos] {
		case ',':
			pos++
		case ']':
			return p.close(at, pos+1, count)
		default:
			return -1
		}
	}
}

// element is value of an element of an array.
func (p *parser) element(pos, before, level int) int {
	if before >= 0 && p.spare > 0 {
		if pos = p.blanks(pos); pos < len(p.raw) && p.raw[pos] == p.tape[before].Kind {
			if end := p.alike(pos, before); end >= 0 {
				return end
			}
		}
	}
	return p.value(pos, level)
}

func (p *parser) object(pos, level int) int {
	at, ok := p.open(pos, level)
	if !ok {
		return -1
	}
	if pos = p.blanks(pos + 1); pos < len(p.raw) && p.raw[pos] == '}' {
		return p.close(at, pos+1, 0)
	}
	var names names
	for {
		if pos = p.blanks(pos); pos == len(p.raw) || p.raw[pos] != '"' {
			return -1
		}
		name := int32(len(p.tape))
		if pos = p.str(pos, Name); pos < 0 || !p.unique(&names, int32(at), name) {
			return -1
		}
		if pos = p.blanks(pos); pos == len(p.raw) || p.raw[pos] != ':' {
			return -1
		}
		if pos = p.value(pos+1, level); pos < 0 {
			return -1
		}
		if pos = p.blanks(pos); pos == len(p.raw) {
			return -1
		}
		switch p.raw[pos] {
		case ',':
			pos++
		case '}':
			return p.close(at, pos+1, names.count)
		default:
			return -1
		}
	}
}

func (p *parser) str(pos int, kind byte) int {
	n, escaped, ascii := span(p.raw[pos+1:])
	if n < 0 {
		return -1
	}
	end := pos + n + 2
	t := p.add(kind, pos, end)
	t.ASCII, t.Plain = ascii, ascii
	p.longest = max(p.longest, n)
	if kind == String {
		p.values++
	}
	if !ascii {
		return p.rare(pos, end, escaped)
	}
	return end
}

// rare is the rest of str, for a string that is not all visible ASCII.
func (p *parser) rare(pos, end int, escaped bool) int {
	inner := p.raw[pos+1 : end-1]
	utf := utf8.Valid(inner)
	i := len(p.tape) - 1
	p.tape[i].Plain = utf && !escaped
	p.wide, p.fancy = true, p.fancy || !p.tape[i].Plain
	if p.strict && !utf {
		return -1
	}
	if !escaped {
		return end
	}
	text, as := decode(inner)
	if as == bad || p.strict && as == lone {
		return -1
	}
	p.foreign = p.foreign || as != short
	if p.texts == nil {
		p.texts = map[int32][]byte{}
	}
	p.texts[int32(i)] = text
	return end
}
