package outbox

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
	Stale   Fenced = "stale" // another claim, one that is over, or a state from which this step does not lead; nothing changed
)

// Recovered is one delivery whose holder is gone.
type Recovered struct {
	Delivery id.Delivery
	State    State // Queued or Unknown
}

// Queue is the durable side of the outbox. Each method is one transaction. Records are completed by the store: it
// fills in session, turn, delivery, channel, attempt and state.
type Queue interface {
	// ClaimDelivery takes the delivery of channel that has been due longest, of those whose conversation has nothing
	// earlier open and nothing claimed or sending. c carries token, epoch and expiry; the answer has the fence too. False
	// when there is none.
	ClaimDelivery(ctx context.Context, channel string, c lease.Claim) (Delivery, bool, error)
	// BeginSending counts an attempt of a claimed delivery, before anything leaves, with r as its record.
	BeginSending(ctx context.Context, d id.Delivery, c lease.Claim, idempotent bool, r event.Record) (Fenced, error)
	// SettleDelivery ends an attempt and its claim. A delivery that is only claimed can but fail.
	SettleDelivery(ctx context.Context, d id.Delivery, c lease.Claim, s Settlement, r event.Record) (Fenced, error)
	// ReleaseDelivery gives a claimed delivery back of which nothing has left.
	ReleaseDelivery(ctx context.Context, d id.Delivery, c lease.Claim) (Fenced, error)
	// RecoverDeliveries takes what is held under another epoch than epoch, or under a claim that is over at now, from its
	// holder: a claimed one is queued again; a sending one is unknown, or queued again when it was sent over an idempotent
	// channel. Each with its record, in the order they were made.
	RecoverDeliveries(ctx context.Context, epoch id.Epoch, now time.Time) ([]Recovered, error)
	// WaitingChannels are channel instances with queued deliveries, in order of their names, limit at most (1..500).
	WaitingChannels(ctx context.Context, limit int) ([]string, error)
}

// Recording is how a store took what the operator decided.
type Recording string

// How a store took a decision. Only Recorded changed anything.
const (
	Recorded Recording = "recorded"
	NotThus  Recording = "not_thus" // the delivery is in a state from which this does not lead
	NotFound Recording = "not_found"
)

// MaxReason bounds the operator's words, in bytes.
const MaxReason = 300

// Records is what the operator sees of the outbox and may do to it. Every method puts the owner predicate into its
// query; an id that does not exist and one that is out of reach give the same answer.
type Records interface {
	// Delivery reads one delivery.
	Delivery(ctx context.Context, by principal.Scope, d id.Delivery) (Delivery, bool, error)
	// Deliveries lists them, newest first, in one state or in any (""), without the first skip (0..100000), limit at most (1..501,
	// one more than a page).
	Deliveries(ctx context.Context, by principal.Scope, state State, skip, limit int) ([]Delivery, error)
	// RequeueDelivery queues a failed or unknown delivery anew, due at once, its attempts counted from zero. Of an unknown
	// one this may be a second sending: the operator says so. Operator only; why is 1..[MaxReason] bytes.
	RequeueDelivery(ctx context.Context, by principal.Scope, d id.Delivery, why string, r event.Record) (Delivery, Recording, error)
	// DropDelivery gives up a queued, failed or unknown delivery for good. Operator only; why as above.
	DropDelivery(ctx context.Context, by principal.Scope, d id.Delivery, why string, r event.Record) (Delivery, Recording, error)
}

// Verdict is what a sender says of one attempt.
type Verdict string

// The verdicts. Anything else is taken as Unsure.
const (
	Accepted  Verdict = "delivered" // the channel took it
	Retry     Verdict = "retry"     // it certainly did not, and may later
	Permanent Verdict = "permanent" // it certainly did not and never will
	Unsure    Verdict = "unknown"   // nobody can say
)

// Receipt is the answer to one attempt.
type Receipt struct {
	Verdict Verdict
	After   time.Duration // of Retry: not before this has passed, where the channel said so
	Reason  string        // a stable code without payload, at most 64 bytes of it are kept
}

// Sender sends over one channel instance. A [Worker] calls it once at a time, but for attempts that were given up.
type Sender interface {
	// Channel is the instance, as deliveries name it.
	Channel() string
	// Idempotent says that the channel drops what it has already taken under the same key, for at least as long as
	// attempts go on. Who is not certain says false.
	Idempotent() bool
	// Send tries once. key is the delivery's id and the same in each attempt. When ctx ends it returns soon, and says
	// Unsure unless it knows better. A panic counts as Unsure, and so does what has not come back some seconds after that:
	// it is given up, and a later attempt may begin beside it.
	Send(ctx context.Context, key id.Delivery, d Delivery) Receipt
}

// Log takes what the worker has to say to the operator.
type Log interface {
	Warn(msg string, args ...any)
}
