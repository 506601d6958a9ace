package command

import (
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/effect"
)

// stageAnswer is one step of the gate in a document.
type stageAnswer struct {
	Number  int     `json:"number"`
	Name    string  `json:"name"`
	Verdict string  `json:"verdict"`
	Why     string  `json:"why,omitempty"`
	Took    float64 `json:"took_ms"`
}

func stagesOf(stages []effect.Stage) []stageAnswer {
	out := make([]stageAnswer, len(stages))
	for i, s := range stages {
		out[i] = stageAnswer{s.Number, s.Name, s.Verdict, s.Why, milliseconds(s.Took)}
	}
	return out
}

// sayStages shows the way of one effect through the gate.
func sayStages(t *console.Text, stages []effect.Stage) {
	for _, s := range stages {
		verdict := console.Good("pass")
		if s.Verdict != "pass" {
			verdict = console.Bad(s.Verdict)
		}
		t.Say("  %d %-11s %s  %s  %s", s.Number, s.Name, verdict, console.Dim(took(s.Took)), console.Command(console.Cut(s.Why, 160)))
	}
}
