package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/scripted"
)

func load(t *testing.T) *scripted.Script {
	t.Helper()
	s, err := scripted.Load("testdata/calculator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t *testing.T, steps string) *scripted.Model {
	t.Helper()
	s, err := scripted.Parse("test.yaml", []byte("version: 1\nsteps:\n"+steps))
	if err != nil {
		t.Fatal(err)
	}
	return s.Model()
}

func request(messages ...provider.Message) provider.Request {
	return provider.Request{
		System:   "be brief",
		Messages: messages,
		Tools: []provider.ToolDefinition{
			{Name: "calc.eval", WireName: "calc-eval", Description: "evaluates", InputSchema: []byte(`{}`)},
			{Name: "clock.now", WireName: "clock-now", InputSchema: []byte(`{}`)},
		},
	}
}

// unmet asserts that err is an unmet expectation and returns it.
func unmet(t *testing.T, err error) *scripted.Unmet {
	t.Helper()
	var e *provider.Error
	var u *scripted.Unmet
	if !errors.As(err, &e) || e.Kind != provider.KindScript || !errors.As(err, &u) {
		t.Fatalf("got %v, want an unmet expectation", err)
	}
	return u
}

func TestAScriptPlaysTwoTurns(t *testing.T) {
	m := load(t).Model()
	if m.Name() != "scripted/quickstart" || m.Limits().ContextWindow != 16000 || m.Limits().MaxOutput != 1000 {
		t.Errorf("%s %+v", m.Name(), m.Limits())
	}
	var shown []string
	talk := []provider.Message{provider.User("what is 6*7?")}
	resp, err := m.Generate(t.Context(), request(talk...), func(e provider.Event) {
		shown = append(shown, fmt.Sprintf("%s %s %s", e.Kind, e.CallID, e.Text))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"text  Let me", "text   comput", "text  e that.",
		"call_start call_1 ", `call_delta call_1 {"digits":`, `call_delta call_1 3,"express`, `call_delta call_1 ion":"6*7"}`,
		"call_start call_2 ", "call_delta call_2 {", "call_delta call_2 }",
	}
	if len(shown) != len(want)+1 || !reflect.DeepEqual(shown[:len(want)], want) {
		t.Errorf("events %q", shown)
	}
	calls := resp.Calls()
	if len(calls) != 2 || calls[0].Name != "calc-eval" || string(calls[0].Arguments) != `{"digits":3,"expression":"6*7"}` || calls[1].Name != "clock-now" {
		t.Errorf("calls %+v", calls)
	}
	if resp.Text() != "Let me compute that." || resp.FinishReason != provider.FinishToolCalls || resp.Model != "quickstart" || !resp.Usage.Reported {
		t.Errorf("response %+v", resp)
	}

	talk = append(talk, resp.Message(), provider.ToolResults(
		provider.ToolResult{CallID: "call_1", Content: `{"value":42}`, Status: "succeeded"},
		provider.ToolResult{CallID: "call_2", Content: "denied", IsError: true, Status: "denied"},
	))
	resp, err = m.Generate(t.Context(), request(talk...), nil)
	if err != nil || resp.Text() != "It is 42." || resp.FinishReason != provider.FinishStop {
		t.Fatalf("%+v, %v", resp, err)
	}
	if resp.Usage != (provider.Usage{Input: 10, Output: 3, CacheRead: 2, Reported: true}) {
		t.Errorf("usage %+v", resp.Usage)
	}
	if err := m.Done(); err == nil || !strings.Contains(err.Error(), "step 3 of 4 (line 25)") {
		t.Errorf("done: %v", err)
	}

	// The second turn of the session goes on at the third step.
	talk = append(talk, resp.Message(), provider.User("thanks"))
	_, err = m.Generate(t.Context(), request(talk...), nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.KindRateLimited || e.Status != 429 || e.RetryAfter != 2*time.Second || e.Sentence != "slow down" {
		t.Fatalf("got %v", err)
	}
	if resp, err = m.Generate(t.Context(), request(talk...), nil); err != nil || resp.Text() != "You are welcome." {
		t.Errorf("%+v, %v", resp, err)
	}
	if err := m.Done(); err != nil {
		t.Errorf("done: %v", err)
	}
	u := unmet(t, second(m.Generate(t.Context(), request(talk...), nil)))
	if u.Step != 5 || u.Line != 0 || !strings.Contains(u.Error(), "add a step") {
		t.Errorf("past the end: %v", u)
	}
}

func second[T any](_ T, err error) error { return err }

func TestAnUnmetExpectationSaysWhereWhatAndWhatInstead(t *testing.T) {
	talk := []provider.Message{
		provider.User("compute please"),
		provider.Assistant(provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "a", Name: "calc-eval", Arguments: []byte(`{"q":"needle"}`)}}),
		provider.ToolResults(provider.ToolResult{CallID: "a", Content: "the result is 41", Status: "succeeded"}),
	}
	for expect, want := range map[string]string{
		`last_user: {contains: sum}`:                             `expected the last user message to contain "sum"; saw compute please`,
		`last_user: {not_contains: [x, please]}`:                 `expected the last user message not to contain "please"; saw compute please`,
		`last_user: {equals: ""}`:                                `expected the last user message to be ""; saw compute please`,
		`system: {contains: long}`:                               `expected the system prompt to contain "long"; saw be brief`,
		`tools: {include: fs.read}`:                              `expected tool fs.read to be on offer; saw the tools on offer: calc.eval, clock.now`,
		`tools: {exclude: [clock-now]}`:                          `expected tool clock-now not to be on offer; saw the tools on offer: calc.eval, clock.now`,
		`tool_result: {contains: "42"}`:                          `expected a tool result containing "42"; saw calc.eval [succeeded]: the result is 41`,
		`tool_result: {name: fs.read}`:                           `expected a tool result of fs.read; saw calc.eval [succeeded]: the result is 41`,
		`tool_result: {status: denied}`:                          `expected a tool result with status denied; saw calc.eval [succeeded]: the result is 41`,
		`tool_result: {status: error}`:                           `expected a tool result with status error; saw calc.eval [succeeded]: the result is 41`,
		`tool_result: {name: calc.eval, not_contains: "41"}`:     `expected a tool result of calc.eval not containing "41"; saw calc.eval [succeeded]: the result is 41`,
		`tool_result: [{contains: "41"}, {contains: "result0"}]`: `expected a tool result containing "result0"; saw calc.eval [succeeded]: the result is 41`,
		`not_contains: needle`:                                   `expected "needle" nowhere; saw it in message 2 (assistant)`,
		`not_contains: [x1, brief]`:                              `expected "brief" nowhere; saw it in the system prompt`,
		`not_contains: evaluates`:                                `expected "evaluates" nowhere; saw it in the definition of tool calc.eval`,
	} {
		m := parse(t, "  - say: x\n  - expect: {"+expect+"}\n    say: y\n")
		if _, err := m.Generate(t.Context(), request(provider.User("first")), nil); err != nil {
			t.Fatal(err)
		}
		u := unmet(t, second(m.Generate(t.Context(), request(talk...), nil)))
		if u.Script != "test.yaml" || u.Step != 2 || u.Line != 4 || !strings.HasSuffix(u.Error(), want) {
			t.Errorf("%s:\n got %s\nwant %s", expect, u, want)
		}
		if err := m.Done(); err == nil {
			t.Errorf("%s: the unmet step counts as played", expect)
		}
	}
}

func TestAMetExpectationPasses(t *testing.T) {
	talk := []provider.Message{
		provider.User("compute please"),
		provider.Assistant(provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "a", Name: "calc-eval", Arguments: []byte(`{}`)}}),
		provider.ToolResults(provider.ToolResult{CallID: "a", Content: "the result is 41", Status: "succeeded"}),
	}
	for _, expect := range []string{
		`last_user: {equals: compute please, contains: [compute, please], not_contains: sum}`,
		`system: {equals: be brief}`,
		`tools: {include: [calc.eval, clock-now], exclude: [fs.read]}`,
		`tool_result: {name: calc.eval, status: succeeded, contains: "41", not_contains: "42"}`,
		`tool_result: {name: calc-eval, status: ok}`,
		`not_contains: [needle, haystack]`,
		``,
	} {
		m := parse(t, "  - expect: {"+expect+"}\n    say: y\n")
		if _, err := m.Generate(t.Context(), request(talk...), nil); err != nil {
			t.Errorf("%s: %v", expect, err)
		}
	}
}

func TestOnlyTheLatestResultsCount(t *testing.T) {
	m := parse(t, "  - expect: {tool_result: {contains: old}}\n    say: y\n")
	unmet(t, second(m.Generate(t.Context(), request(
		provider.User("q"),
		provider.Assistant(provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "a", Name: "calc-eval"}}),
		provider.ToolResults(provider.ToolResult{CallID: "a", Content: "old"}),
		provider.Assistant(provider.Text("so")),
		provider.User("next"),
	), nil)))
}

func TestWhatWasSeenIsCut(t *testing.T) {
	m := parse(t, "  - expect: {last_user: {contains: x}}\n    say: y\n")
	u := unmet(t, second(m.Generate(t.Context(), request(provider.User(strings.Repeat("é", 5000))), nil)))
	if got := len([]rune(u.Seen)); got != 203 {
		t.Errorf("seen has %d characters", got)
	}
}

func TestSessionsKeepTheirOwnPlace(t *testing.T) {
	m := parse(t, "  - say: one\n  - say: two\n")
	ask := func(session string) string {
		req := request(provider.User("q"))
		req.Metadata = map[string]string{provider.MetadataSession: session}
		resp, err := m.Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Text()
	}
	if err := m.Done(); err == nil || !strings.Contains(err.Error(), "never asked") {
		t.Errorf("done before the start: %v", err)
	}
	if a, b, c := ask("s1"), ask("s2"), ask("s1"); a != "one" || b != "one" || c != "two" {
		t.Errorf("%s %s %s", a, b, c)
	}
	if err := m.Done(); err == nil || !strings.Contains(err.Error(), "session s2") || strings.Contains(err.Error(), "session s1") {
		t.Errorf("done: %v", err)
	}
}

func TestTooManySessionsAreRefused(t *testing.T) {
	m := parse(t, "  - say: one\n")
	for i := range 1025 {
		req := request(provider.User("q"))
		req.Metadata = map[string]string{provider.MetadataSession: fmt.Sprint(i)}
		_, err := m.Generate(t.Context(), req, nil)
		if (err != nil) != (i == 1024) {
			t.Fatalf("session %d: %v", i, err)
		}
	}
}

func TestARepeatingScriptBeginsAnew(t *testing.T) {
	s, err := scripted.Parse("r.yaml", []byte("version: 1\nrepeat: true\nsteps:\n- call: [{tool: calc.eval}]\n- say: two\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := s.Model()
	var ids []string
	for range 3 {
		resp, err := m.Generate(t.Context(), request(provider.User("q")), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range resp.Calls() {
			ids = append(ids, c.ID)
		}
	}
	if !reflect.DeepEqual(ids, []string{"call_1", "call_2"}) {
		t.Errorf("ids %v", ids)
	}
	if err := m.Done(); err == nil {
		t.Error("done in the middle of a round")
	}
	if _, err := m.Generate(t.Context(), request(provider.User("q")), nil); err != nil || m.Done() != nil {
		t.Errorf("%v %v", err, m.Done())
	}
}

func TestEveryFailureCanBeSimulated(t *testing.T) {
	for kind, status := range map[provider.ErrorKind]int{
		provider.KindRateLimited: 429, provider.KindOverloaded: 503, provider.KindContextOverflow: 400,
		provider.KindRefused: 400, provider.KindAuth: 401, provider.KindNetwork: 0,
		provider.KindBadRequest: 400, provider.KindProtocol: 200, provider.KindTooLarge: 200,
	} {
		m := parse(t, "  - error: {kind: "+string(kind)+", after: half an}\n    chunks: 2\n")
		var shown []string
		_, err := m.Generate(t.Context(), request(provider.User("q")), func(e provider.Event) { shown = append(shown, e.Text) })
		var e *provider.Error
		if !errors.As(err, &e) || e.Kind != kind || e.Status != status || e.Provider != "scripted" || e.Sentence == "" {
			t.Errorf("%s: %+v", kind, e)
		}
		if !reflect.DeepEqual(shown, []string{"hal", "f an"}) {
			t.Errorf("%s: shown %q", kind, shown)
		}
	}
}

func TestOddAnswersCanBeSimulated(t *testing.T) {
	m := parse(t, `
  - call: [{tool: no.such_tool, id: mine, args_text: '{"a":'}]
  - {say: half an, finish: length}
  - {say: I will not, finish: refused}
  - {say: 42, finish: other}
`)
	ask := func() provider.Response {
		resp, err := m.Generate(t.Context(), request(provider.User("q")), nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if c := ask().Calls(); len(c) != 1 || c[0].ID != "mine" || c[0].Name != "no-such_tool" || c[0].Malformed == "" || c[0].Arguments != nil {
		t.Errorf("calls %+v", c)
	}
	for _, want := range []provider.FinishReason{provider.FinishLength, provider.FinishRefused, provider.FinishOther} {
		if resp := ask(); resp.FinishReason != want {
			t.Errorf("%s, want %s", resp.FinishReason, want)
		}
	}
}

func TestCancellationIsHonoured(t *testing.T) {
	m := parse(t, "  - {say: a long answer, chunks: 5}\n")
	ctx, cancel := context.WithCancel(t.Context())
	pieces := 0
	_, err := m.Generate(ctx, request(provider.User("q")), func(provider.Event) { pieces++; cancel() })
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.KindCanceled || pieces != 1 {
		t.Errorf("%v after %d pieces", err, pieces)
	}
	if _, err := m.Generate(ctx, request(provider.User("q")), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestANonsensicalRequestIsRefusedAsByAVendor(t *testing.T) {
	m := parse(t, "  - say: x\n")
	_, err := m.Generate(t.Context(), request(), nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.KindBadRequest {
		t.Errorf("got %v", err)
	}
}

func TestConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nsteps: [{say: x}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := scripted.New(provider.Config{Kind: provider.Scripted, Script: path, ContextWindow: 4000})
	if err != nil || m.Limits().ContextWindow != 4000 || m.Limits().MaxOutput != 2000 {
		t.Fatalf("%+v, %v", m, err)
	}
	if m, err = scripted.New(provider.Config{Kind: provider.Scripted, Script: path}); err != nil || m.Limits().ContextWindow != 200_000 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := scripted.New(provider.Config{Kind: provider.Scripted, Script: path + ".missing"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	var ce *provider.ConfigError
	if _, err := scripted.New(provider.Config{Kind: provider.OpenAI, Model: "m"}); !errors.As(err, &ce) {
		t.Errorf("got %v", err)
	}
}
