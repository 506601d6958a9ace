package document

import (
	"bytes"
	"slices"
)

// Canonicalize is the text of the document's value as RFC 8785 writes it, in memory of its own: without white space between
// tokens, and with the names of each object in order. It is nil where that takes more, for names that are not visible ASCII,
// for strings and for numbers that RFC 8785 spells in another way: those are for a library. The document must have been read
// strictly, as names that come twice have no order.
func (d *Document) Canonicalize() []byte {
	if len(d.tape) == 0 || d.foreign {
		return nil
	}
	own := *d // which may go to the heap, where the caller's need not
	w := canonical{d: &own, out: make([]byte, 0, len(d.Bytes()))}
	w.value(d.root)
	return w.out
}

// canonical writes one document.
type canonical struct {
	d     *Document
	out   []byte
	names []int32 // of the object that is written and of those around it, which come first
}

func (w *canonical) value(i int32) {
	switch t := w.d.At(i); t.Kind {
	case Object:
		w.object(i, t.Next)
	case Array:
		w.out = append(w.out, '[')
		for at := i + 1; at < t.Next; at = w.d.At(at).Next {
			w.comma(at > i+1)
			w.value(at)
		}
		w.out = append(w.out, ']')
	default:
		w.out = append(w.out, w.d.Literal(t)...)
	}
}

func (w *canonical) object(i, end int32) {
	from := len(w.names)
	for at := i + 1; at < end; at = w.d.At(at + 1).Next {
		w.names = append(w.names, at)
	}
	n := len(w.names) - from
	slices.SortFunc(w.names[from:], func(a, b int32) int { return bytes.Compare(w.d.Text(a), w.d.Text(b)) })
	w.out = append(w.out, '{')
	for k := range n {
		name := w.names[from+k] // the list moves when an object inside adds to it
		w.comma(k > 0)
		w.out = append(append(w.out, w.d.Literal(w.d.At(name))...), ':')
		w.value(name + 1)
	}
	w.out = append(w.out, '}')
	w.names = w.names[:from]
}

func (w *canonical) comma(due bool) {
	if due {
		w.out = append(w.out, ',')
	}
}
