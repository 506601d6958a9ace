package sandbox

import (
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Status is how one guest call ended. It is decided from the host's context,
// clock and counters; an exit code or an error text is never asked.
type Status string

// The statuses. Only OK comes with an output.
const (
	OK             Status = "ok"               // rc 0, output set, within bounds
	GuestError     Status = "guest_error"      // rc other than 0; Text is the guest's own message
	Trap           Status = "trap"             // the guest broke a rule of wasm or of the contract
	Exited         Status = "exited"           // proc_exit, with any code: a reactor has no reason to
	TimedOut       Status = "timed_out"        // the deadline passed before the guest came back
	Cancelled      Status = "cancelled"        // the caller's context ended for another reason
	NoOutput       Status = "no_output"        // rc 0 and nothing set
	BadOutputRange Status = "bad_output_range" // output_set named bytes that are not in one block
	OutputTooLarge Status = "output_too_large"
	OutOfMemory    Status = "out_of_memory" // failed after a growth was refused
	LimitPassed    Status = "limit_passed"  // fuel, stack or a host call budget was used up
	Refused        Status = "refused"       // nothing ran; Reason says why
	HostFailure    Status = "host_failure"  // this package could not do its job
)

// Outcome is what became of one call. It is a value: a guest that misbehaves is
// no error of the host.
type Outcome struct {
	Status Status
	// Output is the guest's answer when Status is OK, else nil. It belongs to
	// the caller.
	Output []byte
	// Reason is a short stable word beside the status, such as "load_range" for
	// a trap, or empty.
	Reason string
	// Text is what the guest said of its failure (error_set, or the last of its
	// stderr), bounded and escaped. It is hostile text: for the operator only.
	Text string
	// Err is set for HostFailure, and holds the engine's words for a Trap. It
	// may hold host internals: for the log only.
	Err error
	// Entered says that the entry point was called, so effects may have
	// happened: before it, a guest has no authority.
	Entered bool
	// Abandoned says that a host function ignored its context past the grace:
	// its goroutine is still there, and Engine.Close waits for it.
	Abandoned bool
	// Unanswered says that a request which may have changed something went out,
	// and that the guest was not given its answer.
	Unanswered bool
	// Changed says that a request which may have changed something was answered.
	Changed bool
	Stats   Stats
	// Logs are the guest's log lines, bounded and escaped, in order.
	Logs []wire.LogRecord
}

// Stats counts what one call used.
type Stats struct {
	Duration    time.Duration
	MemoryPeak  int64 // bytes: linear memory and blocks together
	Fuel        int64 // units of package wasmbin's cost model, about one for an instruction
	HostCalls   int64 // portcullis_* calls, load and store excepted
	HTTPCalls   int64
	HTTPBytes   int64 // of response bodies
	FileBytes   int64 // read and written
	LogLines    int64 // kept
	LogDropped  int64 // log lines and progress past the limits
	RandomBytes int64
}

// Map gives the counters by name, for records that keep them. What was not used is left out.
func (s Stats) Map() map[string]int64 {
	used := make(map[string]int64, 4)
	for _, c := range [...]struct {
		name  string
		count int64
	}{
		{"memory_bytes", s.MemoryPeak},
		{"fuel", s.Fuel},
		{"host_calls", s.HostCalls},
		{"http_calls", s.HTTPCalls},
		{"http_bytes", s.HTTPBytes},
		{"file_bytes", s.FileBytes},
		{"log_lines", s.LogLines},
		{"log_dropped", s.LogDropped},
		{"random_bytes", s.RandomBytes},
	} {
		if c.count != 0 {
			used[c.name] = c.count
		}
	}
	return used
}
