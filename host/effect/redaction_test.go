package effect_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/redact/redacttest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

const planted = "tok4f9a8b7c6d5e4f3a2b1cZQ"

// hiding is a catalog that knows the planted value, with one tool.
func (f *fixture) hiding(a effect.Adapter) *effect.Catalog {
	f.t.Helper()
	known, err := redact.Set{}.With(redact.NewSecret("PLANTED", planted), redact.NewSecret("SPACED", "one with a space 7"))
	if err != nil {
		f.t.Fatal(err)
	}
	one := tool("a.b", a)
	one.InputSchema = json.RawMessage(`{"type":"object"}`)
	return f.catalog(effect.Setup{Known: known}, one)
}

// everything is what anybody is shown of a result, and what the store has of the turn.
func (f *fixture) everything(res effect.Result) string {
	f.t.Helper()
	recs, err := f.store.Effects(f.t.Context(), f.turn.Principal(), f.turn.ID())
	if err != nil {
		f.t.Fatal(err)
	}
	stored, err := json.Marshal(recs)
	if err != nil {
		f.t.Fatal(err)
	}
	all := []string{string(stored), res.Sentence, res.Reason, res.Tool, res.CallID, res.Remedy}
	for _, a := range []redact.Audience{redact.ForModel, redact.ForOperator, redact.ForEvent, redact.ForDurable, redact.ForDebug} {
		all = append(all, res.Views.View(a).String())
	}
	for _, s := range res.Stages {
		all = append(all, s.Why)
	}
	return strings.Join(all, "\n")
}

func ends(out effect.Outcome) adapter {
	return func(context.Context, effect.Call) effect.Outcome { return out }
}

// bomb is a text that is encoded in too many ways to be searched.
var bomb = strings.Repeat("%2525&amp;amp;\\\\\\\\=3D3D+'\\'' "+strings.Repeat("34", 40)+strings.Repeat("5a6b", 40), 2048)

// The redactor's failure hides everything, and does not make of what happened something that did not.
func TestARedactorThatFailsHidesEveryViewAndLeavesTheStatus(t *testing.T) {
	quoted, err := json.Marshal(map[string]string{"text": bomb + planted})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		out  effect.Outcome
		want effect.Status
	}{
		"a result that cannot be searched": {effect.Outcome{Status: effect.Succeeded, Result: quoted}, effect.Succeeded},
		"words that cannot be searched":    {effect.Outcome{Status: effect.Failed, Detail: bomb + planted}, effect.Failed},
		"words over the bound":             {effect.Outcome{Status: effect.Indeterminate, Detail: strings.Repeat(planted, redact.MaxRaw/len(planted)+1)}, effect.Indeterminate},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "tool.call:*")
			res := f.execute(t.Context(), f.hiding(ends(c.out)), "a.b", `{}`)
			f.want(res, c.want, true, "redaction_failed")
			if !res.Views.Failed {
				t.Error("the views do not say that they failed")
			}
			for _, a := range []redact.Audience{redact.ForModel, redact.ForOperator, redact.ForEvent, redact.ForDurable, redact.ForDebug} {
				if got := res.Views.View(a).String(); got != redact.FailedText {
					t.Errorf("the %s view is %.200q", a, got)
				}
			}
			recs, err := f.store.Effects(t.Context(), f.turn.Principal(), f.turn.ID())
			if err != nil || len(recs) != 1 || recs[0].Status != c.want || string(recs[0].Durable) != `"`+redact.FailedText+`"` {
				t.Errorf("on record is %+v (%v)", recs, err)
			}
			if part := redacttest.Leak(f.everything(res), planted, ""); part != "" {
				t.Errorf("%q is shown", part)
			}
		})
	}
}

// A value that a bound would cut through is found, because words are cut after they were redacted.
func TestNoBoundCutsASecretInTwo(t *testing.T) {
	for _, around := range []int{64, 300, 500, 512, 2000, 2048, 4096} {
		f := newFixture(t, "tool.call:*")
		for n := around - 2*len(planted); n < around+8; n += 7 {
			text := strings.Repeat("x ", n/2) + planted + " and more of it" + strings.Repeat(" y", 500)
			for _, out := range []effect.Outcome{
				{Status: effect.Failed, Detail: text},
				{Status: effect.Indeterminate, Detail: text},
				{Status: effect.Failed, Reason: text},
				{Status: effect.Failed, Fault: &wire.Fault{Code: wire.CodeFailed, Message: text}},
				{Status: effect.Status(text)},
			} {
				res := f.execute(t.Context(), f.hiding(ends(out)), "a.b", `{}`)
				if part := redacttest.Leak(f.everything(res), planted, ""); part != "" {
					t.Fatalf("%s with %d bytes before it: %q is shown", out.Status, n, part)
				}
			}
		}
	}
}

func TestAPanicOfAnAdapterIsRedacted(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	for _, e := range redacttest.Thirty() {
		c := f.hiding(adapter(func(context.Context, effect.Call) effect.Outcome { panic("it broke on " + e.Encode(planted)) }))
		res := f.execute(t.Context(), c, "a.b", `{}`)
		f.want(res, effect.Indeterminate, true, "adapter_panic")
		if part := redacttest.Leak(f.everything(res), e.Encode(planted), redacttest.Others(e.Encode, planted)); part != "" {
			t.Errorf("%s: %q is shown", e.Name, part)
		}
		if !strings.Contains(res.Sentence, "it broke on") || !strings.Contains(res.Sentence, "<redacted:PLANTED>") {
			t.Errorf("%s: %s", e.Name, res.Sentence)
		}
	}
}

// What stands in for a value in any view cannot be used as one: not as it is, not as the object that a record shows, not
// behind an encoding.
func TestAMaskOfAnyViewIsRefusedAsInput(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	ran := false
	c := f.hiding(adapter(func(_ context.Context, call effect.Call) effect.Outcome {
		ran = true
		return effect.Outcome{Status: effect.Succeeded, Result: call.Arguments}
	}))
	first := f.execute(t.Context(), c, "a.b", `{"whole":"`+planted+`","part":"it is `+planted+` here"}`)
	f.want(first, effect.Succeeded, true, "")
	cases, refused := 0, 0
	for _, a := range []redact.Audience{redact.ForModel, redact.ForOperator, redact.ForEvent, redact.ForDurable, redact.ForDebug} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(first.Views.View(a).String()), &members); err != nil {
			t.Fatal(err)
		}
		for name, mask := range members {
			inString, err := json.Marshal(string(mask))
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range []string{`{"x":` + string(mask) + `}`, `{"deep":[{"file":` + string(inString) + `}]}`, `{` + string(inString) + `:1}`} {
				ran = false
				res := f.execute(t.Context(), c, "a.b", args)
				cases++
				if res.Status != effect.Invalid || res.Reason != "arguments_redacted" || res.Started || ran {
					t.Errorf("the %s of the %s view as %s: %s %s", name, a, args, res.Status, res.Reason)
					continue
				}
				refused++
			}
		}
	}
	for _, e := range redacttest.Thirty() {
		text, err := json.Marshal(map[string]string{"content": e.Encode("[" + redact.Sentinel + ":bound]")})
		if err != nil {
			t.Fatal(err)
		}
		res := f.execute(t.Context(), c, "a.b", string(text))
		cases++
		if res.Reason != "arguments_redacted" || res.Started {
			t.Errorf("a mask as %s: %s %s", e.Name, res.Status, res.Reason)
			continue
		}
		refused++
	}
	for _, text := range []string{
		`{"redacted":true}`, `{"redacted":true,"name":"a page","source":"archive"}`, `{"redacted":false,"name":"x","source":"bound"}`,
		`{"redacted":true,"name":"x","source":"bound","pages":3}`, `{"x":"` + base64.StdEncoding.EncodeToString([]byte("redacted by the host")) + `"}`,
	} {
		if res := f.execute(t.Context(), c, "a.b", text); res.Status != effect.Succeeded {
			t.Errorf("%s is taken for a mask: %s", text, res.Sentence)
		}
	}
	t.Logf("sentinels: %d of %d refused", refused, cases)
}

func TestWhatAModelMadeUpIsRedactedOnRecord(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	c := f.hiding(succeed(`{}`))
	req := effect.Request{ID: f.ids.Effect(), CallID: "call_" + planted, Catalog: c, Arguments: []byte(`{}`), Malformed: "not JSON near " + planted}
	res := f.runtime.Unknown(t.Context(), req, "tools."+planted, f.turn)
	f.want(res, effect.NotFound, false, "tool_not_found")
	if part := redacttest.Leak(f.everything(res), planted, ""); part != "" || !strings.Contains(res.Tool, "<redacted:PLANTED") || !strings.Contains(res.CallID, redact.Sentinel) {
		t.Errorf("%q is shown; tool %q, call %q", part, res.Tool, res.CallID)
	}
	req.ID, req.Ref = f.ids.Effect(), func() effect.Ref { r, _ := c.Resolve("a.b"); return r }()
	res = f.runtime.Execute(t.Context(), req, f.turn)
	f.want(res, effect.Invalid, false, "arguments_not_json")
	if part := redacttest.Leak(f.everything(res), planted, ""); part != "" {
		t.Errorf("%q is shown: %s", part, f.everything(res))
	}
}

func TestThePluginsLogIsHandedOnRedacted(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	var lines []effect.LogLine
	f.runtime = effect.NewRuntime(effect.Config{
		Journal: f.journal, Grants: f.store, Approver: f, IDs: f.ids, Clock: time.Now, Log: func(l effect.LogLine) { lines = append(lines, l) },
	})
	c := f.hiding(ends(effect.Outcome{
		Status: effect.Succeeded, Result: json.RawMessage(`{"api_key":"Zq81-kkW0-ppLm-77Xa"}`),
		Logs: []wire.LogRecord{
			{Level: "info", Message: "got " + planted + " and Zq81-kkW0-ppLm-77Xa", Attrs: []wire.Attr{
				{Key: "password", Value: "short"}, {Key: planted, Value: "https://u:" + planted + "@h/"}, {Key: "token_count", Value: "7"}, {Key: "password", Value: ""},
			}},
			{Level: "debug", Message: "nothing"},
		},
	}))
	res := f.execute(t.Context(), c, "a.b", `{}`)
	want := wire.LogRecord{Level: "info", Message: "got <redacted:PLANTED> and <redacted:api_key>", Attrs: []wire.Attr{
		{Key: "password", Value: "<redacted:password>"}, {Key: "<redacted:PLANTED>", Value: "https://u:<redacted:PLANTED>@h/"}, {Key: "token_count", Value: "7"}, {Key: "password", Value: ""},
	}}
	if len(lines) != 2 || lines[0].Effect != res.ID || lines[0].Tool != "a.b" || lines[1].Message != "nothing" {
		t.Fatalf("%+v", lines)
	}
	got, _ := json.Marshal(lines[0].LogRecord)
	if expected, _ := json.Marshal(want); string(got) != string(expected) {
		t.Errorf("%s\nwant %s", got, expected)
	}
}
