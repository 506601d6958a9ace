package core

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// pin is a plausible plugin.
func pin(id string) Pin {
	return Pin{ID: id, Version: "1.0.0", Digest: "sha256:" + strings.Repeat("ab", 32)}
}

// write puts files below a folder, making folders as needed.
func write(t testing.TB, dir string, files ...File) {
	t.Helper()
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Bytes, f.Mode); err != nil {
			t.Fatal(err)
		}
	}
}

// homeWith makes a home with the core "assistant" whose agent.yaml is text, a soul and a script.
func homeWith(t testing.TB, text string) string {
	t.Helper()
	home := t.TempDir()
	write(t, home,
		File{"cores/assistant/agent.yaml", 0o600, []byte(text)},
		File{"cores/assistant/agent/soul.md", 0o600, []byte("Be careful.\n")},
		File{"cores/assistant/agent/script.yaml", 0o600, []byte("version: 1\n")})
	return home
}

const small = "schema_version: 1\nagent: {id: assistant}\nmodel: {provider: scripted, script: script.yaml}\n"

func load(t testing.TB, home string) Core {
	t.Helper()
	c, err := Load(t.Context(), home, "assistant")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaultCoreLoads(t *testing.T) {
	for name, pins := range map[string][]Pin{"no plugins": nil, "two plugins": {pin("web"), pin("calc")}} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			write(t, home, Default(pins)...)
			c := load(t, home)
			want := slices.Clone(pins)
			slices.Reverse(want) // they are written in alphabetical order
			if !slices.Equal(c.Plugins(), want) {
				t.Errorf("plugins %v, want %v", c.Plugins(), want)
			}
			if c.ID() != "assistant" || c.Summary() == "" || !strings.HasPrefix(c.System(), "You are") {
				t.Errorf("core %q, %q, %q", c.ID(), c.Summary(), c.System())
			}
			if c.Limits() != DefaultLimits() {
				t.Errorf("the file says %+v, without it is %+v", c.Limits(), DefaultLimits())
			}
			if got := strings.Join(c.Capabilities().Strings(), " "); got != "fs.read fs.write kv tool.call:*" {
				t.Errorf("capabilities %q", got)
			}
			if c.Workspace() != filepath.Join(home, "workspace") {
				t.Errorf("workspace %q", c.Workspace())
			}
			if len(c.Script()) == 0 || c.ScriptName() != "agent/script.yaml" {
				t.Errorf("script %q: %q", c.ScriptName(), c.Script())
			}
			if _, narrowed := c.Egress(); narrowed {
				t.Error("egress narrows without being there")
			}
			if _, faults := approval.Compile(c.Approval(), approval.Known{}); len(faults) != 0 {
				t.Errorf("approval rules do not compile: %v", faults)
			}
		})
	}
}

// What the comments of the written files show must be right too: with each comment sign taken away it still loads.
func TestDefaultCommentsAreTrue(t *testing.T) {
	text := string(Default([]Pin{pin("calc")})[0].Bytes)
	for _, example := range []struct{ from, to string }{
		{"  # - net.fetch", "  - net.fetch"},
		{"# egress:\n#   - host: \"*.example.com\" # a name, *.name for those below it, or \"*\"\n#     ports", "egress:\n  - host: \"*.example.com\"\n    ports"},
		{"#     methods", "    methods"},
		{"#     path_prefix", "    path_prefix"},
		{"  # tools:\n  #   files", "  tools:\n    files"},
		{"  # capabilities:\n  #   fs", "  capabilities:\n    fs"},
		{"  # risks: # a rule that decides about no tool of the core is an error, so that a misspelt one is noticed\n  #   low", "  risks:\n    low"},
	} {
		if !strings.Contains(text, example.from) {
			t.Fatalf("the example %q is gone", example.from)
		}
		text = strings.ReplaceAll(text, example.from, example.to)
	}
	c := load(t, homeWith(t, text))
	if p, narrowed := c.Egress(); !narrowed || len(p.Rules()) != 1 || len(p.Rules()[0].Methods) != 3 {
		t.Errorf("egress %+v, %v", p.Rules(), narrowed)
	}
	if r := c.Approval(); len(r.Tools) != 1 || len(r.Capabilities) != 1 || len(r.Risks) != 1 {
		t.Errorf("approval %+v", r)
	}
	if got := len(c.Capabilities().Grants()); got != 7 {
		t.Errorf("%d capabilities", got)
	}

	begin := strings.Index(text, "#   provider: anthropic")
	end := strings.Index(text, "model:\n  provider: scripted")
	real := strings.ReplaceAll(text[begin:end], "#   ", "  ")
	text = text[:end] + "model:\n" + real + text[strings.Index(text, "# The plugins whose"):]
	if m := load(t, homeWith(t, text)).Model(); m.Provider != "anthropic" || m.Name == "" || m.Temperature == nil || m.ContextWindow != 200000 {
		t.Errorf("model %+v", m)
	}
}

func TestCoreKeepsWhatTheFileSays(t *testing.T) {
	c := load(t, homeWith(t, `schema_version: 1
agent:
  id: assistant
  summary: |
    Two
    lines.
model: {provider: openai, name: "gpt", max_output_tokens: 1000, context_window: 8000, temperature: 1}
plugins:
  - {id: calc, version: "1.0.0", digest: "sha256:abababababababababababababababababababababababababababababababab"}
capabilities: [fs.read, "net.fetch:*"]
egress: []
approval:
  default: prompt
  tools: {calc.eval: auto}
  risks:
    high: deny
limits: {max_steps: 3, turn_timeout: 1m30s, effect_timeout: 5s, output_bytes: 1MiB}
workspace: /srv/agents/one
`))
	if c.Summary() != "Two\nlines.\n" || c.Workspace() != "/srv/agents/one" || c.ScriptName() != "" || c.Script() != nil {
		t.Errorf("%q %q %q", c.Summary(), c.Workspace(), c.ScriptName())
	}
	if m := c.Model(); m.Provider != "openai" || m.Name != "gpt" || m.MaxOutputTokens != 1000 || m.ContextWindow != 8000 || *m.Temperature != 1 {
		t.Errorf("model %+v", m)
	}
	if p, narrowed := c.Egress(); !narrowed || len(p.Rules()) != 0 {
		t.Error("an empty egress section must narrow to nothing")
	}
	if want := (Limits{3, 90e9, 5e9, 1 << 20}); c.Limits() != want {
		t.Errorf("limits %+v", c.Limits())
	}
	fetch, err := capability.Parse("net.fetch:a.example")
	if err != nil || !c.Capabilities().Allows(fetch) {
		t.Errorf("capabilities %v", c.Capabilities().Strings())
	}
	rules := c.Approval()
	want := []approval.Rule{{Key: "calc.eval", Mode: "auto", At: approval.Position{File: "cores/assistant/agent.yaml", Line: 14, Column: 11}}}
	if !slices.Equal(rules.Tools, want) || rules.Default.Mode != "prompt" || rules.Default.At.Line != 13 || rules.Risks[0].At.Column != 5 {
		t.Errorf("approval %+v", rules)
	}
}

func TestCoreIsFrozen(t *testing.T) {
	home := homeWith(t, strings.Replace(small, "script: script.yaml", "script: script.yaml, context_window: 9000", 1)+
		"plugins: [{id: calc, version: 1.0.0, digest: \"sha256:"+strings.Repeat("0", 64)+"\"}]\napproval: {risks: {high: deny}}\n")
	c := load(t, home)
	revision := c.Revision()
	c.Plugins()[0] = pin("evil")
	c.Approval().Risks[0].Mode = "auto"
	c.Script()[0] = 'X'
	data, ok := c.File("agent/soul.md")
	if !ok {
		t.Fatal("no soul")
	}
	data[0] = 'X'
	write(t, home, File{"cores/assistant/agent/soul.md", 0o600, []byte("Be evil.\n")})
	if c.Plugins()[0].ID != "calc" || c.Approval().Risks[0].Mode != "deny" || c.Script()[0] == 'X' || c.System() != "Be careful.\n" || c.Revision() != revision {
		t.Error("a core changed after it was loaded")
	}
	if again := load(t, home); again.Revision() == revision || again.System() != "Be evil.\n" {
		t.Error("the changed tree has the old revision")
	}
}

func TestZeroCoreIsNothing(t *testing.T) {
	var c Core
	if _, narrowed := c.Egress(); !c.Zero() || c.ID() != "" || c.System() != "" || len(c.Capabilities().Grants()) != 0 || narrowed || c.Script() != nil || len(c.Files()) != 0 {
		t.Error("the zero core is something")
	}
}

func TestListShowsCoresWithFaultsToo(t *testing.T) {
	home := homeWith(t, small)
	write(t, home,
		File{"cores/broken/agent.yaml", 0o600, []byte("schema_version: 2\n")},
		File{"cores/.git/HEAD", 0o600, nil},
		File{"cores/Notes.txt", 0o600, nil})
	all, err := List(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range all {
		if (l.Err == nil) == l.Core.Zero() {
			t.Errorf("%s: core %v, error %v", l.ID, l.Core, l.Err)
		}
		got = append(got, l.ID)
	}
	if want := []string{"Notes.txt", "assistant", "broken"}; !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	if all[1].Err != nil || Faults(all[2].Err) == nil || Faults(all[0].Err) == nil {
		t.Errorf("errors %v, %v, %v", all[0].Err, all[1].Err, all[2].Err)
	}
	if none, err := List(t.Context(), t.TempDir()); err != nil || len(none) != 0 {
		t.Errorf("a home without cores: %v, %v", none, err)
	}
}

func TestUnknownCoreIsRefusedWithWhatThereIs(t *testing.T) {
	home := homeWith(t, small)
	_, err := Load(t.Context(), home, "assistent")
	says(t, err, "cores/assistent: does not exist (there is assistant)")
	for _, id := range []string{"", "..", "../cores/assistant", "A", "a/b", "assistant/"} {
		if _, err := Load(t.Context(), home, id); Faults(err) == nil {
			t.Errorf("Load(%q) = %v", id, err)
		}
	}
	_, err = Load(t.Context(), filepath.Join(home, "none"), "assistant")
	says(t, err, "there is no home at", "`portcullis init`")
}

// says fails unless err is about the file and holds the texts: these sentences are what a person is left with.
func says(t testing.TB, err error, texts ...string) {
	t.Helper()
	var fault *LoadError
	if !errors.As(err, &fault) {
		t.Errorf("error is %v, want a LoadError", err)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error is %v\nwant in it %s", err, text)
		}
	}
}
