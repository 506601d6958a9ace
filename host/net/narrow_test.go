package net

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// verdictOf makes one request and returns what was recorded of it.
func verdictOf(t *testing.T, call PluginCall, method, url string) egress.Reason {
	t.Helper()
	w, b := newWorld(t), &book{}
	w.lenient = netip.MustParseAddr(public)
	p := plugin(t, w.gate(b), call)
	do(t, p, wire.HTTPRequest{Method: method, URL: url}, "")
	all := b.all()
	if len(all) != 1 {
		t.Fatalf("%s %s: audit %+v", method, url, all)
	}
	return all[0].Reason
}

// Every field of a manifest's egress, and of a core's, decides about some request; a field that is added must be put
// here, with a request that only it refuses.
func TestEveryFieldOfARuleIsEnforced(t *testing.T) {
	type deed struct {
		method, url string
		want        egress.Reason
	}
	allowed := func(method, url string) deed { return deed{method, url, egress.Allowed} }
	manifests := map[string]struct {
		rule    wire.Egress
		yes, no deed
	}{
		"Host":       {wire.Egress{Host: "a.example"}, allowed("GET", "https://a.example/"), deed{"GET", "https://b.example/", egress.HostNotAllowed}},
		"Port":       {wire.Egress{Host: "a.example", Port: 8443}, allowed("GET", "https://a.example:8443/"), deed{"GET", "https://a.example/", egress.PortNotAllowed}},
		"Methods":    {wire.Egress{Host: "a.example", Methods: []string{"POST"}}, allowed("POST", "https://a.example/"), deed{"GET", "https://a.example/", egress.MethodNotAllowed}},
		"PathPrefix": {wire.Egress{Host: "a.example", PathPrefix: "/v1"}, allowed("GET", "https://a.example/v1/x"), deed{"GET", "https://a.example/v2", egress.PathNotAllowed}},
		"Reason":     {wire.Egress{Host: "a.example", Reason: "for people alone"}, allowed("GET", "https://a.example/"), deed{"GET", "https://b.example/", egress.HostNotAllowed}},
	}
	everywhere := anywhere(t)
	everywhere.Grants, everywhere.Capabilities = snapshot(t, "net.fetch:*"), snapshot(t, "net.fetch:*")
	for i := range reflect.TypeFor[wire.Egress]().NumField() {
		field := reflect.TypeFor[wire.Egress]().Field(i).Name
		c, ok := manifests[field]
		if !ok {
			t.Errorf("no request shows that the manifest's egress.%s is enforced", field)
			continue
		}
		call := everywhere
		call.Egress = []wire.Egress{c.rule}
		for _, d := range []deed{c.yes, c.no} {
			if got := verdictOf(t, call, d.method, d.url); got != d.want {
				t.Errorf("manifest, %s: %s %s is %s, want %s", field, d.method, d.url, got, d.want)
			}
		}
	}
	cores := map[string]struct {
		rule    egress.Rule
		yes, no deed
	}{
		"Host":       {egress.Rule{Host: "a.example"}, allowed("GET", "https://a.example/"), deed{"GET", "https://b.example/", NotInCore}},
		"Ports":      {egress.Rule{Host: "a.example", Ports: []uint16{80}}, allowed("GET", "http://a.example/"), deed{"GET", "https://a.example/", NotInCore}},
		"Methods":    {egress.Rule{Host: "a.example", Methods: []string{"POST"}}, allowed("POST", "https://a.example/"), deed{"GET", "https://a.example/", NotInCore}},
		"PathPrefix": {egress.Rule{Host: "a.example", PathPrefix: "/v1"}, allowed("GET", "https://a.example/v1/x"), deed{"GET", "https://a.example/v2", NotInCore}},
	}
	for i := range reflect.TypeFor[egress.Rule]().NumField() {
		field := reflect.TypeFor[egress.Rule]().Field(i).Name
		c, ok := cores[field]
		if !ok {
			t.Errorf("no request shows that a core's egress.%s is enforced", field)
			continue
		}
		call, rules := everywhere, policy(t, c.rule)
		call.CoreRules = &rules
		for _, d := range []deed{c.yes, c.no} {
			if got := verdictOf(t, call, d.method, d.url); got != d.want {
				t.Errorf("core, %s: %s %s is %s, want %s", field, d.method, d.url, got, d.want)
			}
		}
	}
}

// A grant, and a core's capability, covers the host and the ports that it names and nothing beside.
func TestGrantsNameHostsAndPorts(t *testing.T) {
	urls := []string{
		"http://a.example/", "https://a.example/", "http://a.example:443/", "https://a.example:80/", "https://a.example:8443/",
		"https://sub.a.example/", "https://b.example/", "http://93.184.216.34/", "http://93.184.216.34:8080/", "https://[2606:4700::1111]/",
	}
	cells, right := 0, 0
	for grant, covers := range map[string][]string{
		"net.fetch:a.example":                {"http://a.example/", "https://a.example/"},
		"net.fetch:a.example:443":            {"https://a.example/", "http://a.example:443/"},
		"net.fetch:a.example:80":             {"http://a.example/", "https://a.example:80/"},
		"net.fetch:a.example:8443":           {"https://a.example:8443/"},
		"net.fetch:a.example:*":              {"http://a.example/", "https://a.example/", "http://a.example:443/", "https://a.example:80/", "https://a.example:8443/"},
		"net.fetch:sub.a.example":            {"https://sub.a.example/"},
		"net.fetch:93.184.216.34":            {"http://93.184.216.34/"},
		"net.fetch:93.184.216.34:8080":       {"http://93.184.216.34:8080/"},
		"net.fetch:[2606:4700::1111]":        {"https://[2606:4700::1111]/"},
		"net.fetch:[2606:4700::1111]:443":    {"https://[2606:4700::1111]/"},
		"net.fetch:[2606:4700::1111]:8443":   nil,
		"net.fetch:example":                  nil,
		"net.fetch:*":                        urls,
		"kv":                                 nil,
		"tool.call:*":                        nil,
		"secret.bind:NET_FETCH":              nil,
		"net.fetch:xn--a.example":            nil,
		"net.fetch:a.example.evil.example":   nil,
		"net.fetch:a.example.evil.example:*": nil,
	} {
		for _, url := range urls {
			target, v := egress.ParseURL(url)
			if !v.Allowed {
				t.Fatal(v)
			}
			call := anywhere(t)
			call.Egress = []wire.Egress{{Host: target.Host(), Port: int(target.Port())}}
			crossed := target.Scheme() == "http" && target.Port() == 443 || target.Scheme() == "https" && target.Port() == 80
			for _, layer := range []string{"plugin", "core"} {
				cells++
				here, want := call, egress.Allowed
				switch {
				case crossed:
					want = egress.PortNotAllowed // whatever is granted: no manifest can declare it
				case slices.Contains(covers, url):
				case layer == "plugin":
					want = NotGranted
				default:
					want = NotInCore
				}
				if layer == "plugin" {
					here.Grants = snapshot(t, grant)
				} else {
					here.Capabilities = snapshot(t, grant)
				}
				if got := verdictOf(t, here, "GET", url); got != want {
					t.Errorf("%s with %s, %s: %s, want %s", layer, grant, url, got, want)
					continue
				}
				right++
			}
		}
	}
	t.Logf("grants: %d of %d requests judged as they should be", right, cells)
	if right != cells || cells < 300 {
		t.Errorf("%d of %d, at least 300 are due", right, cells)
	}
}

// What a manifest may declare is what the policy can enforce: nothing is accepted at installation and refused, or read
// otherwise, when it is used.
func TestEveryManifestThatIsValidIsAPolicy(t *testing.T) {
	hosts := []string{
		"*", "a.example", "*.a.example", "a", "localhost", "*.com", "*.localhost", "127.0.0.1", "0177.0.0.1", "2130706433", "*.0.0.1", "a.1", "[::1]", "a.example:80",
		"metadata", "metadata.google.internal", "*.metadata.google.internal", "metadata.goog", "instance-data", "xn--bcher-kva.example", "-a.example", "a..example", "A.example", "a.example.", "*", "**", "*a.example", "",
	}
	methods := [][]string{nil, {"GET"}, {"GET", "POST", "PATCH"}, {"get"}, {"CONNECT"}, {"TRACE"}, {"FOO"}, {"GET", "GET"}, {""}}
	prefixes := []string{"", "/", "/v1", "/v1/", "v1", "/v1/..", "/./v1", "/v1/.", "/v1/.;x", "//v1", "/v1//x", "/v1?x", "/v1#x", "/%76", "/a b", "/a\\b", "/a{b}", "/a|b", "/a;b", "/\u00e9", "/a\"b", "/.a/..b"}
	ports := []int{0, 1, 443, 65535, -1, 65536}
	valid, tried := 0, 0
	check := func(e wire.Egress) {
		e.Reason = "a test"
		tried++
		m := manifest.New(wire.Description{
			ABI: wire.ABI, Kind: wire.KindTool, ID: "web", Version: "1.0.0", Summary: "A test.", License: "Apache-2.0", Egress: []wire.Egress{e},
			Capabilities: []wire.Capability{{Name: wire.CapNetFetch, Reason: "a test"}},
			Tools: []wire.Tool{{
				Name: "web.get", Description: "A test.", Capabilities: []string{wire.CapNetFetch}, InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`),
				Risk: wire.RiskLow, Approval: wire.ApprovalAuto, Recovery: wire.RecoveryRead,
			}},
		}, manifest.Wasm{File: "plugin.wasm", SHA256: fmt.Sprintf("%064x", 1), Size: 1}, []string{wire.ExportInvoke}, nil)
		if m.Validate() != nil {
			return
		}
		valid++
		if _, err := newWorld(t).gate(nil).Plugin(PluginCall{Egress: m.Egress}); err != nil {
			t.Errorf("the manifest accepts %+v, the policy does not: %v", e, err)
		}
	}
	for _, host := range hosts {
		for _, port := range ports {
			for _, m := range methods {
				check(wire.Egress{Host: host, Port: port, Methods: m, PathPrefix: "/v1"})
			}
		}
		for _, prefix := range prefixes {
			check(wire.Egress{Host: host, PathPrefix: prefix})
		}
	}
	if valid < 100 || valid > tried/2 {
		t.Errorf("%d of %d rules are valid", valid, tried)
	}
}
