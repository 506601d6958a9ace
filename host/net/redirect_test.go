package net

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// sends answers with a redirect.
func sends(status int, location string) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Location", location)
		out.WriteHeader(status)
	}
}

// echo answers with what it was sent.
func echo(out http.ResponseWriter, in *http.Request) {
	body, _ := io.ReadAll(in.Body)
	fmt.Fprintf(out, "%s %q", in.Method, body)
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Accept", "Content-Type", "User-Agent", "Referer", "Content-Digest"} {
		if v := in.Header.Get(name); v != "" {
			fmt.Fprintf(out, " %s=%s", name, v)
		}
	}
}

// RFC 9110 section 15.4, and what every client does with a POST.
func TestRedirectsKeepOrChangeTheMethod(t *testing.T) {
	for _, c := range []struct {
		status       int
		method, want string
	}{
		{301, "GET", `GET ""`},
		{302, "GET", `GET ""`},
		{303, "GET", `GET ""`},
		{307, "GET", `GET ""`},
		{308, "GET", `GET ""`},
		{301, "POST", `GET ""`},
		{302, "POST", `GET ""`},
		{303, "POST", `GET ""`},
		{307, "POST", `POST "b" Content-Type=text/x Content-Digest=d`},
		{308, "POST", `POST "b" Content-Type=text/x Content-Digest=d`},
		{301, "PUT", `PUT "b" Content-Type=text/x Content-Digest=d`},
		{302, "PUT", `PUT "b" Content-Type=text/x Content-Digest=d`},
		{303, "PUT", `GET ""`},
		{303, "DELETE", `GET ""`},
		{307, "DELETE", `DELETE "b" Content-Type=text/x Content-Digest=d`},
		{300, "GET", ""},
		{304, "GET", ""},
		{305, "GET", ""},
		{399, "GET", ""},
	} {
		w := newWorld(t)
		w.name("a.example", public)
		w.serve(public+":80", func(out http.ResponseWriter, in *http.Request) {
			if in.URL.Path == "/to" {
				echo(out, in)
				return
			}
			sends(c.status, "/to")(out, in)
		})
		req := wire.HTTPRequest{Method: c.method, URL: "http://a.example/from", Headers: map[string][]string{"User-Agent": {""}}}
		body := ""
		if c.method != "GET" {
			body = "b"
			req.Headers["Content-Type"], req.Headers["Content-Digest"] = []string{"text/x"}, []string{"d"}
		}
		reply, got := do(t, plugin(t, w.gate(nil), anywhere(t)), req, body)
		wantStatus, wantURL := 200, "http://a.example/to"
		if c.want == "" {
			wantStatus, wantURL = c.status, "http://a.example/from"
		}
		if got != c.want || reply.Status != wantStatus || reply.URL != wantURL {
			t.Errorf("%d for %s: %d %s %q, want %d %q", c.status, c.method, reply.Status, reply.URL, got, wantStatus, c.want)
		}
	}
}

func TestHeadStaysHead(t *testing.T) {
	w, methods := newWorld(t), make(chan string, 2)
	w.name("a.example", public)
	w.serve(public+":80", func(out http.ResponseWriter, in *http.Request) {
		methods <- in.Method
		if in.URL.Path == "/" {
			sends(http.StatusSeeOther, "/to")(out, in)
		}
	})
	do(t, plugin(t, w.gate(nil), anywhere(t)), wire.HTTPRequest{Method: "HEAD", URL: "http://a.example/"}, "")
	if a, b := <-methods, <-methods; a != "HEAD" || b != "HEAD" {
		t.Errorf("methods %s, %s", a, b)
	}
}

// What a plugin wrote for one server is not shown to another: not the credentials that have a name, nor those that
// hide in a header nobody knows. Once gone they stay gone, also when the way leads back.
func TestHeadersStayBehindWhenTheOriginChanges(t *testing.T) {
	headers := map[string][]string{
		"Authorization": {"Bearer S3CRET"}, "Cookie": {"s=S3CRET"}, "X-Api-Key": {"S3CRET"}, "Referer": {"http://a.example/S3CRET"}, "Accept": {"text/plain"},
	}
	for name, c := range map[string]struct {
		to   string
		kept bool
	}{
		"same origin":          {"/to", true},
		"same origin spelt":    {"http://A.EXAMPLE:80/to", true},
		"another host":         {"http://b.example/to", false},
		"a subdomain":          {"http://sub.a.example/to", false},
		"another port":         {"http://a.example:81/to", false},
		"another scheme":       {"https://a.example/to", false},
		"there and back again": {"http://b.example/back", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.name("a.example", public)
			w.name("sub.a.example", public)
			w.name("b.example", "93.184.216.35")
			server := func(out http.ResponseWriter, in *http.Request) {
				switch in.URL.Path {
				case "/from":
					sends(http.StatusTemporaryRedirect, c.to)(out, in)
				case "/back":
					sends(http.StatusTemporaryRedirect, "http://a.example/to")(out, in)
				default:
					echo(out, in)
				}
			}
			w.serve(public+":80", server)
			w.serve(public+":81", server)
			w.serveTLS(public+":443", server, "a.example")
			w.serve("93.184.216.35:80", server)
			call := anywhere(t)
			call.Egress = append(call.Egress, wire.Egress{Host: "a.example", Port: 81})
			call.Grants = snapshot(t, "net.fetch:*")
			_, got := do(t, plugin(t, w.gate(nil), call), wire.HTTPRequest{Method: "GET", URL: "http://a.example/from", Headers: headers}, "")
			if !strings.HasPrefix(got, `GET ""`) || !strings.Contains(got, "Accept=text/plain") {
				t.Fatalf("the last server saw %q", got)
			}
			if strings.Contains(got, "S3CRET") != c.kept {
				t.Errorf("the last server saw %q", got)
			}
		})
	}
}

// A redirect is a request of its own: rules, grants, name and address are judged again.
func TestRedirectsAreJudgedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		to     string
		reason egress.Reason
	}{
		"private address":       {"http://10.0.0.1/", egress.HostNotAllowed},
		"metadata":              {"http://169.254.169.254/latest/meta-data/", egress.HostNotAllowed},
		"metadata name":         {"http://metadata.google.internal/", egress.MetadataHostname},
		"private behind a name": {"http://inside.example/", egress.PrivateAddress},
		"metadata behind name":  {"http://meta.example/", egress.MetadataAddress},
		"scheme-relative":       {"//inside.example/", egress.PrivateAddress},
		"localhost":             {"http://localhost/", egress.PrivateHostname},
		"decimal loopback":      {"http://2130706433/", egress.InvalidHostname},
		"octal loopback":        {"http://0177.0.0.1/", egress.InvalidHostname},
		"mapped loopback":       {"http://[::ffff:127.0.0.1]/", egress.InvalidHostname},
		"compatible loopback":   {"http://[::7f00:1]/", egress.HostNotAllowed},
		"host not granted":      {"http://other.example/", NotGranted},
		"odd port":              {"http://a.example:6379/", egress.PortNotAllowed},
		"userinfo":              {"http://u:p@a.example/", egress.Userinfo},
		"file":                  {"file:///etc/passwd", egress.UnsupportedScheme},
		"gopher":                {"gopher://a.example:6379/_x", egress.UnsupportedScheme},
		"javascript":            {"javascript:alert(1)", egress.UnsupportedScheme},
		"data":                  {"data:text/plain,x", egress.UnsupportedScheme},
		"backslashes":           {`http:\\10.0.0.1\`, egress.InvalidURL},
		"backslash host":        {`/\10.0.0.1/`, egress.InvalidURL},
		"no host":               {"http:///x", egress.MissingHostname},
		"not resolvable":        {"http://none.example/", egress.DNSNoAddresses},
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			w, b := newWorld(t), &book{}
			w.name("a.example", public)
			w.name("inside.example", "10.0.0.1")
			w.name("meta.example", "169.254.169.254")
			w.name("other.example", "93.184.216.35")
			w.serve(public+":80", sends(status, c.to))
			call := anywhere(t)
			call.Grants = snapshot(t, "net.fetch:a.example", "net.fetch:a.example:*", "net.fetch:inside.example", "net.fetch:meta.example", "net.fetch:none.example")
			call.Egress = []wire.Egress{{Host: "a.example"}, {Host: "inside.example"}, {Host: "meta.example"}, {Host: "other.example"}, {Host: "none.example"}}
			reply, _ := get(t, plugin(t, w.gate(b), call), "http://a.example/")
			if reply.Fault == nil || !strings.Contains(reply.Fault.Message, "redirect 1") || !strings.Contains(reply.Fault.Message, string(c.reason)) {
				t.Errorf("%s: %d: %+v %v", name, status, reply, reply.Fault)
			}
			if got := w.dials(); !slices.Equal(got, []string{public + ":80"}) {
				t.Errorf("%s: %d: dialled %q", name, status, got)
			}
			if got := b.all(); len(got) != 2 || !got[0].Allowed || got[1].Allowed || got[1].Hop != 1 || got[1].Reason != c.reason {
				t.Errorf("%s: %d: audit %+v", name, status, got)
			}
		}
	}
}

func TestRedirectFromHTTPSToHTTPIsRefused(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.serveTLS(public+":443", sends(302, "http://a.example/"), "a.example")
	w.serve(public+":80", say("plain"))
	reply, _ := get(t, plugin(t, w.gate(nil), anywhere(t)), "https://a.example/")
	faulty(t, reply, wire.CodeDenied, string(InsecureRedirect))
}

func TestRedirectsEnd(t *testing.T) {
	for length, ok := range map[int]bool{MaxRedirects: true, MaxRedirects + 1: false, 1 << 30: false} {
		w, b := newWorld(t), &book{}
		w.name("a.example", public)
		w.serve(public+":80", func(out http.ResponseWriter, in *http.Request) {
			n := len(strings.Trim(in.URL.Path, "/"))
			if n >= length {
				io.WriteString(out, "end")
				return
			}
			sends(302, in.URL.Path+"x")(out, in)
		})
		reply, body := get(t, plugin(t, w.gate(b), anywhere(t)), "http://a.example/")
		if ok != (body == "end") {
			t.Errorf("%d redirects: %+v %q", length, reply, body)
		}
		if !ok {
			faulty(t, reply, wire.CodeFailed, string(TooManyRedirects))
		}
		if got := len(b.all()); got > MaxRedirects+2 {
			t.Errorf("%d requests were made", got)
		}
	}
}

func TestNoRedirectGivesTheAnswerItself(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.serve(public+":80", sends(302, "http://10.0.0.1/"))
	reply, _ := do(t, plugin(t, w.gate(nil), anywhere(t)), wire.HTTPRequest{Method: "GET", URL: "http://a.example/", NoRedirect: true}, "")
	if reply.Fault != nil || reply.Status != 302 || reply.Headers["Location"][0] != "http://10.0.0.1/" {
		t.Errorf("reply %+v", reply)
	}
}

// FuzzRedirect: whatever a server writes into Location, only servers that the rules name are ever dialled, and
// nothing but them sees the plugin's key.
func FuzzRedirect(f *testing.F) {
	for _, seed := range []string{"/to", "//b.example/", "http://10.0.0.1/", "http://a.example@b.example/", `\\b.example`, "http://[::1]:80/", "?x", "#", "http:b.example", "HTTP://B.EXAMPLE:80/%2e%2e/"} {
		f.Add(seed, 302)
	}
	f.Fuzz(func(t *testing.T, location string, status int) {
		if status < 300 || status > 399 || strings.ContainsAny(location, "\r\n") {
			return
		}
		target, v := egress.ParseURL("http://a.example/from?q")
		if !v.Allowed {
			t.Fatal(v)
		}
		x := exchange{method: "POST", target: target, header: http.Header{"X-Api-Key": {"k"}, "Accept": {"a"}}, body: []byte("b")}
		next, v := x.follow(status, location)
		if x.header.Get("X-Api-Key") != "k" || x.method != "POST" || len(x.body) != 1 || x.hop != 0 {
			t.Fatal("following changed the request that was already made")
		}
		if !v.Allowed {
			return
		}
		if next.hop != 1 || next.target.Zero() || (next.target.Scheme() != "http" && next.target.Scheme() != "https") {
			t.Fatalf("next %+v", next)
		}
		if kept := next.header.Get("X-Api-Key") != ""; kept != (next.target.Origin() == target.Origin()) {
			t.Fatalf("%q leads to %s with the key: %v", location, next.target.Origin(), kept)
		}
		if (next.method == "GET") != (len(next.body) == 0) {
			t.Fatalf("%s with %d bytes", next.method, len(next.body))
		}
	})
}
