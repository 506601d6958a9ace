package sandbox_test

import (
	"syscall"
	"testing"
	"time"
)

// threadTime is the processor time of the calling thread (getrusage(2), RUSAGE_THREAD), which a busy machine does not
// lengthen. Lock the goroutine to its thread.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	const rusageThread = 1
	var u syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
