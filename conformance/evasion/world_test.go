package evasion_test

import (
	"context"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
)

// person sits at the prompt: says one thing until told otherwise, under the name of whom the turn is for.
type person struct {
	says   approval.Answer
	by     string                  // another name
	during func(approval.Question) // what happens while the question stands
	asked  []approval.Question
}

func (p *person) Prompt(_ context.Context, q approval.Question) (approval.Answer, error) {
	p.asked = append(p.asked, q)
	if p.during != nil {
		p.during(q)
	}
	ans := p.says
	if ans.By = q.Principal; p.by != "" {
		ans.By = p.by
	}
	return ans, nil
}

type adapter func(context.Context, effect.Call) effect.Outcome

func (a adapter) Invoke(ctx context.Context, c effect.Call) effect.Outcome { return a(ctx, c) }

// counter is a tool that counts how often it ran.
func counter(ran *int) adapter {
	return func(context.Context, effect.Call) effect.Outcome {
		*ran++
		return effect.Outcome{Status: effect.Succeeded, Result: []byte(`{}`)}
	}
}
