package effect

import (
	"bytes"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// admissible reports a document that is admitted as it stands: one object, inside the depth bound, each number exact,
// and the text what RFC 8785 would make of it. False says only that this quick look cannot tell: names or numbers that
// are out of the ordinary are left to the library.
func admissible(d *document.Document) bool {
	if d.At(d.Root()).Kind != document.Object || d.Depth() > MaxArgumentDepth || !d.Compact() {
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
		if !d.At(at).ASCII {
			return false
		}
		name := d.Text(at)
		if at > i+1 && bytes.Compare(before, name) >= 0 {
			return false
		}
		before = name
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

// canonicalNumber reports an exact number that is written as ECMAScript writes it: what has at most fifteen digits, no
// exponent and no zero at its end is read and written without loss. The rest is left to the library.
func canonicalNumber(text []byte) bool {
	point := bytes.IndexByte(text, '.')
	switch {
	case len(text) > 15 || bytes.ContainsAny(text, "eE"):
		return false
	case point < 0:
		return string(text) != "-0"
	}
	small := bytes.HasPrefix(text[point:], []byte(".000000")) // ECMAScript has an exponent below 0.000001
	return text[len(text)-1] != '0' && !small
}
