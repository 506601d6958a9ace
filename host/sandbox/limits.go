package sandbox

import (
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Limits are what one call may use. Each is enforced by this package, whatever
// the guest does; see [LimitsOf] for the defaults.
type Limits struct {
	Memory    int64         // bytes: linear memory and blocks together
	Deadline  time.Duration // from the start of the call, queueing included
	Input     int64         // bytes
	Output    int64         // bytes
	Fuel      int64         // units of package wasmbin's cost model; 0 leaves it to Deadline
	HostCalls int64         // portcullis_* calls
	HTTPCalls int64
	HTTPBytes int64 // response bodies together
	FileBytes int64 // read and written together
	LogLines  int64 // log and emit together
}

// Limits that no manifest sets.
const (
	maxErrorText   = 4 << 10 // bytes of error_set that are kept
	maxStderr      = 16 << 10
	maxLogTotal    = 256 << 10              // bytes of all log lines of one call
	maxRandomTotal = 1 << 20                // random bytes of one call, by portcullis_random and by WASI
	maxKVBytes     = 16 << 20               // values of portcullis_kv_*, read and written in one call
	maxSigned      = 16 << 20               // bytes signed for one call
	hostMargin     = 100 * time.Millisecond // or a tenth of what is left, if less: a port's deadline before the call's
	progressEvery  = 100 * time.Millisecond
	pageSize       = 64 << 10
)

// LimitsOf fills in the host's defaults and cuts what a manifest asks for to
// the hard bounds of package wire.
func LimitsOf(asked wire.Limits) Limits {
	pick := func(asked, normal, hard int64) int64 {
		if asked <= 0 {
			return normal
		}
		return min(asked, hard)
	}
	return Limits{
		Memory:    pick(asked.MemoryBytes, 128<<20, wire.HardMemoryBytes),
		Deadline:  time.Duration(pick(asked.DeadlineMS, 30_000, wire.HardDeadlineMS)) * time.Millisecond,
		Input:     pick(asked.InputBytes, wire.HardInputBytes, wire.HardInputBytes),
		Output:    pick(asked.OutputBytes, 1<<20, wire.HardOutputBytes),
		HostCalls: pick(asked.HostCalls, 10_000, wire.HardHostCalls),
		HTTPCalls: pick(asked.HTTPCalls, 32, wire.HardHTTPCalls),
		HTTPBytes: pick(asked.HTTPBytes, 16<<20, wire.HardHTTPBytes),
		FileBytes: pick(asked.FileBytes, 32<<20, wire.HardFileBytes),
		LogLines:  pick(asked.LogLines, 200, wire.HardLogLines),
	}
}
