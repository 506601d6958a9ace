package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// ErrTooLong says that more was given than could be taken.
var ErrTooLong = errors.New("console: the input is too long")

// Hidden reads a value that must not be shown, of at most limit bytes. From a terminal it asks with the prompt and
// reads one line without echo; from anything else it reads to the end. Line ends after the value are kept: what they
// mean is the caller's. When ctx ends first the terminal echoes again and the error is its cause.
func (p Process) Hidden(ctx context.Context, prompt string, limit int) ([]byte, error) {
	read := func() ([]byte, error) { return io.ReadAll(io.LimitReader(p.In, int64(limit)+1)) }
	if f, ok := p.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fd := int(f.Fd())
		shown, err := term.GetState(fd)
		if err != nil {
			return nil, fmt.Errorf("console: look at the terminal: %w", err)
		}
		defer func() { _ = term.Restore(fd, shown) }() // also when the reading below goes on
		if _, err := fmt.Fprint(p.Err, prompt); err != nil {
			return nil, fmt.Errorf("console: ask: %w", err)
		}
		defer func() { _, _ = fmt.Fprintln(p.Err) }() // the line break that was not echoed
		read = func() ([]byte, error) { return term.ReadPassword(fd) }
	}
	type answer struct {
		value []byte
		err   error
	}
	got := make(chan answer, 1)
	go func() { // ends with its read; a terminal's may last as long as the process
		value, err := read()
		got <- answer{value, err}
	}()
	select {
	case a := <-got:
		switch {
		case a.err != nil:
			return nil, fmt.Errorf("console: read: %w", a.err)
		case len(a.value) > limit:
			return nil, ErrTooLong
		}
		return a.value, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
