package effect

import (
	"bytes"
	"strconv"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// admissible reports a document that needs no further look to be admitted: one object, inside the depth bound, each
// number exact.
func admissible(d *document.Document) bool {
	if d.At(d.Root()).Kind != document.Object || d.Depth() > MaxArgumentDepth {
		return false
	}
	for i := range d.Len() {
		if t := d.At(i); t.Kind == document.Scalar {
			if text := d.Literal(t); text[0] <= '9' && len(text) > 15 && !exact(string(text)) {
				return false
			}
		}
	}
	return true
}

// canonical reports a document whose text is known to be what RFC 8785 would make of it. False says only that this
// quick look cannot tell: names or numbers that are out of the ordinary are left to the library.
func canonical(d *document.Document) bool {
	if !d.Compact() {
		return false
	}
	for i := range d.Len() {
		switch t := d.At(i); t.Kind {
		case document.String:
			if !t.Plain && !canonicalEscapes(d.Literal(t)) {
				return false
			}
		case document.Scalar:
			if text := d.Literal(t); text[0] <= '9' && !canonicalNumber(text) {
				return false
			}
		case document.Object:
			if !sorted(d, i) {
				return false
			}
		}
	}
	return true
}

// sorted reports an object whose names are plain ASCII and in order. Only among those is the order of bytes the order
// of UTF-16 units, which RFC 8785 asks for.
func sorted(d *document.Document, i int32) bool {
	var before []byte
	t := d.At(i)
	for at := i + 1; at < t.Next; at = d.At(at + 1).Next {
		name := d.Text(at)
		if !d.At(at).Plain || !ascii(name) || at > i+1 && bytes.Compare(before, name) >= 0 {
			return false
		}
		before = name
	}
	return true
}

func ascii(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// canonicalEscapes reports a string literal with no escapes but those that RFC 8785 writes.
func canonicalEscapes(literal []byte) bool {
	for {
		n := bytes.IndexByte(literal, '\\')
		if n < 0 {
			return true
		}
		switch literal[n+1] {
		case '"', '\\', 'b', 'f', 'n', 'r', 't':
			literal = literal[n+2:]
		default:
			return false
		}
	}
}

// canonicalNumber reports a number that is written as ECMAScript writes it. Exponents are left to the library.
func canonicalNumber(text []byte) bool {
	if !bytes.ContainsAny(text, ".eE") {
		return len(text) <= 16 && string(text) != "-0"
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f == 0 || f < 1e-6 && f > -1e-6 || f >= 1e21 || f <= -1e21 {
		return false
	}
	var buf [64]byte
	return bytes.Equal(strconv.AppendFloat(buf[:0], f, 'f', -1, 64), text)
}
