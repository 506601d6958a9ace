package document

// maxKept is the most tokens of one text that a [Reader] keeps the memory of: 4 MiB, more than a text of a mebibyte takes
// but for one that was built to have many.
const maxKept = 4 << 20 / 16

// Reader reads texts into the memory of earlier ones. The tokens of a text take more memory than the text; made anew for each,
// they would be most of what a collector has to follow. The zero Reader is ready, and so is nil, which keeps nothing. It is
// for one goroutine at a time.
type Reader struct{ used, free [][]Token }

// ParseStrict is [ParseStrict]. The document is good until [Reader.Reset], and so is every [Document.Part] of it; its text and
// the bytes that it gave out are not the Reader's.
func (r *Reader) ParseStrict(raw []byte) (Document, error) {
	if r == nil {
		return ParseStrict(raw)
	}
	var tape []Token
	if n := len(r.free); n > 0 {
		tape, r.free = r.free[n-1], r.free[:n-1]
	}
	d, tape, err := parse(raw, tape, true)
	r.used = append(r.used, tape)
	return d, err
}

// Reset ends the use of all that was read so far.
func (r *Reader) Reset() {
	for _, tape := range r.used {
		if cap(tape) <= maxKept {
			r.free = append(r.free, tape)
		}
	}
	clear(r.used)
	r.used = r.used[:0]
}
