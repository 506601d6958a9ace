package plugintest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Plugin is a plugin under test with the world it sees. Its methods that set up
// the world return the plugin, so that they chain.
type Plugin struct {
	program *sdk.Program
	desc    wire.Description
	world   *world
	check   SchemaCheck
}

// New takes the plugin that the package under test registers in init. It fails
// the test when there is none, and when its manifest would not be valid.
func New(t testing.TB) *Plugin {
	t.Helper()
	program := sdk.Registered()
	if program == nil {
		t.Fatal("plugintest: no plugin is registered: the package under test must call sdk.Register in init")
	}
	return open(t, program)
}

// For takes a plugin that is not registered.
func For(t testing.TB, p sdk.Plugin) *Plugin {
	t.Helper()
	program, err := sdk.NewProgram(p)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	return open(t, program)
}

func open(t testing.TB, program *sdk.Program) *Plugin {
	t.Helper()
	raw, err := program.Describe()
	if err != nil {
		t.Fatalf("plugintest: describe: %v", err)
	}
	desc, err := manifest.ParseDescription(raw)
	if err != nil {
		t.Fatalf("plugintest: describe: %v", err)
	}
	// A manifest is more than a description; what the binary would add is
	// filled in, so that every rule for the author's part is applied.
	m := manifest.New(desc, manifest.Wasm{File: "test.wasm", SHA256: strings.Repeat("0", 64), Size: 1},
		[]string{wire.ExportDescribe, wire.ExportInvoke, wire.ExportReconcile}, nil)
	if err := m.Validate(); err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	return &Plugin{program: program, desc: desc, world: newWorld(desc), check: derived}
}

// Files puts files into the workspace, making the directories above them. A
// name that ends in a slash is an empty directory.
func (p *Plugin) Files(files map[string]string) *Plugin {
	for name, content := range files {
		p.world.files.put(name, content)
	}
	return p
}

// File reads a file of the workspace after a call; ok is false when it is not
// there.
func (p *Plugin) File(name string) (content string, ok bool) { return p.world.files.get(name) }

// FileNames lists every file of the workspace, sorted.
func (p *Plugin) FileNames() []string { return p.world.files.names() }

// Keys puts keys into the plugin's store, each a write of its own.
func (p *Plugin) Keys(keys map[string]string) *Plugin {
	for k, v := range keys {
		p.world.keys.put(k, []byte(v))
	}
	return p
}

// Key reads a key after a call; ok is false when it is not there.
func (p *Plugin) Key(key string) (value string, ok bool) {
	e, ok := p.world.keys.entries[key]
	return string(e.value), ok
}

// HTTP answers the plugin's requests; without it every request is the fault
// unavailable. Redirects are followed as the host follows them: at most ten,
// each checked against the manifest's egress.
func (p *Plugin) HTTP(h http.Handler) *Plugin {
	p.world.http = h
	return p
}

// At sets the clock, which stands still. Without it, it is 2026-01-01 UTC.
func (p *Plugin) At(now time.Time) *Plugin {
	p.world.now = now
	return p
}

// Setting sets what the operator would set.
func (p *Plugin) Setting(name, value string) *Plugin {
	p.world.settings[name] = value
	return p
}

// Secret sets what the operator keeps under a name. A secret that no test sets has
// a value of its own. The plugin does not see it: the handler of [Plugin.HTTP]
// does, where the manifest's credentials put it.
func (p *Plugin) Secret(name, value string) *Plugin {
	p.world.secrets[name] = value
	return p
}

// Fail makes a host function answer with a fault: function is an import of
// package wire, about the path, key or URL it is to fail for ("" for all).
func (p *Plugin) Fail(function, about string, code sdk.Code, message string) *Plugin {
	p.world.failures = append(p.world.failures, failure{function, about, sdk.Fault{Code: code, Message: message}})
	return p
}

// Logs is what the plugin logged so far.
func (p *Plugin) Logs() []wire.LogRecord { return p.world.logs }

// Progress is what the plugin reported so far.
func (p *Plugin) Progress() []wire.Progress { return p.world.progress }

// Description is what the plugin says about itself.
func (p *Plugin) Description() wire.Description { return p.desc }

// Call runs a tool with JSON arguments and returns the JSON result. A fault
// fails the test, and so does a result that the tool's schema does not allow.
func (p *Plugin) Call(t testing.TB, tool, args string) json.RawMessage {
	t.Helper()
	reply := p.invoke(t, tool, args)
	if reply.Fault != nil {
		t.Fatalf("plugintest: %s answered %s: %s", tool, reply.Fault.Code, reply.Fault.Message)
	}
	return json.RawMessage(reply.Result)
}

// Fault runs a tool that is to say no, and returns what it said. A result fails
// the test.
func (p *Plugin) Fault(t testing.TB, tool, args string) *sdk.Fault {
	t.Helper()
	reply := p.invoke(t, tool, args)
	if reply.Fault == nil {
		t.Fatalf("plugintest: %s was to answer with a fault, and answered %s", tool, reply.Result)
	}
	return reply.Fault
}

// Call runs a tool with typed arguments and result. Type arguments after Out
// are inferred.
func Call[Out, In any](t testing.TB, p *Plugin, tool string, in In) Out {
	t.Helper()
	args, err := json.Marshal(in)
	if err != nil {
		t.Fatalf("plugintest: encode the arguments of %s: %v", tool, err)
	}
	var out Out
	dec := json.NewDecoder(bytes.NewReader(p.Call(t, tool, string(args))))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		t.Fatalf("plugintest: decode the result of %s: %v", tool, err)
	}
	return out
}

// callID is the id of every call in a test.
const callID = "eff_test"

func (p *Plugin) invoke(t testing.TB, tool, args string) wire.Reply {
	t.Helper()
	spec, ok := find(p.desc.Tools, tool)
	if !ok {
		t.Fatalf("plugintest: plugin %s has no tool %q", p.desc.ID, tool)
	}
	if fault := p.checkArgs(t, spec, args); fault != nil {
		return wire.Reply{Fault: fault}
	}
	input, err := json.Marshal(wire.Call{ID: callID, Tool: tool, Args: wire.RawJSON(args)})
	if err != nil {
		t.Fatalf("plugintest: the arguments of %s are not JSON: %v", tool, err)
	}
	p.world.needs = spec.Capabilities
	output, err := p.program.Invoke(t.Context(), input, p.program.NativeHost(p.world.serve(t)))
	if err != nil {
		t.Fatalf("plugintest: %s: %v", tool, err)
	}
	var reply wire.Reply
	if err := strict(output, wire.MaxReplyBytes, &reply); err != nil {
		t.Fatalf("plugintest: reply of %s: %v", tool, err)
	}
	if err := reply.Check(); err != nil {
		t.Fatalf("plugintest: reply of %s: %v", tool, err)
	}
	if reply.Fault == nil {
		p.checkResult(t, spec, reply.Result)
	}
	return reply
}

// Reconcile asks a tool what became of an earlier call with these arguments, as the host does when nobody saw its end: of a
// tool whose call was [Plugin.Call] before, or never was. The tool may only look. A fault fails the test.
func (p *Plugin) Reconcile(t testing.TB, tool, args string) sdk.Reconciliation {
	t.Helper()
	spec, ok := find(p.desc.Tools, tool)
	if !ok || spec.Recovery != wire.RecoveryReconcile {
		t.Fatalf("plugintest: plugin %s has no tool %q with sdk.Reconcile", p.desc.ID, tool)
	}
	input, err := json.Marshal(wire.Call{ID: callID, Tool: tool, Args: wire.RawJSON(args)})
	if err != nil {
		t.Fatalf("plugintest: the arguments of %s are not JSON: %v", tool, err)
	}
	p.world.needs, p.world.looks = spec.Capabilities, true
	defer func() { p.world.looks = false }()
	output, err := p.program.Reconcile(t.Context(), input, p.program.NativeHost(p.world.serve(t)))
	if err != nil {
		t.Fatalf("plugintest: %s: %v", tool, err)
	}
	var r wire.Reconciliation
	if err := strict(output, wire.MaxReplyBytes, &r); err != nil {
		t.Fatalf("plugintest: reconciliation of %s: %v", tool, err)
	}
	if r.Fault != nil {
		t.Fatalf("plugintest: %s answered %s: %s", tool, r.Fault.Code, r.Fault.Message)
	}
	if err := r.Check(); err != nil {
		t.Fatalf("plugintest: reconciliation of %s: %v", tool, err)
	}
	return r
}

func find(tools []wire.Tool, name string) (wire.Tool, bool) {
	for _, t := range tools {
		if t.Name == name {
			return t, true
		}
	}
	return wire.Tool{}, false
}
