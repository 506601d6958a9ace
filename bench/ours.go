package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// unrecorded is a journal that keeps nothing: what is measured is all but the durable write.
type unrecorded struct{}

func (unrecorded) EffectStarted(context.Context, effect.Started, event.Record) (effect.Start, error) {
	return effect.Begun, nil
}

func (unrecorded) EffectFinished(context.Context, effect.Finished, event.Record) error { return nil }

// ungranted is a store of grants that has none. The echo plugin needs none.
type ungranted struct{ effect.Grants }

func (ungranted) PluginGrants(context.Context, string) (capability.Snapshot, error) {
	return capability.Snapshot{}, nil
}

// tools is a source of the tools in it.
type tools []effect.Tool

func (t tools) Tools(context.Context, binding.Turn) ([]effect.Tool, error) { return t, nil }

// startOurs is one effect through all eight steps of the gate, run by a plugin in the sandbox, with no durable write.
func startOurs(ctx context.Context) ([]peer, func(), error) {
	engine, adapter, err := echoPlugin(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := func() { _ = engine.Close(context.WithoutCancel(ctx)) }
	turn, err := boundTurn()
	if err != nil {
		stop()
		return nil, nil, err
	}
	need, err := capability.Parse("tool.call:echo.run")
	if err != nil {
		stop()
		return nil, nil, err
	}
	ids := id.NewSource(time.Now, rand.Reader)
	gate := effect.NewRuntime(effect.Config{Journal: unrecorded{}, Grants: ungranted{}, IDs: ids, Clock: time.Now})
	catalog, err := gate.Prepare(ctx, turn, effect.Setup{Sources: []effect.Source{tools{{
		Name: "echo.run", Description: "echo", Risk: approval.Low, Approval: approval.Auto, Recovery: "read", Origin: effect.Authored,
		Provenance: "authored:echo@1.0.0", Plugin: "echo", Version: "1.0.0", Adapter: adapter, Needs: []capability.Name{need},
		InputSchema: json.RawMessage(echoSchema), OutputSchema: json.RawMessage(echoSchema),
	}}}})
	if err != nil {
		stop()
		return nil, nil, err
	}
	ref, _ := catalog.Resolve("echo.run")
	call := func(ctx context.Context, doc []byte) ([]byte, error) {
		res := gate.Execute(ctx, effect.Request{ID: ids.Effect(), Ref: ref, Arguments: doc, From: effect.FromModel}, turn)
		if res.Status != effect.Succeeded || res.Views.Failed {
			return nil, fmt.Errorf("%s: %s", res.Status, res.Sentence)
		}
		return adapter.last, nil
	}
	return []peer{{ours, call}}, stop, nil
}

// keeper remembers the whole result of a call, for the check that it came back: views are bounded.
type keeper struct {
	of   effect.Adapter
	last []byte
}

func (k *keeper) Invoke(ctx context.Context, call effect.Call) effect.Outcome {
	out := k.of.Invoke(ctx, call)
	k.last = out.Result
	return out
}

func echoPlugin(ctx context.Context) (*sandbox.Engine, *keeper, error) {
	wasm, err := guest("echo_args.wasm")
	if err != nil {
		return nil, nil, err
	}
	engine, err := sandbox.Open(ctx, sandbox.Config{})
	if err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256(wasm)
	m := &manifest.Manifest{
		ID: "echo", ABI: wire.ABI, Wasm: manifest.Wasm{File: "echo.wasm", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(wasm))},
		Exports: []string{wire.ExportInvoke}, Limits: wire.Limits{OutputBytes: 2 << 20}, Tools: []wire.Tool{{Name: "echo.run"}},
	}
	for _, f := range []string{"input_length", "input_offset", "alloc", "output_set"} {
		m.Imports = append(m.Imports, wire.JoinImport(wire.ModuleKernel, f))
	}
	for _, f := range []string{wire.ImportLoad, wire.ImportStore} {
		m.Imports = append(m.Imports, wire.JoinImport(wire.ModuleHost, f))
	}
	plugin, err := engine.Load(ctx, sandbox.Source{Manifest: m, Wasm: wasm})
	if err != nil {
		_ = engine.Close(context.WithoutCancel(ctx))
		return nil, nil, err
	}
	return engine, &keeper{of: sandbox.NewAdapter(plugin, sandbox.Ports{})}, nil
}

func boundTurn() (binding.Turn, error) {
	who, err := principal.NewIssuer("sto_bench").Issue(principal.Facts{
		PrincipalID: "principal:system:bench", Authority: principal.System, SessionID: "ses_1", AllowedSessions: []string{"ses_1"},
	})
	if err != nil {
		return binding.Turn{}, err
	}
	core, err := capability.ParseSnapshot("tool.call:*")
	if err != nil {
		return binding.Turn{}, err
	}
	tok := binding.Token{ID: "tok_1", Request: "req_1", Turn: "trn_1", Session: "ses_1"}
	return binding.New(binding.Spec{
		Request: "req_1", Turn: "trn_1", Session: "ses_1", Principal: who, Trace: "trc_1",
		Core:  binding.Core{ID: "assistant", Revision: "sha256:00", Capabilities: core},
		Route: tok, Admission: tok, Cancellation: tok,
	})
}
