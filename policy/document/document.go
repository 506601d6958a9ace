package document

import "errors"

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

// Class is what a scalar is.
type Class byte

// The classes of scalars.
const (
	Null Class = iota + 1
	Boolean
	Integer  // a number without fraction and exponent
	Fraction // any other number
)

// Alike is the class of an element of an array that has the names, kinds and classes of the element before it, one for one,
// and is not empty: only its strings, numbers and words differ. An element without it may be such a one too.
const Alike Class = 5

// Token is one value of a JSON text, or one member's name. It has sixteen bytes and no pointers: a result has thousands,
// and to write them down takes as long as to read the text. What can be counted is therefore not kept.
type Token struct {
	Kind  byte
	Class Class // of a scalar; of an object or array Alike or nothing
	Plain bool  // of a string or name: no escapes and valid UTF-8, so that it may be written again as it stands
	ASCII bool  // of a string or name: Plain, and every byte is a visible ASCII character or a space
	Start int32 // first byte in the text, the quote or bracket included
	End   int32 // behind its last byte
	Next  int32 // index of the token after this value and all in it
}

// Document is a JSON text with its tokens. It shares memory with the text, which must not change. The zero Document
// holds no value.
type Document struct {
	raw     []byte
	tape    []Token
	texts   map[int32][]byte // of strings with escapes, by index
	root    int32            // the value it stands for: a document may be a part of a larger one
	values  int32            // in the tape
	deep    int              // most containers inside each other, the root among them
	longest int              // bytes of a string or name as it stands, without its quotes
	widest  int              // members or elements of one container
	blank   bool             // there is white space between tokens
	fancy   bool             // some string is not Plain
	wide    bool             // some string is not ASCII
	foreign bool             // some name, string or number may not be as RFC 8785 writes it
	mixed   bool             // some object's names are not in order
	huge    bool             // some number has an exponent or is long
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

// Longest is the most bytes that a string or name has as it stands, without its quotes; its text has no more.
func (d *Document) Longest() int { return d.longest }

// Widest is the most members or elements that a container has.
func (d *Document) Widest() int { return d.widest }

// Compact reports that there is no white space between tokens or around the text.
func (d *Document) Compact() bool { return !d.blank }

// Canonical reports a text that is certainly what RFC 8785 makes of it, each of its numbers one that a double holds
// exactly. False says only that reading it could not tell: names that are not plain ASCII and in order, and numbers of
// more than fifteen characters or with an exponent, are for a library to look at.
func (d *Document) Canonical() bool { return !d.blank && !d.foreign && !d.mixed }

// Ordinary reports that no number has an exponent or more than 32 characters: a double holds each, within rounding.
func (d *Document) Ordinary() bool { return !d.huge }

// Literal is the text of a token as it stands, quotes included.
func (d *Document) Literal(t *Token) []byte { return d.raw[t.Start:t.End:t.End] }

// Text is the decoded text of the string or name at i, and the literal of a number, true, false or null; bytes that are
// not UTF-8 stay as they are. A container has none. The caller must not change it.
func (d *Document) Text(i int32) []byte {
	t := &d.tape[i]
	switch {
	case t.Plain:
		return d.raw[t.Start+1 : t.End-1]
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
	if to == d.Len() && from < to/2 { // what a view leaves out goes on to the end
		return int(d.values) - d.Values(0, from)
	}
	n := 0
	for i := from; i < to; i++ {
		if d.tape[i].Kind != Name {
			n++
		}
	}
	return n
}

// Count is how many members or elements the container at i has, counted one by one.
func (d *Document) Count(i int32) int {
	t, n := &d.tape[i], 0
	for at := i + 1; at < t.Next; n++ {
		if t.Kind == Object {
			at++
		}
		at = d.tape[at].Next
	}
	return n
}

// Empty reports a container with nothing in it.
func (d *Document) Empty(i int32) bool { return d.tape[i].Next == i+1 }

// Part is the document whose value is the one at i, which lies depth containers inside d's own. It shares everything
// with d, so its Depth is at most d's less depth, and Longest, Widest,
// Compact, Plain, ASCII, Canonical and Ordinary speak of all of d.
func (d *Document) Part(i int32, depth int) Document {
	part := *d
	part.root, part.deep = i, max(d.deep-depth, 0)
	return part
}
