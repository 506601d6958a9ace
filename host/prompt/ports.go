package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Stored is one message of a session's history as the store keeps it.
type Stored struct {
	ID   id.Message
	Turn id.Turn
	Body json.RawMessage // a [provider.Message] as JSON, in the model view
}

// Summary stands for the older part of a session. The zero Summary stands for nothing.
type Summary struct {
	Text   string     // in the model view
	Cutoff id.Message // the last message that it stands for
	Model  string     // who wrote it
	At     time.Time
}

// Mark is how far a session's history was read. The zero Mark is not at all.
type Mark struct {
	Revision int64      // of the summary then
	Last     id.Message // the newest message then
}

// Snapshot is what a session's history is now, within bounds.
type Snapshot struct {
	Revision int64 // of the summary: 0 before there is one, then one more each time
	Joins    bool  // Summary is as it was at the mark and left out, and Messages are those after the mark
	Summary  Summary
	Messages []Stored // after the cutoff or the mark, oldest first, the newest that fit the bounds
	Older    bool     // messages after the cutoff, or the mark, lie before these
}

// LeaseAnswer is how a store took the wish to compact.
type LeaseAnswer string

// The answers. Only Acquired gives the right to commit.
const (
	Acquired LeaseAnswer = "acquired"
	Held     LeaseAnswer = "held"    // another is at it
	Moved    LeaseAnswer = "moved"   // there is another summary already: read again
	Resting  LeaseAnswer = "resting" // a summary failed not long ago
)

// Calibration is what a model's reports say about our estimates, per model.
type Calibration struct {
	Samples int64   // reports; from [refusedMark] on the model has refused a request as too large since
	Ratio   float64 // tokens reported for each one estimated, the highest of late; meaningless without samples
}

// Observation is what a model reported about one prepared request, or that the calibration alone kept one back.
type Observation struct {
	Decision     id.Decision
	Session      id.Session
	Turn         id.Turn
	Step         int
	Provider     string // the model's full name
	Estimate     int    // of the whole prompt, before calibration
	Overflow     bool   // nothing was sent and nothing reported: it would fit a model that has reported nothing
	Refused      int    // the tokens that the request was to fit into, when the model refused it as too large; else 0
	Usage        provider.Usage
	FinishReason string
	RequestID    string // the vendor's, may be empty
	At           time.Time
}

// Kept waits until an observation is durable, writing it if no other write came, and returns the model's calibration as
// it stands then. When ctx ends first it is ctx's error, and the observation is written all the same. An error means
// that it was not kept.
type Kept func(ctx context.Context) (Calibration, error)

// ErrReportLost reports that an observation which [Journal.Observe] took could not be stored.
var ErrReportLost = errors.New("prompt: what a model reported could not be stored")

// Journal keeps summaries and observations. Each method is one transaction.
type Journal interface {
	// Context reads a session's window: at most limit messages and maxBytes of bodies. Its cost does not depend on the
	// length of the transcript. When the summary is still that of the mark since, and since's message is one of the session after
	// the cutoff, only what came after it is read. The owner predicate is in the query; what the scope does not reach is
	// empty, and joins nothing.
	Context(ctx context.Context, by principal.Scope, s id.Session, since Mark, limit, maxBytes int) (Snapshot, error)
	// Left reads what turns of s before t left: at most limit calls (1..[MaxLeft]), newest first, without those that only
	// read. They are those whose end nobody saw, of which a settled one is among them until a turn has begun since it was; and
	// those that began and ended while the last message of their turn is the one that asked for them, until a turn has ended
	// with an answer since. The owner predicate is in the query; what the scope does not reach is empty.
	Left(ctx context.Context, by principal.Scope, s id.Session, t id.Turn, limit int) (Left, error)
	// LeaseCompaction asks for the right to write the summary that follows revision, until the claim's expiry. A lease
	// that has run out is taken over.
	LeaseCompaction(ctx context.Context, s id.Session, c lease.Claim, revision int64) (LeaseAnswer, error)
	// CommitSummary writes summary and cutoff together and ends the lease; false, with nothing written, when the lease is
	// not c's any more, the revision has moved, or the cutoff is not a message of the session after the one before.
	CommitSummary(ctx context.Context, s id.Session, c lease.Claim, revision int64, sum Summary) (bool, error)
	// ReleaseCompaction ends c's lease, if it still is; nobody gets one before rest.
	ReleaseCompaction(ctx context.Context, s id.Session, c lease.Claim, rest time.Time) error
	// Calibration reads what is known of a model; zero when nothing is.
	Calibration(ctx context.Context, model string) (Calibration, error)
	// Observe takes an observation, which becomes durable with the turn's next write and before it, so that it costs no
	// flush of its own, and the model's calibration advances with it; until then a crash loses both. The second time the
	// same decision is observed nothing changes. It does not block. What cannot be kept makes the turn's Finish fail with
	// [ErrReportLost], once.
	Observe(ctx context.Context, o Observation) (Kept, error)
}

// Summarizer writes summaries, by [Summarize] for example.
type Summarizer interface {
	// Summarize returns the text that will stand for messages, of at most tokens. before is the summary that they follow,
	// which the new one replaces. It must end when ctx does.
	Summarize(ctx context.Context, before string, messages []provider.Message, tokens int) (string, error)
	// Name is the model's.
	Name() string
}
