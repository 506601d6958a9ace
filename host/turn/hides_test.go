package turn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// What was said before it was kept as a secret is in the history as it was said, and no model is shown it again.
func TestWhatBecameASecretIsNotShownAgain(t *testing.T) {
	const word = "correct-horse-battery"
	var (
		seen []string
		none redact.Set
	)
	w := newWorld(t, func(_ context.Context, _ int, req provider.Request) (provider.Response, error) {
		var b strings.Builder
		for _, m := range req.Messages {
			b.WriteString(m.Text() + "\n")
		}
		seen = append(seen, b.String())
		return say("noted")
	})
	x := turn.New(w.cfg)
	first, err := x.Run(t.Context(), ask("the word is "+word), turn.Observer{})
	if err != nil || first.Outcome() != turn.Completed {
		t.Fatal(first.Outcome(), err)
	}
	for _, kept := range []bool{false, true} {
		if kept {
			if w.plan.Setup.Known, err = none.With(redact.NewSecret("WORD", word)); err != nil {
				t.Fatal(err)
			}
		}
		next := ask("go on")
		next.Selector = turn.Selector{Kind: turn.Resume, Session: first.Session()}
		if res, err := x.Run(t.Context(), next, turn.Observer{}); err != nil || res.Outcome() != turn.Completed {
			t.Fatal(res.Outcome(), err)
		}
		if got := seen[len(seen)-1]; strings.Contains(got, word) == kept || !strings.Contains(got, "the word is") {
			t.Errorf("kept as a secret: %v, and the model is shown %s", kept, got)
		}
	}
}
