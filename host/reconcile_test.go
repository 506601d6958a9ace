package host_test

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// dying is the store as a host sees it that is killed when the plugin has written, or just before.
type dying struct {
	*memory.Store
	before bool
}

var errKilled = errors.New("killed")

func (d dying) Set(ctx context.Context, s sandbox.KVScope, key string, value []byte, ifVersion *int64) (int64, bool, error) {
	if d.before {
		return 0, false, errKilled
	}
	return d.Store.Set(ctx, s, key, value, ifVersion)
}

func (d dying) EffectFinished(context.Context, effect.Finished, event.Record) error { return errKilled }

func (d dying) Finish(context.Context, turn.Terminal, event.Record) (turn.Fenced, error) {
	return "", errKilled
}

// ledger is a home with the plugin that can say what became of a call.
func ledger(t *testing.T) *home {
	t.Helper()
	h := newHome(t)
	in, err := plugin.At(h.dir).Install(t.Context(), conformancetest.Build(t, filepath.Join(conformancetest.Root(t), "conformance", "guests", "ledger"), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	h.pins = append(h.pins, core.Pin{ID: in.ID, Version: in.Version, Digest: in.Digest})
	h.core("steps: [{say: hello}]\n", []string{"kv"})
	on := h.open()
	by, err := on.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := on.Grant(t.Context(), by, "ledger", "kv"); err != nil {
		t.Fatal(err)
	}
	return h
}

// listener is a model that keeps what it is shown.
type listener struct{ heard *[]provider.Message }

func (listener) Name() string { return "test/listener" }

func (listener) Limits() provider.Limits {
	return provider.Limits{ContextWindow: 50_000, MaxOutput: 1000, SafetyMargin: 500}
}

func (l listener) Generate(_ context.Context, req provider.Request, _ func(provider.Event)) (provider.Response, error) {
	*l.heard = req.Messages
	return provider.Response{Parts: []provider.Part{provider.Text("I see.")}, FinishReason: provider.FinishStop}, nil
}

// The next turn of the session is told what became of the call, so that it is not made again blindly; the one after is not
// told again.
func TestTheNextTurnIsToldWhatBecameOfTheCall(t *testing.T) {
	h := ledger(t)
	on, _, e := h.booked("tea", false)
	if err := on.Close(); err != nil {
		t.Fatal(err)
	}
	var heard []provider.Message
	next := h.open(func(c *host.Config) { c.Models = map[string]provider.Model{"scripted": listener{&heard}} })
	for i, want := range []string{`its plugin names "entry/` + string(e.ID), ""} {
		if _, err := next.Run(t.Context(), host.Request{Input: "go on", Session: turn.Selector{Kind: turn.Resume, Session: e.Session}}, turn.Observer{}); err != nil {
			t.Fatal(err)
		}
		first := heard[0].Text()
		if want != "" && (!strings.Contains(first, want) || !strings.Contains(first, "cut off")) || want == "" && strings.Contains(first, "Note from the host") {
			t.Errorf("turn %d is told %q", i+1, first)
		}
	}
}

// booked has a host killed while it books, and returns the effect as the next host left it.
func (h *home) booked(what string, before bool) (*host.Host, principal.Scope, effect.Record) {
	h.t.Helper()
	var name id.Effect
	killed := h.open(func(c *host.Config) { c.Store = dying{h.store, before} })
	_, _, err := killed.Call(h.t.Context(), host.Request{}, "ledger.book", []byte(`{"for":"`+what+`","amount":3}`), turn.Observer{
		Stage: func(s effect.Stage) { name = s.Effect },
	})
	var lost *turn.InfrastructureError
	if !errors.As(err, &lost) {
		h.t.Fatalf("the host that died answered %v", err)
	}
	next := h.open()
	by, err := next.Operator(h.t.Context(), "test")
	if err != nil {
		h.t.Fatal(err)
	}
	e, found, err := h.store.Effect(h.t.Context(), by, name)
	if err != nil || !found || e.Status != effect.Indeterminate {
		h.t.Fatalf("%+v, %v, %v", e, found, err)
	}
	return next, by, e
}

func TestAToolSaysWhatBecameOfACallOfADeadHost(t *testing.T) {
	h := ledger(t)
	_, _, e := h.booked("tea", false)
	if e.Resolution.Verdict != effect.Happened || e.Resolution.By != "plugin:ledger@1.0.0" || e.Resolution.Reference != "entry/"+string(e.ID) {
		t.Errorf("it was booked, and the plugin says %+v", e.Resolution)
	}
	_, _, e = h.booked("milk", true)
	if e.Resolution.Verdict != effect.NotHappened || e.Resolution.Reference != "" {
		t.Errorf("it was not booked, and the plugin says %+v", e.Resolution)
	}
}

// Whatever a plugin does instead of an answer settles nothing, and it writes nothing while it is asked.
func TestABrokenReconciliationLeavesTheEffectToAPerson(t *testing.T) {
	h := ledger(t)
	for what, reason := range map[string]string{
		"lie": "fault_failed", "fault": "fault_unavailable", "panic": "guest_trap", "long": "fault_failed", "shrug": "tool_unknown", "write": "fault_unavailable",
	} {
		on, by, e := h.booked(what, true)
		if e.Resolution.Verdict != "" {
			t.Errorf("%s: %+v", what, e.Resolution)
		}
		_, got, how, err := on.Reconcile(t.Context(), by, e.ID)
		if err != nil || how != effect.Settled || got.Answer != effect.AnswerUnknown || got.Reason != reason {
			t.Errorf("%s: %+v, %q, %v", what, got, how, err)
		}
		value, _, err := h.store.Get(t.Context(), sandbox.KVScope{Plugin: "ledger", Principal: by.PrincipalID()}, "entry/"+string(e.ID))
		if err != nil || value != nil {
			t.Errorf("%s: it wrote %q (%v)", what, value, err)
		}
	}
}

// Other files of the core are other permissions, and another plugin: nobody is asked under them.
func TestNobodyIsAskedUnderAnotherRevision(t *testing.T) {
	h := ledger(t)
	on, by, e := h.booked("shrug", true)
	h.write("cores/assistant/agent/soul.md", "You are another test.\n")
	_, got, how, err := on.Reconcile(t.Context(), by, e.ID)
	if err != nil || how != effect.Settled || got.Reason != "core_changed" {
		t.Errorf("%+v, %q, %v", got, how, err)
	}
	recs, err := h.store.Events(t.Context(), by, turn.EventQuery{Turn: e.Turn, Kind: event.EffectUnsettled, Limit: 10})
	if err != nil || len(recs) != 2 || recs[0].Field("reason") != "core_changed" || recs[1].Field("reason") != "tool_unknown" {
		t.Errorf("%+v, %v", recs, err)
	}
	if _, _, how, err := on.Reconcile(t.Context(), by, "eff_nobody"); err != nil || how != effect.EffectNotFound {
		t.Errorf("%q, %v", how, err)
	}
}

// A child agent's call was held to what its parent could do, too, and that is gone with the parent's turn: its plugin is not
// asked under the child's own bounds, and the call stays for a person.
func TestNobodyIsAskedAboutAChildsCall(t *testing.T) {
	h := ledger(t)
	h.helper(`
steps:
  - call: [{tool: ledger.book, args: {for: tea, amount: 3}}]
  - say: booked
`, "kv", "tool.call:*")
	h.core(spawning, []string{"kv", "tool.call:*", "agents.spawn:helper"})
	killed := h.open(func(c *host.Config) { c.Store = dying{h.store, false} })
	if _, err := killed.Run(t.Context(), host.Request{Input: "go"}, turn.Observer{}); err == nil {
		t.Fatal("the host did not die")
	}
	next := h.open()
	by, err := next.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	open, err := h.store.Uncertain(t.Context(), by, true, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(open, func(e effect.Record) bool { return e.Tool == "ledger.book" })
	if i < 0 {
		t.Fatalf("the child's call is settled: %+v", open)
	}
	rec, got, how, err := next.Reconcile(t.Context(), by, open[i].ID)
	if err != nil || how != effect.Settled || got.Reason != "child_agent" || rec.Resolution.Verdict != "" {
		t.Errorf("%+v, %+v, %q, %v", rec, got, how, err)
	}
}

// outrun is a store in which somebody is faster than a plugin that is asked about an effect.
type outrun struct {
	*memory.Store
	first *func(id.Effect) error
}

func (o outrun) Reconciled(ctx context.Context, e id.Effect, as effect.Resolution, r event.Record) (effect.Settling, error) {
	if err := (*o.first)(e); err != nil {
		return "", err
	}
	return o.Store.Reconciled(ctx, e, as, r)
}

// What a person says while the plugin is asked stands, and is told as what was settled before.
func TestAPersonWhoSettlesWhileThePluginIsAskedIsHeard(t *testing.T) {
	h := ledger(t)
	var name id.Effect
	killed := h.open(func(c *host.Config) { c.Store = dying{h.store, false} })
	_, _, err := killed.Call(t.Context(), host.Request{}, "ledger.book", []byte(`{"for":"tea","amount":3}`), turn.Observer{
		Stage: func(s effect.Stage) { name = s.Effect },
	})
	if err == nil {
		t.Fatal("the host did not die")
	}
	first := func(id.Effect) error { return errKilled } // the next host asks when it begins, and cannot write it down
	on := h.open(func(c *host.Config) { c.Store = outrun{h.store, &first} })
	by, err := on.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	as := effect.Resolution{Verdict: effect.NotHappened, Reason: "I looked"}
	first = func(e id.Effect) error {
		as.By, as.At = by.PrincipalID(), time.Now()
		_, how, err := h.store.ResolveEffect(t.Context(), by, e, as, event.Record{
			ID: id.NewSource(time.Now, rand.Reader).Event(), At: as.At, Kind: event.EffectResolved, Principal: as.By,
		})
		if err != nil || how != effect.Settled {
			t.Errorf("%q, %v", how, err)
		}
		return nil
	}
	rec, got, how, err := on.Reconcile(t.Context(), by, name)
	if err != nil || how != effect.SettledBefore || !got.Before || rec.Resolution.Verdict != as.Verdict || rec.Resolution.By != by.PrincipalID() {
		t.Errorf("%+v, %+v, %q, %v", rec, got, how, err)
	}
}
