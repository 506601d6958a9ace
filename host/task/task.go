package task

import (
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Kind is what a task does.
type Kind string

// The kinds.
const (
	Process Kind = "process"       // a program of the machine, asked for by a turn
	Fire    Kind = "schedule.fire" // a turn that a schedule asked for
)

// State is where a task stands.
type State string

// The states. The last four are final.
const (
	Queued    State = "queued"    // no worker has it; nothing has happened
	Running   State = "running"   // a worker has it
	Blocked   State = "blocked"   // it waits for a person's decision
	Succeeded State = "succeeded" // it did what was asked
	Failed    State = "failed"    // it did not, and says why
	Cancelled State = "cancelled" // it was asked to end, and nothing of it is left running
	Lost      State = "lost"      // its host is gone: what it did is not known
)

// Valid reports whether s is one of the seven.
func (s State) Valid() bool { return s == Queued || s.Held() || s.Ended() }

// Held reports whether a task in s has a claim.
func (s State) Held() bool { return s == Running || s == Blocked }

// Ended reports whether s is final.
func (s State) Ended() bool {
	return s == Succeeded || s == Failed || s == Cancelled || s == Lost
}

// Bounds of one task.
const (
	MaxSpec     = 64 << 10  // bytes of what a runner is told
	MaxTitle    = 200       // bytes
	MaxSummary  = 4 << 10   // bytes of what came of it
	MaxReason   = 64        // bytes of a stable code
	MaxChunk    = 8 << 10   // bytes of one append to a log
	MaxLogBytes = 256 << 10 // bytes of log that are kept, the newest
	MaxLogLines = 4000      // lines of log that are kept, the newest
	MaxOpen     = 16        // open tasks of one session
)

// Task is one task as the store has it.
type Task struct {
	ID       id.Task
	Kind     Kind
	State    State
	Instance string          // of which there is one task at the most: the effect that asked, or core/schedule@due
	Session  id.Session      // whose task it is; of a [Fire] empty until its turn has one
	Turn     id.Turn         // that asked for it, or that it ran
	Owner    principal.Facts // of the session, captured when it was queued; session fields empty
	Core     string
	Schedule string // of a Fire
	Due      time.Time
	Title    string // one line for people, redacted
	Spec     string // JSON for the runner of its kind
	Digest   string // of what was approved; empty where nothing had to be
	Scope    string // what it writes to, and all behind a slash of it; at most one open task for each; empty: nothing
	Claim    lease.Claim
	Unwanted bool   // somebody asked for its end
	Reason   string // stable code; empty when succeeded
	Summary  string // what came of it, redacted
	Notice   Notice
	Told     id.Turn // the turn that was told of its end
	LogBytes int64   // ever appended
	LogLines int64
	Created  time.Time
	Started  time.Time
	Ended    time.Time
}

// Notice is whether a session is to be told of a task's end.
type Notice string

// The notices.
const (
	NoNotice Notice = ""
	Waiting  Notice = "waiting" // the next turn of the session is told
	Told     Notice = "told"
)

// Reasons that this package and its stores give by themselves. Others come from runners.
const (
	ReasonCancelled    = "cancelled"      // it was asked to end
	ReasonHostClosed   = "host_closed"    // its host was shut down
	ReasonHostGone     = "host_restarted" // the host that held it is gone
	ReasonLeaseExpired = "lease_expired"  // its claim ran out
	ReasonOwnerChanged = "owner_changed"  // its session has not the owner any more that it was queued for
	ReasonRunnerFault  = "runner_fault"   // the runner broke down
)

// Reasons with which a runner says that the summary is the task's own word.
const (
	ReasonExitCode  = "exit_code"  // the program said no; the summary is what it printed
	ReasonTimedOut  = "timed_out"  // its time was over
	ReasonNeedsUser = "needs_user" // the run asked, and nobody was there
)

// Said is the summary as far as a model may read it: what the task itself made. What the host says of one that did not run
// is the operator's, with its paths and remedies: `portcullis tasks show` has it whole.
func (t Task) Said() string {
	switch {
	case t.State == Succeeded, t.Reason == ReasonExitCode, t.Reason == ReasonTimedOut, t.Reason == ReasonNeedsUser, t.Summary == "":
		return t.Summary
	}
	return "the operator can see why"
}
