package net

import (
	"errors"
	"net/http"
	"net/url"
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

// What is sent is what was judged: neither a Host header nor an opaque URL leads elsewhere.
func TestClientSendsWhatWasJudged(t *testing.T) {
	w := newWorld(t)
	w.name("api.example", public)
	seen := make(chan string, 1)
	w.serveTLS(public+":443", func(_ http.ResponseWriter, in *http.Request) { seen <- in.Host + in.RequestURI }, "api.example")
	c := client(t, w.gate(nil), "https://api.example/v1")
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://api.example/v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	other := req.Clone(t.Context())
	other.Host = "admin.example"
	_, err = c.Transport.RoundTrip(other)
	refusedFor(t, err, OtherOrigin)
	opaque := req.Clone(t.Context())
	opaque.URL = &url.URL{Scheme: "https", Host: "api.example", Path: "/v1", Opaque: "//other.example/admin"}
	_, err = c.Transport.RoundTrip(opaque)
	refusedFor(t, err, OtherOrigin)
	opaque.URL.Opaque = "//API.example/v1/x"
	resp, err := c.Transport.RoundTrip(opaque)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := <-seen; got != "api.example/v1/x" {
		t.Errorf("the server was asked for %q", got)
	}
}

// A redirect is handed back, also within the origin, and a client that somebody gave another rule cannot follow it.
func TestClientFollowsNoRedirect(t *testing.T) {
	for _, status := range statuses {
		for to, want := range map[string]egress.Reason{"/v1/elsewhere": RedirectNotFollowed, "https://other.example/x": OtherOrigin, "http://169.254.169.254/": OtherOrigin} {
			w, b := newWorld(t), &book{}
			w.name("api.example", public)
			w.serveTLS(public+":443", sends(status, to), "api.example")
			c := client(t, w.gate(b), "https://api.example/v1")
			for _, one := range []*http.Client{c, {Transport: c.Transport}} {
				req, err := http.NewRequestWithContext(t.Context(), "GET", "https://api.example/v1", nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := one.Do(req)
				if one != c {
					refusedFor(t, err, want)
				} else if err != nil || resp.StatusCode != status || resp.Header.Get("Location") != to {
					t.Fatalf("%d %s: %v %v", status, to, resp, err)
				}
				if err == nil {
					resp.Body.Close()
				}
			}
			for _, at := range w.dials() {
				if at != public+":443" {
					t.Errorf("%d %s: dialled %s", status, to, at)
				}
			}
			c.CloseIdleConnections()
		}
	}
}

func TestClientRefusesWhatCannotBeRecorded(t *testing.T) {
	w, b := newWorld(t), &book{fail: errors.New("disk full")}
	w.name("api.example", public)
	c := client(t, w.gate(b), "https://api.example/")
	for _, url := range []string{"https://api.example/", "https://other.example/"} {
		if _, _, err := fetch(t, c, url); !errors.Is(err, b.fail) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if len(w.dials()) != 0 || len(b.all()) != 2 {
		t.Errorf("dialled %q, audit %+v", w.dials(), b.all())
	}
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
