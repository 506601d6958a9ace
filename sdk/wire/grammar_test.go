package wire_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func TestGrammars(t *testing.T) {
	long := strings.Repeat("a", 40)
	for _, c := range []struct {
		name      string
		valid     func(string) bool
		yes, noes []string
	}{
		{
			"tool name", wire.ValidToolName,
			[]string{"calc.eval", "a.b", "web.fetch_page", "a1.b2.c_3", "x." + strings.Repeat("y", 62)},
			[]string{"", "calc", "calc.", ".eval", "Calc.eval", "calc.Eval", "ca_lc.eval", "calc.1", "calc._a", "calc..eval", "calc.eval ", "1a.b", "calc.éval", "x." + strings.Repeat("y", 63)},
		},
		{
			"plugin id", wire.ValidPluginID,
			[]string{"a", "calc", "web-fetch-2", long},
			[]string{"", "-a", "1a", "Calc", "a_b", "a.b", "a/b", "..", long + "a", "a\n"},
		},
		{
			"setting name", wire.ValidSettingName,
			[]string{"a", "base_url", "x2"},
			[]string{"", "Base", "base-url", "_a", "2x", long + "a"},
		},
		{
			"version", wire.ValidVersion,
			[]string{"0.0.0", "1.2.3", "1.2.3-rc.1", "1.2.3+b.007", "1.0.0-alpha-1.x+y", "1.0.0-0a"},
			[]string{"", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.03", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+", "1.2.3-é", " 1.2.3", "1.2.3+a+b", "1.2.-3", "1.0.0-" + strings.Repeat("a", 64)},
		},
		{
			"capability", wire.ValidCapability,
			[]string{"fs.read", "fs.write", "kv", "net.fetch", "net.fetch:api.example.com", "net.fetch:api.example.com:8443", "secret.bind:TOKEN", "mcp.call:files", "tool.call:calc.eval"},
			[]string{"", "*", "fs", "fs.*", "fs.read:", "fs.read:x", "net.fetch:", "net.fetch:*", "net.fetch:a:b", "net.fetch:a:1:2", "net.fetch:a:99999999", "net.fetch:a b", "secret.bind", "secret.bind:", "secret.bind:*", "secret.bind:A:B", "root"},
		},
	} {
		for _, s := range c.yes {
			if !c.valid(s) {
				t.Errorf("%s %q is refused", c.name, s)
			}
		}
		for _, s := range c.noes {
			if c.valid(s) {
				t.Errorf("%s %q is accepted", c.name, s)
			}
		}
	}
}

// The hand-written grammars are the regular expressions of the contract.
func FuzzGrammar(f *testing.F) {
	tool := regexp.MustCompile(`^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$`)
	id := regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	setting := regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	// The expression that semver.org suggests.
	version := regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`)
	for _, s := range []string{"calc.eval", "a-b", "base_url", "1.2.3-rc.01+x", "1.2.3-0", "a..b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		// $ would also match before a final newline in other engines, not in Go's.
		for _, c := range []struct {
			name      string
			got, want bool
		}{
			{"tool name", wire.ValidToolName(s), tool.MatchString(s) && len(s) <= wire.MaxToolName},
			{"plugin id", wire.ValidPluginID(s), id.MatchString(s)},
			{"setting name", wire.ValidSettingName(s), setting.MatchString(s)},
			{"version", wire.ValidVersion(s), version.MatchString(s) && len(s) <= 64},
		} {
			if c.got != c.want {
				t.Errorf("%s %q: accepted %v, the expression says %v", c.name, s, c.got, c.want)
			}
		}
	})
}

func TestCoversIsByWholeSegments(t *testing.T) {
	for _, c := range []struct {
		have, need string
		want       bool
	}{
		{"net.fetch", "net.fetch", true},
		{"net.fetch", "net.fetch:a.example", true},
		{"net.fetch:a.example", "net.fetch:a.example:8443", true},
		{"net.fetch:a.example", "net.fetch:a.example.org", false},
		{"net.fetch:a.example", "net.fetch", false},
		{"fs.read", "fs.readx", false},
		{"kv", "fs.read", false},
		{"", "kv", false},
	} {
		if got := wire.Covers(c.have, c.need); got != c.want {
			t.Errorf("Covers(%q, %q) = %v", c.have, c.need, got)
		}
	}
	if !wire.Satisfies("net.fetch:a.example", wire.CapNetFetch) || wire.Satisfies("kv", wire.CapNetFetch) {
		t.Error("an import that needs net.fetch is satisfied by one host of it and by nothing else")
	}
}
