package host_test

import (
	"context"
	"testing"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// waiting is a person who lets the first question stand until it is taken away, and allows every later one.
type waiting struct{ asked chan approval.Question }

func (w *waiting) Prompt(ctx context.Context, q approval.Question) (approval.Answer, error) {
	select {
	case w.asked <- q:
		<-ctx.Done()
		return approval.Answer{}, context.Cause(ctx)
	default:
		return approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: q.Principal}, nil
	}
}

// A question about what a core's older revision would do ends when a turn finds that the core has changed.
func TestAnotherRevisionEndsTheQuestionsOfTheOneBefore(t *testing.T) {
	home := newHome(t)
	script := func(word string) {
		home.core("steps: [{say: "+word+"}]\n", []string{"tool.call:user.ask"}, "approval: {default: prompt}")
	}
	script("one")
	person := &waiting{asked: make(chan approval.Question, 1)}
	h := home.open(func(c *host.Config) { c.Prompter = person })
	ask := func() effect.Result {
		_, res, err := h.Call(t.Context(), host.Request{Core: "assistant"}, "user.ask", []byte(`{"question":"go on?"}`), turn.Observer{})
		if err != nil {
			t.Error(err)
		}
		return res
	}
	old := make(chan effect.Result, 1)
	go func() { old <- ask() }()
	person.asked <- <-person.asked // it stands, and every later one is allowed
	script("two")
	if res := ask(); res.Status != effect.Succeeded {
		t.Fatalf("%s %s: %s", res.Status, res.Reason, res.Sentence)
	}
	if res := <-old; res.Status != effect.Denied || res.Reason != approval.ReasonRevoked {
		t.Fatalf("%s %s: %s", res.Status, res.Reason, res.Sentence)
	}
}
