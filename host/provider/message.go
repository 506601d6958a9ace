package provider

import (
	"encoding/json"
	"slices"
	"strings"
)

// Role says who speaks a [Message].
type Role string

// The four roles. A system message outside [Request.System] keeps the authority
// of the system; an adapter whose vendor has no such place hoists it into the
// system prompt, it never lowers it to a user message.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// PartKind says which member of a [Part] counts.
type PartKind string

// The kinds of part.
const (
	PartText       PartKind = "text"
	PartToolCall   PartKind = "tool_call"
	PartToolResult PartKind = "tool_result"
	PartOpaque     PartKind = "opaque"
)

// Message is one entry of a conversation. It is a value: [Message.Clone] shares
// no memory with the original, and every [Model] copies a request before it
// uses it, so nothing can change under a running turn.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one piece of a message: exactly the member its Kind names.
// The JSON form is the one a store may keep.
type Part struct {
	Kind   PartKind   `json:"kind"`
	Text   string     `json:"text,omitzero"`
	Call   ToolCall   `json:"call,omitzero"`
	Result ToolResult `json:"result,omitzero"`
	Opaque Opaque     `json:"opaque,omitzero"`
}

// ToolCall is a model's wish to have a tool run. It is a fact about what the
// model said, not a permission.
type ToolCall struct {
	// ID pairs the call with its result. Unique within one response; made up
	// (deterministically) when the server sent none.
	ID string `json:"id"`
	// Name is the wire name as the model spelled it: it may name no tool at all.
	Name string `json:"name"`
	// Arguments is one strict JSON object (RFC 8259, no duplicate names, valid
	// UTF-8), or nil when Malformed is set.
	Arguments json.RawMessage `json:"arguments,omitzero"`
	// Malformed says, in our words, why the argument text was not such an object.
	// Such a call must be answered with an error result and never be executed.
	Malformed string `json:"malformed,omitzero"`
}

// ToolResult answers one [ToolCall] of the assistant message before it.
type ToolResult struct {
	CallID string `json:"call_id"`
	// Content is the model view of the effect: already redacted and bounded.
	Content string `json:"content,omitzero"`
	// IsError tells the vendor that the call did not succeed, where the vendor
	// has a place for it.
	IsError bool `json:"is_error,omitzero"`
	// Status is the effect's status word (succeeded, denied, ...). It stays in the
	// host: no vendor is sent it; a script may assert on it.
	Status string `json:"status,omitzero"`
}

// Opaque is vendor-private continuation data, for example a signed thinking
// block. It is never shown to people and never sent to another vendor.
//
// A vendor may bind such data to everything that came before it in the
// conversation: whoever rewrites earlier messages (compaction, pruning) drops
// the opaque parts behind the place it rewrote.
type Opaque struct {
	// Source is the name of the adapter that made it, e.g. "anthropic".
	Source string          `json:"source"`
	Data   json.RawMessage `json:"data"`
}

// Text returns a text part.
func Text(s string) Part { return Part{Kind: PartText, Text: s} }

// Result returns a tool-result part.
func Result(r ToolResult) Part { return Part{Kind: PartToolResult, Result: r} }

// User returns a user message with one text part.
func User(text string) Message { return Message{Role: RoleUser, Parts: []Part{Text(text)}} }

// Assistant returns an assistant message of the given parts, which it copies.
func Assistant(parts ...Part) Message {
	return Message{Role: RoleAssistant, Parts: cloneParts(parts)}
}

// ToolResults returns the tool message that answers an assistant message.
func ToolResults(results ...ToolResult) Message {
	parts := make([]Part, len(results))
	for i, r := range results {
		parts[i] = Result(r)
	}
	return Message{Role: RoleTool, Parts: parts}
}

// Text returns the message's text parts joined without a separator.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Kind == PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Calls returns copies of the tool calls of the message, in order.
func (m Message) Calls() []ToolCall { return callsOf(m.Parts) }

// Clone returns a message that shares no memory with m.
func (m Message) Clone() Message { return Message{Role: m.Role, Parts: cloneParts(m.Parts)} }

// Clone returns a part that shares no memory with p.
func (p Part) Clone() Part {
	p.Call.Arguments = slices.Clone(p.Call.Arguments)
	p.Opaque.Data = slices.Clone(p.Opaque.Data)
	return p
}

func cloneParts(parts []Part) []Part {
	if parts == nil {
		return nil
	}
	out := make([]Part, len(parts))
	for i, p := range parts {
		out[i] = p.Clone()
	}
	return out
}

func callsOf(parts []Part) []ToolCall {
	var calls []ToolCall
	for _, p := range parts {
		if p.Kind == PartToolCall {
			calls = append(calls, p.Clone().Call)
		}
	}
	return calls
}
