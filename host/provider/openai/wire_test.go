package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/openai"
	"github.com/b3abf3ee/portcullis/host/provider/providertest"
)

func TestContract(t *testing.T) { providertest.Run(t, vendor()) }

func vendor() providertest.Vendor {
	const shape = `{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`
	return providertest.Vendor{
		Adapter: provider.OpenAI,
		Open: func(cfg provider.Config, deps provider.Deps) (provider.Model, error) {
			return openai.New(cfg, deps)
		},
		BasePath:    "/v1",
		KeyOf:       func(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") },
		Frames:      frames,
		Malformed:   "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\n\n",
		StreamError: "data: " + fmt.Sprintf(shape, "The server had an error", "server_error", "") + "\n\n",
		Errors: []providertest.ErrorAnswer{
			{Name: "401", Status: 401, Body: fmt.Sprintf(shape, "Incorrect API key provided", "invalid_request_error", "invalid_api_key"), Want: provider.KindAuth},
			{Name: "403", Status: 403, Body: fmt.Sprintf(shape, "Country not supported", "request_forbidden", "unsupported_country_region_territory"), Want: provider.KindAuth},
			{Name: "404", Status: 404, Body: fmt.Sprintf(shape, "The model x does not exist", "invalid_request_error", "model_not_found"), Want: provider.KindBadRequest},
			{Name: "429", Status: 429, Body: fmt.Sprintf(shape, "Rate limit reached", "requests", "rate_limit_exceeded"), Want: provider.KindRateLimited},
			{Name: "429 quota", Status: 429, Body: fmt.Sprintf(shape, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"), Want: provider.KindAuth},
			{Name: "500", Status: 500, Body: fmt.Sprintf(shape, "oops", "server_error", ""), Want: provider.KindOverloaded},
			{Name: "503", Status: 503, Body: ``, Want: provider.KindOverloaded},
			{Name: "529", Status: 529, Body: `{"error":{"message":"busy","type":"overloaded"}}`, Want: provider.KindOverloaded},
			{Name: "413", Status: 413, Body: `too big`, Want: provider.KindContextOverflow},
			{Name: "400 overflow", Status: 400, Body: fmt.Sprintf(shape, "This model's maximum context length is 128000 tokens.", "invalid_request_error", "context_length_exceeded"), Want: provider.KindContextOverflow},
			{Name: "400 overflow of vllm", Status: 400, Body: `{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","param":null,"code":400}}`, Want: provider.KindContextOverflow},
			{Name: "400 overflow of llama.cpp", Status: 400, Body: `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error","code":400,"n_ctx":4096}}`, Want: provider.KindContextOverflow},
			{Name: "400 policy", Status: 400, Body: fmt.Sprintf(shape, "no", "invalid_request_error", "content_policy_violation"), Want: provider.KindRefused},
			{Name: "400", Status: 400, Body: fmt.Sprintf(shape, "Unknown parameter", "invalid_request_error", "unknown_parameter"), Want: provider.KindBadRequest},
		},
	}
}

func chunk(choice map[string]any, usage any) string {
	body := map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test-model-1", "usage": usage, "choices": []any{}}
	if choice != nil {
		if choice["finish_reason"] == nil {
			choice["finish_reason"] = nil
		}
		choice["index"] = 0
		body["choices"] = []any{choice}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("data: %s\n\n", raw)
}

// frames writes an answer the way OpenAI does: deltas of one choice, a finish
// reason, the usage in a chunk without choices, [DONE].
func frames(a providertest.Answer) []string {
	out := []string{chunk(map[string]any{"delta": map[string]any{"role": "assistant", "content": ""}}, nil)}
	for _, p := range a.Pieces {
		delta := map[string]any{}
		switch {
		case !p.Call:
			delta["content"] = p.Text
		case p.Name != "":
			call := map[string]any{"index": p.Index, "type": "function", "function": map[string]any{"name": p.Name, "arguments": ""}}
			if p.ID != "" {
				call["id"] = p.ID
			}
			delta["tool_calls"] = []any{call}
		default:
			delta["tool_calls"] = []any{map[string]any{"index": p.Index, "function": map[string]any{"arguments": p.Args}}}
		}
		out = append(out, chunk(map[string]any{"delta": delta}, nil))
	}
	word := map[provider.FinishReason]string{
		provider.FinishStop: "stop", provider.FinishToolCalls: "tool_calls",
		provider.FinishLength: "length", provider.FinishRefused: "content_filter",
	}[a.Finish]
	out = append(out, chunk(map[string]any{"delta": map[string]any{}, "finish_reason": word}, nil))
	if u := a.Usage; u != nil {
		out = append(out, chunk(nil, map[string]any{
			"prompt_tokens": u.Input + u.CacheRead, "completion_tokens": u.Output, "total_tokens": u.Prompt() + u.Output,
			"prompt_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
		}))
	}
	return append(out, "data: [DONE]\n\n")
}
