package manifest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Each rule is broken by itself, and must be the only one reported, where it is.
func TestEachRuleReportsItsPath(t *testing.T) {
	const dots = "…"
	for _, c := range []struct {
		breaks  func(m *manifest.Manifest)
		path    string
		problem string
	}{
		{func(m *manifest.Manifest) { m.ManifestVersion = 2 }, "manifest_version", "2 is not 1"},
		{func(m *manifest.Manifest) { m.ID = "../x" }, "id", `"../x" is not a plugin id`},
		{func(m *manifest.Manifest) { m.Version = "1" }, "version", "not a semantic version"},
		{func(m *manifest.Manifest) { m.Summary = " " }, "summary", "is missing"},
		{func(m *manifest.Manifest) { m.Summary = "a\x1b[2J" }, "summary", "has control characters"},
		{func(m *manifest.Manifest) { m.Summary = strings.Repeat("a", manifest.MaxText+1) }, "summary", "at most 4096"},
		{func(m *manifest.Manifest) { m.License = "" }, "license", "is missing"},
		{func(m *manifest.Manifest) { m.ABI = "portcullis/v2" }, "abi", `"portcullis/v2" is not one of portcullis/v1`},

		{func(m *manifest.Manifest) { m.Wasm.File = "../x.wasm" }, "wasm.file", "not a plain file name"},
		{func(m *manifest.Manifest) { m.Wasm.File = ".wasm" }, "wasm.file", "not a plain file name"},
		{func(m *manifest.Manifest) { m.Wasm.File = "x.so" }, "wasm.file", "not a plain file name"},
		{func(m *manifest.Manifest) { m.Wasm.SHA256 = strings.ToUpper(m.Wasm.SHA256) }, "wasm.sha256", "64 lower-case"},
		{func(m *manifest.Manifest) { m.Wasm.Size = 0 }, "wasm.size", "0 is not between"},
		{func(m *manifest.Manifest) { m.Wasm.Size = manifest.MaxWasmBytes + 1 }, "wasm.size", "is not between"},

		{func(m *manifest.Manifest) { m.Exports = []string{wire.ExportDescribe} }, "exports", "portcullis_invoke is missing"},
		{func(m *manifest.Manifest) { m.Exports = append(m.Exports, m.Exports[0]) }, "exports[3]", "is there already as [0]"},
		{func(m *manifest.Manifest) { m.Imports[1] = "nodot" }, "imports[1]", "is not module.name"},
		{func(m *manifest.Manifest) { m.Imports[1] = "env.abort" }, "imports[1]", "is not part of portcullis/v1"},
		{func(m *manifest.Manifest) { m.Imports[1] = "extism:host/env.http_request" }, "imports[1]", "use extism:host/user.portcullis_http"},
		{func(m *manifest.Manifest) { m.Imports[1] = m.Imports[0] }, "imports[1]", "is there already"},
		{func(m *manifest.Manifest) {
			m.Imports = append(m.Imports, "extism:host/user.portcullis_fs_write")
		}, "imports[5]", "needs the capability fs.write, which capabilities does not ask for: add it there with a reason"},

		{func(m *manifest.Manifest) { m.Capabilities[1].Name = "kv:x" }, "capabilities[1].name", "not a capability" + dots},
		{func(m *manifest.Manifest) { m.Capabilities[1].Reason = "" }, "capabilities[1].reason", "is missing"},
		{func(m *manifest.Manifest) { m.Capabilities = append(m.Capabilities, m.Capabilities[1]) }, "capabilities[3]", "is there already as [1]"},
		{func(m *manifest.Manifest) { m.Egress = nil }, "egress", "is empty"},
		{func(m *manifest.Manifest) {
			m.Capabilities = m.Capabilities[1:]
			m.Imports = slices.Delete(m.Imports, 2, 3)
			m.Tools[0].Capabilities = nil
		}, "egress", "does not ask for net.fetch"},
		{func(m *manifest.Manifest) { m.Egress[0].Host = "https://a" }, "egress[0].host", "is not a host name"},
		{func(m *manifest.Manifest) { m.Egress[0].Host = "127.0.0.1" }, "egress[0].host", "is an address, which an operator grants"},
		{func(m *manifest.Manifest) { m.Egress[0].Host = "[::1]" }, "egress[0].host", "is an address, which an operator grants"},
		{func(m *manifest.Manifest) { m.Egress[0].Host = "fd00::1" }, "egress[0].host", "is an address, which an operator grants"},
		{func(m *manifest.Manifest) { m.Egress[0].Host = "*.*.a" }, "egress[0].host", "is not a host name"},
		{func(m *manifest.Manifest) { m.Egress[0].Host = "EXAMPLE.com" }, "egress[0].host", "is not a host name"},
		{func(m *manifest.Manifest) { m.Egress[0].Port = 65536 }, "egress[0].port", "65536"},
		{func(m *manifest.Manifest) { m.Egress[0].Methods[0] = "get" }, "egress[0].methods[0]", "method in capitals"},
		{func(m *manifest.Manifest) { m.Egress[0].PathPrefix = "/a/../b" }, "egress[0].path_prefix", "has no .."},
		{func(m *manifest.Manifest) { m.Egress[0].PathPrefix = "/%2e%2e/" }, "egress[0].path_prefix", "is not a path"},
		{func(m *manifest.Manifest) { m.Egress[0].Reason = "" }, "egress[0].reason", "is missing"},
		{func(m *manifest.Manifest) { m.Credentials[0].Name = "Weather" }, "credentials[0].name", `"Weather" is not a name such as api_token`},
		{func(m *manifest.Manifest) { m.Credentials[0].Secret = "A-B" }, "credentials[0].secret", "not the name of a secret" + dots},
		{func(m *manifest.Manifest) { m.Credentials[0].Secret, m.Credentials[0].Template = "OTHER", "" }, "credentials[0].secret", "secret.bind:OTHER is not among"},
		{func(m *manifest.Manifest) {
			m.Tools[0].Capabilities, m.Tools[1].Capabilities, m.Signing = m.Tools[0].Capabilities[:1], nil, nil
		}, "credentials[0].secret", "no tool lists secret.bind:WEATHER_TOKEN"},
		{func(m *manifest.Manifest) { m.Credentials[0].Reason = "" }, "credentials[0].reason", "is missing"},
		{func(m *manifest.Manifest) { m.Credentials[0].In = "cookie" }, "credentials[0].in", `"cookie" is not one of header, query, basic, path, body`},
		{func(m *manifest.Manifest) { m.Credentials[0].Field = "Host" }, "credentials[0].field", `"Host" is not a header`},
		{func(m *manifest.Manifest) { m.Credentials[0].Field = "accept-encoding" }, "credentials[0].field", "is not a header"},
		{func(m *manifest.Manifest) { m.Credentials[0].Field = "X Y" }, "credentials[0].field", "is not a header"},
		{func(m *manifest.Manifest) { m.Credentials[0].In, m.Credentials[0].Field = "query", "a=b" }, "credentials[0].field", "query parameter"},
		{func(m *manifest.Manifest) {
			m.Credentials[0].In, m.Credentials[0].Field, m.Credentials[0].Template = "body", "/a~2", ""
		}, "credentials[0].field", "neither a JSON pointer"},
		{func(m *manifest.Manifest) { m.Credentials[0].In, m.Credentials[0].Template = "path", "" }, "credentials[0].field", `"Authorization" has no meaning for path`},
		{func(m *manifest.Manifest) { m.Credentials[0].In, m.Credentials[0].Field = "path", "" }, "credentials[0].template", "the plugin writes {WEATHER_TOKEN} itself"},
		{func(m *manifest.Manifest) { m.Credentials[0].Template = "Bearer {TOKEN}" }, "credentials[0].template", "must hold {WEATHER_TOKEN} once"},
		{func(m *manifest.Manifest) { m.Credentials[0].Template = "{WEATHER_TOKEN}{WEATHER_TOKEN}" }, "credentials[0].template", "once"},
		{func(m *manifest.Manifest) { m.Credentials[0].Template = "a\r\nb: {WEATHER_TOKEN}" }, "credentials[0].template", "printable ASCII"},
		{func(m *manifest.Manifest) {
			m.Credentials[0].In, m.Credentials[0].Field, m.Credentials[0].Template = "basic", "", ""
		}, "credentials[0].template", "write user:{WEATHER_TOKEN}"},
		{func(m *manifest.Manifest) {
			m.Credentials[0].In, m.Credentials[0].Field, m.Credentials[0].Template = "basic", "", "a:b:{WEATHER_TOKEN}"
		}, "credentials[0].template", "one : between"},
		{func(m *manifest.Manifest) { m.Credentials[0].Origin = "https://api.example.com:8443/" }, "credentials[0].origin", "is not scheme, host and port"},
		{func(m *manifest.Manifest) { m.Credentials[0].Origin = "https://*.example.com" }, "credentials[0].origin", "is not scheme, host and port"},
		{func(m *manifest.Manifest) { m.Credentials[0].Origin = "https://api.example.com:443" }, "credentials[0].origin", "is not scheme, host and port"},
		{func(m *manifest.Manifest) { m.Credentials[0].Origin = "http://api.example.com:8443" }, "credentials[0].origin", "is not https"},
		{func(m *manifest.Manifest) { m.Credentials[0].Origin = "https://evil.example:8443" }, "credentials[0].origin", "no entry of egress leads to https://evil.example:8443"},
		{func(m *manifest.Manifest) { m.Credentials[0].Origin = "https://api.example.com" }, "credentials[0].origin", "no entry of egress leads"},
		{func(m *manifest.Manifest) { m.Credentials[0].PathPrefix = "v2" }, "credentials[0].path_prefix", "begins with /"},
		{func(m *manifest.Manifest) {
			m.Credentials = append(m.Credentials, m.Credentials[0])
			m.Credentials[1].Name, m.Credentials[1].Field, m.Credentials[1].PathPrefix = "again", "authorization", "/v2/x"
		}, "credentials[1]", "goes where credentials[0] goes"},
		{func(m *manifest.Manifest) {
			m.Credentials = append(m.Credentials, m.Credentials[0])
			m.Credentials[1].Name, m.Credentials[1].In, m.Credentials[1].Field, m.Credentials[1].Template = "again", "basic", "", "{WEATHER_TOKEN}:"
		}, "credentials[1]", "goes where credentials[0] goes"},
		{func(m *manifest.Manifest) {
			m.Credentials = append(m.Credentials, m.Credentials[0])
			m.Credentials[1].Field = "X-Other"
		}, "credentials[1]", "is there already as [0]"},
		{func(m *manifest.Manifest) { m.Credentials = slices.Repeat(m.Credentials, manifest.MaxCredentials+1) }, "credentials", "at most 32" + dots},
		{func(m *manifest.Manifest) { m.Signing[0].Name = "" }, "signing[0].name", "is not a name such as"},
		{func(m *manifest.Manifest) { m.Signing[0].Secret = "OTHER" }, "signing[0].secret", "not among the plugin's own"},
		{func(m *manifest.Manifest) { m.Signing[0].Algorithm = "hmac-sha1" }, "signing[0].algorithm", `"hmac-sha1" is not one of hmac-sha256, hmac-sha512`},
		{func(m *manifest.Manifest) { m.Signing[0].Key = "raw" }, "signing[0].key", `"raw" is not one of text, base64, hex`},
		{func(m *manifest.Manifest) { m.Signing[0].Reason = "" }, "signing[0].reason", "is missing"},
		{func(m *manifest.Manifest) { m.Signing = append(m.Signing, m.Signing[0]) }, "signing[1]", "is there already"},
		{func(m *manifest.Manifest) { m.Signing = slices.Repeat(m.Signing, manifest.MaxSigning+1) }, "signing", "at most 16" + dots},
		{func(m *manifest.Manifest) {
			m.Imports, m.Signing = append(m.Imports, "extism:host/user.portcullis_sign"), nil
		}, "signing", "is empty, but the plugin imports portcullis_sign"},
		{func(m *manifest.Manifest) { m.Settings[0].Name = "Base" }, "settings[0].name", "setting name"},
		{func(m *manifest.Manifest) { m.Settings[0].Description = "" }, "settings[0].description", "is missing"},
		{func(m *manifest.Manifest) { m.Settings[0].Default = strings.Repeat("x", wire.MaxSetting+1) }, "settings[0].default", "at most"},
		{func(m *manifest.Manifest) { m.Settings = append(m.Settings, m.Settings[0]) }, "settings[1]", "is there already"},

		{func(m *manifest.Manifest) { m.Limits.MemoryBytes = wire.HardMemoryBytes + 1 }, "limits.memory_bytes", "is not between"},
		{func(m *manifest.Manifest) { m.Limits.DeadlineMS = -1 }, "limits.deadline_ms", "is not between"},
		{func(m *manifest.Manifest) { m.Limits.InputBytes = wire.HardInputBytes + 1 }, "limits.input_bytes", "is not between"},
		{func(m *manifest.Manifest) { m.Limits.OutputBytes = wire.HardOutputBytes + 1 }, "limits.output_bytes", "is not between"},
		{func(m *manifest.Manifest) { m.Limits.HostCalls = wire.HardHostCalls + 1 }, "limits.host_calls", "is not between"},
		{func(m *manifest.Manifest) { m.Limits.HTTPCalls = wire.HardHTTPCalls + 1 }, "limits.http_calls", "is not between"},
		{func(m *manifest.Manifest) { m.Limits.HTTPBytes = wire.HardHTTPBytes + 1 }, "limits.http_bytes", "is not between"},
		{func(m *manifest.Manifest) { m.Limits.FileBytes = wire.HardFileBytes + 1 }, "limits.file_bytes", "is not between"},
		{func(m *manifest.Manifest) { m.Limits.LogLines = wire.HardLogLines + 1 }, "limits.log_lines", "is not between"},

		{func(m *manifest.Manifest) { m.Tools = nil }, "tools", "is empty"},
		{func(m *manifest.Manifest) { m.Tools[1].Name = m.Tools[0].Name }, "tools[1]", "is there already as [0]"},
		{func(m *manifest.Manifest) { m.Tools[1].Name = "fetch" }, "tools[1].name", `"fetch" is not a tool name`},
		{func(m *manifest.Manifest) { m.Tools[1].Description = "" }, "tools[1].description", "is missing"},
		{func(m *manifest.Manifest) { m.Tools[1].InputSchema = nil }, "tools[1].input_schema", "is missing"},
		{func(m *manifest.Manifest) { m.Tools[1].OutputSchema = []byte("true") }, "tools[1].output_schema", "is not an object"},
		{func(m *manifest.Manifest) {
			m.Tools[1].InputSchema = []byte(`{"a":"` + strings.Repeat("x", manifest.MaxSchemaBytes) + `"}`)
		}, "tools[1].input_schema", "at most"},
		{func(m *manifest.Manifest) { m.Tools[1].Capabilities = []string{"fs.write"} }, "tools[1].capabilities[0]", "not among the plugin's own"},
		{func(m *manifest.Manifest) { m.Tools[1].Capabilities = []string{"kv", "kv"} }, "tools[1].capabilities[1]", "is there already"},
		{func(m *manifest.Manifest) { m.Tools[1].Risk = "hi" }, "tools[1].risk", `"hi" is not one of low, medium, high, critical`},
		{func(m *manifest.Manifest) { m.Tools[1].Approval = "" }, "tools[1].approval", `"" is not one of auto, prompt, deny`},
		{func(m *manifest.Manifest) { m.Tools[1].Recovery = "x" }, "tools[1].recovery", `"x" is not one of`},
		{func(m *manifest.Manifest) { m.Tools[1].Recovery = "reconcile" }, "tools[1].recovery", "needs the export portcullis_reconcile"},
		{func(m *manifest.Manifest) {
			m.Exports, m.Tools[1].Recovery = append(m.Exports, wire.ExportReconcile), "reconcile"
			m.Capabilities = append(m.Capabilities, wire.Capability{Name: "fs.read", Reason: "reads"})
			m.Tools[1].Capabilities = append(m.Tools[1].Capabilities, "fs.read")
		}, "tools[1].recovery", "not for a tool that works on files"},
		{func(m *manifest.Manifest) { m.Tools = slices.Repeat(m.Tools, manifest.MaxTools) }, "tools", "at most 128" + dots},
		{func(m *manifest.Manifest) { m.Capabilities = slices.Repeat(m.Capabilities, manifest.MaxCapabilities) }, "capabilities", "at most 64" + dots},
		{func(m *manifest.Manifest) { m.Imports = slices.Repeat(m.Imports, manifest.MaxSymbols) }, "imports", "at most 256" + dots},
		{func(m *manifest.Manifest) { m.Egress = slices.Repeat(m.Egress, manifest.MaxEgress+1) }, "egress", "at most 64"},
		{func(m *manifest.Manifest) { m.Settings = slices.Repeat(m.Settings, manifest.MaxSettings+1) }, "settings", "at most 64" + dots},
	} {
		m := full(t)
		c.breaks(m)
		err := m.Validate()
		var invalid *manifest.InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%s %s: not refused: %v", c.path, c.problem, err)
			continue
		}
		// With the mark the broken rule drags others along.
		problem, more := strings.CutSuffix(c.problem, dots)
		first := invalid.Faults[0]
		if first.Path != c.path || !strings.Contains(first.Problem, problem) || !more && len(invalid.Faults) != 1 {
			t.Errorf("%s %s: got %v", c.path, c.problem, err)
		}
	}
}

func TestEveryFaultIsListedInOneGo(t *testing.T) {
	m := full(t)
	m.Version, m.Tools[1].Risk = "one", "hi"
	want := `manifest of web-demo is not valid
  version: "one" is not a semantic version such as 1.2.3
  tools[1].risk: "hi" is not one of low, medium, high, critical`
	if err := m.Validate(); err == nil || err.Error() != want {
		t.Fatalf("got %v\nwant %s", err, want)
	}
}

func TestParseValidates(t *testing.T) {
	raw := strings.Replace(string(golden(t)), `"risk": "low"`, `"risk": "none"`, 1)
	var invalid *manifest.InvalidError
	if _, err := manifest.Parse([]byte(raw)); !errors.As(err, &invalid) {
		t.Fatalf("got %v", err)
	}
}

func TestUsesAndAsksAndTool(t *testing.T) {
	m := full(t)
	if !m.Uses("net.fetch:api.example.com") || !m.Uses("kv") || m.Uses("fs.read") || m.Uses("secret.bind:TOKEN") {
		t.Error("Uses does not follow the imports")
	}
	if !m.Asks("net.fetch:api.example.com") || m.Asks("net.fetch:other.example.com") || m.Asks("fs.write") {
		t.Error("Asks does not follow the capabilities")
	}
	if !manifest.Importable("net.fetch:a.example") || manifest.Importable("secret.bind:TOKEN") {
		t.Error("Importable does not follow the contract")
	}
	if tool, ok := m.Tool("demo.count"); !ok || tool.Risk != "medium" {
		t.Errorf("Tool found %+v, %v", tool, ok)
	}
	if _, ok := m.Tool("demo.none"); ok {
		t.Error("Tool found one that is not there")
	}
}

// A loopback server is a developer's own machine, and the one place that a secret goes to in the clear.
func TestAPlainOriginIsLoopback(t *testing.T) {
	for origin, ok := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://localhost:8080": true, "http://[::1]:8080": true,
		"http://127.0.0.1.example.com:8080": false, "http://10.0.0.1:8080": false, "http://localhost.example.com:8080": false,
	} {
		m := full(t)
		m.Egress = append(m.Egress, wire.Egress{Host: "*", Reason: "r"})
		m.Credentials[0].Origin = origin
		if err := m.Validate(); (err == nil) != ok {
			t.Errorf("%s: %v", origin, err)
		}
	}
}
