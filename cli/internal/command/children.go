package command

import (
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// maxShownChildren is more than a turn can have.
const maxShownChildren = 20

// childAnswer is a child agent's turn in a document about its parent's.
type childAnswer struct {
	Turn    id.Turn    `json:"turn"`
	Session id.Session `json:"session"`
	Core    string     `json:"core"`
	State   turn.State `json:"state"`
	Effect  id.Effect  `json:"effect,omitempty"` // of the parent: the call that spawned it
}

// childrenOf joins children with the effects that spawned them.
func childrenOf(of turn.Record, effects []effect.Record, children []turn.Child) []childAnswer {
	var out []childAnswer
	for _, c := range children {
		one := childAnswer{Turn: c.ID, Session: c.Session, Core: c.Core, State: c.State}
		for _, e := range effects {
			if who, err := principal.DelegatedID(string(of.Session), string(e.ID)); err == nil && who == c.Principal {
				one.Effect = e.ID
			}
		}
		out = append(out, one)
	}
	return out
}

// sayChildren lists them.
func sayChildren(t *console.Text, children []childAnswer) {
	for _, c := range children {
		t.Say("child   %s  %s  core %s, session %s, of %s", console.Bold(string(c.Turn)), stateStyle(c.State), c.Core, c.Session, c.Effect)
	}
}
