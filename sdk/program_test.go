package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

type nothing struct{}

func silent(context.Context, nothing, Host) (nothing, error) { return nothing{}, nil }

func plugin(tools ...ToolSpec) Plugin {
	return Plugin{ID: "demo", Version: "1.0.0", Summary: "A demo.", License: "Apache-2.0", Tools: tools}
}

func program(t *testing.T, tools ...ToolSpec) *Program {
	t.Helper()
	p, err := NewProgram(plugin(tools...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func invoke(t *testing.T, p *Program, tool, args string) wire.Reply {
	t.Helper()
	in, err := json.Marshal(wire.Call{ID: "eff_1", Tool: tool, Args: wire.RawJSON(args)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Invoke(t.Context(), in, Host{})
	if err != nil {
		t.Fatal(err)
	}
	var r wire.Reply
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegistrationNamesEveryMistake(t *testing.T) {
	type bad struct {
		A chan int
		B func()
		C int `minlength:"1"`
	}
	p := Plugin{
		ID: "Demo", Version: "1",
		Capabilities: []Capability{{Name: "kv:x", Reason: "r"}, {Name: "kv"}},
		Settings:     []Setting{{Name: "Base"}},
		Tools: []ToolSpec{
			Tool("demo", "", silent),
			Tool("demo.two", "d", silent, Needs("fs.read"), Risk("hi"), Approval("no"), Recovery("x")),
			Tool("demo.two", "d", func(context.Context, bad, Host) (nothing, error) { return nothing{}, nil }),
			Tool[nothing, string]("demo.out", "d", nil),
			Tool[bad, string]("demo.both", "d", nil),
			Tool[nothing, nothing]("demo.nil", "d", nil),
			Tool("demo.schema", "d", silent, InputSchema(`[]`)),
			{},
		},
	}
	_, err := NewProgram(p)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"ID: a lower-case letter", `Version: "1" is not`, "Summary: is missing", "License: is missing",
		`"kv:x" is not a capability`, "kv has no reason", `"Base" is not a setting name`,
		"tool demo: the name is not", "tool demo: has no description",
		"tool demo.two: needs fs.read, which is not among", `tool demo.two: risk "hi" is not one of`, `approval "no"`, `recovery "x"`,
		"tool demo.two: there are two of that name", "tool demo.two: input: field sdk.bad.A: type chan int has no JSON Schema",
		"\n  tool demo.two: input: field sdk.bad.B: type func() has no", "\n  tool demo.two: input: field sdk.bad.C: tag minlength is not",
		"\n  tool demo.both: input: field sdk.bad.A", "\n  tool demo.both: output: type string", "\n  tool demo.both: handler is nil",
		"tool demo.out: output: type string is not a struct", "tool demo.nil: handler is nil",
		"tool demo.schema: a schema is not a JSON object", "was not made by sdk.Tool",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not told: %s\n%v", want, err)
		}
	}
	if _, err := NewProgram(plugin()); err == nil || !strings.Contains(err.Error(), "Tools: there is none") {
		t.Errorf("no tools: %v", err)
	}
}

func TestRegisterOnceOrPanic(t *testing.T) {
	registered = nil // an example registers too
	t.Cleanup(func() { registered = nil })
	Register(plugin(Tool("demo.a", "d", silent)))
	if Registered() == nil {
		t.Fatal("nothing is registered")
	}
	if got := panicOf(func() { Register(plugin(Tool("demo.b", "d", silent))) }); !strings.Contains(got, "Register called twice: first demo") {
		t.Errorf("twice: panic is %q", got)
	}
	registered = nil
	if got := panicOf(func() { Register(Plugin{ID: "demo"}) }); !strings.Contains(got, `plugin "demo" cannot be registered`) {
		t.Errorf("bad: panic is %q", got)
	}
}

// What a guest does with a plugin that has mistakes: refuse_wasip1.go makes this program of them.
func TestARefusedProgramAnswersWithItsMistakes(t *testing.T) {
	_, mistakes := NewProgram(plugin(Tool("demo.a", "d", silent), Tool("demo.a", "d", silent)))
	if mistakes == nil || !strings.Contains(mistakes.Error(), "\n  tool demo.a: there are two of that name") {
		t.Fatalf("two tools of one name: %v", mistakes)
	}
	p := &Program{refused: mistakes}
	if out, err := p.Describe(); out != nil || !errors.Is(err, mistakes) {
		t.Errorf("Describe = %s, %v", out, err)
	}
	if out, err := p.Invoke(t.Context(), []byte(`{"id":"eff_1","tool":"demo.a","args":{}}`), Host{}); out != nil || !errors.Is(err, mistakes) {
		t.Errorf("Invoke = %s, %v", out, err)
	}
}

// panicOf is what f panics with, "" when it does not.
func panicOf(f func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

func TestDescribeIsWhatTheAuthorWrote(t *testing.T) {
	p := plugin(Tool("demo.read", "Read.", silent, ReadOnly(), Needs("fs.read")), Tool("demo.do", "Do.", silent))
	p.Capabilities = []Capability{{Name: "fs.read", Reason: "reads notes"}}
	p.Limits = Limits{DeadlineMS: 5}
	prog, err := NewProgram(p)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := prog.Describe()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"abi":"portcullis/v1","kind":"tool","id":"demo","version":"1.0.0","summary":"A demo.","license":"Apache-2.0",` +
		`"capabilities":[{"name":"fs.read","reason":"reads notes"}],"limits":{"deadline_ms":5},"tools":[` +
		`{"name":"demo.read","description":"Read.","input_schema":{"type":"object","additionalProperties":false},"output_schema":{"type":"object","additionalProperties":false},"capabilities":["fs.read"],"risk":"low","approval":"auto","recovery":"read"},` +
		`{"name":"demo.do","description":"Do.","input_schema":{"type":"object","additionalProperties":false},"output_schema":{"type":"object","additionalProperties":false},"risk":"medium","approval":"prompt","recovery":"manual"}]}`
	if string(raw) != want {
		t.Fatalf("got  %s\nwant %s", raw, want)
	}
}

func TestInvokeAnswersWithResultOrFault(t *testing.T) {
	type in struct {
		Say string `json:"say"`
	}
	p := program(t,
		Tool("demo.echo", "d", func(ctx context.Context, v in, _ Host) (map[string]string, error) {
			return map[string]string{"said": v.Say, "id": CallID(ctx)}, nil
		}),
		Tool("demo.raw", "d", func(_ context.Context, v json.RawMessage, _ Host) (json.RawMessage, error) { return v, nil },
			InputSchema(`{"type":"object"}`), OutputSchema(`{"type":"object"}`)),
		Tool("demo.inf", "d", func(context.Context, nothing, Host) (map[string]float64, error) {
			return map[string]float64{"x": math.Inf(1)}, nil
		}),
		Tool("demo.big", "d", func(context.Context, nothing, Host) (map[string]string, error) {
			return map[string]string{"x": strings.Repeat("x", wire.MaxReplyBytes)}, nil
		}),
	)
	for _, c := range []struct {
		tool, args, result string
		code               Code
		says               string
	}{
		{"demo.echo", `{"say":"hi"}`, `{"id":"eff_1","said":"hi"}`, "", ""},
		{"demo.raw", `{"any":[1]}`, `{"any":[1]}`, "", ""},
		{"demo.echo", `{"say":"hi","sya":1}`, "", Invalid, `unknown field "sya"`},
		{"demo.echo", `{"say":1}`, "", Invalid, "say: a number where a string is wanted at byte 7"},
		{"demo.none", `{}`, "", NotFound, `plugin demo has no tool "demo.none"`},
		{"demo.inf", `{}`, "", Failed, "the result cannot be encoded"},
		{"demo.big", `{}`, "", TooLarge, "at most 8388608 are allowed"},
	} {
		r := invoke(t, p, c.tool, c.args)
		switch {
		case c.code == "" && string(r.Result) != c.result:
			t.Errorf("%s %s gave %s, %v", c.tool, c.args, r.Result, r.Fault)
		case c.code != "" && (r.Fault == nil || r.Fault.Code != c.code || !strings.Contains(r.Fault.Message, c.says)):
			t.Errorf("%s %s gave %s, %v", c.tool, c.args, r.Result, r.Fault)
		}
	}
	for _, bad := range []string{``, `{}x`, `{"id":"1","tool":"demo.echo","args":{},"more":1}`, strings.Repeat(" ", wire.MaxCallBytes+1)} {
		if out, err := p.Invoke(t.Context(), []byte(bad), Host{}); err == nil {
			t.Errorf("%.20q is no call, and got %s", bad, out)
		}
	}
}

func TestErrorsBecomeFaults(t *testing.T) {
	long := strings.Repeat("é", wire.MaxFaultMessage)
	for _, c := range []struct {
		err  error
		code Code
		says string
	}{
		{Errorf(Unavailable, "try in %d s", 5), Unavailable, "try in 5 s"},
		{fmt.Errorf("open: %w", Errorf(Denied, "no")), Denied, "open: no"},
		{&fs.PathError{Op: "read", Path: "a", Err: &Fault{Code: Conflict, Message: "m"}}, Conflict, "read a: m"},
		{fmt.Errorf("x: %w", NotFound), NotFound, "x: not_found"},
		{fmt.Errorf("x: %w", fs.ErrNotExist), NotFound, "x: file does not exist"},
		{fs.ErrExist, Exists, "file already exists"},
		{fs.ErrPermission, Denied, "permission denied"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), Timeout, "x: context deadline exceeded"},
		{&Fault{Code: "made-up", Message: "m"}, Failed, "m"},
		{errors.New("plain \xff"), Failed, "plain \uFFFD"},
		{errors.New(long), Failed, long[:wire.MaxFaultMessage-4] + "…"},
	} {
		p := program(t, Tool("demo.fail", "d", func(context.Context, nothing, Host) (nothing, error) { return nothing{}, c.err }))
		f := invoke(t, p, "demo.fail", `{}`).Fault
		if f == nil || f.Code != c.code || f.Message != c.says {
			t.Errorf("%.60v became %.80v", c.err, f)
		}
	}
}

func TestNilSlicesAndMapsAreEmpty(t *testing.T) {
	type inner struct {
		List []string       `json:"list"`
		Map  map[string]int `json:"map"`
	}
	type hidden struct {
		Up []int `json:"up"`
	}
	type out struct {
		hidden
		inner
		Bytes []byte             `json:"bytes"`
		Deep  []inner            `json:"deep"`
		ByKey map[string]inner   `json:"by_key"`
		Ptr   *inner             `json:"ptr"`
		None  *inner             `json:"none"`
		Fixed [1][]int           `json:"fixed"`
		Left  []int              `json:"left,omitempty"`
		Raw   json.RawMessage    `json:"raw"`
		Many  map[string]float64 `json:"many"`
	}
	p := program(t, Tool("demo.nil", "d", func(context.Context, nothing, Host) (out, error) {
		return out{Deep: make([]inner, 1), ByKey: map[string]inner{"k": {}}, Ptr: &inner{}}, nil
	}, Maps[string, inner]()))
	empty := `{"list":[],"map":{}}`
	want := `{"up":[],"list":[],"map":{},"bytes":"","deep":[` + empty + `],"by_key":{"k":` + empty + `},"ptr":` + empty +
		`,"none":null,"fixed":[[]],"raw":null,"many":{}}`
	if got := invoke(t, p, "demo.nil", `{}`).Result; string(got) != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func TestZeroHostIsQuietOrLoud(t *testing.T) {
	var h Host
	h.Log(LevelInfo, "to nobody")
	h.Progress("to nobody", 1, 2)
	for name, use := range map[string]func(){
		"Now": func() { h.Now() }, "Files": func() { h.Files() }, "KV": func() { h.KV() },
		"Setting": func() { h.Setting("x") }, "Random": func() { _ = h.Random(make([]byte, 1)) },
		"Do": func() { _, _ = h.Do(t.Context(), &Request{}) },
	} {
		if got := panicOf(use); !strings.Contains(got, "belongs to no call") {
			t.Errorf("%s: panic is %q", name, got)
		}
	}
}

// A misspelt or refused import would only be found when a guest is loaded.
func TestEveryDeclaredImportIsOfTheContract(t *testing.T) {
	src, err := os.ReadFile("internal/abi/abi_wasip1.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^//go:wasmimport (\S+) (\S+)$`).FindAllStringSubmatch(string(src), -1)
	ours := 0
	for _, m := range found {
		imp, ok := wire.LookupImport(m[1], m[2])
		if !ok || imp.Refused != "" {
			t.Errorf("%s %s: known %v, refused %q", m[1], m[2], ok, imp.Refused)
		}
		if m[1] == wire.ModuleHost {
			ours++
		}
	}
	if ours != 19 {
		t.Errorf("%d of the contract's 19 host functions are declared", ours)
	}
	exports, err := os.ReadFile("exports_wasip1.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{wire.ExportDescribe, wire.ExportInvoke, wire.ExportReconcile} {
		if !strings.Contains(string(exports), "//go:wasmexport "+name+"\n") {
			t.Errorf("%s is not exported", name)
		}
	}
}
