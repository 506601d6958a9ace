package hostile_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// world is one host with its home, a workspace with a secret beside it, and a local server.
type world struct {
	home, work string
	host       *host.Host
	operator   principal.Scope
	server     *server
	good       installed
	over       time.Duration // the most that a call of the guest took past its deadline; below zero before it
}

// secret is a value that the host knows and no view may show.
const secret = "sk-hostile-5f0c1a7e9b3d4826"

// goodName is the plugin that does nothing wrong.
const goodName = "plain"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{home: t.TempDir(), work: t.TempDir(), server: serve(t)}
	outside := t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(w.work, "inside.txt"): "inside", filepath.Join(w.work, ".env"): "KEY=" + secret,
		filepath.Join(w.work, "large.bin"): strings.Repeat("x", 3<<20), filepath.Join(outside, "outside.txt"): "outside",
		filepath.Join(w.home, "config.yaml"): "schema_version: 1\nnetwork: {allow_private: [\"" + w.server.url + "\"]}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": outside, "link.txt": filepath.Join(outside, "outside.txt")} {
		if err := os.Symlink(target, filepath.Join(w.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	store := memory.New(memory.Config{Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader)})
	var err error
	if w.host, err = host.Open(t.Context(), host.Config{Home: w.home, Store: store, Compiler: conformancetest.Compiler(t)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.host.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.operator, err = w.host.Operator(t.Context(), "hostile suite"); err != nil {
		t.Fatal(err)
	}
	good := guest{name: goodName, deadline: 30 * time.Second}
	p, no := w.install(t, &good, good.module(t, "authority"))
	if no.status != "" {
		t.Fatalf("the good plugin: %+v", no)
	}
	w.good = p
	return w
}

// installed is a plugin in the home, and the core of the same name that has it.
type installed struct {
	guest *guest
	tool  string
	core  string
	pin   core.Pin
}

// describe writes the plugin.json that belongs to a module: it asks for all that the module imports, as far as the
// contract knows it, and says nothing of the rest.
func describe(g *guest, wasm []byte) *manifest.Manifest {
	sum := sha256.Sum256(wasm)
	d := wire.Description{
		ABI: wire.ABI, Kind: wire.KindTool, ID: g.name, Version: "1.0.0", Summary: "A guest of the hostile suite.", License: "Apache-2.0",
		Limits: wire.Limits{MemoryBytes: 16 << 20, DeadlineMS: g.limit().Milliseconds()},
	}
	var imports, needs []string
	wide := wasmbin.DefaultLimits()
	wide.TableGrow = true
	if m, err := wasmbin.Read(wasm, wide); err == nil {
		for _, i := range m.Imports {
			known, ok := wire.LookupImport(i.Module, i.Name)
			if !ok || known.Refused != "" || i.Kind != wasmbin.KindFunc {
				continue
			}
			imports = append(imports, wire.JoinImport(i.Module, i.Name))
			if known.Needs != "" && !slices.Contains(needs, known.Needs) {
				needs = append(needs, known.Needs)
			}
		}
	}
	for _, need := range needs {
		d.Capabilities = append(d.Capabilities, wire.Capability{Name: need, Reason: "It says it needs it."})
		if need == wire.CapNetFetch {
			d.Egress = []wire.Egress{{Host: "*", Reason: "It says it needs it."}}
		}
	}
	d.Tools = []wire.Tool{{
		Name: g.tool(), Description: "Does what its name says.", Capabilities: needs,
		InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`),
		Risk: wire.RiskLow, Approval: wire.ApprovalAuto, Recovery: wire.RecoveryRead,
	}}
	return manifest.New(d, manifest.Wasm{File: plugin.WasmName, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(wasm))}, []string{wire.ExportInvoke}, imports)
}

// install installs a guest, grants what it asks for, and writes a core that has it. A refusal is an answer.
func (w *world) install(t *testing.T, g *guest, wasm []byte) (installed, answer) {
	t.Helper()
	m := describe(g, wasm)
	if g.edit != nil {
		g.edit(m)
	}
	text, err := manifest.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	from := t.TempDir()
	for name, data := range map[string][]byte{manifest.FileName: text, plugin.WasmName: wasm} {
		if err := os.WriteFile(filepath.Join(from, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := w.host.Plugins().Install(t.Context(), from)
	if bad := (*plugin.SourceError)(nil); errors.As(err, &bad) {
		return installed{}, answer{status: refused, reason: bad.Code, shown: []string{bad.Error()}}
	} else if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Capabilities {
		if slices.Contains(g.withheld, c.Name) {
			continue
		}
		grants := []string{c.Name}
		if c.Name == wire.CapNetFetch {
			grants = []string{"net.fetch:*", "net.fetch:" + w.server.host, "net.fetch:169.254.169.254"}
		}
		for _, text := range grants {
			w.grant(t, in.ID, text)
		}
	}
	p := installed{guest: g, tool: g.tool(), core: g.name, pin: core.Pin{ID: in.ID, Version: in.Version, Digest: in.Digest}}
	w.writeCore(t, p.core, p.pin)
	return p, answer{}
}

func (w *world) grant(t *testing.T, plugin, text string) {
	t.Helper()
	if _, err := w.host.Grant(t.Context(), w.operator, plugin, text); err != nil {
		t.Fatal(err)
	}
}

// writeCore writes a core that may do everything and has the plugins.
func (w *world) writeCore(t *testing.T, name string, pins ...core.Pin) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "schema_version: 1\nagent: {id: %s}\nmodel: {provider: scripted, script: script.yaml}\n", name)
	b.WriteString("capabilities: [\"tool.call:*\", fs.read, fs.write, kv, \"net.fetch:*\"]\nplugins:\n")
	for _, p := range pins {
		fmt.Fprintf(&b, "  - {id: %s, version: %q, digest: %q}\n", p.ID, p.Version, p.Digest)
	}
	dir := filepath.Join(w.home, "cores", name)
	if err := os.MkdirAll(filepath.Join(dir, "agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"agent.yaml": b.String(), "agent/soul.md": "A test.\n", "agent/script.yaml": "version: 1\nsteps:\n  - say: nothing\n"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(path)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// answer is what became of one call, and all that anybody is shown of it.
type answer struct {
	status effect.Status
	reason string
	shown  []string // the sentence and the five views, then progress
	stats  map[string]int64

	session id.Session
}

func (a answer) String() string {
	return fmt.Sprintf("%s (%s) %.600q", a.status, a.reason, a.shown)
}

// call calls the guest once.
func (w *world) call(t *testing.T, p installed, args string) answer {
	return w.callTool(t, p, p.tool, args, turn.Selector{})
}

func (w *world) callTool(t *testing.T, p installed, tool, args string, in turn.Selector) answer {
	t.Helper()
	if args == "" {
		args = "{}"
	}
	args = strings.ReplaceAll(args, "SERVER", w.server.url)
	var progress []string
	var ended atomic.Bool
	begun := time.Now()
	res, done, err := w.host.Call(t.Context(), host.Request{
		Core: p.core, Workspace: w.work, Session: in, Known: []redact.Secret{redact.NewSecret("HOSTILE", secret)},
	}, tool, []byte(args), turn.Observer{Progress: func(_ id.Effect, p wire.Progress) {
		if ended.Load() {
			t.Errorf("progress of %s came after its end", tool)
			return
		}
		progress = append(progress, p.Message)
	}})
	ended.Store(true)
	if p.guest.name != goodName { // calls of the good plugin run beside
		w.over = max(w.over, time.Since(begun)-p.guest.limit())
	}
	if bad := (*turn.RejectedError)(nil); errors.As(err, &bad) {
		return answer{status: rejected, reason: bad.Reason, shown: []string{bad.Sentence}}
	} else if err != nil {
		t.Errorf("call %s: %v", tool, err)
		return answer{}
	}
	if done.Status == "" {
		return answer{status: rejected, reason: res.Reason(), shown: []string{res.Sentence()}}
	}
	v := done.Views
	return answer{
		status: done.Status, reason: done.Reason, stats: done.Stats, session: res.Session(),
		shown: append([]string{done.Sentence, v.Model.String(), v.Operator.String(), v.Event.String(), v.Durable.String(), v.Debug.String()}, progress...),
	}
}
