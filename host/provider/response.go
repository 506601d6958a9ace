package provider

import "time"

// FinishReason says why the model stopped.
type FinishReason string

// The finish reasons. FinishToolCalls is set exactly when the response holds a
// tool call and neither the output limit nor a refusal cut it off, whatever
// word the server used.
const (
	FinishStop      FinishReason = "stop"
	FinishToolCalls FinishReason = "tool_calls"
	// FinishLength: the output limit (or the context window) was reached; the last
	// part may be incomplete.
	FinishLength FinishReason = "length"
	// FinishRefused: the model or the vendor's filter declined. Tool calls begun
	// before that are not in the response, although events told of them.
	FinishRefused FinishReason = "refused"
	// FinishOther: the vendor gave a reason this package does not know.
	FinishOther FinishReason = "other"
)

// Usage counts the tokens of one response. The prompt's size is
// Input + CacheRead + CacheWrite: the three do not overlap.
type Usage struct {
	Input      int `json:"input"`       // prompt tokens neither read from nor written to a cache
	Output     int `json:"output"`      // tokens generated, reasoning included
	CacheRead  int `json:"cache_read"`  // prompt tokens served from the vendor's cache
	CacheWrite int `json:"cache_write"` // prompt tokens the vendor stored in its cache
	// Reported is false when the server sent no usage: the zeros mean "unknown".
	Reported bool `json:"reported"`
}

// Prompt returns the size of the whole prompt in tokens.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Response is a complete answer.
type Response struct {
	Parts        []Part
	FinishReason FinishReason
	Usage        Usage
	// ProviderRequestID is the vendor's name for the request, for its support desk;
	// empty when it sent none.
	ProviderRequestID string
	// Model is the model id the vendor says answered.
	Model string
}

// Message returns the response as the assistant message to append to the
// conversation. It shares no memory with r.
func (r Response) Message() Message { return Assistant(r.Parts...) }

// Text returns the text parts joined without a separator.
func (r Response) Text() string { return Message{Parts: r.Parts}.Text() }

// Calls returns copies of the tool calls, in the order the model made them.
func (r Response) Calls() []ToolCall { return callsOf(r.Parts) }

// Clone returns a response that shares no memory with r.
func (r Response) Clone() Response {
	r.Parts = cloneParts(r.Parts)
	return r
}

// EventKind says which members of an [Event] count.
type EventKind string

// The kinds of event. Text, call start and call delta are output: once one of
// them was delivered, the request is not retried.
const (
	EventText      EventKind = "text"       // Text
	EventCallStart EventKind = "call_start" // Index, CallID, Name
	EventCallDelta EventKind = "call_delta" // Index, Text: the next piece of the argument text
	EventUsage     EventKind = "usage"      // Usage so far
	EventRetry     EventKind = "retry"      // Retry: an attempt failed, another follows
)

// Event is a piece of an answer under way. It is a preview: only the final
// [Response] is checked and complete.
type Event struct {
	Kind   EventKind
	Text   string
	Index  int // ordinal of the tool call in this response, from 0
	CallID string
	Name   string
	Usage  Usage
	Retry  RetryNotice
}

// RetryNotice tells about an attempt that failed and will be repeated.
type RetryNotice struct {
	Attempt int           // the attempt that failed, from 1
	Wait    time.Duration // pause before the next one
	Cause   ErrorKind
}

// output reports whether the event shows the caller a piece of the answer.
func (e Event) output() bool {
	return e.Kind == EventText || e.Kind == EventCallStart || e.Kind == EventCallDelta
}
