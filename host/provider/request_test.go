package provider_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/b3abf3ee/portcullis/host/provider"
)

func ptr[T any](v T) *T { return &v }

func call(id string) provider.Part {
	return provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: id, Name: "calc-eval", Arguments: json.RawMessage(`{}`)}}
}

func answer(ids ...string) provider.Message {
	var out []provider.ToolResult
	for _, id := range ids {
		out = append(out, provider.ToolResult{CallID: id, Content: "42"})
	}
	return provider.ToolResults(out...)
}

func tool(name, wire, schema string) provider.ToolDefinition {
	return provider.ToolDefinition{Name: name, WireName: wire, InputSchema: json.RawMessage(schema)}
}

func TestValidateKeepsTheRulesVendorsShare(t *testing.T) {
	user := provider.User("hello")
	for name, c := range map[string]struct {
		change func(*provider.Request)
		want   string // part of the sentence; empty means valid
	}{
		"plain": {func(*provider.Request) {}, ""},
		"answered calls": {func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Assistant(call("a"), call("b")), answer("b"), answer("a"))
		}, ""},
		"ids may return later": {func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Assistant(call("a")), answer("a"), provider.Assistant(call("a")), answer("a"))
		}, ""},
		"system in between": {func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Message{Role: provider.RoleSystem, Parts: []provider.Part{provider.Text("s")}}, user)
		}, ""},
		"empty conversation":      {func(r *provider.Request) { r.Messages = nil }, "conversation is empty"},
		"ends with the assistant": {func(r *provider.Request) { r.Messages = append(r.Messages, provider.Assistant(provider.Text("x"))) }, "nothing to answer"},
		"ends with system": {func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Message{Role: provider.RoleSystem, Parts: []provider.Part{provider.Text("x")}})
		}, "nothing to answer"},
		"unanswered call": {func(r *provider.Request) { r.Messages = append(r.Messages, provider.Assistant(call("a")), user) }, "before the results"},
		"unanswered call at the end": {func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Assistant(call("a"), call("b")), answer("a"))
		}, "ends before the results"},
		"result for nobody": {func(r *provider.Request) { r.Messages = append(r.Messages, answer("a")) }, "does not hold"},
		"answered twice": {func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Assistant(call("a")), answer("a", "a"))
		}, "answered already"},
		"one id twice": {func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Assistant(call("a"), call("a")), answer("a"))
		}, "used twice"},
		"call without id": {func(r *provider.Request) { r.Messages = append(r.Messages, provider.Assistant(call("")), answer("")) }, "empty"},
		"call without name": {func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Assistant(provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "a"}}), answer("a"))
		}, "no name"},
		"user holding a call":      {func(r *provider.Request) { r.Messages[0].Parts = []provider.Part{call("a")} }, "cannot hold"},
		"assistant holding result": {func(r *provider.Request) { r.Messages[0] = provider.Assistant(answer("a").Parts...) }, "cannot hold"},
		"unknown role":             {func(r *provider.Request) { r.Messages[0].Role = "robot" }, "cannot hold"},
		"unknown part":             {func(r *provider.Request) { r.Messages[0].Parts[0].Kind = "image" }, "cannot hold"},
		"no parts":                 {func(r *provider.Request) { r.Messages[0].Parts = nil }, "no parts"},
		"empty text":               {func(r *provider.Request) { r.Messages[0] = provider.User("") }, "empty text"},
		"temperature NaN":          {func(r *provider.Request) { r.Temperature = ptr(math.NaN()) }, "temperature"},
		"temperature 2.1":          {func(r *provider.Request) { r.Temperature = ptr(2.1) }, "temperature"},
		"temperature 2":            {func(r *provider.Request) { r.Temperature = ptr(2.0) }, ""},
		"negative output":          {func(r *provider.Request) { r.MaxOutputTokens = -1 }, "negative"},
		"empty stop":               {func(r *provider.Request) { r.StopSequences = []string{"a", ""} }, "stop sequence 1"},
		"good tools": {func(r *provider.Request) {
			r.Tools = []provider.ToolDefinition{tool("a.b", "a-b", `{}`), tool("a.c", "a-c", `{}`)}
		}, ""},
		"dotted wire name": {func(r *provider.Request) { r.Tools = []provider.ToolDefinition{tool("a.b", "a.b", `{}`)} }, "wire name"},
		"long wire name": {func(r *provider.Request) {
			r.Tools = []provider.ToolDefinition{tool("a.b", strings.Repeat("x", 65), `{}`)}
		}, "wire name"},
		"shared wire name": {func(r *provider.Request) {
			r.Tools = []provider.ToolDefinition{tool("a.b", "x", `{}`), tool("a.c", "x", `{}`)}
		}, "share"},
		"schema is no object":      {func(r *provider.Request) { r.Tools = []provider.ToolDefinition{tool("a.b", "a-b", `true`)} }, "not a JSON object"},
		"schema with a name twice": {func(r *provider.Request) { r.Tools = []provider.ToolDefinition{tool("a.b", "a-b", `{"a":1,"a":2}`)} }, "twice"},
		"no schema":                {func(r *provider.Request) { r.Tools = []provider.ToolDefinition{{WireName: "a-b"}} }, "not valid JSON"},
	} {
		req := provider.Request{Messages: []provider.Message{provider.User("hello")}}
		c.change(&req)
		err := req.Validate()
		var e *provider.Error
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &e) || e.Kind != provider.KindBadRequest || !strings.Contains(e.Sentence, c.want)):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	build := func() provider.Request {
		return provider.Request{
			Messages: []provider.Message{
				provider.User("hello"),
				provider.Assistant(call("a"), provider.Part{Kind: provider.PartOpaque, Opaque: provider.Opaque{Source: "x", Data: json.RawMessage(`{}`)}}),
				answer("a"),
			},
			Tools:         []provider.ToolDefinition{tool("a.b", "a-b", `{}`)},
			Temperature:   ptr(1.0),
			StopSequences: []string{"END"},
			Metadata:      map[string]string{"k": "v"},
		}
	}
	original := build()
	copied := original.Clone()
	original.Messages[0].Parts[0].Text = "x"
	original.Messages[1].Parts[0].Call.Arguments[0] = 'x'
	original.Messages[1].Parts[1].Opaque.Data[0] = 'x'
	original.Messages[2].Parts[0].Result.Content = "x"
	original.Tools[0].InputSchema[0] = 'x'
	original.Tools[0].Name = "x"
	*original.Temperature = 0
	original.StopSequences[0] = "x"
	original.Metadata["k"] = "x"
	want, err := json.Marshal(build())
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(copied)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMessagesSurviveStrictJSON(t *testing.T) {
	in := []provider.Message{
		provider.User("hello ✓"),
		provider.Assistant(
			provider.Text("hm"), call("a"), provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "b", Name: "n", Malformed: "not JSON"}},
			provider.Part{Kind: provider.PartOpaque, Opaque: provider.Opaque{Source: "anthropic", Data: json.RawMessage(`{"a":[1]}`)}},
		),
		provider.ToolResults(provider.ToolResult{CallID: "a", Content: "42", IsError: true, Status: "denied"}),
	}
	raw, err := jsonv2.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out []provider.Message
	if err := jsonv2.Unmarshal(raw, &out, jsonv2.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	again, err := jsonv2.Marshal(out)
	if err != nil || string(again) != string(raw) {
		t.Errorf("%v\n%s\n%s", err, raw, again)
	}
	if out[1].Calls()[1].Arguments != nil {
		t.Error("a malformed call came back with arguments")
	}
}

func TestWireNamesOfDifferentToolsDiffer(t *testing.T) {
	names := []string{"a.b.c", "a.b_c", "a_b.c", "ab.c", "a.bc"}
	seen := map[string]string{}
	for _, n := range names {
		w := provider.WireName(n)
		if other, taken := seen[w]; taken {
			t.Errorf("%s and %s are both %s", n, other, w)
		}
		seen[w] = n
	}
	if provider.WireName("calc.eval") != "calc-eval" {
		t.Errorf("calc.eval is %s", provider.WireName("calc.eval"))
	}
}
