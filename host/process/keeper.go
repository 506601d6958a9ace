package process

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Keeper is how to start a process that calls [Keep]. On Linux an engine without one starts nothing; elsewhere it is not
// used.
type Keeper struct {
	Path string   // absolute
	Args []string // all of its arguments
}

// keeperArg marks the command line of a keeper.
const keeperArg = "portcullis:keep"

// IsKeeper says that a command line, args[0] being the program's name, is that of a process which an engine started.
func IsKeeper(args []string) bool { return len(args) == 2 && args[1] == keeperArg }

// SelfKeeper starts the running program again. Its main, or TestMain, must begin with
//
//	if process.IsKeeper(os.Args) {
//		os.Exit(process.Keep())
//	}
//
// and do nothing before that.
func SelfKeeper() (Keeper, error) {
	if IsKeeper(os.Args) {
		return Keeper{}, errors.New("process: this process is a keeper that was started as one: main must ask process.IsKeeper first")
	}
	path := runningProgram
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return Keeper{}, fmt.Errorf("process: find this program to keep with: %w", err)
		}
	}
	return Keeper{Path: path, Args: []string{keeperArg}}, nil
}

// order is what a keeper is told first: its length in four bytes, then this.
type order struct {
	Program Seen          `json:"program"`
	ByPath  bool          `json:"by_path"` // a script: its interpreter has to find it again
	Argv    []string      `json:"argv"`
	Env     []string      `json:"env"`
	Also    []Seen        `json:"also"`
	CPU     int64         `json:"cpu"` // seconds
	Memory  int64         `json:"memory"`
	Files   int64         `json:"files"`
	Linger  time.Duration `json:"linger"`
	Grace   time.Duration `json:"grace"`
	Cleanup time.Duration `json:"cleanup"`
}

// maxOrder bounds an order: the arguments of one effect are at most 1 MiB.
const maxOrder = 16 << 20

// Words of the host to its keeper after the order, one byte each. The end of the pipe is sayKill.
const (
	sayStop = 'T' // SIGTERM, and SIGKILL after the grace
	sayKill = 'K'
)

// report is one line of a keeper: exactly one member is set.
type report struct {
	Failed  *failedReport  `json:"failed,omitempty"`
	Started *startedReport `json:"started,omitempty"`
	Exited  *exitedReport  `json:"exited,omitempty"`
	Done    *doneReport    `json:"done,omitempty"`
}

type failedReport struct {
	Stage string `json:"stage"`
	Path  string `json:"path"`
	Errno int    `json:"errno"`
	Text  string `json:"text"`
}

type startedReport struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in the system's ticks since boot
}

type exitedReport struct {
	Code   int           `json:"code"`
	Signal string        `json:"signal"`
	CPU    time.Duration `json:"cpu"`
	Peak   int64         `json:"peak"`
}

type doneReport struct {
	Left int `json:"left"` // 0: nothing lives any more
}
