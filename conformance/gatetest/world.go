// Package gatetest owns a whole gate for tests: the effect runtime, the approval gate and a store, with turns of several
// people in it. Nothing in it is a stand-in but the clock, where a test wants one, the person who is asked, and the tools.
//
// It decides nothing itself: what a test sees is what the host's packages do.
package gatetest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	rules "github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// World is one store with what runs over it.
type World struct {
	T        testing.TB
	Store    *memory.Store
	IDs      *id.Source
	Clock    func() time.Time
	Resolver *authority.Resolver
	Gate     *approval.Gate
	Runtime  *effect.Runtime

	claims map[id.Turn]lease.Claim
}

// New returns a World whose gate is made of cfg; Journal, Clock and IDs are filled in where they are missing.
func New(t testing.TB, cfg approval.Config) *World {
	t.Helper()
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	w := &World{T: t, Clock: cfg.Clock, IDs: id.NewSource(cfg.Clock, rand.Reader), claims: map[id.Turn]lease.Claim{}}
	w.Store = memory.New(memory.Config{Clock: cfg.Clock, IDs: w.IDs})
	w.Resolver = authority.NewResolver(w.Store, w.Store, cfg.Clock, w.IDs)
	w.Restart(cfg)
	return w
}

// Restart replaces the gate and the runtime by new ones over the same store, as a new process does.
func (w *World) Restart(cfg approval.Config) {
	if cfg.Journal == nil {
		cfg.Journal = w.Store
	}
	cfg.Clock, cfg.IDs = w.Clock, w.IDs
	w.Gate = approval.NewGate(cfg)
	w.Runtime = effect.NewRuntime(effect.Config{Journal: w.Store, Grants: w.Store, Approver: w.Gate, IDs: w.IDs, Clock: w.Clock})
}

// Talker is a person in a conversation of their own.
func Talker(name string) principal.Facts {
	return principal.Facts{
		PrincipalID: "principal:conversation:chat:" + name, Authority: principal.Conversation,
		Channel: "chat", ConversationKey: "chat:dm:" + name,
	}
}

// Core is what a turn is pinned to.
type Core struct {
	ID, Revision string
	Capabilities []string
}

// Admit starts a turn of f in the session that sel selects, with a workspace of its own, and binds it.
func (w *World) Admit(f principal.Facts, sel turn.Selector, core Core) binding.Turn {
	w.T.Helper()
	snapshot, err := capability.ParseSnapshot(core.Capabilities...)
	if err != nil {
		w.T.Fatal(err)
	}
	req, turnID := w.IDs.Request(), w.IDs.Turn()
	rec := func(k event.Kind) event.Record {
		return event.Record{ID: w.IDs.Event(), At: w.Clock(), Kind: k, Principal: f.PrincipalID}
	}
	a := turn.Admission{
		Request: req, Digest: "d", Turn: turnID, NewSession: w.IDs.Session(), Selector: sel, Owner: f,
		Core: core.ID, Revision: core.Revision, Trace: w.IDs.Trace(), Input: "x", At: w.Clock(),
		Claim: lease.Claim{Token: w.IDs.Lease(), Epoch: w.IDs.Epoch(), Expires: w.Clock().Add(1000 * time.Hour)},
	}
	got, err := w.Store.Admit(context.Background(), a, []event.Record{rec(event.SessionCreated), rec(event.TurnStarted)})
	if err != nil || got.Disposition != turn.Admitted {
		w.T.Fatal(got.Disposition, err)
	}
	scope, err := w.Resolver.Session(context.Background(), f, got.Session)
	if err != nil {
		w.T.Fatal(err)
	}
	token := binding.Token{ID: w.IDs.Token(), Request: req, Turn: turnID, Session: got.Session}
	bound, err := binding.New(binding.Spec{
		Request: req, Turn: turnID, Session: got.Session, Principal: scope, Trace: w.IDs.Trace(), Workspace: w.T.TempDir(),
		Core:  binding.Core{ID: core.ID, Revision: core.Revision, Capabilities: snapshot},
		Route: token, Admission: token, Cancellation: token,
	})
	if err != nil {
		w.T.Fatal(err)
	}
	w.claims[turnID] = got.Claim
	return bound
}

// End ends a turn, so that its session can have another one.
func (w *World) End(b binding.Turn) {
	w.T.Helper()
	how, err := w.Store.Finish(context.Background(), turn.Terminal{
		Turn: b.ID(), Session: b.Session(), Claim: w.claims[b.ID()], Outcome: turn.Failed, Reason: "over", At: w.Clock(),
	}, event.Record{ID: w.IDs.Event(), At: w.Clock(), Kind: event.TurnFinished})
	if err != nil || how != turn.Written {
		w.T.Fatal(how, err)
	}
}

// Fresh selects a new session.
func Fresh() turn.Selector { return turn.Selector{Kind: turn.Fresh} }

// Tool is a tool that a person must allow, of one string argument "key".
func Tool(name string, a effect.Adapter) effect.Tool {
	need, err := capability.Parse("tool.call:" + name)
	if err != nil {
		panic(err) // a test's own name
	}
	return effect.Tool{
		Name: name, Description: "test", Risk: rules.Medium, Approval: rules.Prompt, Recovery: "read", Origin: effect.Builtin,
		Provenance: "builtin:" + name, Adapter: a, Needs: []capability.Name{need},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"key":{"type":"string"}},"additionalProperties":false}`),
	}
}

// Source offers tools to a catalog.
type Source []effect.Tool

// Tools is [effect.Source].
func (s Source) Tools(context.Context, binding.Turn) ([]effect.Tool, error) { return s, nil }

// Run passes one call through the gate, in a catalog of its own.
func (w *World) Run(ctx context.Context, b binding.Turn, setup effect.Setup, t effect.Tool, args []byte) effect.Result {
	w.T.Helper()
	setup.Sources = append(setup.Sources, Source{t})
	c, err := w.Runtime.Prepare(ctx, b, setup)
	if err != nil {
		w.T.Fatal(err)
	}
	defer c.Close()
	ref, ok := c.Resolve(t.Name)
	if !ok {
		w.T.Fatalf("no tool %s", t.Name)
	}
	return w.Runtime.Execute(ctx, effect.Request{ID: w.IDs.Effect(), Ref: ref, Arguments: args, From: effect.FromModel}, b)
}

// Grant gives a plugin one grant, as the operator.
func (w *World) Grant(plugin, text string) {
	w.T.Helper()
	by, err := w.Resolver.Operator(context.Background(), "grant")
	if err != nil {
		w.T.Fatal(err)
	}
	g, err := capability.ParseGrant(text)
	if err != nil {
		w.T.Fatal(err)
	}
	r := event.Record{ID: w.IDs.Event(), At: w.Clock(), Kind: event.PluginGranted}
	if changed, err := w.Store.GrantPlugin(context.Background(), by, plugin, g, r); err != nil || !changed {
		w.T.Fatal(changed, err)
	}
}

// Questions are those of the store, newest first, as the operator sees them.
func (w *World) Questions() []approval.Question {
	w.T.Helper()
	by, err := w.Resolver.Operator(context.Background(), "look at questions")
	if err != nil {
		w.T.Fatal(err)
	}
	all, err := w.Store.Questions(context.Background(), by, "", 0, 500)
	if err != nil {
		w.T.Fatal(err)
	}
	return all
}
