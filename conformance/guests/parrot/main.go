// Package main is a plugin that says what it is told, on every way out that a plugin has: as a result, as a fault, to
// the log, as progress, in a panic, in a request to somebody else. Tests of what the host hides give it secrets.
package main

import (
	"context"
	"encoding/json"

	"github.com/b3abf3ee/portcullis/sdk"
)

func init() {
	sdk.Register(sdk.Plugin{
		ID: "parrot", Version: "1.0.0", License: "Apache-2.0", Summary: "Says what it is told, on every way out.",
		Capabilities: []sdk.Capability{{Name: "net.fetch", Reason: "Tells others what it is told."}},
		Egress:       []sdk.Egress{{Host: "parrot.example", Reason: "The one who is told."}},
		Limits:       sdk.Limits{MemoryBytes: 64 << 20, DeadlineMS: 20_000, HTTPCalls: 4},
		Tools: []sdk.ToolSpec{
			sdk.Tool("parrot.give", "Give a document back.", Give, sdk.ReadOnly()),
			sdk.Tool("parrot.say", "Say a text.", Say, sdk.ReadOnly()),
			sdk.Tool("parrot.fail", "Answer with a fault.", Fail, sdk.ReadOnly()),
			sdk.Tool("parrot.log", "Write to the log.", Log, sdk.ReadOnly()),
			sdk.Tool("parrot.panic", "Panic.", Panic, sdk.ReadOnly()),
			sdk.Tool("parrot.tell", "Send a request.", Tell, sdk.ReadOnly(), sdk.Needs("net.fetch")),
		},
	})
}

// main never runs: the host calls the exports of the module.
func main() {}

// Message is what to say.
type Message struct {
	Text string `json:"text"`
}

// Give gives any document back.
func Give(_ context.Context, in json.RawMessage, _ sdk.Host) (json.RawMessage, error) { return in, nil }

// Say gives a text back, and shows it as progress.
func Say(_ context.Context, in Message, h sdk.Host) (Message, error) {
	h.Progress(in.Text, 1, 2)
	return in, nil
}

// Fail gives a text back as a fault.
func Fail(_ context.Context, in Message, _ sdk.Host) (Message, error) {
	return Message{}, sdk.Errorf(sdk.Failed, "%s", in.Text)
}

// Log writes a text to the operator's log, as the message and as a value.
func Log(_ context.Context, in Message, h sdk.Host) (Message, error) {
	h.Log(sdk.LevelWarn, in.Text, "said", in.Text)
	return Message{Text: "logged"}, nil
}

// Panic panics with a text.
func Panic(_ context.Context, in Message, _ sdk.Host) (Message, error) { panic(in.Text) }

// Letter is a request.
type Letter struct {
	URL    string `json:"url"`
	Header string `json:"header,omitempty"` // of X-Parrot
	Body   string `json:"body,omitempty"`
}

// Tell sends the request.
func Tell(ctx context.Context, in Letter, h sdk.Host) (Message, error) {
	req := &sdk.Request{Method: "POST", URL: in.URL, Body: []byte(in.Body)}
	if in.Header != "" {
		req.Header = sdk.Header{"X-Parrot": {in.Header}}
	}
	if _, err := h.Do(ctx, req); err != nil {
		return Message{}, err
	}
	return Message{Text: "told"}, nil
}
