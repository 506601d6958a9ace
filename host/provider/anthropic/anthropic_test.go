package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/anthropic"
	"github.com/b3abf3ee/portcullis/host/provider/providertest"
)

// sent asks once and returns the request body as the server read it.
func sent(t *testing.T, req provider.Request, change func(*provider.Config)) map[string]any {
	t.Helper()
	s := providertest.Serve(t, providertest.Stream(frames(providertest.Answer{Pieces: []providertest.Piece{providertest.Say("x")}, Finish: provider.FinishStop})...))
	cfg := vendor().Config(s.URL)
	if change != nil {
		change(&cfg)
	}
	m, err := anthropic.New(cfg, provider.Deps{HTTPClient: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	seen := s.Requests()[0]
	if seen.Path != "/v1/messages" {
		t.Errorf("path %s", seen.Path)
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(seen.Body), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestRequestOnTheWire(t *testing.T) {
	zero := 0.0
	req := providertest.Request()
	req.Temperature = &zero
	req.MaxOutputTokens = 99
	req.StopSequences = []string{"END"}
	req.Metadata = map[string]string{provider.MetadataEndUser: "u-1", "trace": "private"}
	req.Messages = []provider.Message{
		provider.User("one"),
		{Role: provider.RoleSystem, Parts: []provider.Part{provider.Text("summary so far")}},
		provider.Assistant(
			provider.Text("calling"), provider.Text(""),
			provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "a", Name: "calc-eval", Arguments: json.RawMessage(`{"b":1,"a":2}`)}},
			provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "b", Name: "calc-eval", Malformed: "not JSON"}},
		),
		provider.ToolResults(provider.ToolResult{CallID: "a", Content: "42", Status: "succeeded"}),
		provider.ToolResults(provider.ToolResult{CallID: "b", IsError: true, Status: "denied"}),
		provider.User("and now?"),
	}
	body := sent(t, req, func(c *provider.Config) { c.PromptCache = true })
	for key, want := range map[string]string{
		"model":          `"test-model"`,
		"max_tokens":     `99`,
		"temperature":    `0`,
		"stream":         `true`,
		"stop_sequences": `["END"]`,
		"metadata":       `{"user_id":"u-1"}`,
		"cache_control":  `{"type":"ephemeral"}`,
		"system":         `[{"text":"be brief","type":"text"},{"text":"summary so far","type":"text"}]`,
		"tools":          `[{"description":"evaluates","input_schema":{"properties":{"expression":{"type":"string"}},"type":"object"},"name":"calc-eval"}]`,
		"messages": `[{"content":[{"text":"one","type":"text"}],"role":"user"},` +
			`{"content":[{"text":"calling","type":"text"},` +
			`{"id":"a","input":{"a":2,"b":1},"name":"calc-eval","type":"tool_use"},` +
			`{"id":"b","input":{},"name":"calc-eval","type":"tool_use"}],"role":"assistant"},` +
			`{"content":[{"content":[{"text":"42","type":"text"}],"is_error":false,"tool_use_id":"a","type":"tool_result"},` +
			`{"is_error":true,"tool_use_id":"b","type":"tool_result"},` +
			`{"text":"and now?","type":"text"}],"role":"user"}]`,
	} {
		if got := asJSON(t, body[key]); got != want {
			t.Errorf("%s:\n got %s\nwant %s", key, got, want)
		}
	}
}

func TestUnsetOptionsAreNotSent(t *testing.T) {
	body := sent(t, providertest.Request(), nil)
	for _, key := range []string{"temperature", "stop_sequences", "metadata", "cache_control", "thinking", "top_p"} {
		if v, ok := body[key]; ok {
			t.Errorf("%s was sent: %v", key, v)
		}
	}
	// An unknown model: the conservative default.
	if got := asJSON(t, body["max_tokens"]); got != "2048" {
		t.Errorf("max_tokens %s", got)
	}
}

func TestThinkingIsKeptAndSentBackOnlyInItsToolLoop(t *testing.T) {
	thinking := []string{
		event("content_block_start", map[string]any{"index": 0, "content_block": map[string]any{"type": "thinking", "thinking": "", "signature": ""}}),
		event("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "thinking_delta", "thinking": "hm"}}),
		event("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "thinking_delta", "thinking": "m <ok>"}}),
		event("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "signature_delta", "signature": "c2ln"}}),
		event("content_block_stop", map[string]any{"index": 0}),
		event("content_block_start", map[string]any{"index": 1, "content_block": map[string]any{"type": "redacted_thinking", "data": "b3BhcXVl"}}),
		event("content_block_stop", map[string]any{"index": 1}),
		event("content_block_start", map[string]any{"index": 2, "content_block": map[string]any{"type": "tool_use", "id": "a", "name": "calc-eval", "input": map[string]any{}}}),
		event("content_block_stop", map[string]any{"index": 2}),
		event("some_later_event", map[string]any{"x": 1}),
	}
	whole := frames(providertest.Answer{Finish: provider.FinishToolCalls})
	stream := append(append(append([]string{}, whole[:2]...), thinking...), whole[2:]...)
	resp, events, err := vendor().Ask(t, providertest.Stream(stream...), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Parts) != 3 || resp.Parts[0].Kind != provider.PartOpaque || resp.Parts[1].Kind != provider.PartOpaque {
		t.Fatalf("parts %+v", resp.Parts)
	}
	if got := string(resp.Parts[0].Opaque.Data); !strings.Contains(got, `"thinking":"hmm \u003cok\u003e"`) || !strings.Contains(got, `"signature":"c2ln"`) {
		t.Errorf("thinking kept as %s", got)
	}
	for _, e := range events {
		if strings.Contains(e.Text, "hm") {
			t.Errorf("thinking was shown: %+v", e)
		}
	}

	req := providertest.Request()
	req.Messages = append(req.Messages, resp.Message(), provider.ToolResults(provider.ToolResult{CallID: "a", Content: "42"}))
	inLoop := asJSON(t, sent(t, req, nil)["messages"])
	if !strings.Contains(inLoop, `{"signature":"c2ln","thinking":"hmm \u003cok\u003e","type":"thinking"},{"data":"b3BhcXVl","type":"redacted_thinking"}`) {
		t.Errorf("in the loop: %s", inLoop)
	}
	req.Messages = append(req.Messages, provider.Assistant(provider.Text("42")), provider.User("thanks"))
	if later := asJSON(t, sent(t, req, nil)["messages"]); strings.Contains(later, "thinking") {
		t.Errorf("after the loop: %s", later)
	}

	foreign := providertest.Request()
	foreign.Messages = append(foreign.Messages,
		provider.Assistant(provider.Part{Kind: provider.PartOpaque, Opaque: provider.Opaque{Source: "other", Data: json.RawMessage(`{"type":"secret"}`)}},
			provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "a", Name: "calc-eval", Arguments: json.RawMessage(`{}`)}}),
		provider.ToolResults(provider.ToolResult{CallID: "a", Content: "42"}))
	if got := asJSON(t, sent(t, foreign, nil)); strings.Contains(got, "secret") {
		t.Errorf("another vendor's data was sent: %s", got)
	}
}

func TestCacheWritesAreCounted(t *testing.T) {
	want := provider.Usage{Input: 3, Output: 4, CacheRead: 5, CacheWrite: 6, Reported: true}
	resp, _, err := vendor().Ask(t, providertest.Stream(frames(providertest.Answer{
		Pieces: []providertest.Piece{providertest.Say("x")}, Finish: provider.FinishStop, Usage: &want,
	})...), nil)
	if err != nil || resp.Usage != want {
		t.Errorf("usage %+v, %v", resp.Usage, err)
	}
}

func TestEveryStopReason(t *testing.T) {
	for word, want := range map[string]provider.FinishReason{
		"end_turn": provider.FinishStop, "stop_sequence": provider.FinishStop, "max_tokens": provider.FinishLength,
		"model_context_window_exceeded": provider.FinishLength, "refusal": provider.FinishRefused,
		"pause_turn": provider.FinishOther, "a_later_word": provider.FinishOther,
	} {
		whole := frames(providertest.Answer{Finish: provider.FinishStop})
		for i := range whole {
			whole[i] = strings.Replace(whole[i], `"end_turn"`, `"`+word+`"`, 1)
		}
		resp, _, err := vendor().Ask(t, providertest.Stream(whole...), nil)
		if err != nil || resp.FinishReason != want {
			t.Errorf("%s: %s, %v", word, resp.FinishReason, err)
		}
	}
}

func TestArgumentsSentWholeAtTheStart(t *testing.T) {
	whole := frames(providertest.Answer{Finish: provider.FinishToolCalls})
	start := event("content_block_start", map[string]any{"index": 0, "content_block": map[string]any{
		"type": "tool_use", "id": "a", "name": "calc-eval", "input": map[string]any{"expression": "1"},
	}})
	resp, _, err := vendor().Ask(t, providertest.Stream(append(append(append([]string{}, whole[:2]...), start), whole[2:]...)...), nil)
	if err != nil || len(resp.Calls()) != 1 || string(resp.Calls()[0].Arguments) != `{"expression":"1"}` {
		t.Errorf("calls %+v, %v", resp.Calls(), err)
	}
}

func TestArgumentsForABlockThatNeverBegan(t *testing.T) {
	whole := frames(providertest.Answer{Finish: provider.FinishStop})
	stray := event("content_block_delta", map[string]any{"index": 7, "delta": map[string]any{"type": "input_json_delta", "partial_json": "{"}})
	_, _, err := vendor().Ask(t, providertest.Stream(append(append(append([]string{}, whole[:2]...), stray), whole[2:]...)...), nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.KindProtocol {
		t.Errorf("got %v", err)
	}
}

type memory func(*http.Request) (*http.Response, error)

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) { return m(r) }

// FuzzStream: whatever bytes a server streams, the answer is either whole and
// within its caps or a typed error, and no tool call is half a call.
func FuzzStream(f *testing.F) {
	f.Add(strings.Join(frames(providertest.Answer{
		Finish: provider.FinishToolCalls,
		Pieces: []providertest.Piece{providertest.Say("a"), providertest.Start(0, "x", "t"), providertest.Args(0, `{"a":1}`)},
	}), ""))
	f.Add("event: error\ndata: {}\n\n")
	f.Add("data: [DONE]\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		cfg := vendor().Config("http://localhost:1")
		cfg.Caps = provider.Caps{ResponseBytes: 1000, ArgumentBytes: 500, ToolCalls: 3}
		m, err := anthropic.New(cfg, provider.Deps{HTTPClient: &http.Client{Transport: memory(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(stream)), Request: r}, nil
		})}})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Generate(t.Context(), providertest.Request(), nil)
		providertest.Sound(t, resp, err, cfg.Caps)
	})
}
