package exec_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/memory"
)

func TestMain(m *testing.M) {
	if process.IsKeeper(os.Args) {
		os.Exit(process.Keep())
	}
	goleak.VerifyTestMain(m)
}

// world is a host with one core that runs programs, a person who answers, and a mark that every program has in its
// environment.
type world struct {
	t      *testing.T
	host   *host.Host
	home   string
	work   string
	mark   string
	asked  []approval.Question
	answer func(approval.Question) approval.Answer // nil: yes, this once
	before func()                                  // runs while the question is open
	follow bool                                    // later calls are of the first one's session

	session turn.Selector
	store   *memory.Store
}

// Prompt is [approval.Prompter].
func (w *world) Prompt(_ context.Context, q approval.Question) (approval.Answer, error) {
	w.asked = append(w.asked, q)
	if w.before != nil {
		w.before()
	}
	if w.answer != nil {
		return w.answer(q), nil
	}
	return approval.Answer{State: approval.Allowed, Reach: approval.Once, By: q.Principal}, nil
}

// newWorld writes a core with this process section, as one line of YAML.
func newWorld(t *testing.T, section string) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir(), work: t.TempDir(), mark: fmt.Sprintf("%s %d", t.Name(), time.Now().UnixNano())}
	t.Setenv("TEST_MARK", w.mark)
	w.file(w.home, "config.yaml", "schema_version: 1\n", 0o600)
	core := "schema_version: 1\nagent: {id: runner}\nmodel: {provider: scripted, script: script.yaml}\n" +
		"capabilities: [process.exec, task.control, \"secret.bind:DEPLOY_TOKEN\"]\nlimits: {effect_timeout: 60s}\n"
	if section != "" {
		core += "process: {environment: [TEST_MARK, CI], " + section + "}\n"
	}
	w.file(w.home, "cores/runner/agent.yaml", core, 0o600)
	w.file(w.home, "cores/runner/agent/soul.md", "You run programs.\n", 0o600)
	w.file(w.home, "cores/runner/agent/script.yaml", "version: 1\nsteps: [{say: hi}]\n", 0o600)
	keeper, err := process.SelfKeeper()
	if err != nil {
		t.Fatal(err)
	}
	w.store = memory.New(memory.Config{Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader)})
	if w.host, err = host.Open(t.Context(), host.Config{Home: w.home, Store: w.store, Keeper: keeper, Prompter: w, Work: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.host.Close(); err != nil {
			t.Error(err)
		}
		if left := w.living(); len(left) > 0 {
			t.Errorf("%v live on", left)
		}
	})
	return w
}

func (w *world) file(dir, name, text string, mode os.FileMode) string {
	w.t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(at, mode); err != nil {
		w.t.Fatal(err)
	}
	return at
}

// living are the processes, other than this one, that were started with the mark.
func (w *world) living() (out []string) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range environs {
		pid := filepath.Base(filepath.Dir(e))
		if text, err := os.ReadFile(e); err == nil && bytes.Contains(text, []byte("TEST_MARK="+w.mark)) && pid != fmt.Sprint(os.Getpid()) {
			out = append(out, pid)
		}
	}
	return out
}

// answered is a result as the model sees it.
type answered struct {
	effect.Result
	Code   int      `json:"exit_code"`
	Signal string   `json:"signal"`
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr"`
	Out    int64    `json:"stdout_bytes"`
	Kept   []string `json:"kept"`
}

// call runs one call through the whole gate.
func (w *world) call(ctx context.Context, tool, arguments string) answered {
	w.t.Helper()
	ran, r, err := w.host.Call(ctx, host.Request{Core: "runner", Workspace: w.work, Session: w.session}, tool, []byte(arguments), turn.Observer{})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.follow {
		w.session = turn.Selector{Kind: turn.Resume, Session: ran.Session()}
	}
	out := answered{Result: r}
	if r.Status == effect.Succeeded && strings.HasPrefix(tool, "process.") {
		if err := json.Unmarshal(r.Views.Model.JSON(), &out); err != nil {
			w.t.Fatal(err)
		}
	}
	return out
}

// secret keeps a value in the home's vault.
func (w *world) secret(name, value string) {
	w.t.Helper()
	if _, err := secret.At(w.home, time.Now).Set(w.t.Context(), secret.Name(name), secret.Content{Value: value}); err != nil {
		w.t.Fatal(err)
	}
}

// run runs words.
func (w *world) run(words ...string) answered {
	w.t.Helper()
	argv, err := json.Marshal(words)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.call(w.t.Context(), "process.exec", `{"argv":`+string(argv)+`}`)
}

func has(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// edit replaces a text of the core's manifest.
func (w *world) edit(old, with string) {
	w.t.Helper()
	at := filepath.Join(w.home, "cores/runner/agent.yaml")
	text, err := os.ReadFile(at)
	if err != nil || strings.Count(string(text), old) != 1 {
		w.t.Fatalf("%q is not there once: %v", old, err)
	}
	w.file(w.home, "cores/runner/agent.yaml", strings.Replace(string(text), old, with, 1), 0o600)
}

func (w *world) record() event.Record {
	ids := id.NewSource(time.Now, rand.Reader)
	return event.Record{ID: ids.Event(), At: time.Now(), Kind: event.TaskCancelAsked}
}
