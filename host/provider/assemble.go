package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Assembler builds one [Response] from the pieces of a stream, under [Caps].
// Every adapter uses it, so a vendor's way of slicing an answer changes neither
// the events nor the result. It belongs to one call and one goroutine.
type Assembler struct {
	caps  Caps
	emit  func(Event)
	seed  string
	resp  Response
	bytes int
	parts []*partial
	slots map[int]*partial
	calls int
}

// partial is a part under construction.
type partial struct {
	kind  PartKind
	text  strings.Builder // text, or argument text of a call
	call  ToolCall
	index int // ordinal among the calls
	data  Opaque
}

// NewAssembler returns an assembler for the answer to req. emit may be nil.
func NewAssembler(req Request, caps Caps, emit func(Event)) *Assembler {
	if emit == nil {
		emit = func(Event) {}
	}
	return &Assembler{
		caps: caps.WithDefaults(), emit: emit, slots: make(map[int]*partial),
		seed: fmt.Sprintf("%s/%d", req.Model, len(req.Messages)),
	}
}

// Identify records the vendor's names for the model and the request; an empty
// string leaves what is there.
func (a *Assembler) Identify(model, requestID string) {
	if model != "" {
		a.resp.Model = strings.Clone(model)
	}
	if requestID != "" {
		a.resp.ProviderRequestID = strings.Clone(requestID)
	}
}

// Text appends a piece of the model's text.
func (a *Assembler) Text(delta string) error {
	delta = strings.ToValidUTF8(delta, "\uFFFD")
	if delta == "" {
		return nil
	}
	if err := a.grow(len(delta)); err != nil {
		return err
	}
	last := len(a.parts) - 1
	if last < 0 || a.parts[last].kind != PartText {
		a.parts = append(a.parts, &partial{kind: PartText})
		last++
	}
	a.parts[last].text.WriteString(delta)
	a.emit(Event{Kind: EventText, Text: delta})
	return nil
}

// StartCall begins a tool call. slot is the vendor's own index for it, under
// which [Assembler.CallDelta] finds it again; a slot may be begun anew, which
// starts another call. An empty id is replaced by one derived from the request,
// so that the same answer gets the same ids.
func (a *Assembler) StartCall(slot int, id, name string) error {
	if name == "" || len(name) > 256 {
		return &Error{Kind: KindProtocol, Sentence: fmt.Sprintf("tool call %d has a name of %d bytes", a.calls, len(name))}
	}
	if a.calls >= a.caps.ToolCalls {
		return tooLarge("the model made more than %d tool calls in one answer", a.caps.ToolCalls)
	}
	if err := a.grow(len(name) + len(id)); err != nil {
		return err
	}
	if id == "" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d/%s", a.seed, a.resp.ProviderRequestID, a.calls, name))
		id = "call_" + hex.EncodeToString(sum[:12])
	}
	for _, p := range a.parts {
		if p.kind == PartToolCall && p.call.ID == id {
			return &Error{Kind: KindProtocol, Sentence: "two tool calls of one answer share an id"}
		}
	}
	p := &partial{kind: PartToolCall, index: a.calls, call: ToolCall{ID: strings.Clone(id), Name: strings.Clone(name)}}
	a.calls++
	a.parts = append(a.parts, p)
	a.slots[slot] = p
	a.emit(Event{Kind: EventCallStart, Index: p.index, CallID: p.call.ID, Name: p.call.Name})
	return nil
}

// CallDelta appends a piece of argument text to the call in slot.
func (a *Assembler) CallDelta(slot int, delta string) error {
	p, ok := a.slots[slot]
	if !ok {
		return &Error{Kind: KindProtocol, Sentence: fmt.Sprintf("arguments arrived for tool call %d, which was never begun", slot)}
	}
	if delta == "" {
		return nil
	}
	if p.text.Len()+len(delta) > a.caps.ArgumentBytes {
		return tooLarge("the arguments of one tool call are larger than %d bytes", a.caps.ArgumentBytes)
	}
	if err := a.grow(len(delta)); err != nil {
		return err
	}
	p.text.WriteString(delta)
	a.emit(Event{Kind: EventCallDelta, Index: p.index, CallID: p.call.ID, Name: p.call.Name, Text: delta})
	return nil
}

// CallID returns the id of the call in slot, and whether there is one.
func (a *Assembler) CallID(slot int) (string, bool) {
	p, ok := a.slots[slot]
	if !ok {
		return "", false
	}
	return p.call.ID, true
}

// Opaque appends vendor-private data.
func (a *Assembler) Opaque(source string, data json.RawMessage) error {
	if err := a.grow(len(data)); err != nil {
		return err
	}
	a.parts = append(a.parts, &partial{kind: PartOpaque, data: Opaque{Source: source, Data: data}})
	return nil
}

// Reserve counts n bytes that an adapter is holding back, so that data it
// collects by itself stays under the same cap; a negative n gives them back.
func (a *Assembler) Reserve(n int) error { return a.grow(n) }

// Usage records the token counts known so far; negative counts become zero.
func (a *Assembler) Usage(u Usage) {
	u.Input, u.Output = max(u.Input, 0), max(u.Output, 0)
	u.CacheRead, u.CacheWrite = max(u.CacheRead, 0), max(u.CacheWrite, 0)
	u.Reported = true
	a.resp.Usage = u
	a.emit(Event{Kind: EventUsage, Usage: u})
}

// Finish closes the answer: argument texts are decoded strictly, the finish
// reason is normalised, and the tool calls of a refused answer are left out, so
// that nobody can run them. The assembler must not be used afterwards.
func (a *Assembler) Finish(reason FinishReason) Response {
	for i, p := range a.parts {
		if p.kind == PartToolCall && reason == FinishRefused {
			continue
		}
		part := Part{Kind: p.kind}
		switch p.kind {
		case PartText:
			part.Text = p.text.String()
		case PartOpaque:
			part.Opaque = p.data
		case PartToolCall:
			part.Call = p.call
			part.Call.Arguments, part.Call.Malformed = decodeArguments(p.text.String())
			// A call cut off before its first byte of arguments looks like a call
			// without arguments; only the last part can have been cut.
			if reason == FinishLength && i == len(a.parts)-1 && p.text.Len() == 0 {
				part.Call.Arguments, part.Call.Malformed = nil, "cut off by the output limit"
			}
		}
		a.resp.Parts = append(a.resp.Parts, part)
	}
	a.resp.FinishReason = normalise(reason, a.calls > 0)
	return a.resp
}

func normalise(reason FinishReason, calls bool) FinishReason {
	switch {
	case reason == FinishLength || reason == FinishRefused:
		return reason
	case calls:
		return FinishToolCalls
	case reason == FinishToolCalls:
		return FinishOther
	default:
		return reason
	}
}

func (a *Assembler) grow(n int) error {
	a.bytes += n
	if a.bytes > a.caps.ResponseBytes {
		return tooLarge("the answer is larger than %d bytes", a.caps.ResponseBytes)
	}
	return nil
}

func tooLarge(format string, args ...any) *Error {
	return &Error{Kind: KindTooLarge, Sentence: fmt.Sprintf(format, args...)}
}
