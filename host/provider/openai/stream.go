package openai

import (
	"bytes"
	"errors"
	"io"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/internal/exchange"
)

// errCut means that the stream ended before a finish reason or [DONE].
var errCut = errors.New("openai: stream ended early")

// reader turns the chunks of one completion into an answer.
type reader struct {
	out     *provider.Assembler
	call    *exchange.Call
	reason  sdk.FinishReason
	refused bool
	slot    int // of the call being written; -1 before the first
	wires   map[int]int
}

func (r *reader) drain(stream *sdk.ChatCompletionStream) (provider.Response, error) {
	r.wires = make(map[int]int)
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return provider.Response{}, err
		}
		if err := r.take(chunk); err != nil {
			return provider.Response{}, err
		}
	}
	if r.reason == "" && !bytes.Contains(r.call.Tail(), []byte("[DONE]")) {
		return provider.Response{}, errCut
	}
	r.out.Identify("", r.call.RequestID())
	reason := finish(r.reason)
	if r.refused {
		reason = provider.FinishRefused
	}
	return r.out.Finish(reason), nil
}

func (r *reader) take(chunk sdk.ChatCompletionStreamResponse) error {
	r.out.Identify(chunk.Model, chunk.ID)
	if chunk.Usage != nil {
		r.out.Usage(usage(chunk.Usage))
	}
	for _, choice := range chunk.Choices {
		// We never ask for a second choice.
		if choice.Index != 0 {
			continue
		}
		if choice.FinishReason != "" && choice.FinishReason != sdk.FinishReasonNull {
			r.reason = choice.FinishReason
		}
		if err := r.out.Text(choice.Delta.Content); err != nil {
			return err
		}
		if choice.Delta.Refusal != "" {
			r.refused = true
			if err := r.out.Text(choice.Delta.Refusal); err != nil {
				return err
			}
		}
		for _, call := range choice.Delta.ToolCalls {
			if err := r.takeCall(call); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeCall sorts one delta to its call. The interface numbers calls by index
// and names each one once; servers are known to leave the index out, to number
// every call 0, and to repeat id and name on every delta.
func (r *reader) takeCall(delta sdk.ToolCall) error {
	slot, known := r.slot, r.slot >= 0
	if delta.Index != nil {
		slot, known = r.wires[*delta.Index]
	}
	if known && delta.ID != "" && delta.Function.Name != "" {
		id, _ := r.out.CallID(slot)
		known = id == delta.ID
	}
	if delta.Index == nil && delta.ID == "" && delta.Function.Name != "" {
		known = false
	}
	if !known {
		r.slot++
		slot = r.slot
		if err := r.out.StartCall(slot, delta.ID, delta.Function.Name); err != nil {
			return err
		}
		if delta.Index != nil {
			r.wires[*delta.Index] = slot
		}
	}
	return r.out.CallDelta(slot, delta.Function.Arguments)
}

// usage splits the prompt count, which includes the cached tokens here.
func usage(u *sdk.Usage) provider.Usage {
	out := provider.Usage{Input: u.PromptTokens, Output: u.CompletionTokens}
	if d := u.PromptTokensDetails; d != nil {
		out.CacheRead = min(d.CachedTokens, u.PromptTokens)
		out.Input -= out.CacheRead
	}
	return out
}

func finish(reason sdk.FinishReason) provider.FinishReason {
	switch reason {
	case sdk.FinishReasonStop, "":
		return provider.FinishStop
	case sdk.FinishReasonToolCalls, sdk.FinishReasonFunctionCall:
		return provider.FinishToolCalls
	case sdk.FinishReasonLength:
		return provider.FinishLength
	case sdk.FinishReasonContentFilter:
		return provider.FinishRefused
	default:
		return provider.FinishOther
	}
}
