package conformance_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// gate is a host with the guests of all languages installed, in a core that has them all.
type gate struct{ host *host.Host }

func openGate(t *testing.T, all []language) gate {
	t.Helper()
	home := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("config.yaml", "schema_version: 1\n")
	h, err := host.Open(t.Context(), host.Config{
		Home: home, Compiler: conformancetest.Compiler(t),
		Store: memory.New(memory.Config{Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader)}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	core := "schema_version: 1\nagent: {id: all}\nmodel: {provider: scripted, script: script.yaml}\ncapabilities: [\"tool.call:*\"]\nplugins:\n"
	for _, l := range all {
		in, err := h.Plugins().Install(t.Context(), l.dir)
		if err != nil {
			t.Fatal(err)
		}
		core += fmt.Sprintf("  - {id: %s, version: %q, digest: %q}\n", in.ID, in.Version, in.Digest)
	}
	write("cores/all/agent.yaml", core)
	write("cores/all/agent/soul.md", "A test.\n")
	write("cores/all/agent/script.yaml", "version: 1\nsteps:\n  - say: nothing\n")
	return gate{h}
}

// call returns how one effect ended, and all that anybody is shown of it.
func (g gate) call(t *testing.T, tool string, args map[string]string, known ...redact.Secret) (effect.Result, string) {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	res, done, err := g.host.Call(t.Context(), host.Request{Core: "all", Known: known}, tool, text, turn.Observer{})
	if err != nil {
		t.Errorf("call %s: %v", tool, err)
		return done, ""
	}
	if done.Status == "" {
		t.Errorf("call %s: %s", tool, res.Sentence())
	}
	v := done.Views
	return done, strings.Join([]string{done.Sentence, v.Model.String(), v.Operator.String(), v.Event.String(), v.Durable.String(), v.Debug.String()}, "\n")
}

// Through the whole gate, a plugin of any language answers in the state that it began with; what it says when it fails
// is redacted; and one that loops is stopped at its own deadline.
func TestConformGuestsOfAllLanguagesThroughTheGate(t *testing.T) {
	all := packed(t)
	g := openGate(t, all)
	const secret = "sk-languages-7d20c1a9e4b35f68"
	for _, l := range all {
		t.Run(l.Name, func(t *testing.T) {
			for _, text := range []string{"größer 😀😀😀 naïve", "größer 😀😀😀 naïve", "quo\"te back\\slash \x00\x01"} {
				done, shown := g.call(t, l.Name+".count", map[string]string{"text": text})
				if done.Status != effect.Succeeded || !sameResult([]byte(`{"result":`+done.Views.Model.String()+`}`), counted(text)) {
					t.Errorf("%s (%s) %s", done.Status, done.Reason, shown)
				}
			}
			for _, how := range []string{"fault", "fail", "break"} {
				done, shown := g.call(t, l.Name+".fault", map[string]string{"how": how, "text": "the key is " + secret}, redact.NewSecret("LANGUAGES", secret))
				if done.Status != effect.Failed || strings.Contains(shown, secret) || !strings.Contains(shown, "the key is ") {
					t.Errorf("%s: %s (%s) %s", how, done.Status, done.Reason, shown)
				}
			}
		})
	}
	t.Run("spin", func(t *testing.T) {
		var calls sync.WaitGroup
		for _, l := range all {
			calls.Go(func() {
				done, shown := g.call(t, l.Name+".fault", map[string]string{"how": "spin", "text": ""})
				if done.Status != effect.TimedOut || done.Reason != "deadline" {
					t.Errorf("%s: %s (%s) %s", l.Name, done.Status, done.Reason, shown)
				}
			})
		}
		calls.Wait()
	})
}
