//go:build !linux

package sandbox_test

import (
	"testing"
	"time"
)

// threadTime is the time of day where a thread's own cannot be asked for.
func threadTime(*testing.T) time.Duration { return time.Duration(time.Now().UnixNano()) }
