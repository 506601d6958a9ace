package provider_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
)

func TestAnAnswerKeepsTheOrderOfItsParts(t *testing.T) {
	var events []string
	a := provider.NewAssembler(request(), provider.Caps{}, func(e provider.Event) {
		events = append(events, string(e.Kind)+":"+e.CallID+":"+e.Text)
	})
	must(t, a.Text("one"), a.Text(""), a.Text("+"), a.StartCall(3, "id", "f"), a.CallDelta(3, "{}"), a.Text("two"))
	a.Usage(provider.Usage{Input: -1, Output: 2})
	resp := a.Finish(provider.FinishToolCalls)
	if len(resp.Parts) != 3 || resp.Parts[0].Text != "one+" || resp.Parts[1].Kind != provider.PartToolCall || resp.Parts[2].Text != "two" {
		t.Errorf("parts %+v", resp.Parts)
	}
	want := []string{"text::one", "text::+", "call_start:id:", "call_delta:id:{}", "text::two", "usage::"}
	if !reflect.DeepEqual(events, want) {
		t.Errorf("events %q", events)
	}
	if resp.Usage != (provider.Usage{Output: 2, Reported: true}) {
		t.Errorf("usage %+v", resp.Usage)
	}
}

func TestAnAnswerRefusesNonsense(t *testing.T) {
	for name, feed := range map[string]func(*provider.Assembler) error{
		"no name":   func(a *provider.Assembler) error { return a.StartCall(0, "id", "") },
		"long name": func(a *provider.Assembler) error { return a.StartCall(0, "id", strings.Repeat("x", 257)) },
		"one id twice": func(a *provider.Assembler) error {
			must(t, a.StartCall(0, "id", "f"))
			return a.StartCall(1, "id", "f")
		},
		"stray arguments": func(a *provider.Assembler) error { return a.CallDelta(0, "{") },
	} {
		err := feed(provider.NewAssembler(request(), provider.Caps{}, nil))
		var e *provider.Error
		if !errors.As(err, &e) || e.Kind != provider.KindProtocol {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpaqueDataCountsTowardsTheCap(t *testing.T) {
	a := provider.NewAssembler(request(), provider.Caps{ResponseBytes: 10}, nil)
	must(t, a.Reserve(8), a.Reserve(-8), a.Opaque("x", json.RawMessage(`{"a":123}`)))
	var e *provider.Error
	if err := a.Text("no"); !errors.As(err, &e) || e.Kind != provider.KindTooLarge {
		t.Errorf("got %v", err)
	}
}

func TestMadeUpIdsDependOnThePlaceInTheConversation(t *testing.T) {
	id := func(req provider.Request) string {
		a := provider.NewAssembler(req, provider.Caps{}, nil)
		must(t, a.StartCall(0, "", "f"))
		got, _ := a.CallID(0)
		return got
	}
	later := request()
	later.Messages = append(later.Messages, provider.User("again"))
	first, again := id(request()), id(request())
	if first != again || first == id(later) {
		t.Errorf("%s %s %s", first, again, id(later))
	}
}

func TestScrubRemovesSecretsAndShapes(t *testing.T) {
	for in, want := range map[string]string{
		"key sk-secret-1 twice sk-secret-1":        "key [redacted] twice [redacted]",
		"a\r\nb\x1b[31m\tc\x00\u0085d":             "a\r\nb [31m\tc  d",
		" \xff\xfe ok\n":                           "ok",
		"two  words\n" + strings.Repeat("é", 4000): "two  words\n" + strings.Repeat("é", 4000),
	} {
		if got := provider.Scrub(in, "sk-secret-1", ""); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzArguments: whatever a model writes as arguments, the call ends up either
// with one strict JSON object equal in meaning to the text, or marked malformed
// in words that quote nothing of it.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{``, ` `, `{}`, `{"a":1}`, `{"a":1,"a":2}`, `{"a":"\ud800"}`, `[{}]`, `{} {}`, "{\"a\":\"\xff\"}", `{"a":1e999}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := provider.NewAssembler(request(), provider.Caps{}, nil)
		must(t, a.StartCall(0, "id", "f"))
		if len(text) > provider.DefaultCaps().ArgumentBytes-8 {
			return
		}
		must(t, a.CallDelta(0, text))
		c := a.Finish(provider.FinishToolCalls).Calls()[0]
		if (c.Arguments == nil) == (c.Malformed == "") {
			t.Fatalf("%q: %+v", text, c)
		}
		if c.Arguments == nil {
			if len(text) > 12 && strings.Contains(c.Malformed, text) {
				t.Errorf("%q quotes the model", c.Malformed)
			}
			return
		}
		var got, want map[string]any
		if err := json.Unmarshal(c.Arguments, &got); err != nil && !strings.Contains(err.Error(), "cannot unmarshal number") {
			t.Fatalf("%q gave %s: %v", text, c.Arguments, err)
		}
		if strings.TrimSpace(text) == "" {
			text = "{}"
		}
		if json.Unmarshal([]byte(text), &want) == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q means %v, got %v", text, want, got)
		}
	})
}
