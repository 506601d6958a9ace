package approval

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// State is where one durable question stands. Only pending changes, once.
type State string

// The states of a question.
const (
	Pending State = "pending"
	Allowed State = "allowed"
	Denied  State = "denied"
	Expired State = "expired"
)

// Reach is how far an allowance goes.
type Reach string

const (
	// Once allows the one call that was asked about.
	Once Reach = "once"
	// ForSession allows further calls with the same cache key until the session ends or the entry expires.
	ForSession Reach = "session"
)

// Question is one durable request for a decision: exactly what would run, for whom, and until when it may be
// answered. All texts are redacted for the operator view and bounded; Arguments is the whole argument document
// as it will run, or the call was not approvable.
type Question struct {
	ID        id.Approval
	Session   id.Session
	Turn      id.Turn
	Effect    id.Effect
	Principal string // principal id for whom it would run
	Core      string
	Tool      string
	Plugin    string // "<id>@<version>", or empty for a builtin
	Risk      approval.Risk
	Needs     []string // capabilities that the call uses
	Why       string   // the rule that asks, and where it stands
	Arguments string   // operator view of the canonical arguments
	Plan      string   // operator view of what would run: a JSON object with argv, dir, env and operands, each there when it says something; empty when the arguments say it all
	Digest    string   // sha256 hex of the canonical arguments and the plan: what is approved is what runs
	RuleKey   string   // what "for this session" would cover, in words a person can read
	Cacheable bool     // whether ForSession may be offered
	Approvers []string // principal ids who may decide besides the operator; none: the principal for whom it would run
	Asked     time.Time
	Expires   time.Time
	State     State
	Reach     Reach  // set when Allowed
	DecidedBy string // principal id of who decided, empty while pending
	Reason    string // stable code or the operator's own words
	Decided   time.Time
	Used      time.Time // when the first effect started under it
	Revoked   time.Time // when an allowance for the session was taken back
}

// Answer is a decision as it is recorded.
type Answer struct {
	State  State // Allowed, Denied or Expired
	Reach  Reach
	By     string // principal id of the decider, which is the caller's own; empty when nobody decided
	Reason string
}

// Recording is how a store took an answer.
type Recording string

// How a store took an answer.
const (
	Recorded       Recording = "recorded"
	AlreadyDecided Recording = "already_decided" // the question keeps its first answer
	TooLate        Recording = "expired"         // the deadline passed before the transaction; now recorded as expired
	NotFound       Recording = "not_found"       // unknown, or not the caller's
	NotApprover    Recording = "not_approver"    // the caller sees it and may not decide it: it stands as it did, and the attempt is on record
	NotAllowance   Recording = "not_allowance"   // there is nothing to revoke: it did not allow for the session
)

// Journal keeps questions durably. Each method is one transaction and appends the given audit record in it.
type Journal interface {
	// Ask stores a pending question. An error means it was not stored and must not be shown.
	Ask(ctx context.Context, q Question, r event.Record) error
	// Decide records the answer if the question is pending and now is before its expiry. The scope must reach the
	// question's session or be named as an approver; the predicate is in the SQL. An answer by somebody must be by the
	// scope's own principal, who must be the operator, an approver that the question names, or, where it names none, the
	// principal for whom the call would run. The returned Question is the row as it now stands.
	Decide(ctx context.Context, by principal.Scope, a id.Approval, ans Answer, now time.Time, r event.Record) (Question, Recording, error)
	// Revoke ends an allowance for the session: no effect starts under it from now on. Recorded, AlreadyDecided when it
	// was revoked before, NotAllowance, NotApprover or NotFound; who may decide a question may revoke it.
	Revoke(ctx context.Context, by principal.Scope, a id.Approval, now time.Time, r event.Record) (Question, Recording, error)
	// Question reads one question of a session that the scope reaches, or that names it as an approver; false when
	// unknown or not the caller's.
	Question(ctx context.Context, by principal.Scope, a id.Approval) (Question, bool, error)
	// Questions lists questions of sessions that the scope reaches, newest first, without the first skip (0..100000), at most
	// limit (1..501, one more than a page); state empty = all.
	Questions(ctx context.Context, by principal.Scope, state State, skip, limit int) ([]Question, error)
}

// Prompter shows a question to a person who may decide it and waits for the answer. It is given one question at a time
// and returns soon after ctx ends, which also happens when the question was decided elsewhere. An error, a cancelled
// context or an answer other than Allowed is a denial. An answer is by the principal of the turn.
type Prompter interface {
	Prompt(ctx context.Context, q Question) (Answer, error)
}

// Courier brings a question to where a person will see it, and does not wait for the answer: that comes back with the
// question's id through [Gate.Record], under the scope of whoever was authenticated there. The texts of a question hold
// nothing that a screen would act on; a courier shows them whole or does not offer to allow. An error is a denial.
type Courier interface {
	Deliver(ctx context.Context, q Question) error
}
