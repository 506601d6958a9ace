package turn_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	rules "github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// echoing is a model that asks for one effect and then answers.
type echoing struct{}

func (echoing) Name() string { return "bench/echoing" }

func (echoing) Limits() provider.Limits {
	return provider.Limits{ContextWindow: 100_000, MaxOutput: 1000, SafetyMargin: 1000}
}

func (echoing) Generate(_ context.Context, req provider.Request, _ func(provider.Event)) (provider.Response, error) {
	if last := req.Messages[len(req.Messages)-1]; last.Role == provider.RoleTool {
		if last.Parts[0].Result.IsError {
			return provider.Response{}, fmt.Errorf("the effect failed: %s", last.Parts[0].Result.Content)
		}
		return say("done")
	}
	return provider.Response{FinishReason: provider.FinishToolCalls, Parts: []provider.Part{{Kind: provider.PartToolCall, Call: provider.ToolCall{
		ID: "c1", Name: provider.WireName("echo.run"), Arguments: json.RawMessage(`{"text":"what the guest gives back"}`),
	}}}}, nil
}

// busy is an Execution over a database on this disk and a small guest in the sandbox. It plans every turn alike.
type busy struct {
	plan turn.Plan
	tool effect.Tool
	run  *turn.Execution
}

func (w *busy) Plan(context.Context, turn.Request) (turn.Plan, error) { return w.plan, nil }

func (w *busy) Tools(context.Context, binding.Turn) ([]effect.Tool, error) {
	return []effect.Tool{w.tool}, nil
}

func newBusy(b *testing.B) *busy {
	b.Helper()
	ids := id.NewSource(time.Now, rand.Reader)
	store, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "portcullis.db"), Clock: time.Now, IDs: ids})
	if err != nil {
		b.Fatal(err)
	}
	all, err := capability.ParseSnapshot("tool.call:*")
	if err != nil {
		b.Fatal(err)
	}
	need, err := capability.Parse("tool.call:echo.run")
	if err != nil {
		b.Fatal(err)
	}
	w := &busy{tool: effect.Tool{
		Name: "echo.run", Description: "gives back", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		Needs: []capability.Name{need}, Risk: rules.Low, Approval: rules.Auto, Recovery: "read", Origin: effect.Builtin,
		Provenance: "builtin:echo.run", Adapter: echoGuest(b),
	}}
	w.plan = turn.Plan{
		Core:   binding.Core{ID: "assistant", Revision: "sha256:r", Capabilities: all},
		System: "You are a benchmark.", Model: echoing{}, Setup: effect.Setup{Sources: []effect.Source{turn.Ask{}, w}},
	}
	gate := approval.NewGate(approval.Config{Journal: store, Clock: time.Now, IDs: ids})
	w.run = turn.New(turn.Config{
		Journal: store, Planner: w, Authority: authority.NewResolver(store, store, time.Now, ids), IDs: ids, Epoch: ids.Epoch(), Clock: time.Now,
		Context: prompt.New(prompt.Config{Journal: store, IDs: ids, Epoch: ids.Epoch(), Clock: time.Now}),
		Effects: effect.NewRuntime(effect.Config{Journal: store, Grants: store, Approver: gate, IDs: ids, Clock: time.Now}),
	})
	b.Cleanup(func() {
		w.run.Close()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return w
}

// echoGuest is the small guest that answers a call with its own arguments, in a fresh state each time.
func echoGuest(b *testing.B) effect.Adapter {
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
		Exports: []string{wire.ExportInvoke}, Tools: []wire.Tool{{Name: "echo.run"}},
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

// talk runs one turn of a person's conversation.
func (w *busy) talk(b *testing.B, person string) {
	res, err := w.run.Run(b.Context(), turn.Request{
		Core: "assistant", Input: "go", Selector: turn.Selector{Kind: turn.Bound},
		Actor: principal.Facts{
			PrincipalID: "principal:conversation:chat:" + person, Authority: principal.Conversation, Channel: "chat", ConversationKey: "chat:dm:" + person,
		},
	}, turn.Observer{})
	if err != nil || res.Outcome() != turn.Completed {
		b.Error(res.Outcome(), res.Reason(), res.Sentence(), err)
	}
}

// floor is what four durable commits cost at the least on this disk: append 4 KiB and flush, four times.
func floor(b *testing.B) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page, rounds := make([]byte, 4096), 100
	began := time.Now()
	for range 4 * rounds {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := flushData(f); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began) / time.Duration(rounds)
}

// BenchmarkTurns measures whole turns, each with one model step that asks for an effect, the effect in a small guest, and
// an answer, from many conversations at once over one database. "of-floor" is turns a second over what the disk could
// do if a turn were nothing but four flushes, one after the other, measured before and after. "cpu-us" is the processor
// time of a turn, which says the same on a busy machine.
func BenchmarkTurns(b *testing.B) {
	for _, sessions := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			w := newBusy(b)
			for i := range sessions {
				w.talk(b, fmt.Sprint("p", i))
			}
			before := floor(b)
			took := make([][]time.Duration, sessions)
			var left atomic.Int64
			left.Store(int64(b.N))
			spent := processorTime(b)
			b.ResetTimer()
			var all sync.WaitGroup
			for i := range sessions {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						began := time.Now()
						w.talk(b, fmt.Sprint("p", i))
						took[i] = append(took[i], time.Since(began))
					}
				})
			}
			all.Wait()
			each := b.Elapsed() / time.Duration(b.N)
			b.StopTimer()
			b.ReportMetric(float64((processorTime(b)-spent).Microseconds())/float64(b.N), "cpu-us")
			every := slices.Concat(took...)
			slices.Sort(every)
			b.ReportMetric(float64(before+floor(b))/2/float64(each), "of-floor")
			b.ReportMetric(float64(every[len(every)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
