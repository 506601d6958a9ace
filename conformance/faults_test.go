package conformance_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// An ordinary Go program that goes wrong is stopped, says why where it can, and
// leaves nothing for the next call.
func TestGoGuestThatGoesWrong(t *testing.T) {
	out := conformancetest.Build(t, filepath.Join("guests", "faults"), "faults")
	data, err := os.ReadFile(filepath.Join(out, manifest.FileName))
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	e, err := sandbox.Open(t.Context(), sandbox.Config{CacheDir: cacheDir, Compiler: conformancetest.Compiler(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	p, err := e.Load(t.Context(), sandbox.Source{Manifest: m, Path: filepath.Join(out, m.Wasm.File)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	for _, c := range []struct {
		tool, reason, text string
		status             sandbox.Status
		timeout            time.Duration
	}{
		{tool: "faults.panic", status: sandbox.Trap, reason: "engine", text: "panic: it broke"},
		{tool: "faults.nil", status: sandbox.Trap, reason: "engine", text: "nil pointer dereference"},
		{tool: "faults.exit", status: sandbox.Exited, reason: "exit_3"},
		{tool: "faults.exit_zero", status: sandbox.Exited, reason: "exit_0"},
		{tool: "faults.deadlock", status: sandbox.Trap, reason: "engine", text: "all goroutines are asleep"},
		{tool: "faults.spin", status: sandbox.TimedOut, timeout: 300 * time.Millisecond},
		{tool: "faults.sleep", status: sandbox.TimedOut, timeout: 300 * time.Millisecond},
		{tool: "faults.memory", status: sandbox.OutOfMemory, reason: "engine", text: "out of memory"},
		{tool: "faults.output", status: sandbox.OutputTooLarge, reason: "output_limit"},
		{tool: "faults.stdout", status: sandbox.OK},
		{tool: "faults.leave", status: sandbox.OK},
		{tool: "faults.leave", status: sandbox.OK},
	} {
		t.Run(c.tool, func(t *testing.T) {
			in, err := json.Marshal(wire.Call{ID: "eff_1", Tool: c.tool, Args: json.RawMessage(`{}`)})
			if err != nil {
				t.Fatal(err)
			}
			got := p.Call(t.Context(), wire.ExportInvoke, in, sandbox.CallOptions{Timeout: c.timeout})
			for longer := 4 * c.timeout; got.Reason == "not_started" && longer < time.Minute; longer *= 4 { // a busy machine stood still for all of it
				got = p.Call(t.Context(), wire.ExportInvoke, in, sandbox.CallOptions{Timeout: longer})
			}
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Text, c.text) {
				t.Fatalf("%s (%s): %q %v; want %s (%s): %q", got.Status, got.Reason, got.Text, got.Err, c.status, c.reason, c.text)
			}
			if got.Status == sandbox.OK && string(got.Output) != `{"result":{"calls":1}}` {
				t.Errorf("another call's state is there: %s", got.Output)
			}
			if got.Stats.MemoryPeak > m.Limits.MemoryBytes {
				t.Errorf("used %d bytes, limit %d", got.Stats.MemoryPeak, m.Limits.MemoryBytes)
			}
		})
	}
}
