package redact

import (
	"errors"

	"github.com/b3abf3ee/portcullis/policy/document"
)

var errNotJSON = errors.New("redact: the result is not JSON")

// findings is a JSON result with what must not be shown of it, by token. Most results have nothing to hide, so both
// maps are made when the first is found.
type findings struct {
	document.Document
	whole map[int32]int    // the mark that stands for all of a value
	spans map[int32][]span // the parts of a string or name that masks stand for
}

func (d *findings) hide(i int32, mark int) {
	if d.whole == nil {
		d.whole = map[int32]int{}
	}
	d.whole[i] = mark
}

func (d *findings) setSpans(i int32, spans []span) {
	if len(spans) == 0 {
		return
	}
	if d.spans == nil {
		d.spans = map[int32][]span{}
	}
	d.spans[i] = spans
}

// hidden reports the mark that stands for all of the value at i.
func (d *findings) hidden(i int32) (mark int, ok bool) {
	if len(d.whole) == 0 {
		return 0, false
	}
	mark, ok = d.whole[i]
	return mark, ok
}

// masked are the parts of the string at i that masks stand for.
func (d *findings) masked(i int32) []span {
	if len(d.spans) == 0 {
		return nil
	}
	return d.spans[i]
}
