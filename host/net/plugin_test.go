package net

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

const public = "93.184.216.34" // an address like any other; nothing of it is ever reached

func TestRequestReachesTheServerAndTheAnswerComesBack(t *testing.T) {
	w, b := newWorld(t), &book{}
	w.name("a.example", public)
	w.serveTLS(public+":443", func(out http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			t.Error(err)
		}
		out.Header().Add("X-One", "1")
		out.Header().Add("X-One", "2")
		out.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(out, "%s %s %s %s %s", in.Method, in.Host, in.URL, in.Header.Get("X-Mine"), body)
	}, "a.example")
	p := plugin(t, w.gate(b), anywhere(t))
	reply, body := do(t, p, wire.HTTPRequest{Method: "POST", URL: "https://A.example/p?q=1#f", Headers: map[string][]string{"x-mine": {"yes"}}}, "hello")
	if reply.Status != http.StatusTeapot || body != "POST a.example /p?q=1 yes hello" || reply.URL != "https://a.example/p?q=1" {
		t.Errorf("reply %+v %q", reply, body)
	}
	if !slices.Equal(reply.Headers["X-One"], []string{"1", "2"}) {
		t.Errorf("headers %v", reply.Headers)
	}
	if got := w.dials(); !slices.Equal(got, []string{public + ":443"}) {
		t.Errorf("dialled %q", got)
	}
	want := []Decision{{
		Caller: "plugin web", Method: "POST", Origin: "https://a.example:443", Addresses: []netip.Addr{netip.MustParseAddr(public)},
		Allowed: true, Reason: egress.Allowed,
	}}
	if got := b.all(); !reflect.DeepEqual(got, want) {
		t.Errorf("audit %+v", got)
	}
}

// A request needs all four layers. Without one it is refused before a name is resolved: a question to a name server
// is a message too.
func TestEachLayerAloneRefuses(t *testing.T) {
	rules := func(r ...egress.Rule) *egress.Policy {
		p, err := egress.NewPolicy(r...)
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	for name, c := range map[string]struct {
		change func(*PluginCall)
		reason egress.Reason
		says   string
		remedy string
	}{
		"nothing declared":  {func(c *PluginCall) { c.Egress = nil }, egress.HostNotAllowed, "plugin web does not declare this request", ""},
		"host not declared": {func(c *PluginCall) { c.Egress = []wire.Egress{{Host: "b.example"}} }, egress.HostNotAllowed, "no rule allows the host a.example", ""},
		"port not declared": {func(c *PluginCall) { c.Egress = []wire.Egress{{Host: "a.example", Port: 8443}} }, egress.PortNotAllowed, "port 443", ""},
		"method":            {func(c *PluginCall) { c.Egress = []wire.Egress{{Host: "a.example", Methods: []string{"POST"}}} }, egress.MethodNotAllowed, "GET", ""},
		"path":              {func(c *PluginCall) { c.Egress = []wire.Egress{{Host: "a.example", PathPrefix: "/v1"}} }, egress.PathNotAllowed, "/v1", ""},
		"no grant":          {func(c *PluginCall) { c.Grants = snapshot(t) }, NotGranted, "plugin web is not granted net.fetch:a.example", "portcullis plugin grant web net.fetch:a.example"},
		"other grant":       {func(c *PluginCall) { c.Grants = snapshot(t, "net.fetch:b.example", "net.fetch:a.example:80", "kv") }, NotGranted, "plugin web is not granted net.fetch:a.example", "portcullis plugin grant web net.fetch:a.example"},
		"neither grant":     {func(c *PluginCall) { c.Grants, c.Capabilities = snapshot(t), snapshot(t) }, NotGranted, "plugin web is not granted net.fetch:a.example", "portcullis plugin grant web net.fetch:a.example --core assistant"},
		"no capability":     {func(c *PluginCall) { c.Capabilities = snapshot(t) }, NotInCore, "core assistant does not have net.fetch:a.example", "portcullis plugin grant web net.fetch:a.example --core assistant"},
		"core rules":        {func(c *PluginCall) { c.CoreRules = rules(egress.Rule{Host: "b.example"}) }, NotInCore, "the egress rules of core assistant leave this out: no rule allows the host a.example", "add a rule for it to egress in cores/assistant/agent.yaml"},
		"rules of another":  {func(c *PluginCall) { c.Within = []egress.Policy{*rules(egress.Rule{Host: "a.example"}), *rules()} }, NotInCore, "the core that this one works for leave this out", ""},
		"empty core rules":  {func(c *PluginCall) { c.CoreRules = rules() }, NotInCore, "core assistant leave this out", "add a rule for it to egress in cores/assistant/agent.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(t), &book{}
			w.name("a.example", public)
			call := anywhere(t)
			c.change(&call)
			p := plugin(t, w.gate(b), call)
			reply, _ := get(t, p, "https://a.example/x")
			faulty(t, reply, wire.CodeDenied, string(c.reason), c.says)
			if m := reply.Fault.Message; strings.Contains(m, "portcullis ") || strings.Contains(m, ".yaml") {
				t.Errorf("the plugin is told what only the operator can do: %s", m)
			}
			if got := p.Remedy("the tool: " + reply.Fault.Message); got != c.remedy {
				t.Errorf("remedy %q, want %q", got, c.remedy)
			}
			if got := p.Remedy("read notes.txt: not allowed"); got != "" {
				t.Errorf("another fault has the remedy %q", got)
			}
			if n := w.questions(); n != 0 || len(w.dials()) != 0 {
				t.Errorf("%d questions were asked", n)
			}
			if got := b.all(); len(got) != 1 || got[0].Allowed || got[0].Reason != c.reason || got[0].Origin != "https://a.example:443" {
				t.Errorf("audit %+v", got)
			}
		})
	}
}

func TestAllLayersTogetherAllow(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.serve(public+":8080", say("yes"))
	rules, err := egress.NewPolicy(egress.Rule{Host: "*.example", Ports: nil}, egress.Rule{Host: "a.example", Ports: []uint16{8080}, PathPrefix: "/v1"})
	if err == nil {
		t.Fatal("a pattern below a top-level domain was accepted")
	}
	rules, err = egress.NewPolicy(egress.Rule{Host: "a.example", Ports: []uint16{8080}, PathPrefix: "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	p := plugin(t, w.gate(nil), PluginCall{
		Plugin: "web", Egress: []wire.Egress{{Host: "a.example", Port: 8080, PathPrefix: "/v1"}}, Grants: snapshot(t, "net.fetch:a.example:8080"),
		Core: "assistant", Capabilities: snapshot(t, "net.fetch:a.example:*"), CoreRules: &rules,
	})
	if reply, body := get(t, p, "http://a.example:8080/v1/x"); reply.Status != 200 || body != "yes" {
		t.Errorf("reply %+v %q", reply, body)
	}
}

// A manifest that leaves the host open does not cover addresses, private names and odd ports, unless the operator's
// grant names the place.
func TestOpenManifestWithANamedGrant(t *testing.T) {
	for _, c := range []struct {
		url, grant string
		want       egress.Reason
	}{
		{"http://127.0.0.1:8080/", "net.fetch:*", NotGranted},
		{"http://127.0.0.1:8080/", "net.fetch:127.0.0.1", NotGranted}, // port 80 was granted
		{"http://127.0.0.1:8080/", "net.fetch:127.0.0.1:8080", egress.Allowed},
		{"http://127.0.0.1:8080/", "net.fetch:127.0.0.1:*", egress.Allowed},
		{"http://localhost:8080/", "net.fetch:*", NotGranted},
		{"http://localhost:8080/", "net.fetch:localhost:8080", egress.Allowed},
		{"http://a.example:8080/", "net.fetch:*", NotGranted},
		{"http://a.example:8080/", "net.fetch:a.example:8080", egress.Allowed},
		{"http://169.254.169.254/", "net.fetch:169.254.169.254", egress.MetadataAddress},
		{"http://metadata.google.internal/", "net.fetch:metadata.google.internal", egress.MetadataHostname},
	} {
		w, b := newWorld(t), &book{}
		w.name("localhost", "127.0.0.1")
		w.name("a.example", public)
		w.name("metadata.google.internal", "169.254.169.254")
		w.serve("127.0.0.1:8080", say("here"))
		w.serve(public+":8080", say("there"))
		call := anywhere(t)
		call.Grants = snapshot(t, c.grant)
		p := plugin(t, w.gate(b, "http://127.0.0.1:8080", "http://localhost:8080"), call)
		reply, _ := get(t, p, c.url)
		target, _ := egress.ParseURL(c.url)
		if grant := "portcullis plugin grant web " + target.Capabilities()[0].String(); c.want == NotGranted && p.Remedy(reply.Fault.Message) != grant {
			t.Errorf("%s with %s: remedy %q, want %q", c.url, c.grant, p.Remedy(reply.Fault.Message), grant)
		}
		if got := b.all(); len(got) != 1 || got[0].Reason != c.want || (reply.Fault == nil) != (c.want == egress.Allowed) {
			t.Errorf("%s with %s: audit %+v, reply %+v", c.url, c.grant, got, reply)
		}
	}
}

func TestADecisionThatCannotBeRecordedIsARefusal(t *testing.T) {
	w, b := newWorld(t), &book{fail: errors.New("disk full")}
	w.name("a.example", public)
	w.serve(public+":80", say("yes"))
	p := plugin(t, w.gate(b), anywhere(t))
	if reply, body, err := p.Do(t.Context(), wire.HTTPRequest{Method: "GET", URL: "http://a.example/"}, nil); !errors.Is(err, b.fail) || body != nil || reply.Status != 0 {
		t.Errorf("reply %+v, %v", reply, err)
	}
	if got := w.dials(); len(got) != 0 {
		t.Errorf("dialled %q", got)
	}
}

func TestACallCanBringItsOwnAudit(t *testing.T) {
	w, of, own := newWorld(t), &book{}, &book{}
	call := anywhere(t)
	call.Audit = own.write
	get(t, plugin(t, w.gate(of), call), "http://a.example/")
	if len(of.all()) != 0 || !slices.Equal(reasons(own.all()), []egress.Reason{egress.DNSNoAddresses}) {
		t.Errorf("audits %+v, %+v", of.all(), own.all())
	}
}

// Whatever goes wrong, no sentence, error or audit record repeats what may be a credential.
func TestNothingRepeatsWhatMayBeSecret(t *testing.T) {
	const secret = "S3CRET"
	w, b := newWorld(t), &book{}
	w.name("a.example", public)
	w.name("b.example", "10.0.0.1")
	w.name("c.example", "93.184.216.35")
	w.name("d.example", "93.184.216.36")
	w.name("e.example", "93.184.216.37")
	w.name("f.example", "93.184.216.38")
	w.name("g.example", "93.184.216.39")
	w.serve(public+":80", func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("Location", "http://b.example/"+secret+"?t="+secret)
		out.WriteHeader(http.StatusFound)
	})
	w.serve("93.184.216.36:80", func(out http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	w.serveTLS("93.184.216.37:443", say("x"), "other.example")
	w.serve("93.184.216.38:80", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Location", "http://user:"+secret+"@a.example/")
		out.WriteHeader(http.StatusFound)
	})
	w.serve("93.184.216.39:80", func(out http.ResponseWriter, in *http.Request) {
		conn, _, err := out.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, in.URL.Path+" is no HTTP\r\n\r\n") // which net/http repeats in its error
		conn.Close()
	})
	p := plugin(t, w.gate(b), anywhere(t))
	tail := "/" + secret + "?token=" + secret
	for _, url := range []string{
		"http://a.example" + tail, // redirect to a private address
		"http://b.example" + tail, // private
		"http://c.example" + tail, // nobody listens
		"http://d.example" + tail, // broken off
		"https://e.example" + tail,
		"http://f.example" + tail,                // redirect with a password
		"http://g.example" + tail,                // no HTTP
		"http://none.example" + tail,             // no such name
		"http://u:" + secret + "@a.example/",     // userinfo
		"http://a.example/ " + secret,            // a space
		"ftp://a.example" + tail,                 // scheme
		"http://a.example:99999" + tail,          // port
		"http://" + secret + "_.example/" + tail, // host
		"http://127.0.0.1" + tail,                // no rule
	} {
		reply, body, err := p.Do(t.Context(), wire.HTTPRequest{Method: "GET", URL: url, Headers: map[string][]string{"Authorization": {secret}, "X-Api-Key": {secret}}}, nil)
		if err != nil || reply.Fault == nil {
			t.Errorf("%s: %+v %q %v", url, reply, body, err)
			continue
		}
		if strings.Contains(reply.Fault.Message, secret) {
			t.Errorf("%s: the fault says %q", url, reply.Fault.Message)
		}
	}
	if text := fmt.Sprintf("%+v", b.all()); strings.Contains(text, secret) {
		t.Errorf("the audit says %s", text)
	}
}

func TestInvalidManifestIsAnError(t *testing.T) {
	if p, err := newWorld(t).gate(nil).Plugin(PluginCall{Egress: []wire.Egress{{Host: "*.com"}}}); err == nil || p != nil {
		t.Errorf("Plugin = %v, %v", p, err)
	}
}

// The longest host that DNS has can be granted with every port; a longer one is no host.
func TestTheLongestHostIsGrantedLikeAnyOther(t *testing.T) {
	for length, want := range map[int]egress.Reason{253: NotGranted, 254: egress.InvalidHostname} {
		host := strings.Repeat("a.", (length-len("example.com"))/2) + "example.com"
		if len(host) < length {
			host = "a" + host
		}
		w, b := newWorld(t), &book{}
		call := anywhere(t)
		call.Egress, call.Grants = []wire.Egress{{Host: "*.example.com", Port: 65535}}, snapshot(t)
		reply, _ := get(t, plugin(t, w.gate(b), call), "https://"+host+":65535/")
		faulty(t, reply, wire.CodeDenied, string(want))
	}
}
