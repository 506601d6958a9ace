// Package id owns the typed identifiers of durable things and their text form.
//
// An id is `<prefix>_` followed by a lowercase ULID: 26 characters of Crockford base 32, the full 128 bits. The
// prefix says what the id names, so that a turn id pasted where a session id belongs is refused at the border
// instead of being looked up in the wrong table. Ids sort by creation time. They carry no authority: knowing one
// grants nothing.
//
// The package refuses any other spelling (uppercase, missing prefix, overlong). Nothing here survives a crash; an
// id is only as durable as the row it was written into.
package id

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Typed ids. Each is the whole text, prefix included.
type (
	// Session names one conversation with one owner.
	Session string
	// Turn names one admitted run of the model loop.
	Turn string
	// Request is the stable request or idempotency key under which a turn was asked for.
	Request string
	// Effect names one call of one tool.
	Effect string
	// Approval names one durable question to a person. Its text is 30 bytes: short enough for a chat button.
	Approval string
	// Event names one audit record.
	Event string
	// Message names one stored message of a session.
	Message string
	// Lease names one claim on a session or a job.
	Lease string
	// Epoch names one process lifetime of a Host.
	Epoch string
	// Trace names the trace that a turn and its effects belong to.
	Trace string
	// Token is a single-use identity that binds a route, an admission or a cancellation to one turn.
	Token string
	// Decision names one prepared request to a model, under which the answer is observed.
	Decision string
	// Delivery names one reply on its way to a conversation. It is also the idempotency key of sending it.
	Delivery string
	// Task names one background task.
	Task string
	// Store names one database file for its whole life.
	Store string
)

const (
	prefixSession  = "ses"
	prefixTurn     = "trn"
	prefixRequest  = "req"
	prefixEffect   = "eff"
	prefixApproval = "apr"
	prefixEvent    = "evt"
	prefixMessage  = "msg"
	prefixLease    = "lse"
	prefixEpoch    = "epo"
	prefixTrace    = "trc"
	prefixToken    = "tok"
	prefixStore    = "sto"
	prefixDecision = "dec"
	prefixDelivery = "dlv"
	prefixTask     = "tsk"
)

// Source makes ids. It is safe for concurrent use. Two ids from one Source never compare equal, and ids made in
// one millisecond still sort in the order they were made.
type Source struct {
	clock func() time.Time

	mu      sync.Mutex // guards the rest
	entropy *ulid.MonotonicEntropy
	last    ulid.ULID // kept here, as one that is made for each id would be garbage
}

// NewSource returns a Source that reads the time from clock and 80 random bits an id from entropy, which must be
// a cryptographic source outside tests.
func NewSource(clock func() time.Time, entropy io.Reader) *Source {
	return &Source{clock: clock, entropy: ulid.Monotonic(entropy, 0)}
}

func (s *Source) next(prefix string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := ulid.Timestamp(s.clock())
	err := s.last.SetTime(now)
	if err == nil {
		err = s.entropy.MonotonicRead(now, s.last[6:]) // behind the time
	}
	if err != nil {
		return "", fmt.Errorf("id: read entropy for %s: %w", prefix, err)
	}
	var room [8 + 1 + ulid.EncodedSize]byte // a prefix has three letters
	text := append(append(room[:0], prefix...), '_')
	text = text[:len(text)+ulid.EncodedSize]
	if err := s.last.MarshalTextTo(text[len(prefix)+1:]); err != nil {
		return "", fmt.Errorf("id: write %s: %w", prefix, err) // never: it has its length
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			text[i] = c | 0x20
		}
	}
	return string(text), nil
}

// must turns a failing entropy source into a panic: without randomness no id is safe to hand out, and crypto/rand
// does not fail on any supported platform.
func (s *Source) must(prefix string) string {
	text, err := s.next(prefix)
	if err != nil {
		panic(err)
	}
	return text
}

// Session makes a session id.
func (s *Source) Session() Session { return Session(s.must(prefixSession)) }

// Turn makes a turn id.
func (s *Source) Turn() Turn { return Turn(s.must(prefixTurn)) }

// Request makes a request key for a caller that brought none.
func (s *Source) Request() Request { return Request(s.must(prefixRequest)) }

// Effect makes an effect id.
func (s *Source) Effect() Effect { return Effect(s.must(prefixEffect)) }

// Approval makes an approval id.
func (s *Source) Approval() Approval { return Approval(s.must(prefixApproval)) }

// Event makes an audit event id.
func (s *Source) Event() Event { return Event(s.must(prefixEvent)) }

// Message makes a message id.
func (s *Source) Message() Message { return Message(s.must(prefixMessage)) }

// Lease makes a claim token.
func (s *Source) Lease() Lease { return Lease(s.must(prefixLease)) }

// Epoch makes the identity of one Host lifetime.
func (s *Source) Epoch() Epoch { return Epoch(s.must(prefixEpoch)) }

// Trace makes a trace id.
func (s *Source) Trace() Trace { return Trace(s.must(prefixTrace)) }

// Token makes a single-use binding token.
func (s *Source) Token() Token { return Token(s.must(prefixToken)) }

// Decision makes the id of one prepared request.
func (s *Source) Decision() Decision { return Decision(s.must(prefixDecision)) }

// DecisionsSince is below every decision that is made at that time or later, and above those made in an earlier millisecond.
func DecisionsSince(at time.Time) Decision {
	var least ulid.ULID
	_ = least.SetTime(uint64(min(max(at.UnixMilli(), 0), int64(ulid.MaxTime())))) // never too large
	return Decision(prefixDecision + "_" + strings.ToLower(least.String()))
}

// Delivery makes a delivery id.
func (s *Source) Delivery() Delivery { return Delivery(s.must(prefixDelivery)) }

// Task makes a task id.
func (s *Source) Task() Task { return Task(s.must(prefixTask)) }

// Store makes the identity of a new database.
func (s *Source) Store() Store { return Store(s.must(prefixStore)) }

// MalformedError reports text that is not an id of the wanted kind.
type MalformedError struct {
	Kind string // what was wanted: "session", "turn", ...
	Text string // the offending text; of one over 80 bytes its length
}

// Error says what was wanted and what the right form is.
func (e *MalformedError) Error() string {
	return fmt.Sprintf("%q does not name one %s (want its id as it was printed, prefix and 26 characters)", e.Text, e.Kind)
}

func parse(kind, prefix, text string) (string, error) {
	rest, ok := strings.CutPrefix(text, prefix+"_")
	if ok && rest == strings.ToLower(rest) {
		if _, err := ulid.ParseStrict(strings.ToUpper(rest)); err == nil {
			return text, nil
		}
	}
	return "", malformed(kind, text)
}

// malformed tells a text whole or not at all: of a part of it nobody could tell that it is one of a secret.
func malformed(kind, text string) error {
	if len(text) > 80 {
		text = fmt.Sprintf("a text of %d bytes", len(text))
	}
	return &MalformedError{Kind: kind, Text: text}
}

// ParseSession reads a session id. A wrong form is a [*MalformedError].
func ParseSession(text string) (Session, error) {
	t, err := parse("session", prefixSession, text)
	return Session(t), err
}

// ParseTurn reads a turn id. A wrong form is a [*MalformedError].
func ParseTurn(text string) (Turn, error) {
	t, err := parse("turn", prefixTurn, text)
	return Turn(t), err
}

// ParseEffect reads an effect id. A wrong form is a [*MalformedError].
func ParseEffect(text string) (Effect, error) {
	t, err := parse("effect", prefixEffect, text)
	return Effect(t), err
}

// ParseApproval reads an approval id. A wrong form is a [*MalformedError].
func ParseApproval(text string) (Approval, error) {
	t, err := parse("approval", prefixApproval, text)
	return Approval(t), err
}

// ParseDelivery reads a delivery id. A wrong form is a [*MalformedError].
func ParseDelivery(text string) (Delivery, error) {
	t, err := parse("delivery", prefixDelivery, text)
	return Delivery(t), err
}

// ParseTask reads a task id. A wrong form is a [*MalformedError].
func ParseTask(text string) (Task, error) {
	t, err := parse("task", prefixTask, text)
	return Task(t), err
}

// requestLimit bounds request keys, which a caller may choose freely.
const requestLimit = 200

// ParseRequest reads a caller's own request key: 1 to 200 bytes of printable ASCII without spaces. It need not be
// one that [Source.Request] made, because clients bring their own idempotency keys.
func ParseRequest(text string) (Request, error) {
	if text == "" || len(text) > requestLimit {
		return "", malformed("request", text)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return "", malformed("request", text)
		}
	}
	return Request(text), nil
}
