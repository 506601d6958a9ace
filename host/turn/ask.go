package turn

import (
	"context"
	"encoding/json"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// AskTool is the builtin tool with which a model pauses the turn for the user.
const AskTool = "user.ask"

// Ask offers [AskTool]. It does nothing but end the turn as needs_user with the question as the reply; the answer is
// the next turn's input.
type Ask struct{}

type askResult struct {
	Question string `json:"question"`
}

// Tools returns the one tool.
func (Ask) Tools(context.Context, binding.Turn) ([]effect.Tool, error) {
	schema := json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","minLength":1,"maxLength":4000,` +
		`"description":"what to ask, complete in itself"}},"required":["question"],"additionalProperties":false}`)
	name, err := capability.Parse("tool.call:" + AskTool)
	return []effect.Tool{{
		Name:        AskTool,
		Description: "Ask the user one question and end this turn. Use it only when you cannot go on without the answer; the answer comes as the next message.",
		InputSchema: schema, OutputSchema: schema,
		Risk: approval.Low, Approval: approval.Auto, Recovery: "read",
		Needs: []capability.Name{name}, Origin: effect.Builtin, Provenance: "builtin:" + AskTool, Adapter: Ask{},
	}}, err
}

// Invoke returns the question.
func (Ask) Invoke(_ context.Context, call effect.Call) effect.Outcome {
	return effect.Outcome{Status: effect.Succeeded, Result: call.Arguments}
}
