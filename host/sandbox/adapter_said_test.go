package sandbox

import "testing"

// A stack is for debugging; the operator's sentence has the reason, however many lines it takes.
func TestTheWordsOfABrokenOffGuestEndBeforeItsStack(t *testing.T) {
	for _, c := range []struct {
		out          Outcome
		words, stack string
	}{
		{Outcome{Status: Trap, Text: `panic: it broke\n\ngoroutine 1 [running]:`}, "panic: it broke", `\ngoroutine 1 [running]:`},
		{Outcome{Status: Trap, Text: `panic: line one\n\tline two\n\ngoroutine 1 [running]:`}, `panic: line one\n\tline two`, `\ngoroutine 1 [running]:`},
		{Outcome{Status: Trap, Text: `thread '<unnamed>' panicked at src/lib.rs:3:5:\nit broke`}, `thread '<unnamed>' panicked at src/lib.rs:3:5:\nit broke`, ""},
		{Outcome{Status: Exited, Text: "fatal error: all goroutines are asleep"}, "fatal error: all goroutines are asleep", ""},
		{Outcome{Status: GuestError, Text: `cannot be registered:\n  a\n  b`}, `cannot be registered:\n  a\n  b`, ""},
		{Outcome{Status: OutOfMemory}, "", ""},
	} {
		if words, stack := said(c.out); words != c.words || stack != c.stack {
			t.Errorf("%s %q: %q and %q", c.out.Status, c.out.Text, words, stack)
		}
	}
}
