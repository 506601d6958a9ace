package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// patient lets each question stand until it is taken away.
type patient struct{ asked chan approval.Question }

func (p patient) Prompt(ctx context.Context, q approval.Question) (approval.Answer, error) {
	p.asked <- q
	<-ctx.Done()
	return approval.Answer{}, context.Cause(ctx)
}

// A session that is ended while one of its calls waits for a person: the call does not run, and no later one does.
func TestAnEndedSessionDeniesWhatItAsks(t *testing.T) {
	home := newHome(t)
	home.core("steps: [{say: hello}]\n", []string{"tool.call:user.ask"}, "approval: {default: prompt}")
	person := patient{make(chan approval.Question, 1)}
	h := home.open(func(c *host.Config) { c.Prompter = person })
	ended := make(chan effect.Result, 1)
	go func() {
		_, res, err := h.Call(t.Context(), host.Request{}, "user.ask", []byte(`{"question":"go on?"}`), turn.Observer{})
		if err != nil {
			t.Error(err)
		}
		ended <- res
	}()
	q := <-person.asked
	by, err := h.Operator(t.Context(), "end it")
	if err != nil {
		t.Fatal(err)
	}
	if how, err := h.EndSession(t.Context(), by, q.Session, "enough"); err != nil || how != turn.Ended {
		t.Fatal(how, err)
	}
	if res := <-ended; res.Status != effect.Denied || res.Started {
		t.Errorf("%s %s: %s", res.Status, res.Reason, res.Sentence)
	}
	_, err = h.Run(t.Context(), host.Request{Input: "hi", Session: turn.Selector{Kind: turn.Resume, Session: q.Session}}, turn.Observer{})
	var refused *turn.RejectedError
	if !errors.As(err, &refused) || refused.Reason != turn.RejectEnded {
		t.Errorf("a turn in it: %v", err)
	}
}
