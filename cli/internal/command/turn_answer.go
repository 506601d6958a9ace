package command

import (
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// runAnswer is a finished turn in a document.
type runAnswer struct {
	Outcome  turn.Outcome    `json:"outcome"`
	Turn     id.Turn         `json:"turn_id"`
	Session  id.Session      `json:"session_id"`
	Core     string          `json:"core"`
	Revision string          `json:"revision"`
	Reply    string          `json:"reply"`
	Reason   string          `json:"reason,omitempty"`
	Sentence string          `json:"sentence,omitempty"`
	Effects  []effectSummary `json:"effects"`
	Usage    usageOf         `json:"usage"`
	Steps    int             `json:"steps"`
	Duration float64         `json:"duration_ms"`
}

// effectSummary is one effect of a turn that just ran.
type effectSummary struct {
	ID       id.Effect     `json:"id"`
	Tool     string        `json:"tool"`
	Status   effect.Status `json:"status"`
	Started  bool          `json:"started"`
	Reason   string        `json:"reason,omitempty"`
	Duration float64       `json:"duration_ms"`
}

func answerOf(r turn.Result) runAnswer {
	a := runAnswer{
		Outcome: r.Outcome(), Turn: r.Turn(), Session: r.Session(), Core: r.Core(), Revision: r.Revision(), Reply: r.Reply(),
		Reason: r.Reason(), Sentence: r.Sentence(), Effects: []effectSummary{}, Usage: usageOf(r.Usage()), Steps: r.Steps(), Duration: milliseconds(r.Duration()),
	}
	for _, e := range r.Effects() {
		a.Effects = append(a.Effects, effectSummary{e.ID, e.Tool, e.Status, e.Started, e.Reason, milliseconds(e.Duration)})
	}
	return a
}

// verdictOf is nil for a turn that did what it was asked, or waits for the user, else [no].
func verdictOf(o turn.Outcome) error {
	if o == turn.Completed || o == turn.NeedsUser {
		return nil
	}
	return no{}
}

// sayOutcome closes a turn on the screen: the reply if it was not streamed, and what went wrong if something did.
func sayOutcome(s *screen, r turn.Result) {
	s.line()
	if !s.spoke && r.Reply() != "" {
		s.words.Prose("", r.Reply())
	}
	if r.Outcome() == turn.Completed {
		return
	}
	s.notes.Say("%s %s", console.Bad("turn "+string(r.Outcome())+":"), console.Command(r.Sentence()))
	s.notes.Say("look at it with `portcullis turns show %s`", r.Turn())
}
