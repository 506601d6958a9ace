package process

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Output keeps the beginning and the end of a stream, and hands everything to a spill once it has to drop something. It
// takes what it is given without end in bounded memory. It is safe for one writer and any readers.
type Output struct {
	head, tail int
	spill      func() (io.Writer, error) // called once, when the stream outgrows what is kept; nil: nowhere

	mu    sync.Mutex // guards what follows
	first []byte     // at most head bytes
	last  []byte     // a ring of at most tail bytes
	at    int        // where the ring is written next
	total int64
	to    io.Writer
	err   error
}

// NewOutput keeps head bytes of the beginning and tail of the end, each at least 1. spill is asked for a writer when there is more,
// and gets the stream from its first byte on; its failure is [Output.Err] and ends nothing here.
func NewOutput(head, tail int, spill func() (io.Writer, error)) *Output {
	return &Output{head: max(1, head), tail: max(1, tail), spill: spill}
}

// Write never fails: a program must not be held up because nobody can keep what it says. See [Output.Err].
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.to == nil && o.err == nil && o.spill != nil && o.total+int64(len(p)) > int64(o.head+o.tail) {
		if o.to, o.err = o.spill(); o.err == nil {
			_, o.err = o.to.Write(o.kept())
		}
	}
	if o.to != nil && o.err == nil {
		_, o.err = o.to.Write(p)
	}
	o.total += int64(len(p))
	n := len(p)
	if room := o.head - len(o.first); room > 0 {
		take := min(room, len(p))
		o.first, p = append(o.first, p[:take]...), p[take:]
	}
	if over := len(p) - o.tail; over > 0 {
		p = p[over:]
	}
	for len(p) > 0 {
		if len(o.last) < o.tail {
			take := min(o.tail-len(o.last), len(p))
			o.last, p = append(o.last, p[:take]...), p[take:]
			continue
		}
		took := copy(o.last[o.at:], p)
		o.at, p = (o.at+took)%o.tail, p[took:]
	}
	return n, nil
}

// kept is all that is held, in order. It is the whole stream as long as nothing was dropped.
func (o *Output) kept() []byte {
	out := append(make([]byte, 0, len(o.first)+len(o.last)), o.first...)
	return append(append(out, o.last[o.at:]...), o.last[:o.at]...)
}

// Err is why the spill failed, or nil.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Total is how many bytes were written.
func (o *Output) Total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// Text is what is kept as valid UTF-8, with one line that says how much is missing between beginning and end.
func (o *Output) Text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	cut := o.total - int64(len(o.first)+len(o.last))
	if cut == 0 {
		return readable(o.kept())
	}
	end := append(append([]byte{}, o.last[o.at:]...), o.last[:o.at]...)
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", readable(wholeEnd(o.first)), cut, readable(wholeBegin(end)))
}

// Exact reports that [Output.Text] is what was written, byte for byte: nothing is left out and nothing was replaced.
func (o *Output) Exact() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.kept()
	return o.total == int64(len(all)) && readable(all) == string(all)
}

// readable replaces what is not UTF-8, and NUL, which no reader of text expects.
func readable(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}

// wholeEnd drops the bytes of a character that was cut at the end.
func wholeEnd(b []byte) []byte {
	for i := 1; i <= min(3, len(b)); i++ {
		switch c := b[len(b)-i]; {
		case c >= 0xC0: // begins a character of more bytes than are there
			if need := 2 + int(c>>5&1)*(1+int(c>>4&1)); i < need {
				return b[:len(b)-i]
			}
			return b
		case c < 0x80:
			return b
		}
	}
	return b
}

// wholeBegin drops the bytes of a character that was cut at the beginning.
func wholeBegin(b []byte) []byte {
	for i := 0; i < min(3, len(b)); i++ {
		if b[i]&0xC0 != 0x80 {
			return b[i:]
		}
	}
	return b
}
