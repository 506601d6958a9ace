package turn

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Select says which session a request wants.
type Select string

// The session selectors of the contract.
const (
	Bound  Select = "bound"  // the session bound to the conversation; made when there is none
	Fresh  Select = "fresh"  // a new session, which becomes the bound one
	Resume Select = "resume" // a named session that the owner is authorised for; its own becomes the bound one
)

// Selector is a Select with its session, which only Resume names.
type Selector struct {
	Kind    Select
	Session id.Session
}

// Admission is everything that must become true at once for a turn to start: the session with its owner, the
// request key, the lease and turn.started.
type Admission struct {
	Request      id.Request
	Digest       string // sha256 hex of the canonical request: same key with another digest is a conflict
	Turn         id.Turn
	NewSession   id.Session // used if a session must be made
	Selector     Selector
	Owner        principal.Facts // the authenticated principal; its session fields are empty
	Core         string
	Revision     string
	Capabilities string      // fingerprint of the capability snapshot
	Claim        lease.Claim // token, epoch and expiry; the store sets the fence
	Trace        id.Trace
	Input        string    // the raw input as history shows it (redacted, bounded)
	Messages     []Message // the input as a model sees it, when a model will; written in the same transaction
	At           time.Time
}

// Disposition is how a store took an Admission.
type Disposition string

// The dispositions. Only Admitted wrote anything.
const (
	Admitted        Disposition = "admitted"
	Duplicate       Disposition = "duplicate" // same key, same digest: Existing is that turn
	Conflict        Disposition = "conflict"  // same key, another digest
	Busy            Disposition = "busy"      // another live claim holds the session
	SessionNotFound Disposition = "not_found" // unknown session, or not this owner's
	SessionOver     Disposition = "ended"     // the session that was named has been ended
)

// Admittance is the answer to an Admission.
type Admittance struct {
	Disposition Disposition
	Session     id.Session
	Created     bool        // the session was made in this transaction
	Claim       lease.Claim // with its fence
	Existing    Record      // of a Duplicate
}

// State is where a turn stands.
type State string

// The states of a turn. Each but Running is terminal and equals the outcome of the same name.
const (
	Running State = "running"
)

// Message is one stored message. Body is the provider-neutral message as JSON in the model view: already redacted,
// because it is shown to a model again.
type Message struct {
	ID   id.Message
	Turn id.Turn
	Role string // "user", "assistant" or "tool"
	Body json.RawMessage
	At   time.Time
}

// Usage is what the models said the turn cost, in tokens.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Terminal is the end of a turn.
type Terminal struct {
	Turn    id.Turn
	Session id.Session
	Claim   lease.Claim // must still be the session's
	Outcome Outcome
	Reason  string // stable code; empty when completed
	Reply   string // what is delivered, redacted; empty unless completed, needs_user or indeterminate
	Steps   int
	Usage   Usage
	// Messages are the turn's last ones, written in the same transaction: the answer of a model that asked for nothing more.
	Messages []Message
	// Deliveries are what the turn owes the conversation that it was asked in, written in the same transaction. There are
	// none without a reply, and each goes to the conversation of the session's owner.
	Deliveries []Delivery
	At         time.Time
}

// Delivery is the intent to bring a reply to a conversation. What becomes of it is package outbox's.
type Delivery struct {
	ID           id.Delivery
	Channel      string // the channel instance, as the principal has it
	Conversation string // the canonical conversation key
	Body         string // what is sent, in the model view
}

// ErrMessagesLost reports that messages which [Journal.AppendBehind] took could not be stored.
var ErrMessagesLost = errors.New("turn: messages of this turn could not be stored")

// Fenced is how a store took a write under a claim.
type Fenced string

// How a store took a fenced write.
const (
	Written      Fenced = "written"
	Stale        Fenced = "stale"         // another claim holds the session, or this one ran out
	AlreadyEnded Fenced = "already_ended" // the turn has its one terminal state
)

// Recovered is one turn that a restart found running without a live claim.
type Recovered struct {
	Turn    id.Turn
	Session id.Session
	// Outcome is Indeterminate when an effect of it had started without an end, or is indeterminate; else Cancelled when
	// somebody had asked for its end, and Lost when nobody had.
	Outcome Outcome
	Effects int // effects that became indeterminate
}

// ReasonLeaseExpired is the reason of a turn that was ended because its claim was over.
const ReasonLeaseExpired = "lease_expired"

// Cancelling is how a store took a request to end a turn. Only CancelNoted wrote one.
type Cancelling string

// How a store took a request to end a turn.
const (
	CancelNoted       Cancelling = "noted"
	CancelNotedBefore Cancelling = "noted_before"
	CancelEnded       Cancelling = "was_ended" // the turn has its terminal state
	CancelNoTurn      Cancelling = "not_found" // unknown, or not one that by reaches
)

// Ending is how a store took the end of a session. Only Ended wrote one.
type Ending string

// How a store took the end of a session.
const (
	Ended        Ending = "ended"
	EndedBefore  Ending = "ended_before"
	EndNoSession Ending = "not_found" // unknown, or not one that by reaches
)

// Journal makes turns durable. Each method is one transaction.
type Journal interface {
	// Admit decides and writes the whole admission, with session.created (when made) and turn.started records.
	Admit(ctx context.Context, a Admission, r []event.Record) (Admittance, error)
	// Requested is the turn that this owner asked for under a key before. It writes nothing.
	Requested(ctx context.Context, owner principal.Facts, key id.Request) (Record, bool, error)
	// BoundSession is the session that Bound would resolve to for this owner now; false when Admit would make one. An
	// owner without a conversation key (an operator, system) never has one.
	BoundSession(ctx context.Context, owner principal.Facts) (id.Session, bool, error)
	// Append adds messages to a running turn, in order, under its claim.
	Append(ctx context.Context, t id.Turn, c lease.Claim, m []Message) (Fenced, error)
	// AppendBehind takes messages that become durable with the turn's next write, in order and before it, so that they
	// cost no flush of their own; until then a crash loses them and Window need not show them. What cannot be stored, for
	// example because the claim is over, makes the turn's next EffectStarted and its Finish fail with [ErrMessagesLost];
	// Finish once, a second one writes the end. It does not block.
	AppendBehind(ctx context.Context, t id.Turn, c lease.Claim, m []Message) error
	// Finish writes the one terminal state and ends the claim. Effects and questions still open under the turn become
	// indeterminate and expired, with a record each. Observations that could not be kept are told once, as
	// [prompt.ErrReportLost]; the next Finish writes the end.
	Finish(ctx context.Context, t Terminal, r event.Record) (Fenced, error)
	// RequestCancel notes, with the record r, that by wants the running turn t to end. The first request stands.
	RequestCancel(ctx context.Context, by principal.Scope, t id.Turn, r event.Record) (Cancelling, error)
	// NoteCancel notes, under t's claim and with the record r, that t ends because whoever asked for it is gone or its host is
	// closed. It is for whoever runs t, and takes no scope. A request that stands already stays, and r is not written then.
	NoteCancel(ctx context.Context, t id.Turn, c lease.Claim, r event.Record) (Fenced, error)
	// EndSession ends a session for good, with the record r: no turn and no effect starts in it any more, every allowance
	// for it is revoked and every question in it expired, with a record each, its running turn is asked to end, and its
	// conversation is bound to it no longer.
	EndSession(ctx context.Context, by principal.Scope, s id.Session, r event.Record) (Ending, error)
	// CancelRequested reports whether somebody asked for the end of t. It is for whoever runs t, and takes no scope.
	CancelRequested(ctx context.Context, t id.Turn) (bool, error)
	// Extend moves the claim's expiry.
	Extend(ctx context.Context, s id.Session, c lease.Claim, until time.Time) (Fenced, error)
	// Window returns the newest messages of a session, oldest first: at most limit of them and maxBytes of bodies.
	// Its cost does not depend on the length of the transcript.
	Window(ctx context.Context, by principal.Scope, s id.Session, limit, maxBytes int) ([]Message, error)
	// Recover ends every running turn whose claim is not of epoch or has expired at now, and its unfinished effects,
	// with a turn.recovered record each. It never runs anything again. Leases of summaries under another epoch end too. The
	// turn's steps and usage are what its observations say: the step that was under way is among them when it was observed.
	Recover(ctx context.Context, epoch id.Epoch, now time.Time) ([]Recovered, error)
}

// Session is one session as history shows it.
type Session struct {
	ID       id.Session
	Core     string
	Owner    principal.Facts // authority, principal id, channel, conversation key, parent
	Title    string          // the beginning of the first input
	Turns    int
	Created  time.Time
	LastTurn time.Time
	Ended    time.Time // zero while it goes on
}

// Record is one turn as history shows it.
type Record struct {
	ID       id.Turn
	Session  id.Session
	Request  id.Request
	Digest   string
	Core     string
	Revision string
	State    State // Running, or the outcome's word
	Outcome  Outcome
	Reason   string
	Input    string
	Reply    string
	Steps    int
	Usage    Usage
	Trace    id.Trace
	Started  time.Time
	Finished time.Time
}

// Child is a turn of a child agent.
type Child struct {
	Record
	Principal string // who it is: made of its parent's session and the effect that spawned it
}

// EventQuery narrows a listing of audit records; empty fields do not narrow.
type EventQuery struct {
	Session id.Session
	Turn    id.Turn
	Kind    event.Kind
	Without event.Kind // leaves out one kind
	Since   time.Time
	Skip    int // of the newest, 0..100000
	Limit   int // 1..1001
}

// SearchQuery is a text to look for. Case makes no difference.
type SearchQuery struct {
	Text  string // 1..MaxSearchText bytes of UTF-8, not only white space
	Limit int    // findings, 1..MaxFindings
}

// Bounds of a search. It looks at no more turns and bytes than these, however many there are.
const (
	MaxSearchText   = 256
	MaxFindings     = 100
	MaxExcerpt      = 800 // bytes of one excerpt
	MaxSearchTurns  = 5000
	MaxSearchedText = 32 << 20 // bytes of inputs and replies
)

// Findings are the turns that hold the text, newest first.
type Findings struct {
	Turns []Finding
	Whole bool // every turn in reach was looked at; otherwise older ones may hold the text too
}

// Finding is one turn that holds the text, with what stands around it.
type Finding struct {
	Session id.Session
	Turn    id.Turn
	Started time.Time
	In      string // "input" or "reply"
	Excerpt string
}

// LegacyQuery names one session, by itself or by one of its turns, and why the operator looks.
type LegacyQuery struct {
	Session id.Session
	Turn    id.Turn
	Reason  string // 1..MaxRepairReason characters
}

// MaxRepairReason bounds why an operator looks at a session without a certain owner.
const MaxRepairReason = 300

// Legacy is a session that nobody can be shown but the operator who repairs.
type Legacy struct {
	Session Session // its Owner is what the owner row says, or empty
	Why     string  // missing_durable_owner or legacy_owner_requires_repair
	Turns   []Record
}

// MaxLegacyTurns bounds the turns of a [Legacy], newest first.
const MaxLegacyTurns = 100

// History reads what happened. Every method puts the owner predicate into its query; an id that does not exist and
// one that is not the caller's give the same answer. Lists are newest first: without the first skip (0..100000), at most limit
// (1..501: a page of 500, and one more that tells whether the list goes on).
type History interface {
	Sessions(ctx context.Context, by principal.Scope, skip, limit int) ([]Session, error)
	Session(ctx context.Context, by principal.Scope, s id.Session) (Session, bool, error)
	// Turns are those of one session, or, without one, of all that by reaches.
	Turns(ctx context.Context, by principal.Scope, s id.Session, skip, limit int) ([]Record, error)
	Turn(ctx context.Context, by principal.Scope, t id.Turn) (Record, bool, error)
	// Effects are those of one turn in the order they were asked for.
	Effects(ctx context.Context, by principal.Scope, t id.Turn) ([]effect.Record, error)
	// Children are the turns of the child agents that a turn had, in the order they began; at most limit (1..500).
	Children(ctx context.Context, by principal.Scope, t id.Turn, limit int) ([]Child, error)
	// Search looks for a text in the inputs and replies of the turns that by reaches, newest first.
	Search(ctx context.Context, by principal.Scope, q SearchQuery) (Findings, error)
	// Legacy shows the operator one session that has no certain owner, which no other method shows to anybody. Each
	// look is on record as principal_scope.legacy_repair_accessed, also one that finds nothing.
	Legacy(ctx context.Context, by principal.Scope, q LegacyQuery) (Legacy, bool, error)
	// Events lists audit records; records of no session are an operator's only.
	Events(ctx context.Context, by principal.Scope, q EventQuery) ([]event.Record, error)
}
