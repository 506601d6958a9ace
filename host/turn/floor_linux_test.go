package turn_test

import (
	"os"
	"syscall"
)

// flushData puts a file's data on disk by the call that the store's commits use here.
func flushData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
