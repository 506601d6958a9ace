package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// MaxLine bounds one line of input in bytes.
const MaxLine = 1 << 20

// ErrLineTooLong reports a line of more than [MaxLine] bytes. The line was read to its end and dropped.
var ErrLineTooLong = errors.New("the line is longer than 1 MiB")

// Lines reads a person's lines, one for each call of [Lines.Next], and lets go of a wait when its context ends. One
// goroutine does the reading; it reads only while a line is wanted. Lines is for one caller at a time.
type Lines struct {
	in      io.Reader
	buf     *bufio.Reader // the reader goroutine's between a want and its answer, else the caller's
	want    chan struct{}
	got     chan answer
	pending bool // a want has no answer yet
	closed  bool
}

type answer struct {
	line string
	err  error
}

// NewLines returns a reader of in. Close ends its goroutine.
func NewLines(in io.Reader) *Lines {
	l := &Lines{in: in, buf: bufio.NewReader(in), want: make(chan struct{}), got: make(chan answer, 1)}
	go func() {
		for range l.want {
			line, err := readLine(l.buf)
			l.got <- answer{line, err}
		}
	}()
	return l
}

// Next returns the next line without its line break. The error is io.EOF at the end of the input,
// [ErrLineTooLong], the context's, or the input's own. A line that arrives after a cancelled wait is the next
// call's.
func (l *Lines) Next(ctx context.Context) (string, error) {
	if l.closed {
		return "", io.EOF
	}
	if !l.pending {
		l.want <- struct{}{}
		l.pending = true
	}
	select {
	case a := <-l.got:
		l.pending = false
		return a.line, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Drain throws away what was typed before now and not yet read, so that it cannot answer a question that its writer
// had not seen. It does not wait for anything.
func (l *Lines) Drain() {
	select {
	case <-l.got:
		l.pending = false
	default:
	}
	if !l.pending {
		// The goroutine is idle, so the buffer is ours.
		if _, err := l.buf.Discard(l.buf.Buffered()); err != nil {
			return // the input is at its end: there is nothing to throw away
		}
	}
	switch in := l.in.(type) {
	case interface{ Flush() }:
		in.Flush()
	case *os.File:
		flush(in)
	}
}

// Close lets the goroutine end. A read that is under way is interrupted where the system can do that.
func (l *Lines) Close() {
	if l.closed {
		return
	}
	l.closed = true
	close(l.want)
	if f, ok := l.in.(*os.File); ok && l.pending {
		_ = f.SetReadDeadline(time.Unix(1, 0)) // not every file has deadlines: then the read ends with the process
	}
}

func readLine(r *bufio.Reader) (string, error) {
	var b strings.Builder
	for long := false; ; {
		piece, err := r.ReadSlice('\n')
		if b.Len()+len(piece) > MaxLine+2 {
			long = true
		}
		if !long {
			b.Write(piece)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return "", fmt.Errorf("console: read a line: %w", err)
		case long:
			return "", ErrLineTooLong
		case err != nil && b.Len() == 0:
			return "", io.EOF
		}
		return strings.TrimSuffix(strings.TrimSuffix(b.String(), "\n"), "\r"), nil
	}
}
