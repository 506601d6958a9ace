package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/internal/exchange"
)

// errCut means that the stream ended before message_stop.
var errCut = errors.New("anthropic: stream ended early")

// reader turns the event stream of one message into an answer.
type reader struct {
	out     *provider.Assembler
	call    *exchange.Call
	usage   provider.Usage
	reason  sdk.StopReason
	thought *thought
	stopped bool
}

// thought is a thinking block under construction.
type thought struct {
	index     int64
	text      strings.Builder
	signature strings.Builder
}

func (r *reader) drain(stream *ssestream.Stream[sdk.MessageStreamEventUnion]) (provider.Response, error) {
	for !r.stopped && stream.Next() {
		if err := r.take(stream.Current()); err != nil {
			return provider.Response{}, err
		}
	}
	if err := stream.Err(); err != nil {
		return provider.Response{}, err
	}
	if !r.stopped {
		return provider.Response{}, errCut
	}
	r.out.Identify("", r.call.RequestID())
	return r.out.Finish(finish(r.reason)), nil
}

// take handles one event. Events and blocks of kinds we did not ask for are
// passed over: the vendor adds new ones under the same API version.
func (r *reader) take(event sdk.MessageStreamEventUnion) error {
	switch event.Type {
	case "message_start":
		r.out.Identify(event.Message.Model, "")
		u := event.Message.Usage
		r.usage = provider.Usage{
			Input: int(u.InputTokens), Output: int(u.OutputTokens),
			CacheRead: int(u.CacheReadInputTokens), CacheWrite: int(u.CacheCreationInputTokens),
		}
		if event.Message.JSON.Usage.Valid() {
			r.out.Usage(r.usage)
		}
	case "content_block_start":
		return r.begin(event)
	case "content_block_delta":
		return r.extend(event)
	case "content_block_stop":
		return r.end(event.Index)
	case "message_delta":
		r.reason = event.Delta.StopReason
		r.count(event.Usage)
	case "message_stop":
		r.stopped = true
	}
	return nil
}

func (r *reader) begin(event sdk.MessageStreamEventUnion) error {
	block := event.ContentBlock
	switch block.Type {
	case "text":
		return r.out.Text(block.Text)
	case "tool_use":
		slot := int(event.Index)
		if err := r.out.StartCall(slot, block.ID, block.Name); err != nil {
			return err
		}
		// The vendor sends {} here and the arguments as deltas; some compatible
		// servers send them whole.
		if whole := block.JSON.Input.Raw(); whole != "" && whole != "{}" && whole != "null" {
			return r.out.CallDelta(slot, whole)
		}
	case "thinking":
		r.thought = &thought{index: event.Index}
		r.thought.text.WriteString(block.Thinking)
		r.thought.signature.WriteString(block.Signature)
		return r.out.Reserve(len(block.Thinking) + len(block.Signature))
	case "redacted_thinking":
		data, err := json.Marshal(map[string]string{"type": "redacted_thinking", "data": block.Data})
		if err != nil {
			return err
		}
		return r.out.Opaque(string(provider.Anthropic), data)
	}
	return nil
}

func (r *reader) extend(event sdk.MessageStreamEventUnion) error {
	delta := event.Delta
	switch delta.Type {
	case "text_delta":
		return r.out.Text(delta.Text)
	case "input_json_delta":
		if _, ours := r.out.CallID(int(event.Index)); !ours && delta.PartialJSON == "" {
			return nil
		}
		return r.out.CallDelta(int(event.Index), delta.PartialJSON)
	case "thinking_delta", "signature_delta":
		if r.thought == nil || r.thought.index != event.Index {
			return nil
		}
		r.thought.text.WriteString(delta.Thinking)
		r.thought.signature.WriteString(delta.Signature)
		return r.out.Reserve(len(delta.Thinking) + len(delta.Signature))
	}
	return nil
}

func (r *reader) end(index int64) error {
	if r.thought == nil || r.thought.index != index {
		return nil
	}
	done := r.thought
	r.thought = nil
	data, err := json.Marshal(map[string]string{
		"type": "thinking", "thinking": done.text.String(), "signature": done.signature.String(),
	})
	if err != nil {
		return err
	}
	// What was reserved while it grew is given back: Opaque counts the whole.
	if err := r.out.Reserve(-done.text.Len() - done.signature.Len()); err != nil {
		return err
	}
	return r.out.Opaque(string(provider.Anthropic), data)
}

// count takes the totals of a message_delta; the ones it leaves out keep the
// value message_start gave them.
func (r *reader) count(u sdk.MessageDeltaUsage) {
	if u.JSON.OutputTokens.Valid() {
		r.usage.Output = int(u.OutputTokens)
	}
	if u.JSON.InputTokens.Valid() {
		r.usage.Input = int(u.InputTokens)
	}
	if u.JSON.CacheReadInputTokens.Valid() {
		r.usage.CacheRead = int(u.CacheReadInputTokens)
	}
	if u.JSON.CacheCreationInputTokens.Valid() {
		r.usage.CacheWrite = int(u.CacheCreationInputTokens)
	}
	if u.RawJSON() != "" {
		r.out.Usage(r.usage)
	}
}

func finish(reason sdk.StopReason) provider.FinishReason {
	switch reason {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		return provider.FinishStop
	case sdk.StopReasonToolUse:
		return provider.FinishToolCalls
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return provider.FinishLength
	case sdk.StopReasonRefusal:
		return provider.FinishRefused
	default:
		return provider.FinishOther
	}
}
