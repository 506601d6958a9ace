package net

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func policy(t *testing.T, rules ...egress.Rule) egress.Policy {
	t.Helper()
	p, err := egress.NewPolicy(rules...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask makes one request with a client of the host.
func ask(t *testing.T, c *http.Client, method, url string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return resp, err
}

// A caller of the host goes where its rules say: each part of a rule is enforced, and each refusal is on record.
func TestClientGoesWhereItsRulesSay(t *testing.T) {
	w, b := newWorld(t), &book{}
	for host, ip := range map[string]string{"mcp.example": public, "as.example": "93.184.216.35"} {
		w.name(host, ip)
		w.serveTLS(ip+":443", say("here"), host)
		w.serveTLS(ip+":8443", say("here"), host)
		w.serve(ip+":80", say("here"))
	}
	c := w.gate(b).Client(Caller{Name: "mcp docs", Rules: policy(t,
		egress.Rule{Host: "mcp.example", Methods: []string{"GET", "POST"}, PathPrefix: "/mcp"},
		egress.Rule{Host: "as.example", Ports: []uint16{8443}, PathPrefix: "/.well-known"})})
	defer c.CloseIdleConnections()
	for _, q := range []struct {
		method, url string
		want        egress.Reason
	}{
		{"GET", "https://mcp.example/mcp", egress.Allowed},
		{"POST", "https://mcp.example/mcp/x?y", egress.Allowed},
		{"GET", "https://as.example:8443/.well-known/oauth-authorization-server", egress.Allowed},
		{"DELETE", "https://mcp.example/mcp", egress.MethodNotAllowed},
		{"POST", "https://as.example:8443/.well-known/x", egress.MethodNotAllowed},
		{"GET", "https://mcp.example/", egress.PathNotAllowed},
		{"GET", "https://mcp.example/mcpx", egress.PathNotAllowed},
		{"GET", "https://mcp.example/mcp/%2e%2e/x", egress.NonCanonicalPath},
		{"GET", "https://mcp.example:8443/mcp", egress.PortNotAllowed},
		{"GET", "https://as.example/.well-known/x", egress.PortNotAllowed},
		{"GET", "https://sub.mcp.example/mcp", egress.HostNotAllowed},
		{"GET", "https://127.0.0.1/mcp", egress.HostNotAllowed},
		{"GET", "https://metadata.google.internal/", egress.MetadataHostname},
		{"GET", "http://mcp.example/mcp", InsecureURL},
		{"GET", "https://u:p@mcp.example/mcp", egress.Userinfo},
	} {
		before := len(b.all())
		_, err := ask(t, c, q.method, q.url)
		if q.want == egress.Allowed {
			if err != nil {
				t.Errorf("%s %s: %v", q.method, q.url, err)
			}
			continue
		}
		refusedFor(t, err, q.want)
		if got := b.all()[before:]; len(got) != 1 || got[0].Allowed || got[0].Reason != q.want || got[0].Caller != "mcp docs" || got[0].Method != q.method {
			t.Errorf("%s %s: audit %+v", q.method, q.url, got)
		}
	}
	if got := w.dials(); !slices.Equal(got, []string{public + ":443", "93.184.216.35:8443"}) {
		t.Errorf("dialled %q", got)
	}
}

// Plain http is for an origin that the operator opened exactly, and for no other.
func TestClientSpeaksPlainHTTPToOpenedOriginsOnly(t *testing.T) {
	w := newWorld(t)
	w.serve("127.0.0.1:8080", say("here"))
	also, err := ParseAllowances("http://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	rules := policy(t, egress.Rule{Host: "127.0.0.1", Ports: []uint16{8080, 8081}})
	c := w.gate(nil).Client(Caller{Name: "mcp local", Rules: rules, Private: also})
	if _, err := ask(t, c, "GET", "http://127.0.0.1:8080/"); err != nil {
		t.Error(err)
	}
	_, err = ask(t, c, "GET", "http://127.0.0.1:8081/")
	refusedFor(t, err, InsecureURL)
	_, err = ask(t, c, "GET", "https://127.0.0.1:8081/")
	refusedFor(t, err, egress.PrivateAddress)
	if err == nil || !strings.Contains(err.Error(), "add https://127.0.0.1:8081 to network.allow_private in config.yaml") {
		t.Errorf("the refusal does not say what to type: %v", err)
	}
}

// What is sent is what was judged: neither a Host header nor an opaque URL leads elsewhere.
func TestClientSendsWhatWasJudged(t *testing.T) {
	w := newWorld(t)
	w.name("mcp.example", public)
	seen := make(chan string, 1)
	w.serveTLS(public+":443", func(_ http.ResponseWriter, in *http.Request) { seen <- in.Host + in.RequestURI }, "mcp.example")
	c := w.gate(nil).Client(Caller{Rules: policy(t, egress.Rule{Host: "mcp.example", PathPrefix: "/mcp"})})
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://mcp.example/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	other := req.Clone(t.Context())
	other.Host = "admin.example"
	_, err = c.Transport.RoundTrip(other)
	refusedFor(t, err, OtherOrigin)
	opaque := req.Clone(t.Context())
	opaque.URL = &url.URL{Scheme: "https", Host: "mcp.example", Path: "/mcp", Opaque: "//other.example/admin"}
	_, err = c.Transport.RoundTrip(opaque)
	refusedFor(t, err, egress.HostNotAllowed)
	opaque.URL.Opaque = "//MCP.example/mcp/x"
	resp, err := c.Transport.RoundTrip(opaque)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := <-seen; got != "mcp.example/mcp/x" {
		t.Errorf("the server was asked for %q", got)
	}
}

// A redirect is handed back, also within the origin, and a client that somebody gave another rule cannot follow it.
func TestClientFollowsNoRedirect(t *testing.T) {
	for _, status := range statuses {
		for _, to := range []string{"/mcp/elsewhere", "https://as.example/x", "http://169.254.169.254/"} {
			w, b := newWorld(t), &book{}
			w.name("mcp.example", public)
			w.serveTLS(public+":443", sends(status, to), "mcp.example")
			c := w.gate(b).Client(Caller{Name: "mcp docs", Rules: policy(t, egress.Rule{Host: "*"})})
			resp, err := ask(t, c, "GET", "https://mcp.example/mcp")
			if err != nil || resp.StatusCode != status || resp.Header.Get("Location") != to {
				t.Fatalf("%d %s: %v %v", status, to, resp, err)
			}
			careless := &http.Client{Transport: c.Transport}
			_, err = ask(t, careless, "GET", "https://mcp.example/mcp")
			var no *RefusedError
			if !errors.As(err, &no) {
				t.Errorf("%d %s: a careless client: %v", status, to, err)
			} else if to != "http://169.254.169.254/" && no.Reason != RedirectNotFollowed {
				t.Errorf("%d %s: %v", status, to, err)
			}
			if got := w.dials(); len(got) != 1 {
				t.Errorf("%d %s: dialled %q", status, to, got)
			}
			c.CloseIdleConnections()
		}
	}
}

func TestClientRefusesWhatCannotBeRecorded(t *testing.T) {
	w, b := newWorld(t), &book{fail: errors.New("disk full")}
	w.name("mcp.example", public)
	c := w.gate(nil).Client(Caller{Rules: policy(t, egress.Rule{Host: "mcp.example"}), Audit: b.write})
	for _, url := range []string{"https://mcp.example/", "https://other.example/"} {
		if _, err := ask(t, c, "GET", url); !errors.Is(err, b.fail) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if len(w.dials()) != 0 || len(b.all()) != 2 {
		t.Errorf("dialled %q, audit %+v", w.dials(), b.all())
	}
}

func TestTheZeroCallerReachesNothing(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	_, err := ask(t, w.gate(nil).Client(Caller{}), "GET", "https://a.example/")
	refusedFor(t, err, egress.HostNotAllowed)
}

// A refusal of a private address says what the operator would type to open it, and typing it opens it.
func TestRefusalsOfPrivateAddressesSayWhatToType(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", "10.0.0.1")
	w.serve("10.0.0.1:80", say("here"))
	named, every := anywhere(t), anywhere(t)
	named.Grants = snapshot(t, "net.fetch:a.example")
	const line, grant = "add http://a.example:80 to network.allow_private in config.yaml", "portcullis plugin grant web net.fetch:a.example"
	for _, c := range []struct {
		call   PluginCall
		open   []string
		remedy string
	}{
		{every, nil, line + ", and run `" + grant + "`"},
		{named, nil, line},
		{every, []string{"http://a.example:80"}, grant},
	} {
		p := plugin(t, w.gate(nil, c.open...), c.call)
		reply, _ := get(t, p, "http://a.example/")
		faulty(t, reply, wire.CodeDenied, "10.0.0.1", string(egress.PrivateAddress))
		if m := reply.Fault.Message; strings.Contains(m, "portcullis ") || strings.Contains(m, ".yaml") {
			t.Errorf("the plugin is told what only the operator can do: %s", m)
		}
		if got := p.Remedy(reply.Fault.Message); got != c.remedy {
			t.Errorf("remedy %q, want %q", got, c.remedy)
		}
	}
	if _, body := get(t, plugin(t, w.gate(nil, "http://a.example:80"), named), "http://a.example/"); body != "here" {
		t.Errorf("body %q", body)
	}
	_, _, err := fetch(t, client(t, w.gate(nil), "http://a.example/v1"), "http://a.example/v1")
	refusedFor(t, err, egress.PrivateAddress)
	if want := "add allow_private: true below providers.main in config.yaml"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q in it", err, want)
	}
}

// What is opened for the machine is open to the plugins whose grants name it: a grant of every host leads no plugin that
// reads pages of the Internet, nor a redirect of such a page, to a service beside it.
func TestAGrantOfEveryHostOpensNoPrivateOrigin(t *testing.T) {
	const origin = "http://git.corp.example"
	for grants, want := range map[string]egress.Reason{
		"net.fetch:*":                                 egress.PrivateAddress,
		"net.fetch:* net.fetch:a.example":             egress.PrivateAddress,
		"net.fetch:* net.fetch:git.corp.example:8080": egress.PrivateAddress,
		"net.fetch:* net.fetch:git.corp.example":      egress.Allowed,
		"net.fetch:* net.fetch:git.corp.example:80":   egress.Allowed,
		"net.fetch:* net.fetch:git.corp.example:*":    egress.Allowed,
	} {
		for _, url := range []string{origin + "/", "http://a.example/"} {
			w, b := newWorld(t), &book{}
			w.name("git.corp.example", "10.0.0.1")
			w.name("a.example", public)
			w.serve("10.0.0.1:80", say("inside"))
			w.serve(public+":80", sends(302, origin+"/"))
			call := anywhere(t)
			call.Egress = append(call.Egress, wire.Egress{Host: "git.corp.example"}) // declared, even
			call.Grants = snapshot(t, strings.Fields(grants)...)
			get(t, plugin(t, w.gate(b, origin), call), url)
			all := b.all()
			if got := all[len(all)-1].Reason; got != want {
				t.Errorf("%s with %s: %s, want %s", url, grants, got, want)
			}
			if bad := notPublic(w.dials()); (len(bad) == 0) != (want != egress.Allowed) {
				t.Errorf("%s with %s: dialled %q", url, grants, bad)
			}
		}
	}
}
