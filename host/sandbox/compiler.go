package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// Compiler is how to start a process that calls [CompileChild]. The zero value
// is no compiler: modules are then compiled in the host's own process, where one
// that is made to take long cannot be stopped before its present function ends.
type Compiler struct {
	Path string   // absolute
	Args []string // before the one argument that this package adds; most have none
	Env  []string // the environment, beside what this package sets; nil is right but for systems that need more
}

// SelfCompiler starts the running program again. Its main, or TestMain, must
// begin with
//
//	if sandbox.IsCompileChild(os.Args) {
//		os.Exit(sandbox.CompileChild(os.Args, os.Stdin, os.Stderr))
//	}
//
// and do nothing before that. The error says that the system does not know the
// program's file, or that main forgot this and the child is about to have
// children.
func SelfCompiler() (Compiler, error) {
	if os.Getenv(childVariable) != "" {
		return Compiler{}, errors.New("sandbox: this process is a compiler that was started as one: main must ask sandbox.IsCompileChild first")
	}
	path := runningProgram
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return Compiler{}, fmt.Errorf("sandbox: find this program to compile with: %w", err)
		}
	}
	return Compiler{Path: path, Args: []string{childArg}}, nil
}

// order is what the child is told. Its input is the metered module.
type order struct {
	Folder      string `json:"folder"`       // where the code goes
	MaxMemory   int64  `json:"max_memory"`   // of the runtime's configuration
	ModuleBytes int64  `json:"module_bytes"` // at most on standard input
	Memory      int64  `json:"memory"`       // bytes the child may take
	CPUSeconds  int64  `json:"cpu_seconds"`  // of all its threads
}

const (
	// childVariable is set in a child, so that it cannot start one.
	childVariable = "PORTCULLIS_COMPILING"
	// goCrash is the exit code of a Go program that panics or runs out of memory.
	goCrash = 2
	// childProcs is GOMAXPROCS of the child: its two workers.
	childProcs = compileWorkers
	// afterKill is how long the ends of a killed child's pipes are waited for.
	afterKill = 5 * time.Second
)

func (e *Engine) order(folder string, wasm []byte) order {
	return order{
		Folder: folder, MaxMemory: e.cfg.MaxMemoryBytes, ModuleBytes: int64(len(wasm)), Memory: e.cfg.CompileMemory,
		CPUSeconds: int64(e.cfg.CompileTimeout/time.Second+1) * childProcs,
	}
}

// run compiles one module in a child and waits for its end. The child has no
// environment, its own process group, the folder as its working directory, and
// the module as its standard input; it is killed when ctx ends, and by the system
// when this process dies. The error is a [*compileError] when it is the module's
// fault, and the cause of ctx when that ended otherwise than by [errCompileTime].
func (c Compiler) run(ctx context.Context, o order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("sandbox: order a compilation: %w", err)
	}
	module, err := os.Open(filepath.Join(o.Folder, meteredName))
	if err != nil {
		return &diskError{err}
	}
	defer module.Close()
	words := &tail{}
	cmd := exec.CommandContext(ctx, c.Path, append(append([]string{}, c.Args...), string(text))...)
	cmd.Env = append(append([]string{}, c.Env...), fmt.Sprintf("GOMAXPROCS=%d", childProcs), childVariable+"=1")
	cmd.Dir, cmd.Stdin, cmd.Stderr, cmd.WaitDelay = o.Folder, module, words, afterKill
	isolate(cmd)

	// The death signal is tied to the thread that starts the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	return c.verdict(ctx, cmd.ProcessState, o, err, string(words.text()))
}

// spent says that this is the processor time of an order.
func spent(used time.Duration, o order) bool { return used >= time.Duration(o.CPUSeconds)*time.Second }

// verdict reads how a child ended from its status and what it used; its words
// are for the log.
func (c Compiler) verdict(ctx context.Context, end *os.ProcessState, o order, err error, words string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return blame(ctx, err)
	}
	if end == nil {
		return fmt.Errorf("sandbox: start the compiler %s: %w", c.Path, err)
	}
	failed := fmt.Errorf("sandbox: the compiler ended with %w: %s", err, words)
	switch used := end.UserTime() + end.SystemTime(); {
	case end.ExitCode() == childRefused:
		return &compileError{CodeUncompiled, failed}
	case end.ExitCode() == childMemory:
		return &compileError{CodeCompileMemory, failed}
	case end.ExitCode() == childFailed:
		return &diskError{failed}
	case spent(used, o) || killed(end) && residentPeak(end) <= o.Memory/2 && spent(2*used, o):
		// The system counts ticks while a process runs, which can be ahead of what it says of it in the end.
		return &compileError{CodeCompileTimeout, failed}
	case killed(end) || residentPeak(end) > o.Memory/2:
		return &compileError{CodeCompileMemory, failed} // the system's limit, or its last resort
	}
	if end.ExitCode() == goCrash {
		return &compileError{CodeUncompiled, failed} // it broke off inside the engine
	}
	return failed
}
