//go:build !linux

package turn_test

import (
	"os"
	"testing"
	"time"
)

func flushData(f *os.File) error { return f.Sync() }

// processorTime is not known here.
func processorTime(*testing.B) time.Duration { return 0 }
