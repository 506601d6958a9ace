package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/openai"
	"github.com/b3abf3ee/portcullis/host/provider/providertest"
)

// sent asks once and returns the request as the server read it.
func sent(t *testing.T, req provider.Request, change func(*provider.Config)) (map[string]any, http.Header) {
	t.Helper()
	s := providertest.Serve(t, providertest.Stream(frames(providertest.Answer{Pieces: []providertest.Piece{providertest.Say("x")}, Finish: provider.FinishStop})...))
	cfg := vendor().Config(s.URL)
	if change != nil {
		change(&cfg)
	}
	m, err := openai.New(cfg, provider.Deps{HTTPClient: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	seen := s.Requests()[0]
	if seen.Path != "/v1/chat/completions" {
		t.Errorf("path %s", seen.Path)
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(seen.Body), &body); err != nil {
		t.Fatal(err)
	}
	return body, seen.Header
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
	warm := 0.5
	req := providertest.Request()
	req.Temperature = &warm
	req.MaxOutputTokens = 99
	req.StopSequences = []string{"END"}
	req.Metadata = map[string]string{provider.MetadataEndUser: "u-1", "trace": "private"}
	req.Messages = []provider.Message{
		provider.User("one"),
		provider.Assistant(
			provider.Text("calling"),
			provider.Part{Kind: provider.PartOpaque, Opaque: provider.Opaque{Source: "anthropic", Data: json.RawMessage(`{"x":1}`)}},
			provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "a", Name: "calc-eval", Arguments: json.RawMessage(`{"b":1,"a":2}`)}},
			provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "b", Name: "calc-eval", Malformed: "not JSON"}},
		),
		provider.ToolResults(provider.ToolResult{CallID: "a", Content: "42", Status: "succeeded"}, provider.ToolResult{CallID: "b", IsError: true}),
		{Role: provider.RoleSystem, Parts: []provider.Part{provider.Text("summary so far")}},
		provider.User("and now?"),
	}
	body, _ := sent(t, req, func(c *provider.Config) { c.ReasoningEffort = "low" })
	for key, want := range map[string]string{
		"model":            `"test-model"`,
		"max_tokens":       `99`,
		"temperature":      `0.5`,
		"stream":           `true`,
		"stream_options":   `{"include_usage":true}`,
		"stop":             `["END"]`,
		"user":             `"u-1"`,
		"reasoning_effort": `"low"`,
		"tools":            `[{"function":{"description":"evaluates","name":"calc-eval","parameters":{"properties":{"expression":{"type":"string"}},"type":"object"}},"type":"function"}]`,
		"messages": `[{"content":"be brief","role":"system"},{"content":"one","role":"user"},` +
			`{"content":"calling","role":"assistant","tool_calls":[` +
			`{"function":{"arguments":"{\"b\":1,\"a\":2}","name":"calc-eval"},"id":"a","type":"function"},` +
			`{"function":{"arguments":"{}","name":"calc-eval"},"id":"b","type":"function"}]},` +
			`{"content":"42","role":"tool","tool_call_id":"a"},{"content":"(no output)","role":"tool","tool_call_id":"b"},` +
			`{"content":"summary so far","role":"system"},{"content":"and now?","role":"user"}]`,
	} {
		if got := asJSON(t, body[key]); got != want {
			t.Errorf("%s:\n got %s\nwant %s", key, got, want)
		}
	}
	if raw := asJSON(t, body); strings.Contains(raw, "private") {
		t.Errorf("host metadata was sent: %s", raw)
	}
}

func TestTemperatureZeroIsSent(t *testing.T) {
	zero := 0.0
	req := providertest.Request()
	req.Temperature = &zero
	body, _ := sent(t, req, nil)
	if got, ok := body["temperature"].(float64); !ok || got < 0 || got > 1e-40 {
		t.Errorf("temperature %v", body["temperature"])
	}
	body, _ = sent(t, providertest.Request(), nil)
	if got, ok := body["temperature"]; ok {
		t.Errorf("unset temperature was sent as %v", got)
	}
}

func TestOutputLimitIsSpelledAsTheModelWants(t *testing.T) {
	for model, key := range map[string]string{"gpt-5": "max_completion_tokens", "o3": "max_completion_tokens", "llama-3": "max_tokens"} {
		body, _ := sent(t, providertest.Request(), func(c *provider.Config) { c.Model = model })
		other := map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[key]
		if body[key] == nil || body[other] != nil {
			t.Errorf("%s: %s=%v %s=%v", model, key, body[key], other, body[other])
		}
	}
}

func TestNoKeyMeansNoAuthorization(t *testing.T) {
	_, header := sent(t, providertest.Request(), func(c *provider.Config) { c.APIKey = nil })
	if got, ok := header["Authorization"]; ok {
		t.Errorf("Authorization %q", got)
	}
}

func TestARequestTheLibraryRefusesIsABadRequest(t *testing.T) {
	warm := 0.5
	s := providertest.Serve(t, providertest.Stream())
	cfg := vendor().Config(s.URL)
	cfg.Model = "o3"
	m, err := openai.New(cfg, provider.Deps{HTTPClient: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	req := providertest.Request()
	req.Temperature = &warm
	_, err = m.Generate(t.Context(), req, nil)
	if e, ok := err.(*provider.Error); !ok || e.Kind != provider.KindBadRequest || e.Sentence == "" || len(s.Requests()) != 0 {
		t.Errorf("got %v after %d requests", err, len(s.Requests()))
	}
}

// raw writes one delta as compatible servers do.
func raw(delta string) string {
	return `data: {"id":"c","model":"m","choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
}

func call(index, id, name, args string) string {
	return raw(fmt.Sprintf(`{"tool_calls":[{%s%s"type":"function","function":{%s"arguments":%q}}]}`, index, id, name, args))
}

func TestServersThatNumberCallsCarelessly(t *testing.T) {
	const done = "data: [DONE]\n\n"
	finish := `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"
	for name, stream := range map[string][]string{
		"no index": {
			call("", `"id":"a",`, `"name":"f",`, `{"x":`), call("", "", "", `1}`),
			call("", `"id":"b",`, `"name":"g",`, `{"y":2}`), finish, done,
		},
		"every index 0": {
			call(`"index":0,`, `"id":"a",`, `"name":"f",`, `{"x":1}`), call(`"index":0,`, `"id":"b",`, `"name":"g",`, `{"y":`),
			call(`"index":0,`, "", "", `2}`), finish, done,
		},
		"id and name on every delta": {
			call(`"index":0,`, `"id":"a",`, `"name":"f",`, `{"x":`), call(`"index":0,`, `"id":"a",`, `"name":"f",`, `1}`),
			call(`"index":1,`, `"id":"b",`, `"name":"g",`, `{"y":2}`), finish, done,
		},
		"indexes from 1": {
			call(`"index":1,`, `"id":"a",`, `"name":"f",`, `{"x":1}`), call(`"index":2,`, `"id":"b",`, `"name":"g",`, `{"y":2}`), finish, done,
		},
		"all in one delta, no finish reason": {
			raw(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}]}`), done,
		},
		"no done mark": {
			call(`"index":0,`, `"id":"a",`, `"name":"f",`, `{"x":1}`), call(`"index":1,`, `"id":"b",`, `"name":"g",`, `{"y":2}`), finish,
		},
	} {
		resp, _, err := vendor().Ask(t, providertest.Stream(stream...), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c := resp.Calls()
		if len(c) != 2 || c[0].ID != "a" || c[0].Name != "f" || string(c[0].Arguments) != `{"x":1}` ||
			c[1].ID != "b" || c[1].Name != "g" || string(c[1].Arguments) != `{"y":2}` || resp.FinishReason != provider.FinishToolCalls {
			t.Errorf("%s: %s %+v", name, resp.FinishReason, c)
		}
	}
}

func TestAMissingUsageIsUnknown(t *testing.T) {
	resp, _, err := vendor().Ask(t, providertest.Stream(raw(`{"content":"x"}`), "data: [DONE]\n\n"), nil)
	if err != nil || resp.Usage != (provider.Usage{}) || resp.Usage.Reported {
		t.Errorf("usage %+v, %v", resp.Usage, err)
	}
}

func TestARefusalIsTextAndAReason(t *testing.T) {
	resp, _, err := vendor().Ask(t, providertest.Stream(raw(`{"refusal":"I cannot"}`), raw(`{"refusal":" do that"}`),
		`data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n", "data: [DONE]\n\n"), nil)
	if err != nil || resp.Text() != "I cannot do that" || resp.FinishReason != provider.FinishRefused {
		t.Errorf("%q %s %v", resp.Text(), resp.FinishReason, err)
	}
}

func TestKeepAliveCommentsAreNotCounted(t *testing.T) {
	_, _, err := vendor().Ask(t, providertest.Stream(strings.Repeat(": keep-alive\n\n", 2000), raw(`{"content":"x"}`), "data: [DONE]\n\n"), nil)
	if err != nil {
		t.Error(err)
	}
}

func TestErrorsInsideTheStreamKeepTheirKind(t *testing.T) {
	for body, want := range map[string]provider.ErrorKind{
		`{"error":{"message":"m","code":"rate_limit_exceeded"}}`:     provider.KindRateLimited,
		`{"error":{"message":"m","code":429}}`:                       provider.KindRateLimited,
		`{"error":{"message":"m","code":"context_length_exceeded"}}`: provider.KindContextOverflow,
		`{"error":{"message":"m"}}`:                                  provider.KindOverloaded,
	} {
		_, _, err := vendor().Ask(t, providertest.Stream("data: "+body+"\n\n"), nil)
		if e, ok := err.(*provider.Error); !ok || e.Kind != want {
			t.Errorf("%s: %v", body, err)
		}
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
	f.Add("data: {\"error\":{}}\n\n")
	f.Add("data: [DONE]\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		cfg := vendor().Config("http://localhost:1")
		cfg.Caps = provider.Caps{ResponseBytes: 1000, ArgumentBytes: 500, ToolCalls: 3}
		m, err := openai.New(cfg, provider.Deps{HTTPClient: &http.Client{Transport: memory(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(stream)), Request: r}, nil
		})}})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Generate(t.Context(), providertest.Request(), nil)
		providertest.Sound(t, resp, err, cfg.Caps)
	})
}
