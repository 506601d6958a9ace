package provider

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// The metadata keys with a meaning. Other keys are for the host's own use and
// never leave the process.
const (
	// MetadataSession separates conversations for a model that keeps a place per
	// conversation; only the scripted model does.
	MetadataSession = "session"
	// MetadataEndUser is an opaque, non-personal id of whoever the request is made
	// for. It is the only key sent to a vendor (Anthropic metadata.user_id, OpenAI user).
	MetadataEndUser = "end_user"
)

// ToolDefinition offers one tool to the model.
type ToolDefinition struct {
	// Name is Portcullis's tool name, e.g. calc.eval.
	Name string
	// WireName is the name the vendor sees: ^[a-zA-Z0-9_-]{1,64}$, unique within a
	// request. [WireName] makes one.
	WireName string
	// Description tells the model what the tool does.
	Description string
	// InputSchema is a JSON Schema whose root is an object.
	InputSchema json.RawMessage
}

// WireName turns a tool name into one every vendor accepts: dots become dashes.
// Tool names hold no dash, so two different tools never meet in one wire name.
func WireName(tool string) string { return strings.ReplaceAll(tool, ".", "-") }

// Request is everything a model is shown, and how it may answer.
type Request struct {
	// Model overrides the configured model id for this one request; usually empty.
	Model string
	// System is the system prompt; may be empty.
	System string
	// Messages is the conversation, oldest first; it ends with a user or tool message.
	Messages []Message
	// Tools are the tools on offer; none means the model can only talk.
	Tools []ToolDefinition
	// MaxOutputTokens bounds the answer; 0 means the model's [Limits].MaxOutput.
	MaxOutputTokens int
	// Temperature in [0, 2]; nil leaves it to the vendor. Some models accept none
	// and answer bad_request.
	Temperature *float64
	// StopSequences end the answer when the model writes one of them.
	StopSequences []string
	// Metadata: see [MetadataSession] and [MetadataEndUser].
	Metadata map[string]string
}

// Clone returns a request that shares no memory with r.
func (r Request) Clone() Request {
	messages := r.Messages
	r.Messages = make([]Message, len(messages))
	for i, m := range messages {
		r.Messages[i] = m.Clone()
	}
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		r.Tools[i].InputSchema = slices.Clone(r.Tools[i].InputSchema)
	}
	if r.Temperature != nil {
		t := *r.Temperature
		r.Temperature = &t
	}
	r.StopSequences = slices.Clone(r.StopSequences)
	r.Metadata = maps.Clone(r.Metadata)
	return r
}
