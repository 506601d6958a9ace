package process

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Command is one program to run. Nothing of it is looked up or expanded.
type Command struct {
	Program *Pinned  // open; stays the caller's to close, after the start
	Argv    []string // with the program's own name for itself first; no NUL in any word
	Env     []string // NAME=value, the whole of it
	Dir     *os.File // the open folder to run in; stays the caller's
	Also    []Seen   // files that must still be what they were at the moment of the start
	Limits  Limits
}

// Limits bound one program. Zero amounts are no limit of that kind, zero times the defaults.
type Limits struct {
	CPU     time.Duration // processor time of each process, whole seconds; Linux
	Memory  int64         // bytes of address space of each process; Linux
	Files   int64         // descriptors of each process; Linux
	Linger  time.Duration // what is left behind has to end by itself
	Grace   time.Duration // from SIGTERM to SIGKILL
	Cleanup time.Duration // from SIGKILL until the rest counts as not confirmed
}

// Default times of [Limits].
const (
	DefaultLinger  = 100 * time.Millisecond
	DefaultGrace   = 2 * time.Second
	DefaultCleanup = 5 * time.Second
)

func (l Limits) filled() Limits {
	set := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	set(&l.Linger, DefaultLinger)
	set(&l.Grace, DefaultGrace)
	set(&l.Cleanup, DefaultCleanup)
	return l
}

// Ended is how a program that started came to its end.
type Ended struct {
	Exited    bool   // false: it is not known how it ended
	Code      int    // exit code; 0 when a signal ended it
	Signal    string // "SIGKILL" and the like; empty when it exited by itself
	Clean     bool   // it and everything it started are gone, for certain
	Left      int    // descendants that were seen last, when not Clean
	Stopped   bool   // [Engine.Run] stopped it, and it did not end by itself before
	CPU       time.Duration
	PeakBytes int64 // of resident memory
	Took      time.Duration
}

// Stages of a start that can fail.
const (
	StageChanged = "changed" // a pinned file is not what it was
	StageExec    = "exec"    // the system would not run it
	StageHost    = "host"    // the host could not do its part
	StageLost    = "lost"    // the keeper said nothing: whether it started is not known
)

// StartError reports a program that did not start. Nothing of it ran, but where the stage is [StageLost].
type StartError struct {
	Stage string
	Path  string // of the file at fault, or empty
	Err   error
}

// Error says what could not be done with which file.
func (e *StartError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("process: start (%s): %v", e.Stage, e.Err)
	}
	return fmt.Sprintf("process: start %s (%s): %v", e.Path, e.Stage, e.Err)
}

// Unwrap is the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Errors of an [Engine].
var (
	ErrClosed      = errors.New("process: the engine is closed")
	ErrNoKeeper    = errors.New("process: no keeper was configured to start programs with")
	ErrUnsupported = errors.New("process: programs are not run on this system")
	errChanged     = errors.New("it has changed since it was looked at")
)
