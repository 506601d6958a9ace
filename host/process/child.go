package process

import (
	"io"
	"os"
	"sync"
)

// Child is one program that was started.
type Child struct {
	pid                   int
	stdin, stdout, stderr *os.File
	say                   func(byte)    // to whoever ends it
	gone                  chan struct{} // closed when ended is set
	done                  chan struct{} // closed after gone, when its slot is free
	once                  sync.Once     // of the output ends being closed
	ended                 Ended
}

// PID is the program's number, for a log. It belongs to the program until Done is closed and to anybody afterwards.
func (c *Child) PID() int { return c.pid }

// Stdin is the program's standard input. Close it to end it.
func (c *Child) Stdin() io.WriteCloser { return c.stdin }

// Stdout is the program's standard output, which ends when nothing holds it any more. A program whose output is not read
// waits.
func (c *Child) Stdout() io.Reader { return c.stdout }

// Stderr is the program's standard error; as Stdout.
func (c *Child) Stderr() io.Reader { return c.stderr }

// Stop asks the program and everything it started to end, and kills what has not after the grace. It does not wait: see
// Done. It may be called again.
func (c *Child) Stop() { c.say(sayStop) }

// Kill ends all of it at once. It does not wait.
func (c *Child) Kill() { c.say(sayKill) }

// Done is closed when the program and everything it started are gone, or when it is known that this cannot be confirmed.
func (c *Child) Done() <-chan struct{} { return c.done }

// Ended is how it ended. It is the zero value before Done is closed.
func (c *Child) Ended() Ended {
	select {
	case <-c.gone:
		return c.ended
	default:
		return Ended{}
	}
}

// Release closes the host's ends of the streams. Readers that still wait come back with an error. Call it when Done is
// closed and everything wanted was read; it may be called again.
func (c *Child) Release() {
	c.once.Do(func() {
		_, _, _ = c.stdin.Close(), c.stdout.Close(), c.stderr.Close() // nobody is at the other end
	})
}
