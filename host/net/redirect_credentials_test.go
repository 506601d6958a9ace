package net

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// statuses are those of a redirect that is followed.
var statuses = []int{301, 302, 303, 307, 308}

// originChange is a way from http://a.example/from, or from the URL given, to a server that shows what it was sent.
type originChange struct {
	name, from, to string
	kept           bool // same origin
}

var originChanges = []originChange{
	{"same origin", "", "/to", true},
	{"same origin in full", "", "http://a.example/to", true},
	{"same origin spelt otherwise", "", "HTTP://A.EXAMPLE:80/to", true},
	{"another host", "", "http://b.example/to", false},
	{"another host, scheme-relative", "", "//b.example/to", false},
	{"a subdomain", "", "http://sub.a.example/to", false},
	{"the parent domain", "http://sub.a.example/from", "http://a.example/to", false},
	{"a name that ends alike", "", "http://xa.example/to", false},
	{"another port", "", "http://a.example:81/to", false},
	{"another scheme", "", "https://a.example/to", false},
	{"there and back again", "", "http://b.example/back", false},
}

// crossing is a world in which a.example redirects with one status, and every server answers /to with the headers and
// the body it was sent.
func crossing(t *testing.T, status int, to string) *world {
	t.Helper()
	w := newWorld(t)
	for i, host := range []string{"a.example", "b.example", "sub.a.example", "xa.example"} {
		w.name(host, fmt.Sprintf("93.184.216.%d", 34+i))
	}
	server := func(out http.ResponseWriter, in *http.Request) {
		switch in.URL.Path {
		case "/from":
			sends(status, to)(out, in)
		case "/back":
			sends(status, "http://a.example/to")(out, in)
		default:
			body, err := io.ReadAll(in.Body)
			if err != nil {
				t.Error(err)
			}
			if err := json.NewEncoder(out).Encode(sent{in.Method, in.Header, string(body)}); err != nil {
				t.Error(err)
			}
		}
	}
	for i := range 4 {
		w.serve(fmt.Sprintf("93.184.216.%d:80", 34+i), server)
	}
	w.serveTLS("93.184.216.34:443", server, "a.example")
	w.serve("93.184.216.34:81", server)
	return w
}

// sent is what a server saw.
type sent struct {
	Method string
	Header http.Header
	Body   string
}

// abroad is a call that may go to every server of [crossing].
func abroad(t *testing.T) PluginCall {
	c := anywhere(t)
	c.Egress[0].Methods = append(c.Egress[0].Methods, "PATCH")
	c.Egress = append(c.Egress, wire.Egress{Host: "a.example", Port: 81, Methods: c.Egress[0].Methods})
	return c
}

// What a plugin wrote for one origin is not shown to another, whatever its name: a header that nobody knows may hold a
// key too. What says nothing about the plugin's accounts goes along.
func TestCredentialsAreForOneOrigin(t *testing.T) {
	private := []string{
		"Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "Private-Token", "X-Amz-Security-Token", "X-Csrf-Token",
		"Www-Authenticate", "Referer", "Origin", "If-None-Match", "X-Made-Up-By-The-Plugin",
	}
	common := []string{"Accept", "Accept-Language", "Cache-Control", "Range", "User-Agent"}
	never := []string{"Proxy-Authorization", "Proxy-Authenticate", "X-Forwarded-For", "Forwarded"}
	headers := map[string][]string{}
	for _, name := range slices.Concat(private, common, never) {
		headers[name] = []string{"S3CRET"}
	}
	cells, right := 0, 0
	for _, c := range originChanges {
		for _, status := range statuses {
			w := crossing(t, status, c.to)
			from := c.from
			if from == "" {
				from = "http://a.example/from"
			}
			reply, body := do(t, plugin(t, w.gate(nil), abroad(t)), wire.HTTPRequest{Method: "GET", URL: from, Headers: headers}, "")
			var got sent
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%s, %d: %+v %q", c.name, status, reply, body)
			}
			for _, name := range slices.Concat(private, common, never) {
				cells++
				want := c.kept && !slices.Contains(never, name) || slices.Contains(common, name)
				if has := got.Header.Get(name) == "S3CRET"; has != want {
					t.Errorf("%s, %d: the last server was sent %s: %v, want %v", c.name, status, name, has, want)
					continue
				}
				right++
			}
			for _, name := range slices.Sorted(maps.Keys(got.Header)) {
				if headers[name] == nil && name != "Accept-Encoding" {
					t.Errorf("%s, %d: the last server was sent %s, which nobody set", c.name, status, name)
				}
			}
		}
	}
	t.Logf("redirects: %d of %d headers kept or dropped as they should be", right, cells)
	if cells < 1000 || right != cells {
		t.Errorf("%d of %d headers, at least 1000 are due", right, cells)
	}
}

// A body is sent to the origin it was written for and to no other.
func TestBodiesAreForOneOrigin(t *testing.T) {
	cells, right := 0, 0
	for _, c := range originChanges {
		for _, status := range statuses {
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
				cells++
				w := crossing(t, status, c.to)
				from := c.from
				if from == "" {
					from = "http://a.example/from"
				}
				reply, body := do(t, plugin(t, w.gate(nil), abroad(t)), wire.HTTPRequest{Method: method, URL: from}, "S3CRET")
				becomesGet := status == 303 || method == "POST" && status <= 302
				if !c.kept && !becomesGet {
					faulty(t, reply, wire.CodeDenied, string(BodyRedirect), "redirect 1")
					if got := w.dials(); len(got) != 1 {
						t.Errorf("%s, %d %s: dialled %q", c.name, status, method, got)
						continue
					}
					right++
					continue
				}
				want := sent{Method: method, Body: "S3CRET"}
				if becomesGet {
					want = sent{Method: "GET"}
				}
				var got sent
				if err := json.Unmarshal([]byte(body), &got); err != nil || got.Method != want.Method || got.Body != want.Body {
					t.Errorf("%s, %d %s: %v, the last server was sent %s %q", c.name, status, method, reply.Fault, got.Method, got.Body)
					continue
				}
				right++
			}
		}
	}
	t.Logf("redirects: %d of %d bodies sent or refused as they should be", right, cells)
	if cells < 200 || right != cells {
		t.Errorf("%d of %d bodies, at least 200 are due", right, cells)
	}
}

// A request to which the host added a credential of its own follows redirects within its origin alone.
func TestABoundRequestStaysAtItsOrigin(t *testing.T) {
	changes := append(slices.Clone(originChanges), originChange{"another scheme on the same port", "http://a.example:81/from", "https://a.example:81/", false})
	for _, c := range changes {
		from := c.from
		if from == "" {
			from = "http://a.example/from"
		}
		target, v := egress.ParseURL(from)
		if !v.Allowed {
			t.Fatal(v)
		}
		for _, status := range statuses {
			for _, bound := range []bool{true, false} {
				x := exchange{method: "GET", target: target, header: http.Header{"Authorization": {"Bearer S3CRET"}}, bound: bound}
				next, v := x.follow(status, c.to)
				if want := c.kept || !bound; v.Allowed != want || !want && v.Reason != CredentialRedirect {
					t.Errorf("%s, %d, bound %v: %+v", c.name, status, bound, v)
				}
				if v.Allowed && (next.bound != bound || (next.header.Get("Authorization") != "") != c.kept) {
					t.Errorf("%s, %d: the next request is %+v", c.name, status, next)
				}
			}
		}
	}
}
