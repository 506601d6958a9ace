package egress_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

func target(t testing.TB, raw string) egress.Target {
	t.Helper()
	got, v := egress.ParseURL(raw)
	if !v.Allowed {
		t.Fatalf("ParseURL(%q) = %s: %s", raw, v.Reason, v.Sentence)
	}
	return got
}

func TestParseURLKeepsOneReading(t *testing.T) {
	for raw, want := range map[string]string{
		"https://api.example.com":              "https://api.example.com/",
		"HTTPS://API.Example.COM:443/V1?q=A#f": "https://api.example.com/V1?q=A",
		"http://example.com:80/":               "http://example.com/",
		"http://example.com:443/":              "http://example.com:443/",
		"https://example.com?x=1":              "https://example.com/?x=1",
		"https://example.com#frag":             "https://example.com/",
		"https://example.com/?":                "https://example.com/?",
		"https://192.0.2.7:8443/a%2Fb":         "https://192.0.2.7:8443/a%2Fb",
		"https://[2001:DB8::1]/x":              "https://[2001:db8::1]/x",
		"https://[2001:db8::1]:444/x":          "https://[2001:db8::1]:444/x",
		"https://xn--bcher-kva.example/a?b/c":  "https://xn--bcher-kva.example/a?b/c",
		"https://example.com/a//b/;p=1/@:x":    "https://example.com/a//b/;p=1/@:x",
		"https://example.com/a...b/.c/..d":     "https://example.com/a...b/.c/..d",
	} {
		got := target(t, raw)
		if got.String() != want {
			t.Errorf("ParseURL(%q) = %q, want %q", raw, got, want)
		}
	}
	got := target(t, "https://u.example:8443/p/q?a=b")
	if got.Scheme() != "https" || got.Host() != "u.example" || got.Port() != 8443 || got.Path() != "/p/q" || got.Query() != "a=b" ||
		got.Origin() != "https://u.example:8443" {
		t.Errorf("accessors of %v are wrong", got)
	}
}

func TestParseURLRefuses(t *testing.T) {
	for raw, want := range map[string]egress.Reason{
		"":                                                      egress.InvalidURL,
		"example.com/x":                                         egress.InvalidURL,
		"/x":                                                    egress.InvalidURL,
		"//example.com/x":                                       egress.InvalidURL,
		"ftp://example.com":                                     egress.UnsupportedScheme,
		"file:///etc/passwd":                                    egress.UnsupportedScheme,
		"gopher://127.0.0.1:6379/_x":                            egress.UnsupportedScheme,
		"javascript:alert(1)":                                   egress.UnsupportedScheme,
		"https:example.com":                                     egress.MissingHostname,
		"https:/example.com":                                    egress.MissingHostname,
		"https:///example.com":                                  egress.MissingHostname,
		"https://:443/":                                         egress.MissingHostname,
		"https://user@example.com/":                             egress.Userinfo,
		"https://u:p@example.com/":                              egress.Userinfo,
		"https://example.com@evil.example":                      egress.Userinfo,
		"https://example.com%40evil":                            egress.InvalidHostname,
		"https://example.com\\@evil/":                           egress.InvalidURL,
		"https:\\\\example.com":                                 egress.InvalidURL,
		"https://example.com/a b":                               egress.InvalidURL,
		" https://example.com":                                  egress.InvalidURL,
		"https://example.com\n":                                 egress.InvalidURL,
		"https://exa\tmple.com":                                 egress.InvalidURL,
		"https://example.com/\x00":                              egress.InvalidURL,
		"https://example.com/\x7f":                              egress.InvalidURL,
		"https://example.com/%":                                 egress.InvalidURL,
		"https://example.com/%4":                                egress.InvalidURL,
		"https://example.com/%zz":                               egress.InvalidURL,
		"https://example.com/?a=<b>":                            egress.InvalidURL,
		"https://example.com/\u00e9":                            egress.InvalidURL,
		"https://b\u00fccher.example/":                          egress.InvalidURL,
		"https://\u24d4xample.com/":                             egress.InvalidURL,
		"https://example\u3002com/":                             egress.InvalidURL,
		"https://example.com./":                                 egress.InvalidHostname,
		"https://.example.com/":                                 egress.InvalidHostname,
		"https://a..b/":                                         egress.InvalidHostname,
		"https://-a.example/":                                   egress.InvalidHostname,
		"https://a_b.example/":                                  egress.InvalidHostname,
		"https://exa%6dple.com/":                                egress.InvalidHostname,
		"https://[fe80::1%25eth0]/":                             egress.InvalidHostname,
		"https://[::ffff:127.0.0.1]/":                           egress.InvalidHostname,
		"https://[::ffff:7f00:1]/":                              egress.InvalidHostname,
		"https://[0:0:0:0:0:0:0:1]/":                            egress.InvalidHostname,
		"https://[::1/":                                         egress.InvalidHostname,
		"https://::1/":                                          egress.InvalidHostname,
		"https://[::1]x/":                                       egress.InvalidHostname,
		"https://[::1]:1:2/":                                    egress.InvalidHostname,
		"https://a:1:2/":                                        egress.InvalidHostname,
		"https://example.com:/":                                 egress.InvalidPort,
		"https://example.com:0/":                                egress.InvalidPort,
		"https://example.com:0443/":                             egress.InvalidPort,
		"https://example.com:+443/":                             egress.InvalidPort,
		"https://example.com:65536/":                            egress.InvalidPort,
		"https://example.com:4 43/":                             egress.InvalidURL,
		"https://example.com:http/":                             egress.InvalidPort,
		"https://example.com/a/../b":                            egress.NonCanonicalPath,
		"https://example.com/..":                                egress.NonCanonicalPath,
		"https://example.com/./b":                               egress.NonCanonicalPath,
		"https://example.com/v1/..;/b":                          egress.NonCanonicalPath,
		"https://" + strings.Repeat("a", 64) + ".example/":      egress.InvalidHostname,
		"https://example.com/" + strings.Repeat("a", 9000):      egress.InvalidURL,
		"https://" + strings.Repeat("a.", 130) + "example.com/": egress.InvalidHostname,
	} {
		got, v := egress.ParseURL(raw)
		if v.Allowed || v.Reason != want || v.Sentence == "" || got != (egress.Target{}) {
			t.Errorf("ParseURL(%q) = %v, %s (%s), want %s", raw, got, v.Reason, v.Sentence, want)
		}
	}
}

// TestLegacyIPv4FormsAreRefused writes each byte of special addresses in every base and every number of parts that
// inet_aton takes, and the same in percent escapes.
func TestLegacyIPv4FormsAreRefused(t *testing.T) {
	forms := 0
	for _, ip := range [][4]uint64{{127, 0, 0, 1}, {169, 254, 169, 254}, {10, 0, 0, 1}, {0, 0, 0, 0}} {
		whole := ip[0]<<24 | ip[1]<<16 | ip[2]<<8 | ip[3]
		for _, parts := range [][]uint64{
			{whole}, {ip[0], whole & 0xffffff}, {ip[0], ip[1], whole & 0xffff}, ip[:],
		} {
			for base, prefix := range map[int]string{10: "", 16: "0x", 8: "0", -16: "0X00"} {
				if base == 10 && len(parts) == 4 {
					continue // the canonical form, which the address check judges
				}
				texts := make([]string, len(parts))
				for i, p := range parts {
					texts[i] = prefix + strconv.FormatUint(p, max(base, -base))
				}
				host := strings.Join(texts, ".")
				for _, raw := range []string{"http://" + host + "/", "http://" + host + ":80/", "http://" + host + "./"} {
					forms++
					if got, v := egress.ParseURL(raw); v.Allowed {
						t.Errorf("ParseURL(%q) was read as %s", raw, got.Host())
					}
				}
			}
		}
	}
	if forms < 150 {
		t.Fatalf("only %d forms were tried", forms)
	}
}

func TestResolveRedirect(t *testing.T) {
	base := target(t, "https://a.example/v1/x?q=1")
	for location, want := range map[string]string{
		"/v2":                    "https://a.example/v2",
		"y":                      "https://a.example/v1/y",
		"../z":                   "https://a.example/z",
		"?p":                     "https://a.example/v1/x?p",
		"//b.example/q":          "https://b.example/q",
		"http://b.example:8080/": "http://b.example:8080/",
		"#f":                     "https://a.example/v1/x?q=1",
	} {
		got, v := base.Resolve(location)
		if !v.Allowed || got.String() != want {
			t.Errorf("Resolve(%q) = %q, %s", location, got, v.Reason)
		}
	}
	for location, want := range map[string]egress.Reason{
		"file:///etc/passwd":  egress.UnsupportedScheme,
		"gopher://b.example/": egress.UnsupportedScheme,
		"//u:p@b.example/":    egress.Userinfo,
		"/\\b.example":        egress.InvalidURL,
		"http:opaque":         egress.MissingHostname,
		"//2130706433/":       egress.InvalidHostname,
		"http://b.example:0/": egress.InvalidPort,
		"//[fe80::1%25eth0]/": egress.InvalidHostname,
		"http://[bad":         egress.InvalidURL,
		"\x01":                egress.InvalidURL,
	} {
		if got, v := base.Resolve(location); v.Allowed || v.Reason != want {
			t.Errorf("Resolve(%q) = %q, %s, want %s", location, got, v.Reason, want)
		}
	}
	if _, v := (egress.Target{}).Resolve("https://a.example/"); v.Allowed {
		t.Error("a redirect was resolved from nowhere")
	}
}

func TestTargetCapabilities(t *testing.T) {
	for raw, want := range map[string]string{
		"https://a.example/":          "net.fetch:a.example net.fetch:a.example:443",
		"http://a.example/":           "net.fetch:a.example net.fetch:a.example:80",
		"http://a.example:443/":       "net.fetch:a.example:443",
		"https://a.example:8443/":     "net.fetch:a.example:8443",
		"https://[2001:db8::1]:8443/": "net.fetch:[2001:db8::1]:8443",
	} {
		var got []string
		for _, n := range target(t, raw).Capabilities() {
			got = append(got, n.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s needs one of %v, want %s", raw, got, want)
		}
	}
	var zero egress.Target
	if zero.Capabilities() != nil || zero.String() != "" || zero.Origin() != "" || !zero.Zero() {
		t.Error("the zero target is somewhere")
	}
}

// FuzzParseURL holds that what is accepted reads back as itself, and that net/url, which the client uses, sees the
// same host, port, path and query.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{
		"https://api.example.com/v1?q=1", "http://[2001:db8::1]:8080/x", "https://a@b", "https://a\\b", "https://a.example:443#x",
		"https://192.0.2.1/%2e%2e/", "http://0x7f.1/", "https://a/;x=1?//@:", "https://a.example/?a[]=1&b='()*,;",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, v := egress.ParseURL(raw)
		if v.Allowed == got.Zero() {
			t.Fatalf("%q: verdict %v with target %q", raw, v.Allowed, got)
		}
		if !v.Allowed {
			return
		}
		again, v := egress.ParseURL(got.String())
		if !v.Allowed || again != got {
			t.Fatalf("%q became %q, then %q", raw, got, again)
		}
		for _, text := range []string{raw, got.String()} {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatalf("net/url refuses %q: %v", text, err)
			}
			port := u.Port()
			if port == "" {
				port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
			}
			if host := strings.Trim(got.Host(), "[]"); !strings.EqualFold(u.Hostname(), host) || port != strconv.Itoa(int(got.Port())) || u.User != nil {
				t.Fatalf("%q: net/url sees %s:%s, we see %s:%d", text, u.Hostname(), port, host, got.Port())
			}
		}
		u, _ := url.Parse(got.String())
		want := got.Path()
		if strings.Contains(got.String(), "?") {
			want += "?" + got.Query()
		}
		if u.EscapedPath() != got.Path() || u.RawQuery != got.Query() || u.Fragment != "" || u.Opaque != "" {
			t.Fatalf("net/url sees the path %q and the query %q, we see %q and %q", u.EscapedPath(), u.RawQuery, got.Path(), got.Query())
		}
		if u.RequestURI() != want {
			t.Fatalf("net/url would send %q, we judged %q", u.RequestURI(), want)
		}
	})
}
