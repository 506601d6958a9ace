package rule

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/prompt"
)

// Bounds of what is kept about a conversation with a model.
const (
	maxSummaryBytes = 64 << 10
	maxVendorBytes  = 256
)

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
	case o.Overflow && u.Reported:
		return errors.New("the observation reports of a request that was not sent")
	case o.Estimate < 0 || u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0:
		return errors.New("the observation counts below zero")
	case len(o.RequestID) > maxVendorBytes || len(o.FinishReason) > maxVendorBytes:
		return fmt.Errorf("the vendor's request id or reason has more than %d bytes", maxVendorBytes)
	}
	return nil
}

// CutOff reports a turn that ended because whoever ran it was gone.
func CutOff(reason string) bool { return reason == ReasonHostGone || reason == ReasonLeaseExpired }

// Unseen is an uncertain effect as a later turn's model is told of it.
func Unseen(e effect.Record) prompt.Unseen {
	return prompt.Unseen{
		Tool: e.Tool, Arguments: e.Arguments, Started: e.StartedAt, Settled: string(e.Resolution.Verdict),
		Reference: e.Resolution.Reference,
	}
}
