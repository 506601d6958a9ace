//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// killed says that a signal ended the process.
func killed(end *os.ProcessState) bool {
	status, ok := end.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
