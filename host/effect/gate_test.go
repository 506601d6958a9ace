package effect_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gate "github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// fixture is one running turn over a memory store, with a gate whose parts a test can break.
type fixture struct {
	t       *testing.T
	store   *memory.Store
	ids     *id.Source
	journal *journal
	asked   []gate.Request
	answer  gate.Decision
	bare    bool // the answer is given as it is, with nothing on record

	whileAsked func()
	runtime    *effect.Runtime
	turn       binding.Turn
}

// journal passes to the store unless a test makes it fail.
type journal struct {
	effect.Journal
	failStart, failFinish bool
	order                 *[]string
}

var errDisk = errors.New("disk full")

func (j *journal) EffectStarted(ctx context.Context, s effect.Started, r event.Record) (effect.Start, error) {
	*j.order = append(*j.order, "started")
	if j.failStart {
		return "", errDisk
	}
	return j.Journal.EffectStarted(ctx, s, r)
}

func (j *journal) EffectFinished(ctx context.Context, f effect.Finished, r event.Record) error {
	*j.order = append(*j.order, "finished "+string(f.Status))
	if j.failFinish {
		return errDisk
	}
	return j.Journal.EffectFinished(ctx, f, r)
}

// Decide gives the test's answer. An allowance is on record, as every allowance is.
func (f *fixture) Decide(ctx context.Context, req gate.Request) gate.Decision {
	f.asked = append(f.asked, req)
	if f.whileAsked != nil {
		f.whileAsked()
	}
	if !f.answer.Allowed || f.bare {
		return f.answer
	}
	g := gate.NewGate(gate.Config{Journal: f.store, Prompter: yes{}, IDs: f.ids, Clock: time.Now})
	return g.Decide(ctx, req)
}

// yes is a person who allows everything once.
type yes struct{}

func (yes) Prompt(context.Context, gate.Question) (gate.Answer, error) {
	return gate.Answer{State: gate.Allowed, Reach: gate.Once, By: authority.OperatorID}, nil
}

func newFixture(t *testing.T, capabilities ...string) *fixture {
	t.Helper()
	f := &fixture{t: t, ids: id.NewSource(time.Now, rand.Reader), answer: gate.Decision{Reason: gate.ReasonNoRoute}}
	f.store = memory.New(memory.Config{Clock: time.Now, IDs: f.ids})
	f.journal = &journal{Journal: f.store, order: new([]string)}
	f.runtime = f.over(f.store)
	f.turn = f.admit(t, capabilities...)
	return f
}

// over is a gate of the fixture's parts.
func (f *fixture) over(grants effect.Grants) *effect.Runtime {
	return effect.NewRuntime(effect.Config{
		Journal: f.journal, Grants: grants, Approver: f, IDs: f.ids, Clock: time.Now, Reconciliations: f.store, Audit: f.store,
	})
}

func (f *fixture) resolver() *authority.Resolver {
	r := authority.NewResolver(f.store, f.store, time.Now, f.ids)
	f.t.Cleanup(r.Close)
	return r
}

// admit starts a turn and binds it.
func (f *fixture) admit(t *testing.T, capabilities ...string) binding.Turn {
	t.Helper()
	snapshot, err := capability.ParseSnapshot(capabilities...)
	if err != nil {
		t.Fatal(err)
	}
	facts := authority.OperatorFacts("test")
	req, turnID := f.ids.Request(), f.ids.Turn()
	got, err := f.store.Admit(t.Context(), turn.Admission{
		Request: req, Digest: "d", Turn: turnID, NewSession: f.ids.Session(), Selector: turn.Selector{Kind: turn.Fresh}, Owner: facts,
		Core: "assistant", Revision: "sha256:r", Claim: lease.Claim{Token: f.ids.Lease(), Epoch: f.ids.Epoch(), Expires: time.Now().Add(time.Hour)},
		Trace: f.ids.Trace(), Input: "hello", At: time.Now(),
	}, []event.Record{
		{ID: f.ids.Event(), At: time.Now(), Kind: event.SessionCreated, Principal: facts.PrincipalID},
		{ID: f.ids.Event(), At: time.Now(), Kind: event.TurnStarted, Principal: facts.PrincipalID},
	})
	if err != nil || got.Disposition != turn.Admitted {
		t.Fatalf("admit: %v %v", got.Disposition, err)
	}
	scope, err := f.resolver().Session(t.Context(), facts, got.Session)
	if err != nil {
		t.Fatal(err)
	}
	token := binding.Token{ID: f.ids.Token(), Request: req, Turn: turnID, Session: got.Session}
	bound, err := binding.New(binding.Spec{
		Request: req, Turn: turnID, Session: got.Session, Principal: scope, Trace: f.ids.Trace(), Workspace: t.TempDir(),
		Core:  binding.Core{ID: "assistant", Revision: "sha256:r", Capabilities: snapshot},
		Route: token, Admission: token, Cancellation: token,
	})
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

// adapter is a tool's code as a function.
type adapter func(context.Context, effect.Call) effect.Outcome

func (a adapter) Invoke(ctx context.Context, c effect.Call) effect.Outcome { return a(ctx, c) }

func succeed(result string) adapter {
	return func(context.Context, effect.Call) effect.Outcome {
		return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(result)}
	}
}

type source []effect.Tool

func (s source) Tools(context.Context, binding.Turn) ([]effect.Tool, error) { return s, nil }

// tool is one builtin that needs nothing beyond its own name.
func tool(name string, a effect.Adapter) effect.Tool {
	return effect.Tool{
		Name: name, Description: "test", Risk: approval.Low, Approval: approval.Auto, Recovery: "read", Origin: effect.Builtin,
		Provenance: "builtin:" + name, Adapter: a, Needs: []capability.Name{mustName("tool.call:" + name)},
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"key":{"type":"string"}},"additionalProperties":false}`),
		OutputSchema: json.RawMessage(`{"type":"object"}`),
	}
}

func mustName(text string) capability.Name {
	n, err := capability.Parse(text)
	if err != nil {
		panic(err)
	}
	return n
}

func (f *fixture) catalog(setup effect.Setup, tools ...effect.Tool) *effect.Catalog {
	f.t.Helper()
	setup.Sources = append(setup.Sources, source(tools))
	c, err := f.runtime.Prepare(f.t.Context(), f.turn, setup)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// run passes one call of the first tool through the gate.
func (f *fixture) run(args string, tools ...effect.Tool) effect.Result {
	f.t.Helper()
	return f.execute(f.t.Context(), f.catalog(effect.Setup{}, tools...), tools[0].Name, args)
}

func (f *fixture) execute(ctx context.Context, c *effect.Catalog, name, args string) effect.Result {
	f.t.Helper()
	ref, ok := c.Resolve(name)
	if !ok {
		f.t.Fatalf("no tool %s", name)
	}
	return f.runtime.Execute(ctx, effect.Request{ID: f.ids.Effect(), Ref: ref, Arguments: []byte(args), From: effect.FromModel}, f.turn)
}

func (f *fixture) want(res effect.Result, status effect.Status, started bool, reason string) {
	f.t.Helper()
	if res.Status != status || res.Started != started || (reason != "" && res.Reason != reason) {
		f.t.Fatalf("status %s started %v reason %q (%s), want %s %v %q", res.Status, res.Started, res.Reason, res.Sentence, status, started, reason)
	}
}

func TestAnEffectPassesEightStepsAndIsDurableBeforeItRuns(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	var before []string
	res := f.run(`{"n": 1}`, tool("a.b", adapter(func(_ context.Context, c effect.Call) effect.Outcome {
		before = slices.Clone(*f.journal.order)
		if string(c.Arguments) != `{"n":1}` {
			t.Errorf("the adapter got %s", c.Arguments)
		}
		return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{"ok":true}`)}
	})))
	f.want(res, effect.Succeeded, true, "")
	if !slices.Equal(before, []string{"started"}) {
		t.Fatalf("when the adapter ran the journal had %q", before)
	}
	var names []string
	for i, s := range res.Stages {
		names = append(names, s.Name)
		if s.Number != i+1 || s.Verdict != "pass" {
			t.Errorf("stage %+v", s)
		}
	}
	if got := strings.Join(names, ","); got != "request,scope,capability,host checks,approval,secrets,run,record" {
		t.Fatalf("stages %s", got)
	}
	if res.Views.Model.String() != `{"ok":true}` {
		t.Fatalf("model view %s", res.Views.Model)
	}
}

func TestNothingRunsUnlessItsStartIsRecorded(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.journal.failStart = true
	ran := false
	res := f.run(`{}`, tool("a.b", adapter(func(context.Context, effect.Call) effect.Outcome {
		ran = true
		return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
	})))
	f.want(res, effect.Denied, false, "not_recorded")
	if ran {
		t.Fatal("the adapter ran without a durable start")
	}
}

func TestAnEndThatCannotBeRecordedIsIndeterminate(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.journal.failFinish = true
	res := f.run(`{}`, tool("a.b", succeed(`{}`)))
	f.want(res, effect.Indeterminate, true, "end_not_recorded")
	if strings.Contains(res.Views.Model.String(), "portcullis") || !strings.Contains(res.Sentence, "portcullis store check") {
		t.Fatalf("model %s, operator %s", res.Views.Model, res.Sentence)
	}
}

func TestAReferenceIsGoodForItsTurnAndCatalogOnly(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	c := f.catalog(effect.Setup{}, tool("a.b", succeed(`{}`)))
	ref, _ := c.Resolve("a.b")
	other := f.admit(t, "tool.call:*")
	res := f.runtime.Execute(t.Context(), effect.Request{ID: f.ids.Effect(), Ref: ref, Arguments: []byte(`{}`)}, other)
	f.want(res, effect.Invalid, false, "wrong_turn")
	c.Close()
	res = f.runtime.Execute(t.Context(), effect.Request{ID: f.ids.Effect(), Ref: ref, Arguments: []byte(`{}`)}, f.turn)
	f.want(res, effect.Invalid, false, "catalog_closed")
	res = f.runtime.Execute(t.Context(), effect.Request{ID: f.ids.Effect(), Arguments: []byte(`{}`)}, f.turn)
	f.want(res, effect.Invalid, false, "no_reference")
	if _, ok := c.Resolve("a.b"); ok {
		t.Fatal("a closed catalog resolves")
	}
}

func TestANameClashNamesBothProvenances(t *testing.T) {
	f := newFixture(t)
	a, b := tool("a.b", succeed(`{}`)), tool("a.b", succeed(`{}`))
	b.Provenance = "authored:other@1.0.0"
	_, err := f.runtime.Prepare(t.Context(), f.turn, effect.Setup{Sources: []effect.Source{source{a}, source{b}}})
	var clash *effect.ClashError
	if !errors.As(err, &clash) || clash.First != "builtin:a.b" || clash.Second != "authored:other@1.0.0" {
		t.Fatalf("%v", err)
	}
}

func TestArgumentsAreStrict(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	for args, reason := range map[string]string{
		`{"n":1`:                            "arguments_not_json",
		`[1]`:                               "arguments_not_an_object",
		`{"n":1,"n":2}`:                     "arguments_not_json",
		`{"n":1} {}`:                        "arguments_not_json",
		"{\"key\":\"\xff\"}":                "arguments_not_json",
		`{"n":9007199254740993}`:            "arguments_number_not_exact",
		`{"n":"1"}`:                         "arguments_schema",
		`{"N":1}`:                           "arguments_schema",
		`{"key":"` + redact.Sentinel + `"}`: "arguments_redacted",
		`{"key":"` + strings.Repeat("x", effect.MaxArgumentBytes) + `"}`: "arguments_too_large",
	} {
		res := f.run(args, tool("a.b", succeed(`{}`)))
		if res.Status != effect.Invalid || res.Reason != reason || res.Started {
			t.Errorf("%.40s: %s %s (%s)", args, res.Status, res.Reason, res.Sentence)
		}
	}
}

// Rule D7: a success is a result, in bounds, strict, and fitting the declared schema, whatever the adapter says.
func TestASuccessMustHaveAResultThatFits(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	small := tool("a.b", nil)
	small.Output = 64
	for result, reason := range map[string]string{
		``:              "output_missing",
		`{"a":1,"a":2}`: "output_not_json",
		`[1]`:           "output_schema",
		`{"a":"` + strings.Repeat("x", 64) + `"}`: "output_too_large",
	} {
		small.Adapter = succeed(result)
		f.want(f.run(`{}`, small), effect.Failed, true, reason)
	}
}

func TestTheAdaptersWordCannotBeAnythingElse(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	for _, c := range []struct {
		out    effect.Outcome
		status effect.Status
		reason string
	}{
		{effect.Outcome{Status: effect.TimedOut}, effect.TimedOut, "deadline"},
		{effect.Outcome{Status: effect.Cancelled}, effect.Cancelled, "cancelled"},
		{effect.Outcome{Status: effect.Denied, Reason: "x"}, effect.Failed, "x"},
		{effect.Outcome{Status: effect.Indeterminate, Reason: "y"}, effect.Indeterminate, "y"},
		{effect.Outcome{}, effect.Indeterminate, "adapter_status"},
		{effect.Outcome{Status: "great"}, effect.Indeterminate, "adapter_status"},
	} {
		res := f.run(`{}`, tool("a.b", adapter(func(context.Context, effect.Call) effect.Outcome { return c.out })))
		f.want(res, c.status, true, c.reason)
	}
	res := f.run(`{}`, tool("a.b", adapter(func(context.Context, effect.Call) effect.Outcome { panic("boom") })))
	f.want(res, effect.Indeterminate, true, "adapter_panic")
}

func TestAToolUnknownToTheCatalogIsRecordedAsNotFound(t *testing.T) {
	f := newFixture(t)
	c := f.catalog(effect.Setup{}, tool("a.b", succeed(`{}`)))
	res := f.runtime.Unknown(t.Context(), effect.Request{ID: f.ids.Effect(), Catalog: c, Arguments: []byte(`{}`)}, "no.such", f.turn)
	f.want(res, effect.NotFound, false, "tool_not_found")
	recs, err := f.store.Effects(t.Context(), f.turn.Principal(), f.turn.ID())
	if err != nil || len(recs) != 1 || recs[0].Status != effect.NotFound || recs[0].Started {
		t.Fatalf("%+v %v", recs, err)
	}
}
