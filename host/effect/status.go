package effect

// Status is how one effect ended. The eight are the contract's own words.
type Status string

// The eight statuses.
const (
	Succeeded     Status = "succeeded"     // ran, and the result is valid
	Denied        Status = "denied"        // scope, capability, policy or approval said no; nothing ran
	Invalid       Status = "invalid"       // the request does not fit its schema or its catalog; nothing ran
	NotFound      Status = "not_found"     // no such tool for this principal; nothing ran
	Failed        Status = "failed"        // ran, or could not be run, and there is no result
	TimedOut      Status = "timed_out"     // the host's deadline passed
	Cancelled     Status = "cancelled"     // cancelled, and cleanup is confirmed
	Indeterminate Status = "indeterminate" // it may have happened; never replayed
)

// Valid reports whether s is one of the eight.
func (s Status) Valid() bool {
	switch s {
	case Succeeded, Denied, Invalid, NotFound, Failed, TimedOut, Cancelled, Indeterminate:
		return true
	}
	return false
}
