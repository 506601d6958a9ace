package effect_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// unrecorded is a journal that keeps nothing: what is measured is everything but the durable write.
type unrecorded struct{}

func (unrecorded) EffectStarted(context.Context, effect.Started, event.Record) (effect.Start, error) {
	return effect.Begun, nil
}

func (unrecorded) EffectFinished(context.Context, effect.Finished, event.Record) error { return nil }

// ungranted is a store of grants that gives none; builtins and the echo plugin need none.
type ungranted struct{ effect.Grants }

func (ungranted) PluginGrants(context.Context, string) (capability.Snapshot, error) {
	return capability.Snapshot{}, nil
}

// echoDocument is one argument object of about size bytes: one long text, or many small records, in canonical form or as a
// model writes them.
func echoDocument(shape string, size int) []byte {
	var doc []byte
	if shape == "written" {
		size -= size / 10 // for the white space: the limit of arguments is 1 MiB
	}
	if shape == "text" {
		const line = "The gateway reads its rules once, at start. A rule that can never decide is an error; see rules in the manual. "
		doc = append(doc, `{"text":"`...)
		doc = append(doc, strings.Repeat(line, size/len(line)+1)[:size-len(doc)-2]...)
		return append(doc, `"}`...)
	}
	doc = append(doc, `{"items":[`...)
	for i := 0; len(doc) < size-160; i++ {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = fmt.Appendf(doc, `{"id":"itm_%08d","score":%d.5,"tags":["gateway","rules"],"title":"Result %d: how to configure the gateway"}`, i, i%100, i)
	}
	doc = append(doc, `]}`...)
	if shape == "written" {
		doc = bytes.ReplaceAll(bytes.ReplaceAll(doc, []byte(`":`), []byte(`": `)), []byte(`,"`), []byte(`, "`))
	}
	return doc
}

// echoSchema describes both shapes of a document.
const echoSchema = `{"type":"object","additionalProperties":false,"properties":{"text":{"type":"string"},"items":{"type":"array","items":{
	"type":"object","additionalProperties":false,"required":["id","title"],"properties":{"id":{"type":"string"},"title":{"type":"string"},
	"score":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}}}}}}}`

func benchTurn(b *testing.B) binding.Turn {
	b.Helper()
	who, err := principal.NewIssuer("sto_bench").Issue(principal.Facts{
		PrincipalID: "principal:system:bench", Authority: principal.System, SessionID: "ses_1", AllowedSessions: []string{"ses_1"},
	})
	if err != nil {
		b.Fatal(err)
	}
	core, err := capability.ParseSnapshot("tool.call:*")
	if err != nil {
		b.Fatal(err)
	}
	tok := binding.Token{ID: "tok_1", Request: "req_1", Turn: "trn_1", Session: "ses_1"}
	t, err := binding.New(binding.Spec{
		Request: "req_1", Turn: "trn_1", Session: "ses_1", Principal: who, Trace: "trc_1",
		Core:  binding.Core{ID: "assistant", Revision: "sha256:00", Capabilities: core},
		Route: tok, Admission: tok, Cancellation: tok,
	})
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// echoPlugin is the guest that answers a call with its own arguments, behind the gate's adapter.
func echoPlugin(b *testing.B) effect.Adapter {
	b.Helper()
	wasm, err := os.ReadFile("../sandbox/testdata/echo_args.wasm")
	if err != nil {
		b.Fatal(err)
	}
	e, err := sandbox.Open(b.Context(), sandbox.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close(context.Background()) })
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
	p, err := e.Load(b.Context(), sandbox.Source{Manifest: m, Wasm: wasm})
	if err != nil {
		b.Fatal(err)
	}
	return sandbox.NewAdapter(p, sandbox.Ports{})
}

// echoNative answers with the arguments and runs no guest: what is left is the gate alone.
func echoNative() effect.Adapter {
	return adapter(func(_ context.Context, c effect.Call) effect.Outcome {
		return effect.Outcome{Status: effect.Succeeded, Result: bytes.Clone(c.Arguments)}
	})
}

// BenchmarkExecute is one effect through all eight steps without a durable write: a guest or a Go function that echoes,
// each size, each shape, with no secret known and with 16.
func BenchmarkExecute(b *testing.B) {
	for _, run := range []struct {
		name string
		of   func(*testing.B) effect.Adapter
	}{{"guest", echoPlugin}, {"native", func(*testing.B) effect.Adapter { return echoNative() }}} {
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
			for _, shape := range []string{"text", "records", "written"} {
				for _, secrets := range []int{0, 16} {
					b.Run(fmt.Sprintf("%s/%dKiB/%s/%dsecrets", run.name, size>>10, shape, secrets), func(b *testing.B) {
						benchExecute(b, run.of(b), echoDocument(shape, size), secrets)
					})
				}
			}
		}
	}
}

func benchExecute(b *testing.B, a effect.Adapter, doc []byte, secrets int) {
	benchExecuteWith(b, a, doc, secrets, ungranted{})
}

func benchExecuteWith(b *testing.B, a effect.Adapter, doc []byte, secrets int, grants effect.Grants) {
	ids := id.NewSource(time.Now, rand.Reader)
	r := effect.NewRuntime(effect.Config{Journal: unrecorded{}, Grants: grants, IDs: ids, Clock: time.Now})
	turn := benchTurn(b)
	var known []redact.Secret
	for i := range secrets {
		known = append(known, redact.NewSecret(fmt.Sprintf("SECRET_%d", i), fmt.Sprintf("S%dq/Zr+%d-%s", i, i*7919, strings.Repeat(fmt.Sprintf("k%dV", i*31), 6))))
	}
	set, err := redact.Set{}.With(known...)
	if err != nil {
		b.Fatal(err)
	}
	c, err := r.Prepare(b.Context(), turn, effect.Setup{Known: set, Sources: []effect.Source{source{{
		Name: "echo.run", Description: "echo", Risk: approval.Low, Approval: approval.Auto, Recovery: "read", Origin: effect.Authored,
		Provenance: "authored:echo@1.0.0", Plugin: "echo", Version: "1.0.0", Adapter: a, Needs: []capability.Name{mustName("tool.call:echo.run")},
		InputSchema: json.RawMessage(echoSchema), OutputSchema: json.RawMessage(echoSchema),
	}}}})
	if err != nil {
		b.Fatal(err)
	}
	ref, _ := c.Resolve("echo.run")
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		res := r.Execute(b.Context(), effect.Request{ID: ids.Effect(), Ref: ref, Arguments: doc, From: effect.FromModel}, turn)
		if res.Status != effect.Succeeded || res.Views.Failed {
			b.Fatalf("%s: %s", res.Status, res.Sentence)
		}
	}
}
