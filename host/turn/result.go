package turn

import (
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
)

// Result is the frozen end of a turn. Its lists are copied out.
type Result struct{ of *result }

type result struct {
	turn      id.Turn
	session   id.Session
	request   id.Request
	core      string
	revision  string
	outcome   Outcome
	reason    string
	sentence  string
	reply     string
	effects   []effect.Summary
	usage     Usage
	steps     int
	duration  time.Duration
	duplicate bool
}

func (r Result) get() result {
	if r.of == nil {
		return result{}
	}
	return *r.of
}

// Turn is the turn's id; it is also the reference of the durable result.
func (r Result) Turn() id.Turn { return r.get().turn }

// Session is the session it ran in.
func (r Result) Session() id.Session { return r.get().session }

// Request is the request key.
func (r Result) Request() id.Request { return r.get().request }

// Core is the core's id.
func (r Result) Core() string { return r.get().core }

// Revision is the pinned core revision.
func (r Result) Revision() string { return r.get().revision }

// Outcome is how it ended.
func (r Result) Outcome() Outcome { return r.get().outcome }

// Reason is a stable code, empty when completed.
func (r Result) Reason() string { return r.get().reason }

// Sentence says for a person what went wrong and what to do; empty when nothing did.
func (r Result) Sentence() string { return r.get().sentence }

// Reply is what the agent said, redacted.
func (r Result) Reply() string { return r.get().reply }

// Effects are the turn's effects in order.
func (r Result) Effects() []effect.Summary { return slices.Clone(r.get().effects) }

// Usage is what the models said it cost.
func (r Result) Usage() Usage { return r.get().usage }

// Steps counts model calls.
func (r Result) Steps() int { return r.get().steps }

// Duration is from admission to the terminal state.
func (r Result) Duration() time.Duration { return r.get().duration }

// Duplicate reports that the request had been admitted before and this is that turn as it is recorded; nothing ran.
func (r Result) Duplicate() bool { return r.get().duplicate }
