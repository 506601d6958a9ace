package rule

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// Bounds of what is kept about a conversation with a model.
const (
	maxSummaryBytes = 64 << 10
	maxVendorBytes  = 256
)

// Bounds of looking for what a turn that nobody finished has spent, among what all turns have since it began.
const (
	MaxSpent    = 20_000          // observations, the newest first
	SpentBefore = 5 * time.Minute // how far a clock may have been set back meanwhile
	MaxReported = 1 << 40         // tokens of one report that count: no sum of so many overflows, whatever a model says
)

// Spent adds what an observation reports to what its turn has spent.
func Spent(u turn.Usage, o prompt.Observation) turn.Usage {
	u.Input += int64(min(o.Usage.Input, MaxReported))
	u.Output += int64(min(o.Usage.Output, MaxReported))
	u.CacheRead += int64(min(o.Usage.CacheRead, MaxReported))
	u.CacheWrite += int64(min(o.Usage.CacheWrite, MaxReported))
	return u
}

// Compaction refuses a claim that is none.
func Compaction(c lease.Claim, now time.Time) error {
	if c.Token == "" || c.Epoch == "" || c.Expired(now) {
		return errors.New("the claim has no token or epoch, or is over")
	}
	return nil
}

// Summary refuses a text that stands for nothing.
func Summary(s prompt.Summary) error {
	switch {
	case s.Text == "" || len(s.Text) > maxSummaryBytes || !utf8.ValidString(s.Text):
		return fmt.Errorf("the summary is empty, no UTF-8 or over %d bytes", maxSummaryBytes)
	case s.Cutoff == "" || s.At.IsZero():
		return errors.New("the summary has no cutoff or time")
	}
	return nil
}

// Observation refuses a report about nothing.
func Observation(o prompt.Observation) error {
	u := o.Usage
	switch {
	case o.Decision == "" || o.Session == "" || o.Turn == "" || o.Provider == "" || o.At.IsZero():
		return errors.New("the observation names no decision, session, turn or model, or has no time")
	case (o.Overflow || o.Refused != 0) && u.Reported, o.Overflow && o.Refused != 0:
		return errors.New("the observation reports of a request that was not sent or was refused")
	case o.Estimate < 0 || o.Refused < 0 || u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0:
		return errors.New("the observation counts below zero")
	case len(o.RequestID) > maxVendorBytes || len(o.FinishReason) > maxVendorBytes:
		return fmt.Errorf("the vendor's request id or reason has more than %d bytes", maxVendorBytes)
	}
	return nil
}

// CutOff reports a turn that ended because whoever ran it was gone.
func CutOff(reason string) bool { return reason == ReasonHostGone || reason == ReasonLeaseExpired }

// MaxBroken is of how many turns, since the last that ended with an answer, calls are looked for that no message answers.
const MaxBroken = 16

// MaxBrokenMessages is how many of a session's newest messages are looked through for them, whatever the turns are that they are
// of: more than a prompt reads, and no more the longer a session is.
const MaxBrokenMessages = 512

// Answered reports a turn that ended as its model wanted: that model saw what turns before left, and its own calls are
// answered. A turn without a step is a direct call, which had no model.
func Answered(s turn.State, steps int) bool {
	return steps > 0 && (s == turn.State(turn.Completed) || s == turn.State(turn.NeedsUser))
}

// Unanswered picks those of a turn's effects, newest first, that began and ended and whose results a model is not shown: last
// is the newest message of the turn, and when it asks for them nothing came after it. A direct call has no message. Of one
// that cannot be read they are all, because to repeat a call is worse than to hear of it twice.
func Unanswered(role string, last json.RawMessage, effects []effect.Record) (out []effect.Record) {
	if role != "assistant" {
		return nil
	}
	ids, err := prompt.Asked(last)
	asked := map[string]int{}
	for _, one := range ids {
		asked[one]++
	}
	for _, e := range effects { // ids are unique in one message only: of those that are the same the newest are meant
		if err == nil && asked[e.CallID] == 0 {
			continue
		}
		asked[e.CallID]--
		if e.Started && !e.FinishedAt.IsZero() && e.Status != effect.Indeterminate && e.Recovery != "read" {
			out = append(out, e)
		}
	}
	return out
}

// Unseen is an effect as a later turn's model is told of it. What is recorded of one that did not succeed is for the operator.
func Unseen(e effect.Record) prompt.Unseen {
	u := prompt.Unseen{
		Tool: e.Tool, Arguments: e.Arguments, Started: e.StartedAt, Settled: string(e.Resolution.Verdict),
		Reference: e.Resolution.Reference,
	}
	if e.Status != effect.Indeterminate {
		u.Ended = string(e.Status)
	}
	if e.Status == effect.Succeeded {
		u.Result = e.Durable
	}
	return u
}
