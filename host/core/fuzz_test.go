package core

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/b3abf3ee/portcullis/policy/approval"
)

// rewrite writes a value as JSON, which is YAML too, so that what was accepted can be read again from another
// spelling.
func rewrite(t *testing.T, v any) []byte {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

type object = map[string]any

// set leaves out what is zero, as an author would.
func (o objectOf) set(key string, v any) objectOf {
	if rv := reflect.ValueOf(v); rv.IsValid() && !rv.IsZero() {
		o[key] = v
	}
	return o
}

type objectOf object

func modelObject(m Model) objectOf {
	return objectOf{}.set("name", m.Name).set("max_output_tokens", m.MaxOutputTokens).set("context_window", m.ContextWindow).
		set("temperature", m.Temperature)
}

func approvalObject(rules approval.Rules) objectOf {
	section := func(in []approval.Rule) any {
		out := object{}
		for _, r := range in {
			out[r.Key] = r.Mode
		}
		return out
	}
	return objectOf{}.set("default", rules.Default.Mode).set("tools", section(rules.Tools)).
		set("capabilities", section(rules.Capabilities)).set("risks", section(rules.Risks)).set("approvers", rules.Approvers)
}

func agentObject(a agent) objectOf {
	out := objectOf{
		"schema_version": SchemaVersion,
		"agent":          objectOf{"id": a.id}.set("summary", a.summary),
		"model":          modelObject(a.model).set("script", a.model.Script).set("provider", a.model.Provider),
		"approval":       approvalObject(a.approval),
		"limits": object{
			"max_steps": a.limits.MaxSteps, "turn_timeout": a.limits.TurnTimeout.String(),
			"effect_timeout": a.limits.EffectTimeout.String(), "output_bytes": a.limits.OutputBytes,
		},
	}
	plugins, grants, rules := []object{}, []string{}, []objectOf{}
	for _, p := range a.plugins {
		plugins = append(plugins, object{"id": p.ID, "version": p.Version, "digest": p.Digest})
	}
	for _, g := range a.grants {
		grants = append(grants, g.String())
	}
	for _, e := range a.egress {
		rules = append(rules, objectOf{"host": e.Host}.set("ports", e.Ports).set("methods", e.Methods).set("path_prefix", e.PathPrefix))
	}
	out["plugins"], out["capabilities"] = plugins, grants
	if a.narrows {
		out["egress"] = rules
	}
	if a.processAt.Line > 0 {
		p := a.process
		section := objectOf{"programs": append([]string{}, p.Programs...), "workdir": p.Folder}
		section.set("environment", p.Environment).set("workspace_programs", p.Workspace).set("shell", p.Shell).set("memory", p.Memory)
		for key, d := range map[string]time.Duration{"timeout": p.Timeout, "cpu_time": p.CPU} {
			if d > 0 {
				section[key] = d.String()
			}
		}
		if p.CodeFlags {
			section["code_flags"] = "ask"
		}
		out["process"] = section
	}
	return out.set("workspace", a.workspace)
}

func hostObject(c HostConfig) objectOf {
	providers := object{}
	for _, p := range c.Providers {
		one := objectOf{"kind": p.Kind, "base_url": p.BaseURL, "model": modelObject(p.Model)}
		providers[p.Name] = one.set("api_key", p.Key.String()).set("allow_private", p.Private)
	}
	limits := object{
		"concurrent_effects": c.Limits.ConcurrentEffects, "plugin_memory": c.Limits.PluginMemory, "total_memory": c.Limits.TotalMemory,
		"loaded_plugins": c.Limits.LoadedPlugins, "plugin_cache": c.Limits.PluginCache,
		"compile_time": c.Limits.CompileTime.String(), "compile_memory": c.Limits.CompileMemory,
	}
	if n := c.Limits.EffectsPerPlugin; n > 0 {
		limits["effects_per_plugin"] = n
	}
	return objectOf{
		"schema_version": SchemaVersion, "providers": providers, "approval": approvalObject(c.Approval),
		"limits":  limits,
		"network": object{"allow_private": append([]string{}, c.Private...)},
	}.set("default_core", c.DefaultCore)
}

// sameRules compares rules without their places and order: JSON keeps neither.
func sameRules(a, b approval.Rules) bool {
	return reflect.DeepEqual(approvalObject(a), approvalObject(b))
}

// wellPlaced holds that a refusal can be shown: a path, one line of text without control characters, and a place
// inside the file or none.
func wellPlaced(t *testing.T, data []byte, err error) {
	t.Helper()
	faults := Faults(err)
	if len(faults) == 0 {
		t.Fatalf("refused with %T %v", err, err)
	}
	lines := bytes.Count(data, []byte("\n")) + 2
	for _, f := range faults {
		if f.Path == "" || f.Sentence == "" || f.Line < 0 || f.Line > lines || (f.Line > 0) != (f.Column > 0) || len(f.Sentence) > 1000 {
			t.Fatalf("fault %+v", f)
		}
		if strings.ContainsFunc(f.Sentence, unicode.IsControl) {
			t.Fatalf("control characters in %q", f.Sentence)
		}
	}
}

// FuzzAgent: what is accepted reads back from another spelling as the same value; what is refused has a place.
func FuzzAgent(f *testing.F) {
	f.Add(Default([]Pin{pin("calc")})[0].Bytes)
	f.Add([]byte(small))
	f.Add([]byte("schema_version: 1\nagent: {id: a, summary: 'x'}\nmodel: {provider: openai, temperature: 0.1}\negress:\n- host: a.example\n  ports: [443]\n  methods: [GET]\n  path_prefix: /v1\nworkspace: \"/a\"\n"))
	f.Add([]byte(small + "approval:\n  default: prompt\n  tools: {a.b: deny}\n  capabilities: {\"net.fetch:*\": auto}\nlimits: {output_bytes: 1MiB}\n"))
	f.Add([]byte(small + "capabilities: [process.exec]\nprocess: {programs: [git, /bin/ls], workdir: a/b, timeout: 9s, environment: [CI], code_flags: ask, workspace_programs: true, shell: true, cpu_time: 5s, memory: 1GiB}\n"))
	f.Add([]byte("a: &x [*x]\n<<: !!y {? z}\n--- |\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := decodeAgent("cores/a/agent.yaml", data)
		if err != nil {
			wellPlaced(t, data, err)
			return
		}
		again, err := decodeAgent("cores/a/agent.yaml", rewrite(t, agentObject(a)))
		if err != nil {
			t.Fatalf("accepted, and refused when written anew: %v\n%s", err, rewrite(t, agentObject(a)))
		}
		if !sameRules(a.approval, again.approval) {
			t.Fatalf("approval %+v became %+v", a.approval, again.approval)
		}
		a.approval, again.approval = approval.Rules{}, approval.Rules{}
		a.modelAt, again.modelAt, a.workspaceAt, again.workspaceAt = Position{}, Position{}, Position{}, Position{}
		if !reflect.DeepEqual(agentObject(a), agentObject(again)) || a.narrows != again.narrows {
			t.Fatalf("%+v became %+v", a, again)
		}
	})
}

// FuzzHost holds the same of config.yaml.
func FuzzHost(f *testing.F) {
	f.Add(DefaultHostConfig().Bytes)
	f.Add([]byte("schema_version: 1\nproviders:\n  a: {kind: anthropic, api_key: env:K, model: {name: x, temperature: 1}}\n  b: {kind: openai, base_url: \"http://127.0.0.1:1/v1\", allow_private: true}\n"))
	f.Add([]byte("schema_version: 1\nnetwork: {allow_private: [\"http://[::1]:80\"]}\nlimits: {concurrent_effects: 1, effects_per_plugin: 1, plugin_memory: 16MiB, total_memory: 2GiB, loaded_plugins: 32MiB, plugin_cache: 1GiB, compile_time: 45s, compile_memory: 512MiB}\napproval: {risks: {low: auto}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeHost(data)
		if err != nil {
			wellPlaced(t, data, err)
			return
		}
		again, err := decodeHost(rewrite(t, hostObject(c)))
		if err != nil {
			t.Fatalf("accepted, and refused when written anew: %v\n%s", err, rewrite(t, hostObject(c)))
		}
		if !reflect.DeepEqual(hostObject(c), hostObject(again)) {
			t.Fatalf("%+v became %+v", c, again)
		}
	})
}
