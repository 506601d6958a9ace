package command

import (
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// screen shows a turn while it happens: the model's words as they come, each call and how it ended. It is used from
// the goroutine of the turn.
type screen struct {
	words *console.Text // the model's words
	notes *console.Text // everything else
	idle  func()        // takes a progress line away; may be nil
	open  bool          // the line of words has not ended
	spoke bool          // any word came
}

// observer is the screen as the turn sees it.
func (s *screen) observer() turn.Observer {
	return turn.Observer{
		Text: func(delta string) {
			if delta != "" {
				s.room()
				s.words.Stream(delta)
				s.open, s.spoke = delta[len(delta)-1] != '\n', true
			}
		},
		Waiting: func(r provider.RetryNotice) {
			s.line()
			s.notes.Say("%s attempt %d failed (%s); trying again in %s", console.Warn("model:"), r.Attempt, string(r.Cause), took(r.Wait))
		},
		Call: func(tool, _ string, arguments string) {
			s.line()
			s.notes.Say("%s %s", console.Bold(tool), console.Dim(console.Cut(approval.VisibleJSON(arguments), 300)))
		},
		Progress: func(_ id.Effect, p wire.Progress) {
			s.line()
			if p.Total > 0 {
				s.notes.Say("  %s (%d of %d)", p.Message, p.Done, p.Total)
				return
			}
			s.notes.Say("  %s", p.Message)
		},
		Effect: func(r effect.Result) {
			s.line()
			sayEffect(s.notes, r)
		},
	}
}

// room takes away what is not part of the conversation.
func (s *screen) room() {
	if s.idle != nil {
		s.idle()
	}
}

// line ends a line of words, so that something else can begin one.
func (s *screen) line() {
	s.room()
	if s.open {
		s.words.Stream("\n")
		s.open = false
	}
}

// sayEffect is how one effect ended, in a line or two.
func sayEffect(t *console.Text, r effect.Result) {
	if r.Status == effect.Succeeded {
		t.Say("  %s in %s  %s", statusStyle(r.Status), took(r.Duration), console.Dim(console.Cut(r.Views.Operator.String(), 200)))
		return
	}
	t.Part("  %s (%s)  ", statusStyle(r.Status), r.Reason)
	t.Advice("", r.Sentence)
	if r.Remedy != "" && !strings.Contains(r.Sentence, r.Remedy) {
		t.Say("  to change that: %s", console.Command(r.Remedy))
	}
}
