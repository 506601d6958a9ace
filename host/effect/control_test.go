package effect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gate "github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

func TestAMissingCapabilityDeniesBeforeAnythingRuns(t *testing.T) {
	f := newFixture(t, "fs.read")
	writer := tool("a.b", adapter(func(context.Context, effect.Call) effect.Outcome {
		t.Error("ran without its capability")
		return effect.Outcome{}
	}))
	writer.Needs = []capability.Name{mustName("fs.read"), mustName("fs.write")}
	res := f.run(`{}`, writer)
	if res.Status != effect.Denied || res.Started || !strings.Contains(res.Sentence, "fs.write") {
		t.Fatalf("%s %v %s", res.Status, res.Started, res.Sentence)
	}
	if strings.Contains(res.Views.Model.String(), "portcullis ") {
		t.Fatalf("the model is told a command: %s", res.Views.Model)
	}
}

func TestAPluginNeedsTheOperatorsGrantToo(t *testing.T) {
	f := newFixture(t, "fs.read")
	reader := tool("a.b", succeed(`{}`))
	reader.Plugin, reader.Version = "files", "1.0.0"
	reader.Needs, reader.PluginNeeds = []capability.Name{mustName("fs.read")}, []capability.Name{mustName("fs.read")}
	res := f.run(`{}`, reader)
	if res.Status != effect.Denied || res.Started || res.Remedy != "portcullis plugin grant files fs.read" {
		t.Fatalf("%s, remedy %q (%s)", res.Status, res.Remedy, res.Sentence)
	}
}

func TestDenyWinsOverAutoAndPromptAsks(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	one := tool("a.b", succeed(`{}`))
	one.Approval = approval.Deny
	f.want(f.run(`{}`, one), effect.Denied, false, "")
	if len(f.asked) != 0 {
		t.Fatal("a denied call was asked about")
	}
	one.Approval = approval.Prompt
	f.want(f.run(`{"n":7}`, one), effect.Denied, false, gate.ReasonNoRoute)
	if len(f.asked) != 1 || f.asked[0].Arguments != `{"n":7}` || len(f.asked[0].Digest) != 64 {
		t.Fatalf("asked %+v", f.asked)
	}
	f.answer = gate.Decision{Allowed: true, By: "principal:operator:local", Reason: gate.ReasonAllowed}
	res := f.run(`{"n":7}`, one)
	f.want(res, effect.Succeeded, true, "")
	if len(res.Approval) != 30 {
		t.Fatalf("approval %q is not on the result", res.Approval)
	}
}

func TestWhatCannotBeShownWholeCannotBeApproved(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.answer = gate.Decision{Allowed: true, By: "x"}
	one := tool("a.b", succeed(`{}`))
	one.Approval = approval.Prompt
	f.want(f.run(`{"key":"`+strings.Repeat("long ", 8000)+`"}`, one), effect.Denied, false, "not_approvable")
	if len(f.asked) != 0 {
		t.Fatal("a cut question was asked")
	}
}

func TestASecretThatATurnKnowsIsInNoView(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	const secret = "correct-horse-battery-staple"
	known, err := redact.Set{}.With(redact.NewSecret("PLANTED", secret))
	if err != nil {
		t.Fatal(err)
	}
	c := f.catalog(effect.Setup{Known: known}, tool("a.b", succeed(`{"text":"it is `+secret+` here"}`)))
	res := f.execute(t.Context(), c, "a.b", `{"key":"`+secret+`"}`)
	f.want(res, effect.Succeeded, true, "")
	for a, view := range map[string]string{
		"model": res.Views.Model.String(), "operator": res.Views.Operator.String(), "event": res.Views.Event.String(),
		"durable": res.Views.Durable.String(), "debug": res.Views.Debug.String(),
	} {
		if strings.Contains(view, secret) || !strings.Contains(view, "it is ") {
			t.Errorf("%s view: %s", a, view)
		}
	}
	recs, err := f.store.Effects(t.Context(), f.turn.Principal(), f.turn.ID())
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(recs)
	if err != nil || strings.Contains(string(stored), secret) {
		t.Fatalf("the store has the secret (%v)", err)
	}
}

func TestASecretSeenInOneCallIsHiddenInLaterOnes(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	const token = "Zq81-kkW0-ppLm-77Xa"
	first := tool("a.first", succeed(`{"api_key":"`+token+`"}`))
	second := tool("a.second", succeed(`{"log":"used `+token+` today"}`))
	c := f.catalog(effect.Setup{}, first, second)
	f.want(f.execute(t.Context(), c, "a.first", `{}`), effect.Succeeded, true, "")
	res := f.execute(t.Context(), c, "a.second", `{}`)
	if strings.Contains(res.Views.Model.String(), token) {
		t.Fatalf("model view: %s", res.Views.Model)
	}
}

func TestAFaultOfAToolIsRedactedTextAndNoSuccess(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.turn = f.admit(t, "tool.call:*")
	res := f.run(`{}`, tool("a.b", adapter(func(context.Context, effect.Call) effect.Outcome {
		return effect.Outcome{Status: effect.Failed, Detail: "GET https://user:hunter2hunter2@example.org/ refused\x1b[31m"}
	})))
	f.want(res, effect.Failed, true, "failed")
	if strings.Contains(res.Sentence, "hunter2hunter2") || strings.Contains(res.Sentence, "\x1b") {
		t.Fatalf("sentence %q", res.Sentence)
	}
}

func TestTheAdapterRunsUnderTheEffectsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "tool.call:*")
		slow := tool("a.b", adapter(func(ctx context.Context, c effect.Call) effect.Outcome {
			<-ctx.Done()
			return effect.Outcome{Status: effect.TimedOut}
		}))
		slow.Timeout = 3 * time.Second
		began := time.Now()
		f.want(f.run(`{}`, slow), effect.TimedOut, true, "deadline")
		if took := time.Since(began); took != 3*time.Second {
			t.Fatalf("the adapter was given %s", took)
		}
	})
}

func TestACancelledTurnStartsNothingAndStillRecordsIt(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := f.catalog(effect.Setup{}, tool("a.b", adapter(func(context.Context, effect.Call) effect.Outcome {
		t.Error("ran after the cancellation")
		return effect.Outcome{}
	})))
	f.want(f.execute(ctx, c, "a.b", `{}`), effect.Cancelled, false, "cancelled")
	recs, err := f.store.Effects(t.Context(), f.turn.Principal(), f.turn.ID())
	if err != nil || len(recs) != 1 || recs[0].Status != effect.Cancelled {
		t.Fatalf("%+v %v", recs, err)
	}
}

func TestAToolThatNeedsASecretIsDeniedWithoutASecretStore(t *testing.T) {
	f := newFixture(t, "secret.bind:API_TOKEN")
	one := tool("a.b", succeed(`{}`))
	one.Needs = []capability.Name{mustName("secret.bind:API_TOKEN")}
	f.want(f.run(`{}`, one), effect.Denied, false, "secret_unavailable")
}

func TestTheModelViewKeepsTheCoresBound(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	c := f.catalog(effect.Setup{Output: 2048}, tool("a.b", succeed(`{"text":"`+strings.Repeat("word ", 4000)+`"}`)))
	res := f.execute(t.Context(), c, "a.b", `{}`)
	if n := len(res.Views.Model.String()); n > 2048 || n < 1000 {
		t.Fatalf("model view has %d bytes", n)
	}
	if !json.Valid([]byte(res.Views.Durable.String())) {
		t.Fatal("the durable view is not JSON")
	}
}
