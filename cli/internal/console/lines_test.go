package console

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// keyboard is a terminal's input: what was typed and not read can be forgotten.
type keyboard struct {
	mu    sync.Mutex // guards typed
	typed []byte
	more  chan struct{}
}

func newKeyboard() *keyboard     { return &keyboard{more: make(chan struct{}, 64)} }
func (k *keyboard) Columns() int { return 80 }
func (k *keyboard) Close()       { close(k.more) }
func (k *keyboard) Flush()       { k.mu.Lock(); k.typed = nil; k.mu.Unlock() }
func (k *keyboard) Type(s string) {
	k.mu.Lock()
	k.typed = append(k.typed, s...)
	k.mu.Unlock()
	k.more <- struct{}{}
}

func (k *keyboard) take(p []byte) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := copy(p, k.typed)
	k.typed = k.typed[n:]
	return n
}

func (k *keyboard) Read(p []byte) (int, error) {
	for {
		if n := k.take(p); n > 0 {
			return n, nil
		}
		if _, ok := <-k.more; !ok {
			return 0, io.EOF
		}
	}
}

func TestLinesComeOneByOneAndEndWithTheInput(t *testing.T) {
	l := NewLines(strings.NewReader("one\r\n\nthree"))
	defer l.Close()
	for _, want := range []string{"one", "", "three"} {
		if got, err := l.Next(t.Context()); err != nil || got != want {
			t.Fatalf("Next = %q, %v; want %q", got, err, want)
		}
	}
	if _, err := l.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatalf("after the last line: %v", err)
	}
}

func TestALineOverTheBoundIsDroppedWholeAndTheNextOneRead(t *testing.T) {
	l := NewLines(io.MultiReader(strings.NewReader(strings.Repeat("x", MaxLine)+"\n"), strings.NewReader(strings.Repeat("x", MaxLine+3)+"\nok\n")))
	defer l.Close()
	if got, err := l.Next(t.Context()); err != nil || len(got) != MaxLine {
		t.Fatalf("a line of the bound: %d bytes, %v", len(got), err)
	}
	if _, err := l.Next(t.Context()); !errors.Is(err, ErrLineTooLong) {
		t.Fatalf("a line over the bound: %v", err)
	}
	if got, err := l.Next(t.Context()); err != nil || got != "ok" {
		t.Fatalf("the line after it: %q, %v", got, err)
	}
}

func TestACancelledWaitLosesNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyboard()
		l := NewLines(k)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ErrInterrupted)
		if _, err := l.Next(ctx); !errors.Is(err, ErrInterrupted) {
			t.Fatalf("cancelled wait: %v", err)
		}
		k.Type("later\n")
		if got, err := l.Next(t.Context()); err != nil || got != "later" {
			t.Fatalf("Next = %q, %v", got, err)
		}
		l.Close()
		k.Close()
	})
}

func TestDrainForgetsWhatWasTypedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyboard()
		l := NewLines(k)
		expect := func(want string) {
			t.Helper()
			if got, err := l.Next(t.Context()); err != nil || got != want {
				t.Fatalf("Next = %q, %v; want %q", got, err, want)
			}
		}

		k.Type("first\nbuffered\n") // both lines come in one read: the second stays in our buffer
		expect("first")
		k.Type("unread\n") // and this one stays in the terminal's
		l.Drain()
		k.Type("answer\n")
		expect("answer")

		// A wait that was given up has a read under way; what it catches before the question is not an answer.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled wait: %v", err)
		}
		k.Type("caught\n")
		synctest.Wait()
		l.Drain()
		k.Type("second answer\n")
		expect("second answer")

		l.Close()
		k.Close()
	})
}

func TestTheEndOfTheInputSurvivesADrain(t *testing.T) {
	l := NewLines(strings.NewReader(""))
	defer l.Close()
	l.Drain()
	if _, err := l.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatalf("Next = %v", err)
	}
}
