package core

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// What a file says is told whole or by its length: a value that was typed where a name belongs must not be shown in part,
// which nobody could hide any more.
func TestNoFaultTellsATextInPart(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for before := range 80 {
		if told := strings.ReplaceAll(quote(strings.Repeat("x", before)+secret), secret, ""); strings.Contains(told, secret[:3]) {
			t.Fatal(told)
		}
	}
}

// Each fault is shown as path:line:column with what to write instead. A case is a whole agent.yaml.
func TestAgentFaultsHaveAPlaceAndARemedy(t *testing.T) {
	head := "schema_version: 1\nagent: {id: assistant}\nmodel: {provider: scripted, script: script.yaml}\n"
	exec := head + "capabilities: [process.exec]\n"
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":          {head + "capabilites: []\n", `:4:1: unknown key "capabilites" (did you mean "capabilities"?)`},
		"unknown key far":      {head + "colour: red\n", `:4:1: unknown key "colour" (known here: agent, approval, capabilities, egress, limits, model, plugins, process, schema_version, workspace)`},
		"unknown nested":       {head + "limits:\n  max_step: 3\n", `:5:3: unknown key "max_step" (did you mean "max_steps"?)`},
		"other case":           {"Schema_version: 1\n" + head[18:], `:1:1: unknown key "Schema_version" (did you mean "schema_version"?)`},
		"twice":                {head + "limits: {}\nlimits: {}\n", `:5:1: key "limits" is there already in line 4; remove one`},
		"twice quoted":         {head + "workspace: a\n\"workspace\": b\n", `:5:1: key "workspace" is there already in line 4`},
		"no value":             {head + "plugins:\n", `:4:1: plugins has no value; write one, or remove the line`},
		"null value":           {head + "plugins: ~\n", `:4:1: plugins has no value`},
		"missing key":          {"schema_version: 1\nagent: {id: assistant}\n", `:1:1: model is missing`},
		"missing nested":       {"schema_version: 1\nagent: {}\nmodel: {provider: scripted, script: script.yaml}\n", `:2:1: agent.id is missing`},
		"other version":        {strings.Replace(head, "1", "2", 1), `:1:17: schema_version must be 1`},
		"version is text":      {strings.Replace(head, "1", "\"1\"", 1), `:1:17: schema_version must be a number`},
		"list for mapping":     {head + "limits: [a]\n", `:4:9: limits must be a mapping`},
		"mapping for list":     {head + "plugins: {a: 1}\n", `:4:10: plugins must be a list`},
		"block for list":       {head + "plugins:\n  a: 1\n", `:5:3: plugins must be a list`},
		"text for mapping":     {head + "approval: no\n", `:4:11: approval must be a mapping`},
		"number for text":      {head + "workspace: 12\n", `:4:12: workspace must be text; put it in quotes: "12"`},
		"bool for text":        {head + "workspace: true\n", `put it in quotes: "true"`},
		"text for number":      {head + "limits: {max_steps: many}\n", `:4:21: limits.max_steps must be a number`},
		"hex number":           {head + "limits: {max_steps: 0x10}\n", `:4:21: limits.max_steps must be a decimal number in plain digits`},
		"octal number":         {head + "limits: {max_steps: 010}\n", `must be a decimal number in plain digits`},
		"grouped number":       {head + "limits: {max_steps: 1_0}\n", `must be a decimal number in plain digits`},
		"fraction":             {head + "limits: {max_steps: 1.5}\n", `limits.max_steps must be a number`},
		"too many steps":       {head + "limits: {max_steps: 91}\n", `:4:21: limits.max_steps is 91; it must be between 1 and 90`},
		"no steps":             {head + "limits: {max_steps: 0}\n", `it must be between 1 and 90`},
		"duration no unit":     {head + "limits: {turn_timeout: 60}\n", `:4:24: limits.turn_timeout must be a duration such as 90s, 10m or 1h; a number alone has no unit`},
		"duration words":       {head + "limits: {turn_timeout: soon}\n", `limits.turn_timeout must be a duration`},
		"duration too long":    {head + "limits: {turn_timeout: 2h}\n", `limits.turn_timeout is 2h; it must be between 1s and 1h0m0s`},
		"effect beyond turn":   {head + "limits: {turn_timeout: 10s}\n", `limits.effect_timeout (1m0s) is longer than limits.turn_timeout (10s)`},
		"size unit":            {head + "limits: {output_bytes: 64KB}\n", `:4:24: limits.output_bytes must be a number of bytes such as 65536, 64KiB or 512MiB`},
		"size too large":       {head + "limits: {output_bytes: 5MiB}\n", `limits.output_bytes is 5MiB; it must be between 1024 and 4194304 bytes`},
		"size overflow":        {head + "limits: {output_bytes: 99999999999GiB}\n", `limits.output_bytes must be a number of bytes`},
		"core id":              {strings.Replace(head, "assistant", "My Agent", 1), `:2:13: agent.id is "My Agent"; write a lower-case letter`},
		"other folder":         {strings.Replace(head, "assistant", "other", 1), `agent.id is "other", but the folder is "assistant"; rename one`},
		"bad capability":       {head + "capabilities:\n  - fs.read\n  - fs.*\n", `:6:5: capability "fs.*"`},
		"misspelt capability":  {head + "capabilities: [network.fetch]\n", `did you mean net.fetch?`},
		"capability twice":     {head + "capabilities: [kv, kv]\n", `:4:20: kv is there already`},
		"capability with null": {head + "capabilities: [kv, ~]\n", `capabilities[1] has no value`},
		"plugin version":       {head + "plugins: [{id: calc, version: 1.0, digest: x}]\n", `:4:31: plugins[0].version must be text; put it in quotes: "1.0"`},
		"plugin digest":        {head + "plugins: [{id: calc, version: 1.0.0, digest: abc}]\n", `plugins[0].digest must be sha256: and 64 lower-case hex digits, as ` + "`portcullis plugin list`"},
		"plugin id":            {head + "plugins: [{id: Calc, version: 1.0.0, digest: abc}]\n", `plugins[0].id is "Calc", which is no plugin id`},
		"plugin incomplete":    {head + "plugins:\n  - id: calc\n", `:5:5: plugins[0].version is missing`},
		"plugin twice": {
			head + "plugins:\n" + strings.Repeat("  - {id: calc, version: 1.0.0, digest: \"sha256:"+strings.Repeat("0", 64)+"\"}\n", 2),
			`:6:5: plugin "calc" is there already`,
		},
		"mode":                 {head + "approval: {default: ask}\n", `:4:21: approval.default is "ask", which is not one of auto, prompt, deny`},
		"mode near":            {head + "approval: {default: promt}\n", `(did you mean "prompt"?)`},
		"risk":                 {head + "approval: {risks: {hihg: deny}}\n", `:4:20: "hihg" is not a risk (did you mean "high"?)`},
		"tool":                 {head + "approval: {tools: {calc: deny}}\n", `:4:20: "calc" is not a tool name such as calc.eval`},
		"capability rule":      {head + "approval: {capabilities: {fs.raed: deny}}\n", `did you mean fs.read?`},
		"egress host":          {head + "egress: [{host: \"*.com\"}]\n", `:4:17: egress[0].host: a pattern needs a domain of two labels`},
		"egress metadata":      {head + "egress: [{host: metadata.google.internal}]\n", `which no rule may open`},
		"egress method":        {head + "egress: [{host: a.example, methods: [get]}]\n", `:4:37: egress[0].methods: "get" is unknown`},
		"egress port":          {head + "egress: [{host: a.example, ports: [0]}]\n", `egress[0].ports[0] is 0; it must be between 1 and 65535`},
		"egress path":          {head + "egress: [{host: a.example, path_prefix: v1}]\n", `egress[0].path_prefix: begins with a slash`},
		"process alone":        {head + "process: {programs: [git]}\n", `:4:1: process is of no use without the capability: add process.exec to capabilities`},
		"process no programs":  {exec + "process: {}\n", `process.programs is missing`},
		"process key":          {exec + "process: {programs: [], shel: true}\n", `unknown key "shel" (did you mean "shell"?)`},
		"process pattern":      {exec + "process: {programs: [\"git*\"]}\n", `process.programs[0] is "git*"; patterns and variables are not expanded`},
		"process words":        {exec + "process: {programs: [git status]}\n", `write the program alone: what it is told is approved with each call`},
		"process relative":     {exec + "process: {programs: [./tool]}\n", `write a name such as git, or a whole path such as /usr/bin/git`},
		"process dots":         {exec + "process: {programs: [/usr/bin/../bin/git]}\n", `write a name such as git`},
		"process twice":        {exec + "process: {programs: [git, git]}\n", `:5:27: "git" is there already`},
		"process any and more": {exec + "process: {programs: [git, \"*\"]}\n", `which is every program, and others`},
		"process workdir":      {exec + "process: {programs: [git], workdir: ../x}\n", `process.workdir is "../x"; write a folder below the workspace`},
		"process timeout":      {exec + "process: {programs: [git], timeout: 2m}\n", `process.timeout (2m0s) is longer than limits.effect_timeout (1m0s)`},
		"process loader":       {exec + "process: {programs: [git], environment: [LD_PRELOAD]}\n", `:5:42: process.environment[0]: LD_PRELOAD changes which code is loaded into every program`},
		"process passed":       {exec + "process: {programs: [git], environment: [PATH]}\n", `every program gets PATH; remove the line`},
		"process variable":     {exec + "process: {programs: [git], environment: [\"A B\"]}\n", `which is no name of a variable`},
		"process flags":        {exec + "process: {programs: [git], code_flags: allow}\n", `process.code_flags is "allow", which is not one of deny, ask`},
		"process shell":        {exec + "process: {programs: [git], shell: \"yes\"}\n", `process.shell must be true or false`},
		"process memory":       {exec + "process: {programs: [git], memory: 1MiB}\n", `process.memory is 1MiB; it must be between 16777216`},
		"process cpu":          {exec + "process: {programs: [git], cpu_time: 1ms}\n", `process.cpu_time is 1ms; it must be between 1s`},
		"egress no host":       {head + "egress: [{ports: [443]}]\n", `egress[0].host is missing`},
		"script missing":       {strings.Replace(head, ", script: script.yaml", "", 1), `:3:19: a scripted model needs a script`},
		"script elsewhere":     {strings.Replace(head, "script.yaml", "../../x.yaml", 1), `model.script is "../../x.yaml"; write the path of a .yaml or .json file below agent/`},
		"script not there":     {strings.Replace(head, "script.yaml", "other.yaml", 1), `model.script names "other.yaml", which is not below agent/`},
		"script of another":    {strings.Replace(head, "scripted", "openai", 1), `only a model with provider: scripted has a script`},
		"scripted name":        {strings.Replace(head, "{provider", "{name: x, provider", 1), `a scripted model has no name`},
		"temperature":          {strings.Replace(head, "script: script.yaml", "temperature: 2.5", 1), `model.temperature is 2.5; it must be between 0 and 2`},
		"temperature nan":      {strings.Replace(head, "script: script.yaml", "temperature: .nan", 1), `model.temperature must be a number`},
		"workspace up":         {head + "workspace: a/../../b\n", `:4:12: workspace has .. in it`},
		"workspace tilde":      {head + "workspace: ~/work\n", `workspace is not expanded`},
		"workspace in home":    {head + "workspace: cores\n", `:4:12: workspace is among the host's own files`},
		"workspace home":       {head + "workspace: .\n", `would hold the home itself`},
		"workspace root":       {head + "workspace: /\n", `would hold the home itself`},
		"empty text":           {head + "workspace: \"\"\n", `:4:12: workspace is empty`},
		"control character":    {head + "workspace: \"a\\u001b[2J\"\n", `workspace has control characters`},

		"anchor":          {head + "limits: &x {}\n", `:4:9: anchors and aliases (& and *) are not read`},
		"alias":           {head + "limits: *x\n", `anchors and aliases`},
		"tag":             {head + "limits: !!map {}\n", `tags (!) are not read`},
		"merge":           {head + "<<: {}\n", `merge keys (<<) are not read`},
		"second document": {head + "---\na: 1\n", `a second document begins here`},
		"empty document":  {"a:o-\n&\n& |-- |<:;2!y\"{? |-\n &\n--\n &\n--- ", `:7:1: a second document begins here`},
		"directive":       {"%YAML 1.2\n---\n" + head, `:1:1: directives (%) are not read`},
		"complex key":     {"? [a]\n: b\n", `keys written with ? are not read`},
		"number key":      {head + "12: a\n", `:4:1: a key of the file is not text; put it in quotes`},
		"tab":             {head + "limits:\n\tmax_steps: 1\n", `:5:1: is not YAML here`},
		"not closed":      {head + "limits: {\n", `is not YAML`},
		"list at the top": {"- a\n", `:1:1: the file must be a mapping`},
		"empty":           {"", `agent.yaml: is empty; it begins with schema_version: 1`},
		"comment only":    {"# nothing\n", `is empty`},
		"not UTF-8":       {head + "# \xff\n", `:4:3: is not UTF-8 here`},
		"lone return":     {"\r\r8", `:1:1: has a carriage return without a line feed here`},
		"escape sequence": {head + "# \x1b[2J\n", `:4:3: has the control character U+001B here`},
		"too long":        {head + strings.Repeat("# x\n", MaxYAMLBytes/4), `bytes, at most 262144 are allowed`},
		"too deep":        {head + "limits: " + strings.Repeat("[", 100) + "\n", `is nested too deep here`},
		"too deep dashes": {head + "limits:\n " + strings.Repeat("- ", 100) + "a\n", `is nested too deep here`},
		"too many parts":  {head + "capabilities: [" + strings.Repeat("a,", 20000) + "]\n", `is too long`},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			_, err := Load(t.Context(), homeWith(t, c.text), "assistant")
			says(t, err, "cores/assistant/agent.yaml", c.want)
			for _, f := range Faults(err) {
				if f.Path == "" || f.Sentence == "" || (f.Line > 0) != (f.Column > 0) || strings.ContainsAny(f.Sentence, "\n\x1b") {
					t.Errorf("fault %+v", f)
				}
			}
			if spent := time.Since(begin); spent > 10*time.Second {
				t.Errorf("took %s", spent)
			}
		})
	}
}

func TestAllFaultsOfAFileAreReportedTogether(t *testing.T) {
	_, err := Load(t.Context(), homeWith(t, `schema_version: 1
agent: {id: assistant, sumary: x}
model: {provider: openai, script: a.json}
capabilities: [fs.*, kv, nope]
limits: {max_steps: 100, turn_timeout: 5}
`), "assistant")
	var all LoadErrors
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	var lines []int
	for _, f := range all {
		lines = append(lines, f.Line)
	}
	if len(all) != 6 {
		t.Errorf("%d faults in lines %v, want 6:\n%v", len(all), lines, err)
	}
	if n := strings.Count(err.Error(), "\n"); n != len(all)-1 {
		t.Errorf("%d line breaks for %d faults", n, len(all))
	}
}

func TestAFileOfNonsenseIsNotReportedWhole(t *testing.T) {
	_, err := Load(t.Context(), homeWith(t, small+strings.Repeat("x: 1\n", 1000)), "assistant")
	if n := len(Faults(err)); n == 0 || n > 20 {
		t.Errorf("%d faults", n)
	}
}
