package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/anthropic"
	"github.com/b3abf3ee/portcullis/host/provider/providertest"
)

func TestContract(t *testing.T) { providertest.Run(t, vendor()) }

func vendor() providertest.Vendor {
	const shape = `{"type":"error","error":{"type":%q,"message":%q}}`
	return providertest.Vendor{
		Adapter: provider.Anthropic,
		Open: func(cfg provider.Config, deps provider.Deps) (provider.Model, error) {
			return anthropic.New(cfg, deps)
		},
		KeyOf:       func(h http.Header) string { return h.Get("X-Api-Key") },
		Frames:      frames,
		Malformed:   "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\n\n",
		StreamError: "event: error\ndata: " + fmt.Sprintf(shape, "overloaded_error", "Overloaded") + "\n\n",
		Errors: []providertest.ErrorAnswer{
			{Name: "401", Status: 401, Body: fmt.Sprintf(shape, "authentication_error", "invalid x-api-key"), Want: provider.KindAuth},
			{Name: "402", Status: 402, Body: fmt.Sprintf(shape, "billing_error", "credit"), Want: provider.KindAuth},
			{Name: "403", Status: 403, Body: fmt.Sprintf(shape, "permission_error", "no"), Want: provider.KindAuth},
			{Name: "404", Status: 404, Body: fmt.Sprintf(shape, "not_found_error", "model: x"), Want: provider.KindBadRequest},
			{Name: "429", Status: 429, Body: fmt.Sprintf(shape, "rate_limit_error", "slow down"), Want: provider.KindRateLimited},
			{Name: "500", Status: 500, Body: fmt.Sprintf(shape, "api_error", "oops"), Want: provider.KindOverloaded},
			{Name: "503", Status: 503, Body: ``, Want: provider.KindOverloaded},
			{Name: "529", Status: 529, Body: fmt.Sprintf(shape, "overloaded_error", "Overloaded"), Want: provider.KindOverloaded},
			{Name: "413", Status: 413, Body: fmt.Sprintf(shape, "request_too_large", "too many bytes"), Want: provider.KindContextOverflow},
			{Name: "400 overflow", Status: 400, Body: fmt.Sprintf(shape, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), Want: provider.KindContextOverflow},
			{Name: "400 overflow with output", Status: 400, Body: fmt.Sprintf(shape, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"), Want: provider.KindContextOverflow},
			{Name: "400", Status: 400, Body: fmt.Sprintf(shape, "invalid_request_error", "temperature: not accepted"), Want: provider.KindBadRequest},
			{Name: "unknown type", Status: 418, Body: fmt.Sprintf(shape, "teapot_error", "short"), Want: provider.KindBadRequest},
		},
	}
}

func event(name string, data map[string]any) string {
	data["type"] = name
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, raw)
}

// frames writes an answer the way Anthropic does: every block has an index in
// one numbering, is opened, filled and closed.
func frames(a providertest.Answer) []string {
	usage := map[string]any{"input_tokens": 1, "output_tokens": 1}
	final := map[string]any{"output_tokens": 2}
	if u := a.Usage; u != nil {
		usage = map[string]any{"input_tokens": u.Input, "output_tokens": 1, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite}
		final = map[string]any{"output_tokens": u.Output}
	}
	out := []string{
		event("message_start", map[string]any{"message": map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "test-model-1", "content": []any{}, "usage": usage,
		}}),
		event("ping", map[string]any{}),
	}
	next, text := 0, -1
	blocks := map[int]int{}
	for _, p := range a.Pieces {
		switch {
		case !p.Call:
			if text < 0 {
				text = next
				next++
				out = append(out, event("content_block_start", map[string]any{"index": text, "content_block": map[string]any{"type": "text", "text": ""}}))
			}
			out = append(out, event("content_block_delta", map[string]any{"index": text, "delta": map[string]any{"type": "text_delta", "text": p.Text}}))
		case p.Name != "":
			blocks[p.Index] = next
			next++
			text = -1
			out = append(
				out, event("content_block_start", map[string]any{"index": blocks[p.Index], "content_block": map[string]any{
					"type": "tool_use", "id": p.ID, "name": p.Name, "input": map[string]any{},
				}}),
				event("content_block_delta", map[string]any{"index": blocks[p.Index], "delta": map[string]any{"type": "input_json_delta", "partial_json": ""}}),
			)
		default:
			out = append(out, event("content_block_delta", map[string]any{"index": blocks[p.Index], "delta": map[string]any{"type": "input_json_delta", "partial_json": p.Args}}))
		}
	}
	for i := range next {
		out = append(out, event("content_block_stop", map[string]any{"index": i}))
	}
	word := map[provider.FinishReason]string{
		provider.FinishStop: "end_turn", provider.FinishToolCalls: "tool_use",
		provider.FinishLength: "max_tokens", provider.FinishRefused: "refusal",
	}[a.Finish]
	return append(
		out, event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": word, "stop_sequence": nil}, "usage": final}),
		event("message_stop", map[string]any{}),
	)
}
