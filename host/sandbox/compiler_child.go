package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// childArg marks the command line of a compiler child.
const childArg = "portcullis:compile"

// Exit codes of a child. Go's own are 1 and 2.
const (
	childRefused = 10 // the engine does not accept the module
	childMemory  = 11 // it needs more memory than it may have
	childFailed  = 12 // the order or the disk is at fault
)

// IsCompileChild says that a command line, args[0] being the program's name, is
// that of a process which [SelfCompiler] started.
func IsCompileChild(args []string) bool { return len(args) == 3 && args[1] == childArg }

// CompileChild is the whole life of a compiler child: it limits itself, reads a
// verified and metered module from stdin, and leaves machine code in the folder
// it was told. It returns the exit code of the process, after which nothing else
// may run in it. What it writes to stderr is for a log.
func CompileChild(args []string, stdin io.Reader, stderr io.Writer) int {
	fail := func(code int, what string, err error) int {
		fmt.Fprintf(stderr, "%s: %v\n", what, err)
		return code
	}
	var o order
	dec := json.NewDecoder(bytes.NewReader([]byte(args[2])))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil || !filepath.IsAbs(o.Folder) || o.Memory <= 0 || o.MaxMemory < pageSize {
		return fail(childFailed, "read the order", fmt.Errorf("%q: %w", args[2], err))
	}
	if err := limitChild(o); err != nil {
		return fail(childFailed, "limit this process", err)
	}
	debug.SetMemoryLimit(o.Memory / 8 * 7) // collect rather than fail, near the end
	debug.SetMaxStack(childStack)
	go exitAbove(o.Memory)
	wasm, err := io.ReadAll(io.LimitReader(stdin, o.ModuleBytes+1))
	if err != nil || int64(len(wasm)) != o.ModuleBytes {
		return fail(childFailed, "read the module", fmt.Errorf("%d of %d bytes: %w", len(wasm), o.ModuleBytes, err))
	}
	if err := fillCodeFolder(context.Background(), o.Folder, o.MaxMemory, wasm); err != nil {
		return fail(childRefused, "compile", err)
	}
	return 0
}

// childStack bounds one goroutine's stack: nesting is bounded by the verifier,
// and the engine's recursion over it must not find a gigabyte.
const childStack = 128 << 20

// exitAbove ends the process when the runtime holds more memory than it may,
// with a code of its own: what the system's limit does looks like any crash.
func exitAbove(limit int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(5 * time.Millisecond) {
		metrics.Read(sample)
		if held := sample[0].Value.Uint64() - sample[1].Value.Uint64(); held > uint64(limit) {
			os.Exit(childMemory)
		}
	}
}
