package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/conformance"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func TestCasesAreReadStrictly(t *testing.T) {
	good := `[{"tool":"a.b","args":{},"result":{}},{"name":"n","tool":"a.b","args":{"x":1},"fault":{"code":"denied"},
		"files":{"a/b.txt":"c","d/":""},"kv":{"k":"v"},"without":["kv"],"now_unix_ms":5,"settings":{"s":"v"},
		"http":[{"method":"GET","url":"http://x","status":200,"body":"b"},{"method":"GET","url":"http://x","fault":{"code":"denied","message":"no"}}],
		"files_after":{"a/b.txt":null,"n":"1"},"kv_after":{"k":null}}]`
	cases, err := conformance.ParseCases([]byte(good))
	if err != nil || len(cases) != 2 || cases[0].Title() != "a.b" || cases[1].Title() != "n" || cases[1].FilesAfter["a/b.txt"] != nil || *cases[1].FilesAfter["n"] != "1" {
		t.Fatalf("%+v, %v", cases, err)
	}
	if cases[0].Now().Year() != 2026 || cases[1].Now().UnixMilli() != 5 {
		t.Errorf("clocks %v and %v", cases[0].Now(), cases[1].Now())
	}
	for text, want := range map[string]string{
		`[]`:                                    "there is no case",
		`{}`:                                    "read cases",
		`[{"tool":"a.b","args":{}}]`:            "case 0 (a.b): exactly one of result and fault",
		`[{"tool":"ab","args":{},"result":1}]`:  `"ab" is not a tool name`,
		`[{"tool":"a.b","args":[],"result":1}]`: "args is not an object",
		`[{"tool":"a.b","result":1}]`:           "args is not an object",
		`[{"tool":"a.b","args":{},"result":1,"fault":{"code":"denied"}}]`:                                                         "exactly one of result and fault",
		`[{"tool":"a.b","args":{},"fault":{"code":"odd"}}]`:                                                                       `"odd" is not one of the contract's ten`,
		`[{"tool":"a.b","args":{},"result":1,"extra":1}]`:                                                                         "extra",
		`[{"tool":"a.b","tool":"a.c","args":{},"result":1}]`:                                                                      "duplicate",
		`[{"tool":"a.b","args":{},"result":1,"files":{"../x":""}}]`:                                                               `"../x" is not a path`,
		`[{"tool":"a.b","args":{},"result":1,"files":{"/x":""}}]`:                                                                 `"/x" is not a path`,
		`[{"tool":"a.b","args":{},"result":1,"http":[{"method":"GET","url":"x"}]}]`:                                               "http[0]",
		`[{"tool":"a.b","args":{},"result":1,"http":[{"method":"GET","url":"x","status":1,"fault":{"code":"io","message":""}}]}]`: "http[0]",
	} {
		if _, err := conformance.ParseCases([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := conformance.ReadCases(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a plugin without cases: %v", err)
	}
}

// An accepted file writes out to one that is accepted and means the same.
func FuzzParseCases(f *testing.F) {
	f.Add([]byte(`[{"tool":"a.b","args":{"x":[1,{"y":null}]},"result":{}}]`))
	f.Add([]byte(`[{"tool":"a.b","args":{},"fault":{"code":"denied"},"files":{"a/":""},"http":[{"method":"G","url":"u","status":1}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, err := conformance.ParseCases(data)
		if err != nil {
			return
		}
		out, err := json.Marshal(cases)
		if err != nil {
			t.Fatal(err)
		}
		again, err := conformance.ParseCases(out)
		if err != nil || len(again) != len(cases) {
			t.Fatalf("%s: %v", out, err)
		}
	})
}

// fixed is an engine with one answer that may act on its world first.
type fixed struct {
	answer conformance.Answer
	act    func(opt sandbox.CallOptions)
}

func (s fixed) Call(_ context.Context, _ string, _ []byte, opt sandbox.CallOptions) (conformance.Answer, error) {
	if s.act != nil {
		s.act(opt)
	}
	return s.answer, nil
}

var demo = &manifest.Manifest{ID: "demo", Tools: []wire.Tool{{Name: "demo.run", Capabilities: []string{"kv", "fs.write", "net.fetch:x"}}}}

func run(t *testing.T, text string, on conformance.Engine) string {
	t.Helper()
	cases, err := conformance.ParseCases([]byte(`[` + text + `]`))
	if err != nil {
		t.Fatal(err)
	}
	differences, err := conformance.Run(t.Context(), on, demo, &cases[0], t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(differences, "; ")
}

func TestRunSeesEveryDifference(t *testing.T) {
	output := func(s string) fixed { return fixed{answer: conformance.Answer{Output: []byte(s)}} }
	result, fault := `{"tool":"demo.run","args":{},"result":{"a":1.0,"b":[2]}}`, `{"tool":"demo.run","args":{},"fault":{"code":"denied","message":"no"}}`
	for _, c := range []struct {
		text string
		on   fixed
		want string
	}{
		{result, output(`{"result":{"b":[2],"a":1}}`), ""},
		{result, output(`{"result":{"b":[2],"a":2}}`), `result {"b":[2],"a":2}, want {"a":1.0,"b":[2]}`},
		{result, output(`{"fault":{"code":"denied","message":"no"}}`), `fault denied (no), want the result {"a":1.0,"b":[2]}`},
		{result, output(``), "the reply is not one"},
		{result, output(`{"result":1,"fault":{"code":"denied","message":""}}`), "both result and fault"},
		{result, fixed{answer: conformance.Answer{Error: "rc 1"}}, "the guest failed: rc 1"},
		{result, fixed{answer: conformance.Answer{Broken: "trap"}}, "the guest did not come back: trap"},
		{fault, output(`{"fault":{"code":"denied","message":"no"}}`), ""},
		{fault, output(`{"fault":{"code":"denied","message":"never"}}`), "fault denied (never), want denied (no)"},
		{fault, output(`{"fault":{"code":"invalid","message":"no"}}`), "fault invalid (no), want denied (no)"},
		{fault, output(`{"result":{}}`), "result {}, want the fault denied"},
	} {
		if got := run(t, c.text, c.on); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	if _, err := conformance.Run(t.Context(), fixed{}, demo, &conformance.Case{Tool: "demo.other"}, t.TempDir()); err == nil {
		t.Error("a case of a tool that is not there was run")
	}
}

func TestRunLooksAtTheWorldAfterwards(t *testing.T) {
	head := `{"tool":"demo.run","args":{},"result":1,`
	act := func(f func(opt sandbox.CallOptions)) fixed {
		return fixed{conformance.Answer{Output: []byte(`{"result":1}`)}, f}
	}
	idle := act(nil)
	get := func(opt sandbox.CallOptions) {
		opt.HTTP.Do(context.Background(), wire.HTTPRequest{Method: "GET", URL: "http://x/", Headers: map[string][]string{"accept": {"a"}}}, []byte("b"))
	}
	for _, c := range []struct {
		text string
		on   fixed
		want string
	}{
		{head + `"files":{"a":"1"},"files_after":{"a":"1","b":null}}`, idle, ""},
		{head + `"files":{"a":"1"},"files_after":{"a":"2"}}`, idle, `file a is "1", want "2"`},
		{head + `"files":{"a":"1"},"files_after":{"a":null}}`, idle, "file a is there"},
		{head + `"files_after":{"a":"1"}}`, idle, "file a:"},
		{head + `"files":{"d/":""},"files_after":{"d/x":"1"}}`, act(func(o sandbox.CallOptions) { o.Workspace.WriteFile("d/x", []byte("1"), 0o600) }), ""},
		{head + `"kv":{"k":"1"},"kv_after":{"k":"1","l":null}}`, idle, ""},
		{head + `"kv":{"k":"1"},"kv_after":{"k":null}}`, idle, "key k is there"},
		{head + `"kv_after":{"k":"1"}}`, idle, `key k is "", want "1"`},
		{head + `"kv_after":{"k":"2"}}`, act(func(o sandbox.CallOptions) {
			o.KV.Set(context.Background(), o.Scope, "k", []byte("2"), nil)
		}), ""},
		{head + `"http":[{"method":"GET","url":"http://x/","status":200,"request_headers":{"Accept":"a"},"request_body":"b"}]}`, act(get), ""},
		{head + `"http":[{"method":"GET","url":"http://x/","status":200}]}`, idle, "1 expected HTTP requests were not made"},
		{head[:len(head)-1] + `}`, act(get), "unexpected request GET http://x/"},
		{head + `"http":[{"method":"POST","url":"http://x/","status":200}]}`, act(get), "request GET http://x/, want POST http://x/"},
		{head + `"http":[{"method":"GET","url":"http://x/","status":200,"request_body":"c"}]}`, act(get), `request body "b", want "c"`},
		{head + `"http":[{"method":"GET","url":"http://x/","status":200,"request_headers":{"accept":"c"}}]}`, act(get), `request header accept is "a", want "c"`},
	} {
		if got := run(t, c.text, c.on); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	var got sandbox.Abilities
	run(t, head+`"without":["kv"]}`, act(func(o sandbox.CallOptions) { got = o.Abilities }))
	if got.String() != "fs.write net.fetch" {
		t.Errorf("abilities without kv: %s", got)
	}
}
