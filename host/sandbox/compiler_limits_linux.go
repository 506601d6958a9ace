package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const (
	// childFileBytes bounds what a child writes: more than the code of the largest
	// module that compiles in its memory.
	childFileBytes = 1 << 30
	// childFiles is room for what Go and one cache file need.
	childFiles = 64
	// childSlack is address space beside the memory it may hold: stacks, arenas
	// that are reserved in large steps, and code.
	childSlack = 512 << 20
)

// limitChild lets go of what this process inherited beside its standard streams,
// and sets the system's bounds of it, each for good.
func limitChild(o order) error {
	if err := closeInherited(); err != nil {
		return err
	}
	mapped, err := addressSpace()
	if err != nil {
		return err
	}
	set := func(what string, resource int, n uint64) error {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	return errors.Join(
		set("address space", syscall.RLIMIT_AS, mapped+uint64(o.Memory)+childSlack),
		set("processor time", syscall.RLIMIT_CPU, uint64(o.CPUSeconds)),
		set("core file", syscall.RLIMIT_CORE, 0),
		set("file size", syscall.RLIMIT_FSIZE, childFileBytes),
		set("open files", syscall.RLIMIT_NOFILE, childFiles),
	)
}

// addressSpace is what the process has mapped or reserved already, in bytes: Go
// reserves far more than it uses.
func addressSpace() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	pages, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseUint(pages, 10, 64)
	return n * uint64(os.Getpagesize()), err
}

// closeInherited closes the files that the host, or who started it, left open
// over the start of a program. It is called before this process opens one; what
// the runtime has open already stays.
func closeInherited() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, f := range open {
		n, err := strconv.Atoi(f.Name())
		if err != nil || n <= 2 {
			continue
		}
		to, err := os.Readlink("/proc/self/fd/" + f.Name())
		if err != nil || strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/sys/fs/cgroup/") {
			continue
		}
		if err := syscall.Close(n); err != nil {
			return err
		}
	}
	return nil
}
