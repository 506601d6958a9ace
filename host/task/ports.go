package task

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Fenced is how a store took a write under a claim.
type Fenced string

// How a store took a fenced write.
const (
	Written Fenced = "written"
	Stale   Fenced = "stale" // another claim, one that is over, or a task that has ended; nothing changed
)

// Queueing is how a store took a new task. Only Accepted wrote one.
type Queueing string

// How a store took a new task.
const (
	Accepted  Queueing = "accepted"
	Duplicate Queueing = "duplicate"  // the instance has its task already
	ScopeBusy Queueing = "scope_busy" // an open task writes to the same scope, to one in it or to one that it is in
	TooMany   Queueing = "too_many"   // the session has [MaxOpen] open tasks
	NoOwner   Queueing = "no_owner"   // the turn does not run, or its session was ended or has no certain owner
	Passed    Queueing = "passed"     // of a schedule: it was changed, or this due time is dealt with
)

// Cancelling is how a store took a request to end a task.
type Cancelling string

// How a store took a request to end a task.
const (
	CancelDone   Cancelling = "cancelled" // it was queued, and is cancelled
	CancelNoted  Cancelling = "noted"     // it runs; its worker ends it
	CancelBefore Cancelling = "noted_before"
	CancelEnded  Cancelling = "was_ended"
	CancelNoTask Cancelling = "not_found" // unknown, or not one that by reaches
)

// Which says which queued tasks may be claimed. The zero Which is all of them.
type Which struct {
	Kind Kind    // empty: of any kind
	Only id.Task // this one and no other; empty: any
}

// Beat is the answer to a heartbeat.
type Beat struct {
	Fenced   Fenced
	Unwanted bool // somebody asked for the task's end
}

// End is what a worker writes of a task that it ran.
type End struct {
	State   State  // Succeeded, Failed or Cancelled
	Reason  string // empty exactly when succeeded
	Summary string // redacted; at most [MaxSummary] bytes are kept
	At      time.Time
}

// Recovered is one task whose holder is gone.
type Recovered struct {
	Task id.Task
	Kind Kind
}

// Queue is the durable side of tasks for whoever runs them. Each method is one transaction. Records are completed by the
// store: it fills in session, turn, task, kind, state and reason.
type Queue interface {
	// QueueTask writes a task that a running turn asks for under a claim that is not over (else NoOwner): t has its id, kind [Process], instance, session, turn, core,
	// title, spec, digest and scope. The store captures the owner from the session's own row. A Duplicate comes back as it
	// stands.
	QueueTask(ctx context.Context, t Task, r event.Record) (Task, Queueing, error)
	// FireSchedule writes a task of kind [Fire] for t.Due and moves the schedule's cursor there from after, if the cursor
	// still stands at after and the schedule is still the one of digest. t brings its owner along, because its session is
	// made by its turn. A zero after is a run by hand: no cursor is asked, and none is moved.
	FireSchedule(ctx context.Context, t Task, digest string, after time.Time, r event.Record) (Task, Queueing, error)
	// SeeSchedule is the cursor of a schedule: all that was due up to it is dealt with. It begins at now for a schedule
	// that is new or of another digest than last time, and begins at now again when it lies more than a minute beyond it:
	// the clock was wrong when it was set.
	SeeSchedule(ctx context.Context, core, schedule, digest string, now time.Time) (time.Time, error)
	// ScheduleSession is the session that the last run of a schedule with this owner had; empty when there is none.
	ScheduleSession(ctx context.Context, core, schedule, principalID string) (id.Session, error)
	// ClaimTask takes, of those that of says, the task that has been queued longest. c carries token, epoch and expiry; the
	// answer has the fence too. False when there is none.
	ClaimTask(ctx context.Context, of Which, c lease.Claim, r event.Record) (Task, bool, error)
	// BeatTask moves the expiry of a live claim, and tells whether the task is wanted no more.
	BeatTask(ctx context.Context, t id.Task, c lease.Claim, until time.Time) (Beat, error)
	// BindTask says which turn a [Fire] runs, and in which session, whose owner must be the task's.
	BindTask(ctx context.Context, t id.Task, c lease.Claim, s id.Session, turn id.Turn) (Fenced, error)
	// BlockTask says that a running task waits for a person, or no longer does.
	BlockTask(ctx context.Context, t id.Task, c lease.Claim, blocked bool) (Fenced, error)
	// AppendTaskLog adds 1 to [MaxChunk] bytes of redacted text, and lets go of the oldest beyond the bounds.
	AppendTaskLog(ctx context.Context, t id.Task, c lease.Claim, text string, at time.Time) (Fenced, error)
	// FinishTask ends a task and its claim. When its session no longer has the owner that was captured, it ends as failed
	// with [ReasonOwnerChanged], and nobody is told.
	FinishTask(ctx context.Context, t id.Task, c lease.Claim, e End, r event.Record) (Fenced, error)
	// RecoverTasks makes lost what is held under another epoch than epoch, or under a claim that is over at now. Each with
	// its record, in the order they were made.
	RecoverTasks(ctx context.Context, epoch id.Epoch, now time.Time) ([]Recovered, error)
}

// Records is what people and sessions see of tasks. Every method puts the owner predicate into its query; an id that does
// not exist and one that is out of reach give the same answer. A task without a session is the operator's alone. within
// narrows to one session; empty is all that the scope reaches.
type Records interface {
	// Task reads one task.
	Task(ctx context.Context, by principal.Scope, within id.Session, t id.Task) (Task, bool, error)
	// Tasks lists them, newest first, in one state or in any (""), without the first skip (0..100000), limit at most (1..501,
	// one more than a page).
	Tasks(ctx context.Context, by principal.Scope, within id.Session, state State, skip, limit int) ([]Task, error)
	// TaskLog is the end of a task's log: at most lines of it (1..[MaxLogLines]) and maxBytes (1..[MaxLogBytes]).
	TaskLog(ctx context.Context, by principal.Scope, within id.Session, t id.Task, lines, maxBytes int) (string, bool, error)
	// CancelTask asks for the end of a task; it may be repeated. The task comes back as it then stands.
	CancelTask(ctx context.Context, by principal.Scope, within id.Session, t id.Task, r event.Record) (Task, Cancelling, error)
}

// Outcome is what came of a task, as its runner says.
type Outcome struct {
	State   State  // Succeeded, Failed or Cancelled; anything else counts as Failed
	Reason  string // a stable code; empty exactly when succeeded
	Summary string // redacted
}

// Control is what a runner may say while its task runs, also when its context has ended. It is good until the runner
// returns.
type Control interface {
	// Log appends redacted text to the task's log. What cannot be kept is dropped: a log never holds up its task.
	Log(ctx context.Context, text string)
	// Bind says in which session and turn the task is carried out; false when the claim is over.
	Bind(ctx context.Context, s id.Session, t id.Turn) bool
	// Block says that the task waits for a person, or no longer does.
	Block(ctx context.Context, blocked bool)
}

// Runner runs tasks of one kind. It runs each once, returns soon after ctx ends, leaves nothing running behind, and decides
// Cancelled from ctx.
type Runner interface {
	Run(ctx context.Context, t Task, c Control) Outcome
}

// Log takes what the worker has to say to the operator.
type Log interface {
	Info(msg string, args ...any)
	Warn(msg string, args ...any)
}
