package egress_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

func policy(t testing.TB, rules ...egress.Rule) egress.Policy {
	t.Helper()
	p, err := egress.NewPolicy(rules...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEveryFieldChangesAVerdict is the guard against a field that is parsed and then forgotten: for each, the same
// request is judged with the field and without it.
func TestEveryFieldChangesAVerdict(t *testing.T) {
	for field, c := range map[string]struct {
		with, without egress.Rule
		method, url   string
		reason        egress.Reason // of the refusing one
	}{
		"host": {
			egress.Rule{Host: "a.example"},
			egress.Rule{Host: "b.example"},
			"GET", "https://a.example/", egress.HostNotAllowed,
		},
		"ports": {
			egress.Rule{Host: "a.example", Ports: []uint16{8443}},
			egress.Rule{Host: "a.example"},
			"GET", "https://a.example:8443/", egress.PortNotAllowed,
		},
		"methods": {
			egress.Rule{Host: "a.example", Methods: []string{"POST"}},
			egress.Rule{Host: "a.example"},
			"POST", "https://a.example/", egress.MethodNotAllowed,
		},
		"path prefix": {
			egress.Rule{Host: "a.example"},
			egress.Rule{Host: "a.example", PathPrefix: "/v1"},
			"GET", "https://a.example/v2", egress.PathNotAllowed,
		},
	} {
		if v := policy(t, c.with).Check(c.method, target(t, c.url)); !v.Allowed || v.Rule == "" {
			t.Errorf("%s: refused with %s: %s", field, v.Reason, v.Sentence)
		}
		if v := policy(t, c.without).Check(c.method, target(t, c.url)); v.Allowed || v.Reason != c.reason || v.Sentence == "" {
			t.Errorf("%s: without it %+v, want %s", field, v, c.reason)
		}
	}
}

func TestCheck(t *testing.T) {
	rules := policy(t,
		egress.Rule{Host: "api.example.com", Methods: []string{"GET", "POST"}, PathPrefix: "/v1"},
		egress.Rule{Host: "*.cdn.example", Ports: []uint16{443, 8080}},
		egress.Rule{Host: "localhost", Ports: []uint16{8080}},
		egress.Rule{Host: "192.0.2.7"},
		egress.Rule{Host: "slash.example", PathPrefix: "/v1/"},
	)
	for _, c := range []struct {
		method, url string
		want        egress.Reason
	}{
		{"GET", "https://api.example.com/v1", egress.Allowed},
		{"GET", "https://api.example.com/v1/x", egress.Allowed},
		{"GET", "https://api.example.com/v1?x=/v2", egress.Allowed},
		{"POST", "http://api.example.com/v1/x", egress.Allowed},
		{"GET", "https://api.example.com/v10", egress.PathNotAllowed},
		{"GET", "https://api.example.com/", egress.PathNotAllowed},
		{"GET", "https://api.example.com//v1", egress.PathNotAllowed},
		{"GET", "https://api.example.com/%76%31/x", egress.PathNotAllowed},
		{"GET", "https://api.example.com/v1/%2e%2e/admin", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/%2E./admin", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/..%2fadmin", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/a%2Fb", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/..%5cadmin", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/%252e%252e/admin", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/%25252e%25252e/admin", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/%2525252525252e", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/%c0%ae%c0%ae/admin", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/%2e%2e;x/admin", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/x%00", egress.NonCanonicalPath},
		{"GET", "https://api.example.com/v1/caf%C3%A9%20%25", egress.Allowed},
		{"DELETE", "https://api.example.com/v1", egress.MethodNotAllowed},
		{"HEAD", "https://api.example.com/v1", egress.MethodNotAllowed},
		{"get", "https://api.example.com/v1", egress.MethodNotAllowed},
		{"", "https://api.example.com/v1", egress.MethodNotAllowed},
		{"GET", "https://api.example.com:444/v1", egress.PortNotAllowed},
		{"GET", "http://api.example.com:443/v1", egress.PortNotAllowed},
		{"GET", "https://evil-api.example.com/v1", egress.HostNotAllowed},
		{"GET", "https://api.example.com.evil.example/v1", egress.HostNotAllowed},

		{"GET", "https://a.cdn.example/x", egress.Allowed},
		{"HEAD", "https://b.a.cdn.example/%2fx", egress.Allowed}, // no prefix to hide from
		{"GET", "http://a.cdn.example:8080/", egress.Allowed},
		{"GET", "http://a.cdn.example:443/", egress.PortNotAllowed},
		{"GET", "http://a.cdn.example/", egress.PortNotAllowed},
		{"GET", "https://cdn.example/", egress.HostNotAllowed},
		{"GET", "https://xcdn.example/", egress.HostNotAllowed},
		{"POST", "https://a.cdn.example/", egress.MethodNotAllowed},

		{"GET", "http://localhost:8080/", egress.Allowed},
		{"GET", "http://localhost/", egress.PortNotAllowed},
		{"GET", "https://192.0.2.7/", egress.Allowed},
		{"GET", "https://192.0.2.8/", egress.HostNotAllowed},
		{"GET", "https://slash.example/v1/x", egress.Allowed},
		{"GET", "https://slash.example/v1/", egress.Allowed},
		{"GET", "https://slash.example/v1", egress.PathNotAllowed},
	} {
		v := rules.Check(c.method, target(t, c.url))
		if v.Reason != c.want || v.Allowed != (c.want == egress.Allowed) || !v.Allowed && v.Sentence == "" {
			t.Errorf("%s %s = %s (%s), want %s", c.method, c.url, v.Reason, v.Sentence, c.want)
		}
	}
}

func TestStarNeverCoversAddressesOrPrivateNames(t *testing.T) {
	all := policy(t, egress.Rule{Host: "*"}, egress.Rule{Host: "*.corp.internal"})
	for url, want := range map[string]egress.Reason{
		"https://anything.example/":         egress.Allowed,
		"https://127.0.0.1/":                egress.HostNotAllowed,
		"https://8.8.8.8/":                  egress.HostNotAllowed,
		"https://[2001:db8::1]/":            egress.HostNotAllowed,
		"https://localhost/":                egress.PrivateHostname,
		"https://intranet/":                 egress.PrivateHostname,
		"https://x.localhost/":              egress.PrivateHostname,
		"https://printer.local/":            egress.PrivateHostname,
		"https://db.corp.internal/":         egress.PrivateHostname,
		"https://metadata.google.internal/": egress.MetadataHostname,
		"https://metadata.goog/":            egress.MetadataHostname,
		"https://metadata/":                 egress.MetadataHostname,
		"https://instance-data/":            egress.MetadataHostname,
	} {
		if v := all.Check("GET", target(t, url)); v.Reason != want {
			t.Errorf("%s = %s, want %s", url, v.Reason, want)
		}
	}
	if v := all.Check("GET", egress.Target{}); v.Allowed {
		t.Error("the zero target was allowed")
	}
	if v := (egress.Policy{}).Check("GET", target(t, "https://a.example/")); v.Allowed || v.Reason != egress.HostNotAllowed {
		t.Errorf("the zero policy gave %+v", v)
	}
	exact := policy(t, egress.Rule{Host: "db.corp.internal"})
	if v := exact.Check("GET", target(t, "https://db.corp.internal/")); !v.Allowed {
		t.Error("a private name that a rule names must pass here; its address is judged later")
	}
}

func TestNearestMissIsReported(t *testing.T) {
	p := policy(t,
		egress.Rule{Host: "a.example", PathPrefix: "/v1"},
		egress.Rule{Host: "a.example", Methods: []string{"POST"}},
		egress.Rule{Host: "*"},
	)
	v := p.Check("PUT", target(t, "https://a.example:9/"))
	if v.Reason != egress.PortNotAllowed || v.Rule != "a.example path /v1" {
		t.Errorf("%+v", v)
	}
	v = policy(t, p.Rules()[:2]...).Check("GET", target(t, "https://a.example/v2?token=hunter2"))
	if v.Reason != egress.PathNotAllowed || strings.Contains(v.Sentence, "hunter2") {
		t.Errorf("%+v", v)
	}
}

func TestRulesThatCannotBeMeantAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		rule  egress.Rule
		field string
	}{
		"no host":           {egress.Rule{}, "host"},
		"upper case":        {egress.Rule{Host: "A.example"}, "host"},
		"url":               {egress.Rule{Host: "https://a.example"}, "host"},
		"port in host":      {egress.Rule{Host: "a.example:443"}, "host"},
		"port after v6":     {egress.Rule{Host: "[::1]:443"}, "host"},
		"inner star":        {egress.Rule{Host: "a.*.example"}, "host"},
		"star in label":     {egress.Rule{Host: "*a.example"}, "host"},
		"star of a tld":     {egress.Rule{Host: "*.com"}, "host"},
		"star of address":   {egress.Rule{Host: "*.0.0.1"}, "host"},
		"star of v4":        {egress.Rule{Host: "*.127.0.0.1"}, "host"},
		"star of v6":        {egress.Rule{Host: "*.[::1]"}, "host"},
		"metadata":          {egress.Rule{Host: "metadata.google.internal"}, "host"},
		"octal":             {egress.Rule{Host: "0177.0.0.1"}, "host"},
		"port zero":         {egress.Rule{Host: "a", Ports: []uint16{0}}, "ports"},
		"port twice":        {egress.Rule{Host: "a", Ports: []uint16{80, 80}}, "ports"},
		"lower-case method": {egress.Rule{Host: "a", Methods: []string{"get"}}, "methods"},
		"connect":           {egress.Rule{Host: "a", Methods: []string{"CONNECT"}}, "methods"},
		"method twice":      {egress.Rule{Host: "a", Methods: []string{"GET", "GET"}}, "methods"},
		"relative prefix":   {egress.Rule{Host: "a", PathPrefix: "v1"}, "path_prefix"},
		"dot prefix":        {egress.Rule{Host: "a", PathPrefix: "/v1/.."}, "path_prefix"},
		"query prefix":      {egress.Rule{Host: "a", PathPrefix: "/v1?x"}, "path_prefix"},
		"encoded prefix":    {egress.Rule{Host: "a", PathPrefix: "/%76"}, "path_prefix"},
		"double slash":      {egress.Rule{Host: "a", PathPrefix: "//v1"}, "path_prefix"},
		"space prefix":      {egress.Rule{Host: "a", PathPrefix: "/a b"}, "path_prefix"},
	} {
		p, err := egress.NewPolicy(egress.Rule{Host: "ok.example"}, c.rule)
		var rule *egress.RuleError
		if !errors.As(err, &rule) || rule.Index != 1 || rule.Field != c.field || !strings.Contains(err.Error(), "egress rule 2: "+c.field) {
			t.Errorf("%s: %v", name, err)
		}
		if len(p.Rules()) != 0 {
			t.Errorf("%s: a refused list still allows something", name)
		}
	}
}

func TestPolicyIsFrozen(t *testing.T) {
	in := []egress.Rule{{Host: "a.example", Methods: []string{"GET"}, Ports: []uint16{443}}}
	p := policy(t, in...)
	in[0].Host, in[0].Methods[0], in[0].Ports[0] = "b.example", "POST", 1
	out := p.Rules()
	out[0].Methods[0], out[0].Ports[0] = "POST", 1
	if v := p.Check("GET", target(t, "https://a.example/")); !v.Allowed || v.Rule != "a.example ports 443 methods GET" {
		t.Errorf("a policy changed after it was made: %+v", v)
	}
}

func TestCheckAddresses(t *testing.T) {
	addr := func(text string, c egress.Class) egress.Address {
		return egress.Address{Addr: netip.MustParseAddr(text), Class: c}
	}
	lan := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("169.254.0.0/16")}
	for name, c := range map[string]struct {
		answers []egress.Address
		opened  []netip.Prefix
		want    egress.Reason
	}{
		"public":            {[]egress.Address{addr("93.184.216.34", egress.Public)}, nil, egress.Allowed},
		"none":              {nil, lan, egress.DNSNoAddresses},
		"no address":        {[]egress.Address{{Class: egress.Public}}, lan, egress.DNSInvalidAddress},
		"zone":              {[]egress.Address{addr("fe80::1%eth0", egress.Public)}, lan, egress.DNSInvalidAddress},
		"private":           {[]egress.Address{addr("10.1.2.3", egress.Private)}, nil, egress.PrivateAddress},
		"private opened":    {[]egress.Address{addr("10.1.2.3", egress.Private)}, lan, egress.Allowed},
		"mapped opened":     {[]egress.Address{addr("::ffff:10.1.2.3", egress.Private)}, lan, egress.Allowed},
		"private elsewhere": {[]egress.Address{addr("10.2.2.3", egress.Private)}, lan, egress.PrivateAddress},
		"metadata opened":   {[]egress.Address{addr("169.254.169.254", egress.Metadata)}, lan, egress.MetadataAddress},
		"unknown class":     {[]egress.Address{addr("10.1.2.3", "")}, lan, egress.NonRoutableAddress},
		"multicast":         {[]egress.Address{addr("224.0.0.1", egress.NonRoutable)}, lan, egress.NonRoutableAddress},
		"one bad of two":    {[]egress.Address{addr("93.184.216.34", egress.Public), addr("127.0.0.1", egress.Private)}, nil, egress.PrivateAddress},
	} {
		v := egress.CheckAddresses(c.answers, c.opened)
		if v.Reason != c.want || v.Allowed != (c.want == egress.Allowed) || !v.Allowed && v.Sentence == "" {
			t.Errorf("%s: %+v, want %s", name, v, c.want)
		}
	}
}
