package turn

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// run runs the calls of one model answer, one after another in the model's order, and answers each: a vendor refuses
// a conversation in which a call has no result. done means the turn is over.
func (w *work) run(ctx context.Context, calls []provider.ToolCall) (end ending, done bool) {
	results := make([]provider.ToolResult, 0, len(calls))
	for _, call := range calls {
		if ctx.Err() != nil || done {
			results = append(results, provider.ToolResult{CallID: call.ID, Content: "not run: the turn is over", IsError: true, Status: string(effect.Cancelled)})
			continue
		}
		res := w.execute(ctx, call)
		w.did(res.Summary())
		if w.obs.Effect != nil {
			w.obs.Effect(res)
		}
		results = append(results, provider.ToolResult{
			CallID: call.ID, Content: res.Views.Model.String(), IsError: res.Status != effect.Succeeded || res.Views.Failed, Status: string(res.Status),
		})
		switch {
		case res.Status == effect.Indeterminate:
			end, done = failed("effect_indeterminate", res.Sentence), true
		case res.Tool == AskTool && res.Status == effect.Succeeded:
			end, done = ending{outcome: NeedsUser, reason: "asked_user", reply: question(res.Views.Model.String())}, true
		}
	}
	// The results are stored even when ctx has ended, so that history never holds a call without its result.
	if stored, ok := w.add(context.WithoutCancel(ctx), provider.ToolResults(results...)); !ok && !done {
		return stored, true
	}
	if !done && ctx.Err() != nil {
		return failed("cancelled", "cancelled"), true // settle says what it was
	}
	return end, done
}

// execute passes one of the model's calls through the gate.
func (w *work) execute(ctx context.Context, call provider.ToolCall) effect.Result {
	name, known := w.names[call.Name]
	if !known {
		name = call.Name
	}
	if w.obs.Call != nil {
		w.obs.Call(w.catalog.Redactor().Text(redact.ForOperator, name), call.ID, w.catalog.Shown(call.Arguments))
	}
	return w.gate(ctx, effect.Request{
		ID: w.x.cfg.IDs.Effect(), CallID: call.ID, Arguments: call.Arguments, Malformed: call.Malformed,
		From: effect.FromModel, Catalog: w.catalog, Observe: w.obs.Stage, Progress: w.obs.Progress,
	}, name)
}

// watch shows a preview of the answer. Text is redacted across chunk borders before anyone sees it.
func (w *work) watch(e provider.Event, stream *redact.Stream) {
	switch e.Kind {
	case provider.EventText:
		if text := stream.Push([]byte(e.Text)); len(text) > 0 && w.obs.Text != nil {
			w.obs.Text(string(text))
		}
	case provider.EventRetry:
		if w.obs.Waiting != nil {
			w.obs.Waiting(e.Retry)
		}
	}
}

func (w *work) flush(stream *redact.Stream) {
	if text := stream.Flush(); len(text) > 0 && w.obs.Text != nil {
		w.obs.Text(string(text))
	}
}

// question reads the question out of the ask tool's result.
func question(model string) string {
	var asked askResult
	if err := json.Unmarshal([]byte(model), &asked); err != nil {
		return fmt.Sprintf("the agent asks, but its question cannot be read (%d bytes)", len(model))
	}
	return asked.Question
}
