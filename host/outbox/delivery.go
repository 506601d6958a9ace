package outbox

import (
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
)

// State is where a delivery stands.
type State string

// The states. Delivered and Dropped are final; Failed and Unknown wait for the operator, and for nobody else.
const (
	Queued    State = "queued"    // to be sent when it is due
	Claimed   State = "claimed"   // a worker has it; nothing has left
	Sending   State = "sending"   // it may have left
	Delivered State = "delivered" // the channel took it
	Failed    State = "failed"    // it was not taken, and trying again is of no use
	Unknown   State = "unknown"   // it may or may not have been taken
	Dropped   State = "dropped"   // the operator gave it up
)

// Valid reports whether s is one of the seven.
func (s State) Valid() bool {
	switch s {
	case Queued, Claimed, Sending, Delivered, Failed, Unknown, Dropped:
		return true
	}
	return false
}

// Open reports whether a delivery in s is still on its way: later ones of its conversation wait for it.
func (s State) Open() bool { return s == Queued || s.Held() }

// Held reports whether a delivery in s has a claim.
func (s State) Held() bool { return s == Claimed || s == Sending }

// Delivery is one reply on its way, as the store has it.
type Delivery struct {
	ID           id.Delivery
	Session      id.Session
	Turn         id.Turn
	Channel      string // the channel instance
	Conversation string // the canonical conversation key
	Body         string // in the model view: redacted
	State        State
	Attempts     int         // how often it began to be sent since it was queued by a turn or the operator
	Idempotent   bool        // the channel of the last attempt drops what it has seen under the same id
	Due          time.Time   // not claimed before this
	Claim        lease.Claim // of a claimed or sending one, else zero but for its fence
	Reason       string      // why it stands so: a stable code, or the operator's words
	Created      time.Time
	Changed      time.Time
}

// Settlement is what became of a claimed delivery.
type Settlement struct {
	State  State     // Delivered, Queued (try again at Due), Failed or Unknown
	Reason string    // a stable code; empty exactly when delivered
	Due    time.Time // of Queued alone
	At     time.Time
}

// Reasons that this package and its stores give by themselves. Others come from senders.
const (
	ReasonHostGone      = "host_restarted" // the host that held it is gone
	ReasonLeaseExpired  = "lease_expired"  // its claim ran out
	ReasonAttempts      = "attempts_used"  // it was tried as often as it may be
	ReasonSenderChanged = "sender_changed" // it may have left over an idempotent sender, and the one of now is none
	ReasonSenderFault   = "sender_fault"   // the sender broke down
	ReasonSenderHangs   = "sender_hangs"   // the sender did not come back when its time was over
	ReasonNoAnswer      = "no_answer"      // the sender does not say whether it was taken
	ReasonRefused       = "refused"        // the channel refuses it, without a code
	ReasonNotTaken      = "not_taken"      // the channel did not take it now, without a code
)
