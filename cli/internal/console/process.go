package console

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// Process is all that a command touches of the process it runs in, so that a test can be the process.
type Process struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) string // value of a variable, empty when it is not set
	Dir      string              // working directory, absolute
	Program  string              // path of the running program; empty when it is not known
	Typed    string              // how the program is typed; empty is "portcullis"
	Signals  <-chan os.Signal    // interrupts; nil: there are none
	Kill     func()              // ends the process at once, on a second interrupt
}

// ExitInterrupted is the exit code of a process that a second interrupt ended: 128 and the number of SIGINT, as
// shells count.
const ExitInterrupted = 130

// ExitUnread is the exit code of a command whose reader left before its answer was out, as `head` does:
// 128 and the number of SIGPIPE, which a process that does not tidy up would have died of.
const ExitUnread = 141

// System is the real process. Call it once: it takes over SIGINT, SIGTERM and SIGPIPE.
func System() Process {
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // a folder that is gone: the first use of a path says so with its name
	}
	program, err := os.Executable()
	if err != nil {
		program = "" // only the look for a checkout around the program is lost
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// A reader that leaves is an error of the write and not the end of the process, which has temporary folders to take
	// away. The signal is taken and dropped rather than ignored: what is ignored would be ignored in every program we start.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return Process{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv, Dir: dir, Program: program, Typed: typedAs(os.Args[0], dir),
		Signals: signals,
		Kill:    func() { os.Exit(ExitInterrupted) },
	}
}

// screen is implemented by a writer or reader that stands for a terminal without being one.
type screen interface{ Columns() int }

// Interactive reports whether a person can be asked: questions go to Err and answers come from In, and both are a
// terminal.
func (p Process) Interactive() bool { return isTerminal(p.In) && isTerminal(p.Err) }

func isTerminal(stream any) bool {
	if _, ok := stream.(screen); ok {
		return true
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the number of columns of a terminal, 0 of anything else.
func width(w io.Writer) int {
	if s, ok := w.(screen); ok {
		return s.Columns()
	}
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}
