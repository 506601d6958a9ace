package egress_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// Tricks against a rule that holds the prefix /v1: what the path is, and what the policy makes of it.
func TestPathTricks(t *testing.T) {
	rules := policy(t, egress.Rule{Host: "a.example", PathPrefix: "/v1"})
	cases := []struct {
		path string
		want egress.Reason
	}{
		{"/v1", egress.Allowed},
		{"/v1/", egress.Allowed},
		{"/v1/x", egress.Allowed},
		{"/v1/x/y;v=2/z", egress.Allowed},
		{"/v1//x", egress.Allowed}, // stays below, with or without the empty segment
		{"/v1/x%20y/caf%C3%A9", egress.Allowed},
		{"/v1/100%25", egress.Allowed},
		{"/v1/...", egress.Allowed},
		{"/v1/..x/.y/z..", egress.Allowed},
		{"/v1/%2E%2Ex", egress.Allowed},
		{"/v1?/../admin", egress.Allowed}, // a query is no path
		{"/v1/x?y=%2e%2e%2f", egress.Allowed},

		{"", egress.PathNotAllowed},
		{"/", egress.PathNotAllowed},
		{"/v10", egress.PathNotAllowed},
		{"/v", egress.PathNotAllowed},
		{"/V1/x", egress.PathNotAllowed},
		{"/v1;x/y", egress.PathNotAllowed},
		{"/v1.json", egress.PathNotAllowed},
		{"/v1%20/x", egress.PathNotAllowed},
		{"//v1/x", egress.PathNotAllowed},
		{"///v1", egress.PathNotAllowed},
		{"/x/v1", egress.PathNotAllowed},
		{"/%76%31/x", egress.PathNotAllowed},
		{"/v%31/x", egress.PathNotAllowed},

		{"/v1/../admin", egress.NonCanonicalPath},
		{"/v1/x/../../admin", egress.NonCanonicalPath},
		{"/v1/./x", egress.NonCanonicalPath},
		{"/v1/..", egress.NonCanonicalPath},
		{"/v1//../../admin", egress.NonCanonicalPath},
		{"/v1/..;/admin", egress.NonCanonicalPath},
		{"/v1/..;a=b/admin", egress.NonCanonicalPath},
		{"/v1/.;/x", egress.NonCanonicalPath},
		{"/v1/%2e%2e/admin", egress.NonCanonicalPath},
		{"/v1/%2E%2E/admin", egress.NonCanonicalPath},
		{"/v1/.%2e/admin", egress.NonCanonicalPath},
		{"/v1/%2e./admin", egress.NonCanonicalPath},
		{"/v1/%2e/x", egress.NonCanonicalPath},
		{"/v1/%2e%2e", egress.NonCanonicalPath},
		{"/v1/%2e%2e%2fadmin", egress.NonCanonicalPath},
		{"/v1/..%2fadmin", egress.NonCanonicalPath},
		{"/v1/..%2Fadmin", egress.NonCanonicalPath},
		{"/v1%2f..%2fadmin", egress.NonCanonicalPath},
		{"/v1%2fx", egress.NonCanonicalPath},
		{"/v1/x%2fy", egress.NonCanonicalPath},
		{"/v1/..%5cadmin", egress.NonCanonicalPath},
		{"/v1/..%5C..%5Cadmin", egress.NonCanonicalPath},
		{"/v1/x%5cy", egress.NonCanonicalPath},
		{"/v1/%252e%252e/admin", egress.NonCanonicalPath},
		{"/v1/%252e%252e%252fadmin", egress.NonCanonicalPath},
		{"/v1/%25252e%25252e/admin", egress.NonCanonicalPath},
		{"/v1/%2525252e%2525252e/admin", egress.NonCanonicalPath},
		{"/v1/%2525252525252e", egress.NonCanonicalPath},
		{"/v1/%2%65%2%65/admin", egress.InvalidURL},
		{"/v1/%%32%65/admin", egress.InvalidURL},
		{"/v1/%u002e%u002e/admin", egress.InvalidURL},
		{"/v1/%2e%2e;x/admin", egress.NonCanonicalPath},
		{"/v1/..%3b/admin", egress.NonCanonicalPath},
		{"/v1/..%3bx=1/admin", egress.NonCanonicalPath},
		{"/v1/..%20/admin", egress.NonCanonicalPath},
		{"/v1/%20../admin", egress.NonCanonicalPath},
		{"/v1/.%20/x", egress.NonCanonicalPath},
		{"/v1/..%00/admin", egress.NonCanonicalPath},
		{"/v1/x%00", egress.NonCanonicalPath},
		{"/v1/..%09/admin", egress.NonCanonicalPath},
		{"/v1/..%0d%0a/admin", egress.NonCanonicalPath},
		{"/v1/x%0aHost:%20b", egress.NonCanonicalPath},
		{"/v1/..%7f/admin", egress.NonCanonicalPath},
		{"/v1/%c0%ae%c0%ae/admin", egress.NonCanonicalPath},
		{"/v1/%c0%af../admin", egress.NonCanonicalPath},
		{"/v1/%e0%80%ae%e0%80%ae/admin", egress.NonCanonicalPath},
		{"/v1/%ff", egress.NonCanonicalPath},
		{"/v1/%ef%bc%8e%ef%bc%8e/admin", egress.NonCanonicalPath},
		{"/v1/..%ef%bc%8fadmin", egress.NonCanonicalPath},
		{"/v1/..%ef%bc%bcadmin", egress.NonCanonicalPath},
		{"/v1/%e2%80%a5/admin", egress.NonCanonicalPath},
		{"/v1/%e2%80%a4%e2%80%a4/admin", egress.NonCanonicalPath},
		{"/v1/..%e2%88%95admin", egress.NonCanonicalPath},
		{"/v1/..\\admin", egress.InvalidURL},
		{"/v1/../\u0061dmin\x00", egress.InvalidURL},
		{"/v1/.. /admin", egress.InvalidURL},
	}
	right := 0
	for _, c := range cases {
		got, v := egress.ParseURL("https://a.example" + c.path)
		if v.Allowed {
			v = rules.Check("GET", got)
		}
		if v.Reason != c.want {
			t.Errorf("%q: %s (%s), want %s", c.path, v.Reason, v.Sentence, c.want)
			continue
		}
		right++
	}
	t.Logf("path tricks: %d of %d judged as they should be", right, len(cases))
	if len(cases) < 60 {
		t.Errorf("%d tricks, at least 60 are due", len(cases))
	}
}

// servers are ways in which programs read a path before they serve it.
var servers = map[string]func(string) string{
	"RFC 3986": func(p string) string { return p },
	"parameters cut": func(p string) string {
		parts := strings.Split(p, "/")
		for i := range parts {
			parts[i], _, _ = strings.Cut(parts[i], ";")
		}
		return strings.Join(parts, "/")
	},
	"backslashes turned": func(p string) string { return strings.ReplaceAll(p, `\`, "/") },
	"NUL ends":           func(p string) string { p, _, _ = strings.Cut(p, "\x00"); return p },
	"spaces dropped": func(p string) string {
		parts := strings.Split(p, "/")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return strings.Join(parts, "/")
	},
	"look-alikes": strings.NewReplacer("\uff0e", ".", "\uff0f", "/", "\uff3c", "/", "\u2024", ".", "\u2025", "..", "\u2215", "/", "\u2044", "/").Replace,
}

// FuzzPathPrefix holds that no server of the list, that decodes a path up to three times, serves an allowed path from
// outside the prefix.
func FuzzPathPrefix(f *testing.F) {
	for _, seed := range []string{"/v1/x", "/v1/%2e%2e/x", "/v1/..%2fx", "/v1/%252e%252e;x/y", "/v1/..%20/x", "/v1//..%5cx", "/v1/%ef%bc%8e.", "/v1/x%00/../y"} {
		f.Add(seed)
	}
	rules := policy(f, egress.Rule{Host: "a.example", PathPrefix: "/v1"})
	f.Fuzz(func(t *testing.T, raw string) {
		got, v := egress.ParseURL("https://a.example" + raw)
		if !v.Allowed || got.Host() != "a.example" || !rules.Check("GET", got).Allowed {
			return
		}
		seen := got.Path()
		for decoded := range 4 {
			for name, read := range servers {
				if served := path.Clean(read(seen)); served != "/v1" && !strings.HasPrefix(served, "/v1/") {
					t.Fatalf("%q: a server (%s), after decoding %d times, serves %q", raw, name, decoded, served)
				}
			}
			next, err := url.PathUnescape(seen)
			if err != nil {
				return
			}
			seen = next
		}
	})
}

// FuzzResolve holds that a redirect is read as one URL: what is accepted reads back as itself, and an absolute one is
// read like any other URL.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"/x", "x/../y", "?q", "//b.example/x", "https://b.example:8443/%2e%2e/", "http:x", "#f", "HTTP://B.example/", "/%2f%2fx", ";x", "..%2f"} {
		f.Add(seed)
	}
	base := target(f, "https://a.example/v1/x?q=1")
	f.Fuzz(func(t *testing.T, location string) {
		got, v := base.Resolve(location)
		if v.Allowed == got.Zero() {
			t.Fatalf("%q: verdict %v with target %q", location, v.Allowed, got)
		}
		if direct, w := egress.ParseURL(location); w.Allowed && got != direct {
			t.Fatalf("%q is %q as a URL and %q as a redirect", location, direct, got)
		}
		if !v.Allowed {
			return
		}
		if again, w := egress.ParseURL(got.String()); !w.Allowed || again != got {
			t.Fatalf("%q leads to %q, then to %q", location, got, again)
		}
	})
}
