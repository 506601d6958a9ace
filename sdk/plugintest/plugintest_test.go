package plugintest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

type in struct {
	Name string `json:"name" minLength:"2"`
}

type out struct {
	Text string `json:"text" maxLength:"20"`
}

func greet(_ context.Context, v in, h sdk.Host) (out, error) {
	if v.Name == "nobody" {
		return out{}, sdk.Errorf(sdk.NotFound, "there is no %s", v.Name)
	}
	h.Log(sdk.LevelInfo, "greeting", "name", v.Name)
	return out{Text: "Hello, " + v.Name}, nil
}

func plugin(tools ...sdk.ToolSpec) sdk.Plugin {
	return sdk.Plugin{
		ID: "demo", Version: "1.0.0", Summary: "s", License: "l",
		Capabilities: []sdk.Capability{{Name: "fs.read", Reason: "r"}, {Name: "fs.write", Reason: "r"}, {Name: "kv", Reason: "r"}},
		Tools:        append(tools, sdk.Tool("demo.greet", "d", greet, sdk.ReadOnly())),
	}
}

func TestCallIsTheResultOrTheFault(t *testing.T) {
	p := plugintest.For(t, plugin())
	if got := string(p.Call(t, "demo.greet", `{"name":"Ann"}`)); got != `{"text":"Hello, Ann"}` {
		t.Errorf("got %s", got)
	}
	if got := plugintest.Call[out](t, p, "demo.greet", in{Name: "Bob"}); got.Text != "Hello, Bob" {
		t.Errorf("got %+v", got)
	}
	if f := p.Fault(t, "demo.greet", `{"name":"nobody"}`); f.Code != sdk.NotFound || f.Message != "there is no nobody" {
		t.Errorf("got %+v", f)
	}
	if len(p.Logs()) != 2 {
		t.Errorf("%d log lines", len(p.Logs()))
	}
}

// A host validates before the guest runs, so the handler must not have run.
func TestArgumentsOutsideTheSchemaNeverReachTheHandler(t *testing.T) {
	p := plugintest.For(t, plugin())
	for _, args := range []string{`{"name":"x"}`, `{}`, `{"name":"Ann","more":1}`, `{"name":7}`, `[]`, `null`, `not json`} {
		if f := p.Fault(t, "demo.greet", args); f.Code != sdk.Invalid {
			t.Errorf("%s gave %+v", args, f)
		}
	}
	if len(p.Logs()) != 0 {
		t.Errorf("the handler ran: %v", p.Logs())
	}
}

// failed runs f against a TB that stands in for a test, and returns what that
// test would have said on failing, "" when it passed.
func failed(t *testing.T, f func(tb testing.TB)) string {
	t.Helper()
	tb := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // Fatalf ends the goroutine, as in a real test
		defer close(done)
		f(tb)
	}()
	<-done
	return tb.text
}

type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestWhatFailsATest(t *testing.T) {
	p := plugin(
		sdk.Tool("demo.wrong", "d", func(context.Context, struct{}, sdk.Host) (out, error) {
			return out{Text: strings.Repeat("x", 21)}, nil
		}),
	)
	for name, c := range map[string]struct {
		f    func(tb testing.TB)
		want string
	}{
		"no plugin":                    {func(tb testing.TB) { plugintest.New(tb) }, "no plugin is registered"},
		"bad plugin":                   {func(tb testing.TB) { plugintest.For(tb, sdk.Plugin{ID: "x"}) }, "cannot be registered"},
		"bad manifest":                 {func(tb testing.TB) { q := plugin(); q.Limits.DeadlineMS = -1; plugintest.For(tb, q) }, "limits.deadline_ms"},
		"unknown tool":                 {func(tb testing.TB) { plugintest.For(tb, p).Call(tb, "demo.none", `{}`) }, "has no tool"},
		"a fault":                      {func(tb testing.TB) { plugintest.For(tb, p).Call(tb, "demo.greet", `{"name":"nobody"}`) }, "demo.greet answered not_found: there is no nobody"},
		"a result for a fault":         {func(tb testing.TB) { plugintest.For(tb, p).Fault(tb, "demo.greet", `{"name":"Ann"}`) }, "was to answer with a fault"},
		"a schema that is not checked": {func(tb testing.TB) { plugintest.For(tb, own(p)).Call(tb, "demo.own", `{"a":2}`) }, `the input schema of demo.own has the keyword "multipleOf", which is not checked here: give Plugin.Schemas`},
		"result off its schema":        {func(tb testing.TB) { plugintest.For(tb, p).Call(tb, "demo.wrong", `{}`) }, "does not fit its output schema"},
	} {
		if got := failed(t, c.f); !strings.Contains(got, c.want) {
			t.Errorf("%s: the test said %q, want %q", name, got, c.want)
		}
	}
}

// own adds a tool whose schema says more than the sdk derives.
func own(p sdk.Plugin) sdk.Plugin {
	p.Tools = append(p.Tools, sdk.Tool("demo.own", "d", func(context.Context, json.RawMessage, sdk.Host) (struct{}, error) {
		return struct{}{}, nil
	}, sdk.InputSchema(`{"type":"object","properties":{"a":{"multipleOf":2}}}`)))
	return p
}

func TestAnotherValidatorChecksSchemas(t *testing.T) {
	p := plugintest.For(t, own(plugin())).Schemas(func(schema, instance []byte) error {
		if strings.Contains(string(schema), "multipleOf") && string(instance) == `{"a":3}` {
			return errors.New("3 is odd")
		}
		return nil
	})
	p.Call(t, "demo.own", `{"a":2}`)
	if f := p.Fault(t, "demo.own", `{"a":3}`); f.Code != sdk.Invalid || f.Message != "3 is odd" {
		t.Errorf("got %+v", f)
	}
}

// Asking in the manifest is not enough: a tool has what it lists in Needs.
func TestAbilitiesWithoutNeedsAreDenied(t *testing.T) {
	tool := func(name string, f func(ctx context.Context, h sdk.Host) error, needs ...string) sdk.ToolSpec {
		return sdk.Tool(name, "d", func(ctx context.Context, _ struct{}, h sdk.Host) (struct{}, error) {
			return struct{}{}, f(ctx, h)
		}, sdk.Needs(needs...))
	}
	p := plugintest.For(t, plugin(
		tool("demo.read", func(_ context.Context, h sdk.Host) error { _, err := h.Files().ReadFile("a"); return err }),
		tool("demo.write", func(_ context.Context, h sdk.Host) error { return h.Files().WriteFile("a", nil, sdk.Replace) }, "fs.read"),
		tool("demo.key", func(_ context.Context, h sdk.Host) error { _, err := h.KV().Set("a", nil); return err }, "fs.read", "fs.write"),
		tool("demo.fetch", func(ctx context.Context, h sdk.Host) error {
			_, err := h.Do(ctx, &sdk.Request{URL: "https://a.example/"})
			return err
		}, "kv"),
		tool("demo.all", func(_ context.Context, h sdk.Host) error {
			_, err := h.KV().Set("b", nil)
			return errors.Join(err, h.Files().WriteFile("b", nil, sdk.Replace))
		}, "fs.write", "kv"),
	)).Files(map[string]string{"a": "x"}).HTTP(http.NotFoundHandler())
	for _, name := range []string{"demo.read", "demo.write", "demo.key", "demo.fetch"} {
		if f := p.Fault(t, name, `{}`); f.Code != sdk.Denied || !strings.Contains(f.Message, "add sdk.Needs to the tool") {
			t.Errorf("%s gave %+v", name, f)
		}
	}
	p.Call(t, "demo.all", `{}`)
	if _, ok := p.Key("a"); ok {
		t.Error("the key was written")
	}
	if got, _ := p.File("a"); got != "x" {
		t.Errorf("the file became %q", got)
	}
}

func TestFailureIsForOneThing(t *testing.T) {
	read := sdk.Tool("demo.read", "d", func(_ context.Context, _ struct{}, h sdk.Host) (map[string]string, error) {
		said := map[string]string{}
		for _, name := range []string{"good", "bad"} {
			b, err := h.Files().ReadFile(name)
			if err != nil {
				b = []byte(err.Error())
			}
			said[name] = string(b)
		}
		return said, nil
	}, sdk.Needs("fs.read"))
	p := plugintest.For(t, plugin(read)).Files(map[string]string{"good": "g", "bad": "b"}).
		Fail(wire.ImportFSRead, "bad", sdk.IO, "the disk is gone")
	if got := string(p.Call(t, "demo.read", `{}`)); got != `{"bad":"read bad: the disk is gone","good":"g"}` {
		t.Errorf("got %s", got)
	}
	p.Fail(wire.ImportFSRead, "", sdk.Timeout, "slow")
	if got := string(p.Call(t, "demo.read", `{}`)); got != `{"bad":"read bad: the disk is gone","good":"read good: slow"}` {
		t.Errorf("got %s", got)
	}
}
