package turn_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	rules "github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// world is an Execution over a memory store, a model that is a function, and one tool that is a function.
type world struct {
	t     *testing.T
	store *memory.Store
	ids   *id.Source
	cfg   turn.Config
	plan  turn.Plan
	shown []provider.Request
	tool  func(context.Context, effect.Call) effect.Outcome
}

// model answers from a function.
type model struct {
	w  *world
	mu *sync.Mutex
	do func(ctx context.Context, n int, req provider.Request) (provider.Response, error)
}

func (m model) Name() string { return "test/model" }

func (m model) Limits() provider.Limits {
	return provider.Limits{ContextWindow: 100_000, MaxOutput: 1000, SafetyMargin: 1000}
}

func (m model) Generate(ctx context.Context, req provider.Request, _ func(provider.Event)) (provider.Response, error) {
	m.mu.Lock()
	m.w.shown = append(m.w.shown, req.Clone())
	n := len(m.w.shown)
	m.mu.Unlock()
	return m.do(ctx, n, req)
}

func newWorld(t *testing.T, do func(ctx context.Context, n int, req provider.Request) (provider.Response, error)) *world {
	t.Helper()
	w := &world{t: t, ids: id.NewSource(time.Now, rand.Reader)}
	w.store = memory.New(memory.Config{Clock: time.Now, IDs: w.ids})
	w.tool = func(context.Context, effect.Call) effect.Outcome {
		return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{"done":true}`)}
	}
	all, err := capability.ParseSnapshot("tool.call:*")
	if err != nil {
		t.Fatal(err)
	}
	w.plan = turn.Plan{
		Core:   binding.Core{ID: "assistant", Revision: "sha256:r", Capabilities: all},
		System: "You are a test.", Model: model{w, new(sync.Mutex), do}, Setup: effect.Setup{Sources: []effect.Source{turn.Ask{}, w}},
	}
	w.over(time.Now)
	return w
}

// over makes the world's engines over its store.
func (w *world) over(clock func() time.Time) {
	gate := approval.NewGate(approval.Config{Journal: w.store, Clock: clock, IDs: w.ids})
	w.cfg = turn.Config{
		Journal: w.store, Planner: w, Authority: authority.NewResolver(w.store, w.store, clock, w.ids), IDs: w.ids, Epoch: w.ids.Epoch(), Clock: clock,
		Context: prompt.New(prompt.Config{Journal: w.store, IDs: w.ids, Epoch: w.ids.Epoch(), Clock: clock}),
		Effects: effect.NewRuntime(effect.Config{Journal: w.store, Grants: w.store, Approver: gate, IDs: w.ids, Clock: clock}),
	}
}

func (w *world) Plan(context.Context, turn.Request) (turn.Plan, error) { return w.plan, nil }

func (w *world) Tools(context.Context, binding.Turn) ([]effect.Tool, error) {
	name, err := capability.Parse("tool.call:test.do")
	return []effect.Tool{{
		Name: "test.do", Description: "test", InputSchema: json.RawMessage(`{"type":"object"}`), Needs: []capability.Name{name},
		Risk: rules.Low, Approval: rules.Auto, Recovery: "manual", Origin: effect.Builtin, Provenance: "builtin:test.do", Adapter: w,
	}}, err
}

func (w *world) Invoke(ctx context.Context, c effect.Call) effect.Outcome { return w.tool(ctx, c) }

func ask(input string) turn.Request {
	return turn.Request{Actor: authority.OperatorFacts("test"), Core: "assistant", Input: input, Selector: turn.Selector{Kind: turn.Fresh}}
}

func say(text string) (provider.Response, error) {
	return provider.Response{Parts: []provider.Part{provider.Text(text)}, FinishReason: provider.FinishStop, Usage: provider.Usage{Input: 10, Output: 2}}, nil
}

func call(tools ...string) (provider.Response, error) {
	var parts []provider.Part
	for i, tool := range tools {
		parts = append(parts, provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "c" + string(rune('1'+i)), Name: provider.WireName(tool), Arguments: json.RawMessage(`{}`)}})
	}
	return provider.Response{Parts: parts, FinishReason: provider.FinishToolCalls}, nil
}

func (w *world) record(res turn.Result) turn.Record {
	w.t.Helper()
	scope, err := w.cfg.Authority.Session(context.Background(), authority.OperatorFacts("look"), res.Session())
	if err != nil {
		w.t.Fatal(err)
	}
	rec, found, err := w.store.Turn(context.Background(), scope, res.Turn())
	if err != nil || !found {
		w.t.Fatalf("turn %s: %v %v", res.Turn(), found, err)
	}
	return rec
}

func (w *world) want(res turn.Result, outcome turn.Outcome, reason string) {
	w.t.Helper()
	if res.Outcome() != outcome || res.Reason() != reason {
		w.t.Fatalf("outcome %s %q (%s), want %s %q", res.Outcome(), res.Reason(), res.Sentence(), outcome, reason)
	}
	if rec := w.record(res); rec.Outcome != outcome || rec.Reason != reason || rec.Finished.IsZero() {
		w.t.Fatalf("recorded %s %q", rec.Outcome, rec.Reason)
	}
}

func TestATurnCompletesAndItsResultDoesNotChange(t *testing.T) {
	w := newWorld(t, func(_ context.Context, n int, req provider.Request) (provider.Response, error) {
		if n == 1 {
			return call("test.do")
		}
		last := req.Messages[len(req.Messages)-1]
		if got := last.Parts[0].Result; got.Content != `{"done":true}` || got.IsError {
			t.Errorf("the model was shown %+v", got)
		}
		return say("done")
	})
	res, err := turn.New(w.cfg).Run(t.Context(), ask("go"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	w.want(res, turn.Completed, "")
	if res.Reply() != "done" || res.Steps() != 2 || res.Usage().Input != 10 || len(res.Effects()) != 1 {
		t.Fatalf("%+v", res)
	}
	scope, err := w.cfg.Authority.Session(t.Context(), authority.OperatorFacts("look"), res.Session())
	if err != nil {
		t.Fatal(err)
	}
	issued, err := w.store.Events(t.Context(), scope, turn.EventQuery{Session: res.Session(), Kind: event.OperatorIssued, Limit: 10})
	if err != nil || len(issued) != 1 || issued[0].Field("reason") != "test" {
		t.Fatalf("operator authority without its record: %+v %v", issued, err)
	}
	res.Effects()[0].Tool = "changed"
	if res.Effects()[0].Tool != "test.do" {
		t.Fatal("a result changed after its return")
	}
}

func TestHistoryIsShownToTheNextTurnOfTheSession(t *testing.T) {
	w := newWorld(t, func(_ context.Context, n int, _ provider.Request) (provider.Response, error) {
		if n == 1 {
			return call("test.do")
		}
		return say("answer")
	})
	x := turn.New(w.cfg)
	first, err := x.Run(t.Context(), ask("one"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	next := ask("two")
	next.Selector = turn.Selector{Kind: turn.Resume, Session: first.Session()}
	if _, err := x.Run(t.Context(), next, turn.Observer{}); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range w.shown[2].Messages {
		roles = append(roles, string(m.Role))
	}
	if got := strings.Join(roles, " "); got != "user assistant tool assistant user" {
		t.Fatalf("the second turn was shown %s", got)
	}
}

func TestWhatFailsBeforeTheStartIsARejectionAndLeavesNothing(t *testing.T) {
	w := newWorld(t, nil)
	x := turn.New(w.cfg)
	for name, c := range map[string]struct {
		change func(*turn.Request)
		reason string
	}{
		"empty":           {func(r *turn.Request) { r.Input = "" }, turn.RejectInput},
		"too long":        {func(r *turn.Request) { r.Input = strings.Repeat("x", turn.MaxInputBytes+1) }, turn.RejectInput},
		"a long key":      {func(r *turn.Request) { r.Key = id.Request(strings.Repeat("k", 201)) }, turn.RejectInput},
		"a key of lines":  {func(r *turn.Request) { r.Key = "order\n17" }, turn.RejectInput},
		"not UTF-8":       {func(r *turn.Request) { r.Input = "\xff" }, turn.RejectInput},
		"unknown session": {func(r *turn.Request) { r.Selector = turn.Selector{Kind: turn.Resume, Session: w.ids.Session()} }, turn.RejectSession},
		"resume of none":  {func(r *turn.Request) { r.Selector = turn.Selector{Kind: turn.Resume} }, turn.RejectInput},
		"nobody's child": {func(r *turn.Request) {
			r.Actor = principal.Facts{PrincipalID: "principal:delegated_agent:x", Authority: principal.DelegatedAgent, ParentSession: "ses_1", ParentTurn: "trn_1"}
			r.Selector = turn.Selector{Kind: turn.Fresh}
		}, turn.RejectInput},
		"a parent of no child": {func(r *turn.Request) { r.Parent = &turn.Parent{} }, turn.RejectInput},
		"another turn's child": {func(r *turn.Request) {
			r.Actor = principal.Facts{PrincipalID: "principal:delegated_agent:x", Authority: principal.DelegatedAgent, ParentSession: "ses_1", ParentTurn: "trn_1"}
			r.Parent = &turn.Parent{}
		}, turn.RejectInput},
	} {
		req := ask("x")
		c.change(&req)
		var rejected *turn.RejectedError
		if _, err := x.Run(t.Context(), req, turn.Observer{}); !errors.As(err, &rejected) || rejected.Reason != c.reason {
			t.Errorf("%s: %v", name, err)
		}
	}
	x.Close()
	var rejected *turn.RejectedError
	if _, err := x.Run(t.Context(), ask("x"), turn.Observer{}); !errors.As(err, &rejected) || rejected.Reason != turn.RejectClosed {
		t.Fatalf("after Close: %v", err)
	}
}

func TestOneKeyIsOneTurn(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("once") })
	x := turn.New(w.cfg)
	req := ask("pay")
	req.Key = "order-17"
	first, err := x.Run(t.Context(), req, turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := x.Run(t.Context(), req, turn.Observer{})
	if err != nil || again.Turn() != first.Turn() || !again.Duplicate() || again.Reply() != "once" || len(w.shown) != 1 {
		t.Fatalf("%v %v, %d model calls", again.Turn(), err, len(w.shown))
	}
	req.Input = "pay more"
	var rejected *turn.RejectedError
	if _, err := x.Run(t.Context(), req, turn.Observer{}); !errors.As(err, &rejected) || rejected.Reason != turn.RejectConflict {
		t.Fatalf("another request under the same key: %v", err)
	}
	req.Input = "pay"
	if _, _, err := x.Call(t.Context(), req, "test.do", []byte(`{}`), turn.Observer{}); !errors.As(err, &rejected) || rejected.Reason != turn.RejectConflict {
		t.Fatalf("a call of a tool under the key of a conversation: %v", err)
	}
	req.Key = "order-18"
	for n, arguments := range []string{`{}`, `{}`, `{"n":1}`} {
		res, _, err := x.Call(t.Context(), req, "test.do", []byte(arguments), turn.Observer{})
		switch {
		case n < 2 && (err != nil || res.Duplicate() != (n == 1)):
			t.Fatalf("call %d: duplicate %v, %v", n, res.Duplicate(), err)
		case n == 2 && (!errors.As(err, &rejected) || rejected.Reason != turn.RejectConflict):
			t.Fatalf("a call with other arguments under the same key: %v", err)
		}
	}
}

func TestTurnsOfASessionAreSerialAndSessionsAreConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		inside, most := map[string]int{}, 0
		w := newWorld(t, func(ctx context.Context, _ int, req provider.Request) (provider.Response, error) {
			session := req.Metadata[provider.MetadataSession]
			mu.Lock()
			inside[session]++
			if inside[session] > 1 {
				t.Errorf("two turns at once in %s", session)
			}
			if len(inside) > most {
				most = len(inside)
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			if inside[session]--; inside[session] == 0 {
				delete(inside, session)
			}
			mu.Unlock()
			return say("x")
		})
		x := turn.New(w.cfg)
		var sessions []id.Session
		for range 3 {
			res, err := x.Run(t.Context(), ask("first"), turn.Observer{})
			if err != nil {
				t.Fatal(err)
			}
			sessions = append(sessions, res.Session())
		}
		var all sync.WaitGroup
		for n := range 12 {
			all.Go(func() {
				req := ask("more")
				req.Selector = turn.Selector{Kind: turn.Resume, Session: sessions[n%3]}
				if res, err := x.Run(context.Background(), req, turn.Observer{}); err != nil || res.Outcome() != turn.Completed {
					t.Errorf("%v %v", res.Outcome(), err)
				}
			})
		}
		all.Wait()
		if most != 3 {
			t.Fatalf("at most %d sessions ran at once, want 3", most)
		}
	})
}

func TestFirstTurnsOfAConversationShareOneSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
			time.Sleep(time.Second)
			return say("x")
		})
		x := turn.New(w.cfg)
		req := turn.Request{Core: "assistant", Input: "hi", Actor: principal.Facts{
			PrincipalID: "principal:conversation:telegram:1", Authority: principal.Conversation, Channel: "telegram", ConversationKey: "telegram:dm:1",
		}}
		var mu sync.Mutex
		seen := map[id.Session]int{}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				res, err := x.Run(context.Background(), req, turn.Observer{})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				seen[res.Session()]++
				mu.Unlock()
			})
		}
		all.Wait()
		if len(seen) != 1 {
			t.Fatalf("sessions %v", seen)
		}
	})
}

func TestTheStepBoundAndProviderFailuresAreFailedTurns(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return call("test.do") })
	w.plan.MaxSteps = 3
	res, err := turn.New(w.cfg).Run(t.Context(), ask("loop"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	w.want(res, turn.Failed, "step_limit")
	if len(res.Effects()) != 3 {
		t.Fatalf("%d effects", len(res.Effects()))
	}
	w = newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
		return provider.Response{}, &provider.Error{Kind: provider.KindRateLimited, Provider: "test"}
	})
	if res, err = turn.New(w.cfg).Run(t.Context(), ask("x"), turn.Observer{}); err != nil {
		t.Fatal(err)
	}
	w.want(res, turn.Failed, "provider_rate_limited")
}

func TestTheAskToolPausesTheTurnForTheUser(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
		return provider.Response{FinishReason: provider.FinishToolCalls, Parts: []provider.Part{
			{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "a", Name: provider.WireName(turn.AskTool), Arguments: json.RawMessage(`{"question":"Which file?"}`)}},
			{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: "b", Name: provider.WireName("test.do"), Arguments: json.RawMessage(`{}`)}},
		}}, nil
	})
	w.tool = func(context.Context, effect.Call) effect.Outcome {
		t.Error("ran after the turn was paused")
		return effect.Outcome{}
	}
	res, err := turn.New(w.cfg).Run(t.Context(), ask("edit it"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	w.want(res, turn.NeedsUser, "asked_user")
	if res.Reply() != "Which file?" {
		t.Fatalf("reply %q", res.Reply())
	}
}

// failingFinish is a store that cannot write the end.
type failingFinish struct{ turn.Journal }

func (failingFinish) Finish(context.Context, turn.Terminal, event.Record) (turn.Fenced, error) {
	return "", errors.New("disk full")
}

func TestAnEndThatCannotBeWrittenIsAnInfrastructureError(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("x") })
	w.cfg.Journal = failingFinish{w.store}
	var broken *turn.InfrastructureError
	if _, err := turn.New(w.cfg).Run(t.Context(), ask("x"), turn.Observer{}); !errors.As(err, &broken) || broken.Turn == "" {
		t.Fatalf("%v", err)
	}
}

func TestAFaultOfTheHostStillEndsTheTurn(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { panic("boom") })
	res, err := turn.New(w.cfg).Run(t.Context(), ask("x"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	w.want(res, turn.Failed, "host_fault")
}

// What was allowed for a session ends when its conversation goes on in another one.
func TestWhoLeavesASessionIsTold(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("hi") })
	var left []id.Session
	w.cfg.Left = func(s id.Session) { left = append(left, s) }
	x := turn.New(w.cfg)
	talk := func(actor principal.Facts, sel turn.Selector) id.Session {
		t.Helper()
		req := ask("hello")
		req.Actor, req.Selector = actor, sel
		res, err := x.Run(t.Context(), req, turn.Observer{})
		if err != nil || res.Outcome() != turn.Completed {
			t.Fatal(res.Outcome(), err)
		}
		return res.Session()
	}
	actor := principal.Facts{PrincipalID: "principal:conversation:chat:1", Authority: principal.Conversation, Channel: "chat", ConversationKey: "chat:dm:1"}
	first := talk(actor, turn.Selector{Kind: turn.Bound})
	talk(actor, turn.Selector{Kind: turn.Bound})
	talk(actor, turn.Selector{Kind: turn.Resume, Session: first})
	talk(authority.OperatorFacts("test"), turn.Selector{Kind: turn.Fresh})
	if len(left) != 0 {
		t.Fatalf("%v is said to be left, and was not", left)
	}
	second := talk(actor, turn.Selector{Kind: turn.Fresh})
	talk(actor, turn.Selector{Kind: turn.Resume, Session: first})
	if len(left) != 2 || left[0] != first || left[1] != second {
		t.Fatalf("left %v, want %s and %s", left, first, second)
	}
}
