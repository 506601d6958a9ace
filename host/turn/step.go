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

// recall reads the bounded window of history; the input comes after it.
func (w *work) recall(ctx context.Context) (ending, bool) {
	stored, err := w.x.cfg.Journal.Window(ctx, w.bound.Principal(), w.a.session, historyMessages, historyBytes)
	if err != nil {
		return failed("history_unreadable", fmt.Sprintf("the session's history cannot be read: %v", err)), false
	}
	for _, m := range stored {
		if m.Turn == w.a.turn {
			continue // the input, stored with the admission
		}
		msg, err := decodeMessage(m.Body)
		if err != nil {
			return failed("history_unreadable", fmt.Sprintf("message %s cannot be read: %v (`portcullis store check`)", m.ID, err)), false
		}
		w.history = append(w.history, msg)
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
	if w.obs.Step != nil {
		w.obs.Step(w.steps)
	}
	fit := prompt.Prepare(prompt.Request{
		Limits: w.a.plan.Model.Limits(), MaxOutput: w.a.plan.MaxOutput, System: w.a.plan.System,
		Tools: w.tools, History: w.history, Current: w.current,
	})
	if fit.Overflow {
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
		return providerEnding(err), true
	}
	w.spend(resp.Usage)
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

func (w *work) spend(u provider.Usage) {
	w.usage.Input += int64(u.Input)
	w.usage.Output += int64(u.Output)
	w.usage.CacheRead += int64(u.CacheRead)
	w.usage.CacheWrite += int64(u.CacheWrite)
}
