package core

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/approval"
)

// hostWith makes a home with config.yaml and loads it.
func hostWith(t testing.TB, text string) (HostConfig, error) {
	t.Helper()
	home := t.TempDir()
	write(t, home, File{HostFile, 0o600, []byte(text)})
	return LoadHost(t.Context(), home)
}

func TestDefaultHostConfigLoads(t *testing.T) {
	home := t.TempDir()
	write(t, home, DefaultHostConfig())
	c, err := LoadHost(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	if c.DefaultCore != DefaultID || len(c.Providers) != 0 || len(c.Private) != 0 || c.Limits != DefaultHostLimits() {
		t.Errorf("config %+v", c)
	}
	if _, faults := approval.Compile(c.Approval, approval.Known{}); len(faults) != 0 {
		t.Errorf("approval rules do not compile: %v", faults)
	}
}

func TestDefaultHostCommentsAreTrue(t *testing.T) {
	text := string(DefaultHostConfig().Bytes)
	begin, end := strings.Index(text, "#   anthropic:"), strings.Index(text, "# Rules for every core")
	providers := strings.ReplaceAll(text[begin:end], "#   ", "  ")
	text = strings.Replace(text[:begin], "providers: {}", "providers:", 1) + providers + text[end:]
	text = strings.Replace(text, "  # risks:\n  #   high", "  risks:\n    high", 1)
	text = strings.Replace(text, "allow_private: [] # without the [] when entries follow\n  # -", "allow_private:\n  -", 1)
	c, err := hostWith(t, text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range c.Providers {
		got = append(got, p.Name+" "+p.Kind+" "+p.BaseURL+" "+p.Key.String()+" "+p.Model.Name)
	}
	want := []string{
		"anthropic anthropic https://api.anthropic.com env:ANTHROPIC_API_KEY claude-sonnet-4-5",
		"openai openai https://api.openai.com/v1 env:OPENAI_API_KEY ",
		"local openai http://127.0.0.1:11434/v1  llama3.2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("providers %q\nwant %q", got, want)
	}
	if !c.Providers[2].Private || c.Providers[0].Private || !slices.Equal(c.Private, []string{"http://127.0.0.1:8080"}) || len(c.Approval.Risks) != 1 {
		t.Errorf("config %+v", c)
	}
}

func TestHostFaultsHaveAPlaceAndARemedy(t *testing.T) {
	head := "schema_version: 1\nproviders:\n  a: {kind: anthropic, api_key: env:KEY}\n"
	one := func(text string) string { return "schema_version: 1\nproviders:\n  a: " + text + "\n" }
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":       {head + "defaultcore: x\n", `config.yaml:4:1: unknown key "defaultcore" (did you mean "default_core"?)`},
		"kind":              {one("{kind: antropic}"), `:3:13: providers.a.kind is "antropic", which is not one of anthropic, openai (did you mean "anthropic"?)`},
		"scripted":          {"schema_version: 1\nproviders: {scripted: {kind: openai}}\n", `scripted needs no entry`},
		"name":              {"schema_version: 1\nproviders: {My One: {kind: openai}}\n", `"My One" is no name for a provider`},
		"no key":            {one("{kind: anthropic}"), `providers.a.api_key is missing; write api_key: env:ANTHROPIC_API_KEY, or file:PATH`},
		"plain http":        {one("{kind: openai, base_url: \"http://127.0.0.1:1/v1\"}"), `:3:31: providers.a.base_url is plain http; write https, or add allow_private: true`},
		"private of what":   {one("{kind: openai, allow_private: true}"), `allow_private opens the origin of base_url, which is missing`},
		"url query":         {one("{kind: openai, base_url: \"https://a.example/v1?key=1\"}"), `providers.a.base_url must not have ? or # in it`},
		"url user":          {one("{kind: openai, base_url: \"https://u:p@a.example/v1\"}"), `the URL holds a user or password`},
		"url scheme":        {one("{kind: openai, base_url: \"ftp://a.example\"}"), `only http and https`},
		"env name":          {one("{kind: openai, api_key: \"env:a b\"}"), `after env: comes the name of a variable`},
		"private path":      {head + "network: {allow_private: [\"http://127.0.0.1:8080/\"]}\n", `:4:27: network.allow_private[0] must be scheme, host and port only`},
		"private below":     {head + "network: {allow_private: [\"http://127.0.0.1:8080/v1\"]}\n", `must be scheme, host and port only`},
		"private no scheme": {head + "network: {allow_private: [\"127.0.0.1:8080\"]}\n", `network.allow_private[0] is no origin`},
		"private everyone":  {head + "network: {allow_private: [\"*\"]}\n", `network.allow_private[0] is no origin`},
		"effects":           {head + "limits: {concurrent_effects: 65}\n", `must be between 1 and 64`},
		"effects of one":    {head + "limits: {effects_per_plugin: 0}\n", `limits.effects_per_plugin is 0; it must be between 1 and 64`},
		"total memory":      {head + "limits: {total_memory: 1MiB}\n", `limits.total_memory is 1MiB; it must be between 67108864 and 68719476736 bytes`},
		"memory":            {head + "limits: {plugin_memory: 1GiB}\n", `must be between 16777216 and 536870912 bytes`},
		"loaded plugins":    {head + "limits: {loaded_plugins: 1MiB}\n", `must be between 16777216 and 17179869184 bytes`},
		"plugin cache":      {head + "limits: {plugin_cache: 1MiB}\n", `must be between 67108864 and 1099511627776 bytes`},
		"compile time":      {head + "limits: {compile_time: 1h}\n", `limits.compile_time is 1h; it must be between 1s and 10m0s`},
		"compile memory":    {head + "limits: {compile_memory: 1MiB}\n", `must be between 268435456 and 17179869184 bytes`},
		"default core":      {head + "default_core: ../x\n", `default_core is "../x"`},
		"boolean":           {one("{kind: openai, allow_private: yes}"), `providers.a.allow_private must be true or false`},
		"approval":          {head + "approval: {default: maybe}\n", `:4:21: approval.default is "maybe"`},
		"anchors":           {"schema_version: 1\nproviders: {a: &x {kind: openai}, b: *x}\n", `anchors and aliases`},
		"huge":              {head + strings.Repeat("# x\n", MaxYAMLBytes/4), `is too large`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hostWith(t, c.text)
			says(t, err, c.want)
		})
	}
}

// A key pasted where its place belongs is refused, and no message repeats it: messages end in logs and bug reports.
func TestKeyInTheFileIsRefusedAndNotRepeated(t *testing.T) {
	for _, key := range []string{"sk-ant-api03-abcdef", "'sk-ant-api03-abcdef'", "12345678901234", "{sk-ant-api03-abcdef: x}", "[sk-ant-api03-abcdef]", "|\n      sk-ant-api03-abcdef", "true", "ENV:sk-ant-api03-abcdef", "env:sk-ant-api03-abcdef", "!x sk-ant-api03-abcdef", "\"sk-ant-api03-abcdef"} {
		_, err := hostWith(t, "schema_version: 1\nproviders:\n  a:\n    kind: anthropic\n    api_key: "+key+"\n")
		says(t, err, "config.yaml:")
		if err != nil && (strings.Contains(err.Error(), "abcdef") || strings.Contains(err.Error(), "123456")) {
			t.Errorf("the message repeats the key: %v", err)
		}
	}
}

func TestMissingHostFileSaysInit(t *testing.T) {
	_, err := LoadHost(t.Context(), t.TempDir())
	says(t, err, "config.yaml: is missing", "`portcullis init`")
	_, err = LoadHost(t.Context(), filepath.Join(t.TempDir(), "none"))
	says(t, err, "there is no home at", "`portcullis init`")

	home := t.TempDir()
	if err := os.Symlink(filepath.Join(home, "other"), filepath.Join(home, HostFile)); err != nil {
		t.Fatal(err)
	}
	_, err = LoadHost(t.Context(), home)
	says(t, err, "is not a plain file (links are not followed)")
}

func TestModelForJoinsCoreAndProvider(t *testing.T) {
	config, err := hostWith(t, `schema_version: 1
providers:
  big: {kind: anthropic, api_key: env:KEY, model: {name: m1, max_output_tokens: 100, context_window: 5000, temperature: 0.5}}
  bare: {kind: openai}
`)
	if err != nil {
		t.Fatal(err)
	}
	core := func(model string) Core {
		t.Helper()
		return load(t, homeWith(t, "schema_version: 1\nagent: {id: assistant}\nmodel: "+model+"\n"))
	}
	p, m, err := config.ModelFor(core("{provider: big}"))
	if err != nil || p.Name != "big" || m.Name != "m1" || m.MaxOutputTokens != 100 || m.ContextWindow != 5000 || *m.Temperature != 0.5 {
		t.Errorf("all defaults: %+v %+v %v", p, m, err)
	}
	*m.Temperature = 2
	if *config.Providers[0].Model.Temperature != 0.5 {
		t.Error("the configuration can be changed through a model")
	}
	_, m, err = config.ModelFor(core("{provider: big, name: m2, max_output_tokens: 7, context_window: 6000, temperature: 0}"))
	if err != nil || m.Name != "m2" || m.MaxOutputTokens != 7 || m.ContextWindow != 6000 || *m.Temperature != 0 {
		t.Errorf("all its own: %+v %v", m, err)
	}
	if p, m, err = config.ModelFor(core("{provider: scripted, script: script.yaml}")); err != nil || p.Name != "" || m.Script != "script.yaml" {
		t.Errorf("scripted: %+v %+v %v", p, m, err)
	}
	_, _, err = config.ModelFor(core("{provider: bigg}"))
	says(t, err, `cores/assistant/agent.yaml:3:19: provider "bigg" is not in config.yaml (did you mean "big"?)`, "there is scripted, big, bare")
	_, _, err = config.ModelFor(core("{provider: bare}"))
	says(t, err, `cores/assistant/agent.yaml:3:19: model.name is missing`)
}
