package plugintest

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// What a test of a plugin lets through is what a host does that was granted the place: a plugin that works here and is
// refused there would be found out by its user.
func TestEgressIsReadAsTheHostReadsIt(t *testing.T) {
	urls := []string{
		"https://a.example/", "https://a.example", "https://a.example:443/", "https://a.example:8443/", "http://a.example/", "http://a.example:443/", "https://a.example:80/",
		"https://A.EXAMPLE/v1", "https://a.example/v1", "https://a.example/v1/", "https://a.example/v1/x", "https://a.example/v10", "https://a.example/V1/x", "https://a.example/v1/x%2Fy",
		"https://a.example/v1/%2e%2e/x", "https://a.example/v1/..%5cx", "https://a.example/v1/100%25", "https://a.example/v1/x.y%2ez", "https://a.example//v1", "https://a.example/v1//x",
		"https://sub.a.example/v1", "https://deep.sub.a.example/v1", "https://xa.example/v1", "https://b.example/v1",
	}
	compared := 0
	for _, host := range []string{"a.example", "*.a.example", "b.example"} {
		for _, port := range []int{0, 443, 80, 8443} {
			for _, methods := range [][]string{nil, {"POST"}, {"GET", "DELETE"}} {
				for _, prefix := range []string{"", "/", "/v1", "/v1/"} {
					rule := egress.Rule{Host: host, Methods: methods, PathPrefix: prefix}
					if port != 0 {
						rule.Ports = []uint16{uint16(port)}
					}
					policy, err := egress.NewPolicy(rule)
					if err != nil {
						t.Fatal(err)
					}
					w := &world{desc: wire.Description{Egress: []wire.Egress{{Host: host, Port: port, Methods: methods, PathPrefix: prefix}}}}
					for _, raw := range urls {
						u, err := url.Parse(raw)
						if err != nil {
							t.Fatal(err)
						}
						target, v := egress.ParseURL(raw)
						if !v.Allowed {
							t.Fatal(raw, v)
						}
						for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
							compared++
							if here, there := w.listed(method, u), policy.Check(method, target); here != there.Allowed {
								t.Errorf("%s %s with %s: here %v, the host says %s", method, raw, rule, here, there.Reason)
							}
						}
					}
				}
			}
		}
	}
	if compared < 10000 {
		t.Errorf("%d requests were compared", compared)
	}
}

// Redirects are the host's too: as many, with the same method, and with nothing for another origin that is not its own.
func TestRedirectsAreTheHosts(t *testing.T) {
	for _, c := range []struct {
		status               int
		method, body, to     string
		wantMethod, wantBody string // empty: refused
		key                  bool
	}{
		{302, "POST", "b", "/to", "GET", "", true},
		{302, "PUT", "b", "/to", "PUT", "b", true},
		{303, "PUT", "b", "/to", "GET", "", true},
		{303, "HEAD", "", "/to", "HEAD", "", true},
		{307, "POST", "b", "/to", "POST", "b", true},
		{307, "POST", "b", "https://a.example:443/to", "POST", "b", true},
		{302, "GET", "", "https://b.example/to", "GET", "", false},
		{302, "POST", "b", "https://b.example/to", "GET", "", false},
		{307, "POST", "b", "https://b.example/to", "", "", false},
		{308, "PUT", "b", "https://b.example/to", "", "", false},
		{302, "GET", "", "http://a.example/to", "", "", false},
	} {
		var method, body, key string
		w := &world{
			desc: wire.Description{Egress: []wire.Egress{
				{Host: "a.example", Methods: []string{"GET", "HEAD", "POST", "PUT"}}, {Host: "b.example", Methods: []string{"GET", "HEAD", "POST", "PUT"}},
			}},
			http: http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
				if in.URL.Path == "/from" {
					out.Header().Set("Location", c.to)
					out.WriteHeader(c.status)
					return
				}
				text := make([]byte, 8)
				n, _ := in.Body.Read(text)
				method, body, key = in.Method, string(text[:n]), in.Header.Get("X-Api-Key")
			}),
		}
		r := wire.HTTPRequest{Method: c.method, URL: "https://a.example/from", Headers: map[string][]string{"X-Api-Key": {"k"}, "Accept": {"*/*"}}}
		reply, _ := w.exchange(r, []byte(c.body))
		if c.wantMethod == "" {
			if reply.Fault == nil || reply.Fault.Code != sdk.Denied || method != "" {
				t.Errorf("%d %s to %s: %+v, and the server saw %s", c.status, c.method, c.to, reply, method)
			}
			continue
		}
		if reply.Fault != nil || method != c.wantMethod || body != c.wantBody || (key != "") != c.key {
			t.Errorf("%d %s to %s: %v, the server saw %s %q, key %q", c.status, c.method, c.to, reply.Fault, method, body, key)
		}
	}
}
