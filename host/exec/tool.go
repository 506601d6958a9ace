package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/command"
	"github.com/b3abf3ee/portcullis/policy/document"
)

// Names of the tools.
const (
	Tool      = "process.exec"
	ShellTool = "process.shell"
)

// Capability is what both need.
const Capability = "process.exec"

// Config is what the tools work with. All of it but Queue is required.
type Config struct {
	Engine    *process.Engine
	Artifacts *process.Artifacts
	Digests   *process.Digests
	Lookup    func(string) (string, bool) // the host's own environment
	UID       int                         // see [process.Finder]
	// Queue writes a task for [StartTool], completed with its id and time; nil: there is no such tool.
	Queue func(ctx context.Context, call effect.Call, t task.Task) (task.Task, task.Queueing, error)
}

// Source offers the tools to one core.
type Source struct {
	cfg  Config
	core string
	rule core.Process
	path []string
}

// New returns a source for one core. Its PATH is that of the host as it is now, without folders that are not absolute.
func New(cfg Config, coreID string, rule core.Process) *Source {
	list, _ := cfg.Lookup("PATH")
	folders := process.Folders(list)
	if len(folders) == 0 {
		folders = process.Folders(strings.Join([]string{"/usr/local/bin", "/usr/bin", "/bin"}, string(filepath.ListSeparator)))
	}
	return &Source{cfg, coreID, rule, folders}
}

// Bounds of one call.
const (
	maxWords     = 256
	maxWord      = 8 << 10
	maxText      = 32 << 10 // of a shell text
	maxStdin     = 256 << 10
	maxVariables = 64
	maxSecrets   = 16
)

// Tools returns process.exec, and process.shell where the core has switched it on. A core without the capability is
// offered neither.
func (s *Source) Tools(_ context.Context, turn binding.Turn) ([]effect.Tool, error) {
	return s.Offered(turn.Core().Capabilities)
}

// Offered is Tools for a core with these capabilities.
func (s *Source) Offered(core capability.Snapshot) ([]effect.Tool, error) {
	need, err := capability.Parse(Capability)
	if err != nil || !core.Meets(need) {
		return nil, err
	}
	all := s.tools(need)
	start, err := s.startTool(need)
	if err == nil && s.cfg.Queue != nil && core.Meets(start.Needs[1]) {
		all = append(all, start)
	}
	return all, err
}

// Known are the tools that rules of config.yaml may name, whatever a core switches on.
func Known() ([]effect.Tool, error) {
	need, err := capability.Parse(Capability)
	if err != nil {
		return nil, err
	}
	s := &Source{rule: core.Process{Shell: true}}
	start, err := s.startTool(need)
	return append(s.tools(need), start), err
}

func (s *Source) tools(need capability.Name) []effect.Tool {
	tool := effect.Tool{
		Name: Tool, Description: describe(s.rule),
		InputSchema: schemaOf(`"argv":{"type":"array","minItems":1,"maxItems":%d,"items":{"type":"string","maxLength":%d},"description":"the program and its arguments, one word each; no shell reads them"}`, "argv", maxWords, maxWord),
		Risk:        approval.High,
		Adapter:     &words{s},
	}
	all := []effect.Tool{tool}
	if s.rule.Shell {
		tool.Name, tool.Risk, tool.Adapter = ShellTool, approval.Critical, &shell{s}
		tool.Description = "Run one text as a shell does. A person is asked about the whole text each time; prefer " + Tool + "."
		tool.InputSchema = schemaOf(`"command":{"type":"string","minLength":1,"maxLength":%d,"description":"the text for /bin/sh -c"}`, "command", maxText)
		all = append(all, tool)
	}
	for i := range all {
		t := &all[i]
		t.OutputSchema, t.Approval, t.Recovery = json.RawMessage(resultSchema), approval.Prompt, "manual"
		t.Needs, t.Secrets, t.Files = []capability.Name{need}, secretsOf, true
		t.Origin, t.Provenance, t.Timeout = effect.Builtin, "builtin:"+t.Name, s.rule.Timeout
	}
	return all
}

func describe(rule core.Process) string {
	text := "Run a program of this machine in the workspace and return its exit code and output. "
	switch {
	case len(rule.Programs) == 0:
		return text + "No program is allowed yet."
	case slices.Equal(rule.Programs, []string{core.AnyProgram}):
		return text + "Each call needs a person's approval."
	}
	var names []string
	for _, p := range rule.Programs[:min(len(rule.Programs), 30)] {
		names = append(names, path.Base(p))
	}
	return text + "Allowed are " + strings.Join(names, ", ") + "; each call needs a person's approval."
}

func schemaOf(own, required string, bounds ...any) json.RawMessage {
	const common = `"cwd":{"type":"string","minLength":1,"maxLength":1024,"description":"folder below the workspace"},` +
		`"env":{"type":"object","maxProperties":%d,"additionalProperties":{"type":"string","maxLength":%d},"description":"variables"},` +
		`"secrets":{"type":"object","maxProperties":%d,"additionalProperties":{"type":"string","maxLength":128},"description":"variable to the name of the secret it gets"},` +
		`"stdin":{"type":"string","maxLength":%d},` +
		`"timeout_ms":{"type":"integer","minimum":1,"maximum":600000}`
	text := `{"type":"object","properties":{` + fmt.Sprintf(own, bounds...) + "," + fmt.Sprintf(common, maxVariables, maxWord, maxSecrets, maxStdin) +
		`},"required":["` + required + `"],"additionalProperties":false}`
	return json.RawMessage(text)
}

// arguments are those of both tools.
type arguments struct {
	Argv    []string          `json:"argv"`
	Command string            `json:"command"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
	Secrets map[string]string `json:"secrets"`
	Stdin   string            `json:"stdin"`
	Timeout int64             `json:"timeout_ms"`
}

// read reads arguments that the gate has held to the schema.
func read(raw json.RawMessage) (arguments, error) {
	var a arguments
	if err := json.Unmarshal(raw, &a); err != nil {
		return arguments{}, fmt.Errorf("exec: read the arguments: %w", err)
	}
	return a, nil
}

// secretsOf are the names of the secrets that a call asks for.
func secretsOf(args document.Document) []string {
	a, err := read(args.Bytes())
	if err != nil {
		return nil // the schema refuses it
	}
	var names []string
	for _, name := range a.Secrets {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// variable says why a call may not set this variable, or nothing. declared is the core's list.
func (s *Source) variable(name string, secret bool) *effect.Objection {
	if !command.ValidVariable(name) {
		return &effect.Objection{Reason: "variable_refused", Why: fmt.Sprintf("%q is no name of a variable", name), Model: "that is no name of a variable"}
	}
	if slices.Contains(command.Passed(), name) && !secret {
		if _, refused := command.RefusedVariable(name); !refused {
			return nil // language and time zone
		}
	}
	judge := command.RefusedVariable
	if secret {
		judge = command.RefusedForSecret
	}
	if why, refused := judge(name); refused {
		return &effect.Objection{
			Reason: "variable_refused", Why: fmt.Sprintf("%s %s, so that no call may set it: leave it out", name, why),
			Model: name + " may not be set",
		}
	}
	if !secret && !slices.Contains(s.rule.Environment, name) {
		remedy := fmt.Sprintf("add %s to process.environment in %s", name, s.file())
		return &effect.Objection{
			Reason: "variable_not_listed", Why: fmt.Sprintf("core %s does not let calls set %s: %s", s.core, name, remedy),
			Model: "calls may not set " + name, Remedy: remedy,
		}
	}
	return nil
}

// file is the core's manifest, for a sentence.
func (s *Source) file() string { return path.Join(core.FolderName, s.core, core.AgentFile) }
