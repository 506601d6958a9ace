package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
)

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestJQ(t *testing.T) {
	p := plugintest.New(t)
	for _, c := range []struct{ args, want string }{
		{`{"filter":".items[] | {id, n: (.tags|length)}","value":{"items":[{"id":1,"tags":["a"]},{"id":2,"tags":[]}]}}`, `[{"id":1,"n":1},{"id":2,"n":0}]`},
		{`{"filter":".","value":null}`, `[null]`},
		{`{"filter":".","value":"text"}`, `["text"]`},
		{`{"filter":".a","text":"{\"a\":1}\n{\"a\":2}"}`, `[1,2]`},
		{`{"filter":"map(.) | add","value":[0.5,0.25]}`, `[0.75]`},
		{`{"filter":".","value":12345678901234567890123}`, `[12345678901234567890123]`}, // no digit lost
		{`{"filter":".[0]","value":[1.10]}`, `[1.10]`},
		{`{"filter":"empty","value":1}`, `[]`},
		{`{"filter":"1, halt, 2","text":"1 2 3"}`, `[1]`},
		{`{"filter":"$ENV | length","value":1}`, `[0]`},
		{`{"filter":"[capture(\"(?<y>\\\\d+)-(?<m>\\\\d+)\")]","value":"2026-03"}`, `[[{"m":"03","y":"2026"}]]`},
		{`{"filter":".[\"ключ\"]","value":{"ключ":"日本"}}`, `["日本"]`},
	} {
		var out JQOut
		if err := json.Unmarshal(p.Call(t, "text.jq", c.args), &out); err != nil {
			t.Fatal(err)
		}
		if got := encode(t, out.Outputs); got != c.want || out.Truncated {
			t.Errorf("%s gave %s (truncated %v), want %s", c.args, got, out.Truncated, c.want)
		}
	}
}

func TestJQIsBounded(t *testing.T) {
	p := plugintest.New(t)
	out := plugintest.Call[JQOut](t, p, "text.jq", JQIn{Filter: "range(5)", Text: "1", MaxOutputs: 3})
	if got := encode(t, out.Outputs); got != "[0,1,2]" || !out.Truncated {
		t.Errorf("five outputs with a limit of three gave %s, truncated %v", got, out.Truncated)
	}
	out = plugintest.Call[JQOut](t, p, "text.jq", JQIn{Filter: "range(3)", Text: "1", MaxOutputs: 3})
	if len(out.Outputs) != 3 || out.Truncated {
		t.Errorf("three outputs with a limit of three gave %d, truncated %v", len(out.Outputs), out.Truncated)
	}
	out = plugintest.Call[JQOut](t, p, "text.jq", JQIn{Filter: `"x" * 100000`, Text: "1 2 3 4", MaxOutputs: 10})
	if len(out.Outputs) != 2 || !out.Truncated {
		t.Errorf("outputs of 100 KB each gave %d of them, truncated %v", len(out.Outputs), out.Truncated)
	}
	for _, filter := range []string{"last(range(1e9))", "def f: f; f", "first(range(1e12) | select(. < 0))"} {
		f := p.Fault(t, "text.jq", encode(t, JQIn{Filter: filter, Text: "1", MaxOutputs: 1}))
		if f.Code != sdk.TooLarge || !strings.Contains(f.Message, "2000000 steps") {
			t.Errorf("%s gave %v, want it stopped by its steps", filter, f)
		}
	}
}

// The steps are of the whole call: a filter cannot start anew with each document.
func TestJQStepsAreShared(t *testing.T) {
	p := plugintest.New(t)
	in := JQIn{Filter: "last(range(200000))", Text: "1", MaxOutputs: 1000}
	plugintest.Call[JQOut](t, p, "text.jq", in)
	in.Text = strings.Repeat("1 ", 100)
	if f := p.Fault(t, "text.jq", encode(t, in)); f.Code != sdk.TooLarge {
		t.Errorf("a hundred documents gave %v", f)
	}
}

func TestJQRefuses(t *testing.T) {
	p := plugintest.New(t)
	for _, c := range []struct {
		args string
		code sdk.Code
		says string
	}{
		{`{"filter":".a["}`, sdk.Invalid, "either as value or as text"},
		{`{"filter":".","value":1,"text":"1"}`, sdk.Invalid, "either as value or as text"},
		{`{"filter":".a[","value":1}`, sdk.Invalid, "filter:"},
		{`{"filter":"nosuch","value":1}`, sdk.Invalid, "nosuch"},
		{`{"filter":"import \"a\" as a; 1","value":1}`, sdk.Invalid, "filter:"},
		{`{"filter":"input","value":1}`, sdk.Invalid, "input"},
		{`{"filter":".a","value":"x"}`, sdk.Invalid, "the filter failed: expected an object"},
		{`{"filter":"1, error(\"no\")","value":1}`, sdk.Invalid, "no"},
		{`{"filter":"\"bye\" | halt_error","value":1}`, sdk.Invalid, "the filter failed"},
		{`{"filter":".","text":"{\"a\":1"}`, sdk.Invalid, "document 1 is not JSON"},
		{`{"filter":".","text":"1 2 x"}`, sdk.Invalid, "document 3 is not JSON"},
		{`{"filter":".","text":"  "}`, sdk.Invalid, "no JSON document"},
		{encode(t, map[string]any{"filter": ".", "text": strings.Repeat("[", 20000)}), sdk.Invalid, "not JSON"},
		{`{"filter":".","value":"` + strings.Repeat("x", maxText) + `"}`, sdk.TooLarge, "524290 bytes"},
		{`{"filter":".","value":1,"max_outputs":1001}`, sdk.Invalid, "max"},
		{`{"filter":"","value":1}`, sdk.Invalid, "filter"},
	} {
		f := p.Fault(t, "text.jq", c.args)
		if f.Code != c.code || !strings.Contains(f.Message, c.says) {
			t.Errorf("%.80s gave %s %q, want %s with %q", c.args, f.Code, f.Message, c.code, c.says)
		}
	}
}

func TestJQEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := JQ(ctx, JQIn{Filter: "last(range(1e9))", Text: "1"}, sdk.Host{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call gave %v", err)
	}
}
