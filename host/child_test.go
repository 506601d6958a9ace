package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/child"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// helper writes the core "helper", which assistant may spawn, with its own script, capabilities and all plugins.
func (h *home) helper(script string, capabilities ...string) {
	h.core(script, capabilities)
	for _, name := range []string{"agent.yaml", "agent/soul.md", "agent/script.yaml"} {
		h.write("cores/helper/"+name, strings.ReplaceAll(h.read("cores/assistant/"+name), "id: assistant}", "id: helper}"))
	}
}

const spawning = `
steps:
  - call: [{tool: agents.spawn, args: {core: helper, task: "add the tenths"}}]
  - say: done
`

// spawned has assistant spawn helper, and returns the parent's effect and the child's turn with its effects.
func (h *home) spawned(capabilities ...string) (turn.Result, effect.Result, []turn.Child, []effect.Record) {
	h.t.Helper()
	h.core(spawning, capabilities)
	on := h.open()
	var of effect.Result
	res, err := on.Run(h.t.Context(), host.Request{Input: "go"}, turn.Observer{Effect: func(r effect.Result) { of = r }})
	if err != nil {
		h.t.Fatal(err)
	}
	by, err := on.Operator(h.t.Context(), "test")
	if err != nil {
		h.t.Fatal(err)
	}
	children, err := h.store.Children(h.t.Context(), by, res.Turn(), 10)
	if err != nil {
		h.t.Fatal(err)
	}
	var effects []effect.Record
	for _, c := range children {
		more, err := h.store.Effects(h.t.Context(), by, c.ID)
		if err != nil {
			h.t.Fatal(err)
		}
		effects = append(effects, more...)
	}
	return res, of, children, effects
}

func TestAChildDoesAPartOfTheWork(t *testing.T) {
	h := newHome(t, "calc")
	h.helper(`
steps:
  - expect: {last_user: {contains: "tenths"}}
    call: [{tool: calc.eval, args: {expression: "0.1+0.2"}}]
  - say: It is 0.3.
`, "tool.call:*")
	res, of, children, effects := h.spawned("tool.call:*", "agents.spawn:helper")
	if res.Outcome() != turn.Completed || of.Status != effect.Succeeded || len(children) != 1 || len(effects) != 1 || effects[0].Status != effect.Succeeded {
		t.Fatalf("%s, %+v, %+v, %+v", res.Sentence(), of, children, effects)
	}
	c := children[0]
	view := of.Views.Durable.String()
	if c.Outcome != turn.Completed || c.Session == res.Session() || !strings.Contains(view, string(c.ID)) || !strings.Contains(view, "It is 0.3.") {
		t.Errorf("child %+v, and its parent's effect keeps %s", c, view)
	}
	by, err := principal.DelegatedID(string(res.Session()), string(of.ID))
	if err != nil || c.Principal != by {
		t.Errorf("the child is %s, not %s (%v)", c.Principal, by, err)
	}
}

// Nothing becomes possible for a child that its parent cannot do, whatever the child's own core may do.
func TestAChildCanDoNoMoreThanItsParent(t *testing.T) {
	h := newHome(t, "calc", "notes")
	h.helper(`
steps:
  - call: [{tool: notes.find, args: {}}]
  - call: [{tool: calc.eval, args: {expression: "1+1"}}]
  - say: tried
`, "tool.call:*", "kv")
	on := h.open()
	operator, err := on.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := on.Grant(t.Context(), operator, "notes", "kv"); err != nil {
		t.Fatal(err)
	}
	statuses := func(effects []effect.Record) (out []string) {
		for _, e := range effects {
			out = append(out, e.Tool+" "+string(e.Status)+" "+e.Reason)
		}
		return out
	}
	_, _, _, effects := h.spawned("tool.call:*", "kv", "agents.spawn:helper")
	if got := statuses(effects); !slices.Equal(got, []string{"notes.find succeeded ", "calc.eval succeeded "}) {
		t.Errorf("what both may: %q", got)
	}
	_, _, _, effects = h.spawned("tool.call:*", "agents.spawn:helper")
	if got := statuses(effects); !slices.Equal(got, []string{"notes.find denied capability_not_in_core", "calc.eval succeeded "}) {
		t.Errorf("a capability that the parent lacks: %q", got)
	}
	h.pins = h.pins[:1] // calc
	_, _, _, effects = h.spawned("tool.call:*", "kv", "agents.spawn:helper")
	if got := statuses(effects); !slices.Equal(got, []string{"notes-find not_found tool_not_found", "calc.eval succeeded "}) {
		t.Errorf("a plugin that the parent lacks: %q", got)
	}
}

func TestWhoIsNotGrantedAChildHasNone(t *testing.T) {
	h := newHome(t, "calc")
	h.helper("steps: [{say: hello}]\n", "tool.call:*")
	_, of, children, _ := h.spawned("tool.call:*", "agents.spawn:other")
	if of.Status != effect.Denied || of.Reason != "capability_not_in_core" || len(children) != 0 {
		t.Errorf("%+v, %+v", of, children)
	}
	_, of, _, _ = h.spawned("tool.call:*")
	if of.Status != effect.NotFound {
		t.Errorf("%+v", of)
	}
}

func TestACoreThatIsNotThereIsATypedRefusal(t *testing.T) {
	h := newHome(t, "calc")
	_, of, children, _ := h.spawned("tool.call:*", "agents.spawn:helper")
	if of.Status != effect.Failed || of.Reason != child.ReasonCore || len(children) != 0 {
		t.Errorf("%+v, %+v", of, children)
	}
}

// A child's child is the last generation: what it spawns is refused, by name.
func TestAThirdGenerationIsRefused(t *testing.T) {
	h := newHome(t)
	h.core(spawningItself, []string{"agents.spawn:assistant"})
	var reasons []string
	on := h.open()
	by, err := on.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	res, err := on.Run(t.Context(), host.Request{Input: "go"}, turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	for at := res.Turn(); at != ""; {
		effects, err := h.store.Effects(t.Context(), by, at)
		if err != nil || len(effects) != 1 {
			t.Fatalf("%+v, %v", effects, err)
		}
		reasons = append(reasons, string(effects[0].Status)+" "+effects[0].Reason)
		children, err := h.store.Children(t.Context(), by, at, 10)
		if err != nil {
			t.Fatal(err)
		}
		at = ""
		if len(children) == 1 {
			at = children[0].ID
		}
	}
	if !slices.Equal(reasons, []string{"succeeded ", "succeeded ", "failed " + child.ReasonDepth}) {
		t.Errorf("%q", reasons)
	}
}

const spawningItself = `
steps:
  - call: [{tool: agents.spawn, args: {core: assistant, task: "do it"}}]
  - say: done
`

// lingering is a model that answers when its context ends.
type lingering struct {
	listener
	begun chan<- struct{}
}

func (w lingering) Generate(ctx context.Context, _ provider.Request, _ func(provider.Event)) (provider.Response, error) {
	w.begun <- struct{}{}
	<-ctx.Done()
	return provider.Response{}, ctx.Err()
}

// Cancelling the parent cancels the child, and the parent ends after it.
func TestCancellingTheParentCancelsTheChild(t *testing.T) {
	h := newHome(t)
	h.helper("steps: [{say: hello}]\n")
	h.write("cores/helper/agent.yaml", strings.ReplaceAll(h.read("cores/helper/agent.yaml"), "{provider: scripted, script: script.yaml}", "{provider: slow, name: slow}"))
	h.core(spawning, []string{"agents.spawn:helper"})
	begun := make(chan struct{}, 1)
	on := h.open(func(c *host.Config) { c.Models = map[string]provider.Model{"slow": lingering{begun: begun}} })
	by, err := on.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan turn.Result, 1)
	started := make(chan id.Turn, 1)
	go func() {
		res, err := on.Run(t.Context(), host.Request{Input: "go"}, turn.Observer{Started: func(t id.Turn, _ id.Session) { started <- t }})
		if err != nil {
			t.Error(err)
		}
		ended <- res
	}()
	parent := <-started
	select {
	case <-begun:
	case res := <-ended:
		t.Fatalf("it ended before the child was at work: %s %s", res.Reason(), res.Sentence())
	}
	if how, err := on.Cancel(t.Context(), by, parent); err != nil || how != turn.CancelDone {
		t.Fatal(how, err)
	}
	res := <-ended
	children, err := h.store.Children(t.Context(), by, parent, 10)
	if err != nil || len(children) != 1 || children[0].Outcome != turn.Cancelled || res.Outcome() != turn.Cancelled {
		t.Fatalf("%s, %+v, %v", res.Outcome(), children, err)
	}
	if rec, _, err := h.store.Turn(t.Context(), by, parent); err != nil || children[0].Finished.After(rec.Finished) {
		t.Errorf("the child ended %s and its parent %s (%v)", children[0].Finished, rec.Finished, err)
	}
}

// A host that dies leaves the parent's effect uncertain, and the child's turn to its own rule.
func TestAHostThatDiesLeavesParentAndChildToTheirRules(t *testing.T) {
	h := newHome(t)
	h.helper("steps: [{say: hello}]\n")
	h.core(spawning, []string{"agents.spawn:helper"})
	killed := h.open(func(c *host.Config) { c.Store = dying{h.store, true} })
	if _, err := killed.Run(t.Context(), host.Request{Input: "go"}, turn.Observer{}); err == nil {
		t.Fatal("the host that died answered")
	}
	next := h.open()
	by, err := next.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	open, err := h.store.Uncertain(t.Context(), by, true, 0, 10)
	if err != nil || len(open) != 1 || open[0].Tool != child.Tool {
		t.Fatalf("%+v, %v", open, err)
	}
	parent, _, err := h.store.Turn(t.Context(), by, open[0].Turn)
	if err != nil || parent.Outcome != turn.Indeterminate {
		t.Errorf("the parent %+v, %v", parent, err)
	}
	children, err := h.store.Children(t.Context(), by, open[0].Turn, 10)
	if err != nil || len(children) != 1 || children[0].Outcome != turn.Lost {
		t.Errorf("the child %+v, %v", children, err)
	}
}
