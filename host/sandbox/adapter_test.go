package sandbox_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func grants(t *testing.T, names ...string) capability.Snapshot {
	t.Helper()
	s, err := capability.ParseSnapshot(names...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// turn is a binding of the principal ann, with a workspace or without.
func turn(t *testing.T, workspace string, core capability.Snapshot) binding.Turn {
	t.Helper()
	who, err := principal.NewIssuer("sto_test").Issue(principal.Facts{
		PrincipalID: "principal:system:ann", Authority: principal.System, SessionID: "ses_1", AllowedSessions: []string{"ses_1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tok := binding.Token{ID: "tok_1", Request: "req_1", Turn: "trn_1", Session: "ses_1"}
	b, err := binding.New(binding.Spec{
		Request: "req_1", Turn: "trn_1", Session: "ses_1", Principal: who, Workspace: workspace, Trace: "trc_1",
		Core:  binding.Core{ID: "assistant", Revision: "sha256:00", Capabilities: core},
		Route: tok, Admission: tok, Cancellation: tok,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var toolNeeds = []string{"kv", "fs.read", "net.fetch:x"}

// toolPlugin loads the tool fixture with one reply for every call, "" to answer
// with the call itself.
func toolPlugin(t *testing.T, e *sandbox.Engine, reply string, needs ...string) *sandbox.Plugin {
	t.Helper()
	wasm := fixture(t, "tool")
	m := &manifest.Manifest{
		ID: "demo", ABI: wire.ABI, Wasm: manifest.Wasm{File: "demo.wasm", SHA256: digest(wasm), Size: int64(len(wasm))},
		Exports:  []string{wire.ExportInvoke},
		Settings: []wire.Setting{{Name: "reply", Default: reply}},
		Tools:    []wire.Tool{{Name: "demo.run", Capabilities: needs}},
	}
	for _, f := range []string{"alloc", "length", "input_offset", "config_get", "output_set"} {
		m.Imports = append(m.Imports, wire.JoinImport(wire.ModuleKernel, f))
	}
	for _, f := range []string{wire.ImportStore, wire.ImportKVGet, wire.ImportFSRead, wire.ImportHTTP} {
		m.Imports = append(m.Imports, wire.JoinImport(wire.ModuleHost, f))
	}
	p, err := e.Load(t.Context(), sandbox.Source{Manifest: m, Wasm: wasm, Granted: everything})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	return p
}

func demoCall(t *testing.T) effect.Call {
	all := grants(t, "kv", "fs.read", "net.fetch:x")
	return effect.Call{
		Effect: id.Effect("eff_1"), Tool: "demo.run", Arguments: json.RawMessage(`{"b":1, "a":[2]}`),
		Turn: turn(t, "", all), Output: 1 << 10, Grants: all, Progress: func(wire.Progress) {},
	}
}

func TestAdapterReadsReplies(t *testing.T) {
	e := open(t, sandbox.Config{})
	for _, c := range []struct {
		name, reply    string
		status         effect.Status
		reason, result string
		fault          wire.Code
		inDetail       string
	}{
		{name: "result", reply: `{"result":{"x": 1}}`, status: effect.Succeeded, result: `{"x": 1}`},
		{name: "null is a value", reply: `{"result":null}`, status: effect.Succeeded, result: `null`},
		{name: "fault", reply: `{"fault":{"code":"not_found","message":"no\nsuch thing"}}`, status: effect.Failed, reason: "fault_not_found", fault: wire.CodeNotFound},
		{name: "both", reply: `{"result":1,"fault":{"code":"denied","message":""}}`, status: effect.Failed, reason: "bad_reply", inDetail: "reply has both result and fault"},
		{name: "neither", reply: `{}`, status: effect.Failed, reason: "bad_reply", inDetail: "neither result nor fault"},
		{name: "unknown code", reply: `{"fault":{"code":"whatever","message":""}}`, status: effect.Failed, reason: "bad_reply", inDetail: "not one of the contract's ten"},
		{name: "unknown member", reply: `{"result":1,"status":"succeeded"}`, status: effect.Failed, reason: "bad_reply"},
		{name: "other case", reply: `{"Result":1}`, status: effect.Failed, reason: "bad_reply"},
		{name: "twice", reply: `{"result":1,"result":2}`, status: effect.Failed, reason: "bad_reply"},
		{name: "twice inside", reply: `{"result":{"a":1,"a":2}}`, status: effect.Failed, reason: "bad_reply"},
		{name: "two values", reply: `{"result":1}{"result":2}`, status: effect.Failed, reason: "bad_reply"},
		{name: "not JSON", reply: "\x1b[2Jok", status: effect.Failed, reason: "bad_reply"},
		{name: "too large", reply: `{"result":"` + strings.Repeat("x", 1023) + `"}`, status: effect.Failed, reason: "output_too_large"},
		{name: "just fits", reply: `{"result":"` + strings.Repeat("x", 1022) + `"}`, status: effect.Succeeded, result: `"` + strings.Repeat("x", 1022) + `"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := sandbox.NewAdapter(toolPlugin(t, e, c.reply), sandbox.Ports{})
			out := a.Invoke(t.Context(), demoCall(t))
			if out.Status != c.status || out.Reason != c.reason || string(out.Result) != c.result {
				t.Fatalf("%s (%s) %q: %s", out.Status, out.Reason, out.Result, out.Detail)
			}
			if code(out.Fault) != c.fault || !strings.Contains(out.Detail, c.inDetail) || strings.ContainsAny(out.Detail, "\x1b\n") {
				t.Errorf("fault %+v, detail %q", out.Fault, out.Detail)
			}
			if out.Duration <= 0 || out.Stats["memory_bytes"] <= 0 || out.Stats["host_calls"] != 3 {
				t.Errorf("duration %v, stats %v", out.Duration, out.Stats)
			}
			if c.fault != "" && out.Fault.Message != `no\nsuch thing` {
				t.Errorf("fault message %q", out.Fault.Message)
			}
		})
	}
}

func TestAdapterRefusesWhatIsNoCall(t *testing.T) {
	e := open(t, sandbox.Config{})
	a := sandbox.NewAdapter(toolPlugin(t, e, ""), sandbox.Ports{})
	for _, bad := range []string{`[]`, `{"a":1,"a":2}`, `{`, ``, `{} {}`} {
		call := demoCall(t)
		call.Arguments = json.RawMessage(bad)
		if out := a.Invoke(t.Context(), call); out.Reason != "arguments" {
			t.Errorf("arguments %q went out: %s", bad, out.Reason)
		}
	}
	call := demoCall(t)
	call.Tool = "demo.other"
	if out := a.Invoke(t.Context(), call); out.Reason != "unknown_tool" || out.Detail != "plugin demo has no tool demo.other" {
		t.Errorf("%+v", out)
	}
}

// seenKV notes whether, and for whom, values were asked for.
type seenKV struct {
	*memKV
	scopes []sandbox.KVScope
}

func (s *seenKV) Get(ctx context.Context, scope sandbox.KVScope, key string) ([]byte, int64, error) {
	s.scopes = append(s.scopes, scope)
	return s.memKV.Get(ctx, scope, key)
}

// An ability needs the operator's grant, the core's capability and the tool's
// own word; taking any one away closes it.
func TestAdapterNeedsEveryLayer(t *testing.T) {
	e := open(t, sandbox.Config{})
	dir := workspace(t).Name()
	for _, c := range []struct {
		name                     string
		tool, grants, core, want []string
	}{
		{"all", toolNeeds, []string{"kv", "fs.read", "net.fetch:x"}, []string{"kv", "fs.read", "net.fetch:*"}, []string{"kv", "fs", "http"}},
		{"tool says less", []string{"kv"}, []string{"kv", "fs.read", "net.fetch:x"}, []string{"kv", "fs.read", "net.fetch:*"}, []string{"kv"}},
		{"operator says less", toolNeeds, []string{"fs.read"}, []string{"kv", "fs.read", "net.fetch:*"}, []string{"fs"}},
		{"core says less", toolNeeds, []string{"kv", "fs.read", "net.fetch:x"}, []string{"net.fetch:y"}, []string{"http"}},
		{"nobody says anything", nil, nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			kv, fetched, ended := &seenKV{memKV: newMemKV()}, 0, 0
			a := sandbox.NewAdapter(toolPlugin(t, e, `{"result":{}}`, c.tool...), sandbox.Ports{
				KV: kv,
				HTTP: func(effect.Call) (sandbox.HTTPDoer, func(), error) {
					return doer(func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) {
						fetched++
						return wire.HTTPReply{Status: 200}, nil, nil
					}), func() { ended++ }, nil
				},
			})
			call := demoCall(t)
			call.Grants = grants(t, c.grants...)
			call.Turn = turn(t, dir, grants(t, c.core...))
			out := a.Invoke(t.Context(), call)
			if out.Status != effect.Succeeded {
				t.Fatalf("%s: %s", out.Status, out.Detail)
			}
			var got []string
			if len(kv.scopes) > 0 {
				got = append(got, "kv")
			}
			if out.Stats["file_bytes"] == 5 {
				got = append(got, "fs")
			}
			if fetched == 1 && ended == 1 {
				got = append(got, "http")
			} else if fetched+ended > 0 {
				t.Errorf("%d exchanges, %d networks ended", fetched, ended)
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("reached %v, want %v", got, c.want)
			}
			for _, s := range kv.scopes {
				if s != (sandbox.KVScope{Plugin: "demo", Principal: "principal:system:ann", Turn: call.Turn.ID()}) {
					t.Errorf("values of %+v", s)
				}
			}
		})
	}
}

func TestAdapterTellsHowACallEnded(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(ctx context.Context, release <-chan struct{}) (wire.HTTPReply, []byte, error)
		status effect.Status
		reason string
	}{
		{"deadline", func(ctx context.Context, _ <-chan struct{}) (wire.HTTPReply, []byte, error) {
			<-late(ctx)
			return wire.HTTPReply{}, nil, ctx.Err()
		}, effect.TimedOut, "deadline"},
		{"abandoned", func(_ context.Context, release <-chan struct{}) (wire.HTTPReply, []byte, error) {
			<-release
			return wire.HTTPReply{}, nil, nil
		}, effect.Indeterminate, "timed_out"},
		{"a port broke", func(context.Context, <-chan struct{}) (wire.HTTPReply, []byte, error) { panic("x") }, effect.Indeterminate, "host_failure"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // time passes when all wait: a busy machine is never late
				release := make(chan struct{})
				do := doer(func(ctx context.Context, _ wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
					return c.do(ctx, release)
				})
				p := toolPlugin(t, open(t, sandbox.Config{Grace: 200 * time.Millisecond}), `{"result":{}}`, toolNeeds...)
				a := sandbox.NewAdapter(p, sandbox.Ports{HTTP: func(effect.Call) (sandbox.HTTPDoer, func(), error) { return do, func() {}, nil }})
				call := demoCall(t)
				call.Deadline = time.Now().Add(200 * time.Millisecond)
				out := a.Invoke(t.Context(), call)
				close(release)
				if out.Status != c.status || out.Reason != c.reason || out.Result != nil {
					t.Errorf("%s (%s): %s", out.Status, out.Reason, out.Detail)
				}
			})
		})
	}
	e := open(t, sandbox.Config{})
	a := sandbox.NewAdapter(toolPlugin(t, e, `{"result":{}}`), sandbox.Ports{})
	call := demoCall(t)
	call.Deadline = time.Now().Add(-time.Second)
	if out := a.Invoke(t.Context(), call); out.Status != effect.TimedOut || out.Reason != "not_started" {
		t.Errorf("after its deadline: %+v", out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := a.Invoke(ctx, demoCall(t)); out.Status != effect.Cancelled {
		t.Errorf("after cancel: %+v", out)
	}
}
