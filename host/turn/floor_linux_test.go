package turn_test

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// flushData puts a file's data on disk by the call that the store's commits use here.
func flushData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// processorTime is what this process has used, user and system.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
