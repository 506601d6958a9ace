package host_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/store/memory"
)

func TestMain(m *testing.M) {
	conformancetest.BeCompiler()
	goleak.VerifyTestMain(m)
}

// home is a home folder with bundled plugins installed, and a store that outlives the hosts over it.
type home struct {
	t     *testing.T
	dir   string
	work  string
	store *memory.Store
	pins  []core.Pin
}

func newHome(t *testing.T, plugins ...string) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir(), work: t.TempDir()}
	h.store = memory.New(memory.Config{Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader)})
	for _, name := range plugins {
		in, err := plugin.At(h.dir).Install(t.Context(), conformancetest.Plugin(t, name))
		if err != nil {
			t.Fatal(err)
		}
		h.pins = append(h.pins, core.Pin{ID: in.ID, Version: in.Version, Digest: in.Digest})
	}
	h.write("config.yaml", string(core.DefaultHostConfig().Bytes))
	return h
}

func (h *home) write(path, text string) {
	h.t.Helper()
	path = filepath.Join(h.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) read(path string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, filepath.FromSlash(path)))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// core writes the core "assistant" with a script and further lines of agent.yaml.
func (h *home) core(script string, capabilities []string, more ...string) {
	var b strings.Builder
	b.WriteString("schema_version: 1\nagent: {id: assistant}\nmodel: {provider: scripted, script: script.yaml}\n")
	if len(h.pins) > 0 {
		b.WriteString("plugins:\n")
	}
	for _, p := range h.pins {
		fmt.Fprintf(&b, "  - {id: %s, version: %q, digest: %q}\n", p.ID, p.Version, p.Digest)
	}
	if len(capabilities) > 0 {
		fmt.Fprintf(&b, "capabilities: [%q]\n", strings.Join(capabilities, `", "`))
	}
	b.WriteString(strings.Join(more, "\n") + "\n")
	h.write("cores/assistant/agent.yaml", strings.ReplaceAll(b.String(), `\"`, `"`))
	h.write("cores/assistant/agent/soul.md", "You are a test.\n")
	h.write("cores/assistant/agent/script.yaml", "version: 1\n"+script)
}

// open makes a host over the home; it is closed with the test.
func (h *home) open(change ...func(*host.Config)) *host.Host {
	h.t.Helper()
	cfg := host.Config{Home: h.dir, Store: h.store, CacheDir: conformancetest.CacheDir(h.t), Compiler: conformancetest.Compiler(h.t)}
	for _, do := range change {
		do(&cfg)
	}
	out, err := host.Open(h.t.Context(), cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := out.Close(); err != nil {
			h.t.Error(err)
		}
	})
	return out
}
