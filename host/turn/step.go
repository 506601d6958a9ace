package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/failpoint"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// define turns the catalog's definitions into what a provider is shown. The names a model may answer with are these
// and no others.
func (w *work) define() {
	w.names = map[string]string{}
	for _, d := range w.catalog.Definitions() {
		wire := provider.WireName(d.Name)
		w.names[wire] = d.Name
		w.tools = append(w.tools, provider.ToolDefinition{Name: d.Name, WireName: wire, Description: d.Description, InputSchema: d.InputSchema})
	}
}

// recall opens the session's history; the input comes after it.
func (w *work) recall(ctx context.Context) (ending, bool) {
	model := prompt.Model{Name: w.a.plan.Model.Name(), Limits: w.a.plan.Model.Limits(), MaxOutput: w.a.plan.MaxOutput, Hide: w.again, Hides: w.hides}
	if w.a.plan.Summaries {
		model.Summary = summarizer{w}
	}
	var err error
	if w.conversation, err = w.x.cfg.Context.Open(ctx, w.bound, model); err != nil {
		return failed("history_unreadable", fmt.Sprintf("the session's history cannot be read: %v", err)), false
	}
	w.current = append(w.current, w.a.input)
	return ending{}, true
}

// add stores a message of this turn and shows it to the model from now on. Its texts must be in the model view. It is
// durable before the next effect starts and before the turn ends.
func (w *work) add(ctx context.Context, m provider.Message) (ending, bool) {
	stored, err := w.x.message(w.a.turn, m)
	if err == nil {
		err = w.x.cfg.Journal.AppendBehind(ctx, w.a.turn, w.a.claim, []Message{stored})
	}
	if err != nil {
		return failed("message_not_stored", fmt.Sprintf("a message cannot be stored: %v", err)), false
	}
	w.current = append(w.current, m)
	return ending{}, true
}

// message is m as the journal keeps it.
func (x *Execution) message(t id.Turn, m provider.Message) (Message, error) {
	body, err := json.Marshal(m)
	return Message{ID: x.cfg.IDs.Message(), Turn: t, Role: string(m.Role), Body: body, At: x.cfg.Clock()}, err
}

// step asks the model once and runs what it asks for. done means the turn is over.
func (w *work) step(ctx context.Context) (end ending, done bool) {
	w.steps++
	w.live.step(w.x)
	if w.obs.Step != nil {
		w.obs.Step(w.steps)
	}
	fit, err := w.conversation.Prepare(ctx, prompt.Step{Number: w.steps, System: w.a.plan.System, Tools: w.tools, Current: w.current})
	switch {
	case err != nil:
		return failed("context_failed", fmt.Sprintf("what the model is to be shown could not be put together: %v", err)), true
	case fit.Overflow:
		return failed("context_overflow", fit.Sentence()), true
	}
	if err := failpoint.Hit("turn.ask"); err != nil {
		return providerEnding(err), true
	}
	stream := redact.NewStream(w.catalog.Redactor(), redact.ForOperator)
	resp, err := w.a.plan.Model.Generate(ctx, provider.Request{
		System: w.a.plan.System, Messages: fit.Messages, Tools: w.tools,
		MaxOutputTokens: fit.MaxOutput, Temperature: w.a.plan.Temperature,
		Metadata: map[string]string{provider.MetadataSession: string(w.a.session)},
	}, func(e provider.Event) { w.watch(e, stream) })
	w.flush(stream)
	if err == nil {
		err = failpoint.Hit("turn.answered")
	}
	if err != nil {
		w.refused(ctx, fit.Decision, err)
		return providerEnding(err), true
	}
	w.spend(resp.Usage)
	w.observe(ctx, fit.Decision, resp)
	msg, calls := w.hide(resp.Message())
	if len(calls) == 0 {
		return w.last(resp, msg), true
	}
	if end, ok := w.add(ctx, msg); !ok {
		return end, true
	}
	return w.run(ctx, calls)
}

// last keeps the answer for the terminal write.
func (w *work) last(resp provider.Response, m provider.Message) ending {
	stored, err := w.x.message(w.a.turn, m)
	if err != nil {
		return failed("message_not_stored", fmt.Sprintf("a message cannot be stored: %v", err))
	}
	w.closing = []Message{stored}
	return answered(resp, m)
}

// answered is the end of a turn whose model asked for nothing more.
func answered(resp provider.Response, msg provider.Message) ending {
	switch resp.FinishReason {
	case provider.FinishRefused:
		return ending{outcome: Failed, reason: "model_refused", sentence: "the model declined to answer", reply: msg.Text()}
	case provider.FinishLength:
		return ending{outcome: Failed, reason: "output_cut", sentence: "the model's answer was cut at its output limit: raise model.max_output_tokens or ask for less", reply: msg.Text()}
	}
	return ending{outcome: Completed, reply: msg.Text()}
}

func providerEnding(err error) ending {
	var bad *provider.Error
	if errors.As(err, &bad) {
		return failed("provider_"+string(bad.Kind), bad.Error())
	}
	return failed("provider_failed", "the model adapter failed")
}

// observe keeps what the model reported. That it cannot be kept takes nothing from the answer.
func (w *work) observe(ctx context.Context, d id.Decision, resp provider.Response) {
	err := w.conversation.Observe(context.WithoutCancel(ctx), prompt.Report{
		Decision: d, Usage: resp.Usage, FinishReason: string(resp.FinishReason), RequestID: w.known().Short(redact.ForDurable, resp.ProviderRequestID, 256),
	})
	w.degraded = w.degraded || err != nil
}

// refused keeps that the model took a request to be too large. That it cannot be kept changes nothing of the turn's end.
func (w *work) refused(ctx context.Context, d id.Decision, err error) {
	var bad *provider.Error
	if errors.As(err, &bad) && bad.Kind == provider.KindContextOverflow {
		w.degraded = w.conversation.Refused(context.WithoutCancel(ctx), d) != nil || w.degraded
	}
}

// summarizer writes summaries with the turn's model, in the model view and at the turn's cost.
type summarizer struct{ w *work }

// Name is the model's.
func (s summarizer) Name() string { return s.w.a.plan.Model.Name() }

// Summarize asks the turn's model.
func (s summarizer) Summarize(ctx context.Context, before string, messages []provider.Message, tokens int) (string, error) {
	text, usage, err := prompt.Summarize(ctx, s.w.a.plan.Model, before, messages, tokens)
	s.w.spend(usage)
	return s.w.known().Text(redact.ForModel, text), err
}
