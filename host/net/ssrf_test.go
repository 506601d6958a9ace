package net

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// callers are all that reach the network. A new way out of the gate adds a line, and is held to every form.
var callers = []caller{
	{name: "plugin HTTP", follows: true, fetch: fetchAsPlugin},
	{name: "plugin HTTP with a credential", follows: true, secure: true, bound: true, fetch: fetchWithCredential},
	{name: "provider", fetch: fetchAsProvider},
}

// caller is one way out of the gate, set up as carelessly as it can be: whatever rules and grants can name is named, so
// that the URL and the address decide.
type caller struct {
	name    string
	follows bool // redirects; the others hand them back
	secure  bool // reaches public addresses over https only
	bound   bool // carries a credential of the host
	fetch   func(t *testing.T, w *world, b *book, q question) outcome
}

// question is one request. To are the URLs that redirects of it lead to.
type question struct {
	url, body string
	to        []string
	open      []string // private origins that are opened
}

// outcome is what became of it: the code of a refusal, or what the server said.
type outcome struct {
	reason egress.Reason
	status int
	body   string
}

func fetchAsPlugin(t *testing.T, w *world, b *book, q question) outcome {
	return fetchWith(t, w, b, q, anywhere(t))
}

// fetchWithCredential is a plugin's request with a credential that the manifest declares for the very origin.
func fetchWithCredential(t *testing.T, w *world, b *book, q question) outcome {
	call := anywhere(t)
	if target, v := egress.ParseURL(q.url); v.Allowed && target.Scheme() == "https" {
		if _, err := egress.NewPolicy(egress.Rule{Host: target.Host()}); err == nil {
			call = carrying(t, place(wire.InHeader, "X-Api-Key", "", target.Origin(), ""))
		}
	}
	return fetchWith(t, w, b, q, call)
}

func fetchWith(t *testing.T, w *world, b *book, q question, call PluginCall) outcome {
	grants := []string{"net.fetch:*"}
	for _, text := range append([]string{q.url}, q.to...) {
		target, v := egress.ParseURL(text)
		if !v.Allowed {
			continue
		}
		for _, n := range target.Capabilities() {
			grants = append(grants, n.String())
		}
		rule := wire.Egress{Host: target.Host(), Port: int(target.Port()), Methods: []string{"GET", "POST"}}
		if _, err := egress.NewPolicy(ruleOf(rule, rule.Host)); err == nil { // a metadata service cannot even be named
			call.Egress = append(call.Egress, rule)
		}
	}
	call.Grants, call.Capabilities = snapshot(t, grants...), snapshot(t, grants...)
	req := wire.HTTPRequest{Method: "GET", URL: q.url, Headers: map[string][]string{"Authorization": {"S3CRET"}}}
	if q.body != "" {
		req.Method = "POST"
	}
	p, err := w.gate(b, q.open...).Plugin(call)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	answer, body := do(t, p, req, q.body)
	if answer.Fault == nil {
		return outcome{status: answer.Status, body: body}
	}
	if strings.Contains(answer.Fault.Message, "S3CRET") {
		t.Errorf("%q: the fault says %q", q.url, answer.Fault.Message)
	}
	last := b.all()[len(b.all())-1]
	if last.Allowed || !strings.Contains(answer.Fault.Message, "("+string(last.Reason)+")") {
		t.Errorf("%q: fault %q, recorded as %+v", q.url, answer.Fault.Message, last)
	}
	return outcome{reason: last.Reason}
}

func fetchAsProvider(t *testing.T, w *world, b *book, q question) outcome {
	c, err := w.gate(b, q.open...).ProviderClient("main", q.url, Allowances{})
	if err != nil {
		return refusal(t, q, err)
	}
	return through(t, c, q)
}

// through makes the request with a client of the gate. The URL goes in whole, past net/url: what the gate refuses must
// not depend on what another parser refused before.
func through(t *testing.T, c *http.Client, q question) outcome {
	t.Helper()
	defer c.CloseIdleConnections()
	method, body := "GET", io.Reader(nil)
	if q.body != "" {
		method, body = "POST", strings.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://unset.example/", body)
	if err != nil {
		t.Fatal(err)
	}
	scheme, rest, ok := strings.Cut(q.url, ":")
	if !ok {
		scheme, rest = "", q.url
	}
	req.URL, req.Host = &url.URL{Scheme: scheme, Opaque: rest}, ""
	req.Header.Set("Authorization", "S3CRET")
	resp, err := c.Transport.RoundTrip(req)
	if err != nil {
		return refusal(t, q, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%q: %v", q.url, err)
	}
	if redirects(resp.StatusCode) {
		// What an http.Client would do with it, even one with another rule than ours.
		follow := *c
		follow.CheckRedirect = nil
		req.URL, err = url.Parse(q.url)
		if err != nil {
			t.Fatal(err)
		}
		if q.body != "" {
			req.Body = io.NopCloser(strings.NewReader(q.body))
		}
		if resp, err := follow.Do(req); err == nil {
			resp.Body.Close()
			t.Errorf("%q: a copy of the client followed the redirect to %q", q.url, q.to)
		}
		return outcome{reason: RedirectNotFollowed, status: resp.StatusCode}
	}
	return outcome{status: resp.StatusCode, body: string(text)}
}

func refusal(t *testing.T, q question, err error) outcome {
	t.Helper()
	var no *RefusedError
	if !errors.As(err, &no) {
		t.Errorf("%q: %v", q.url, err)
		return outcome{reason: "no refusal"}
	}
	if strings.Contains(err.Error(), "S3CRET") {
		t.Errorf("%q: the error says %q", q.url, err)
	}
	return outcome{reason: no.Reason}
}

// of is a URL as this caller may speak it: with https in the place of http, and 443 in that of 80.
func (c caller) of(raw string) string {
	const plain = "http://"
	if !c.secure || len(raw) < len(plain) || !strings.EqualFold(raw[:len(plain)], plain) {
		return raw
	}
	rest := raw[len(plain):]
	end := strings.IndexAny(rest+"/", "/?#")
	host, tail := rest[:end], rest[end:]
	if name, ok := strings.CutSuffix(host, ":80"); ok {
		host = name + ":443"
	}
	return "https://" + host + tail
}

// wants is the code that this caller refuses a form with.
func (c caller) wants(f form) egress.Reason {
	switch {
	case f.status == 0:
	case !c.follows:
		return RedirectNotFollowed
	case c.bound:
		switch f.want {
		case egress.PrivateAddress, egress.MetadataAddress, egress.NonRoutableAddress, egress.MetadataHostname, egress.DNSNoAddresses, BodyRedirect:
			return CredentialRedirect // before it is asked where it leads
		}
	}
	return f.want
}

// trap is a world whose name server is as lenient as any, and where every address that a form is after has a server.
func (c caller) trap(t *testing.T, f form, target netip.Addr) *world {
	w := newWorld(t)
	w.lenient = target
	w.name("a.example", public)
	w.name("b.example", "93.184.216.35")
	w.name("inside.example", "10.0.0.1")
	w.name("six.example", "::1")
	w.name("mixed.example", public, "10.0.0.1")
	w.names["none.example."] = []answer{{}}
	if f.answers != nil {
		w.server = nameServer(t, f.answers)
	}
	h := say("outside")
	if f.status != 0 {
		h = sends(f.status, c.of(f.location))
	}
	if f.status != 0 || f.twice {
		if c.secure {
			w.serveTLS(public+":443", h, "a.example")
		} else {
			w.serve(public+":80", h)
		}
	}
	return w
}

// aimed is a form and the address that it is after.
type aimed struct {
	form
	at netip.Addr
}

// ssrfForms are all forms, each once, and how many there are of each class.
func ssrfForms(t *testing.T) (all []aimed, counts map[string]int) {
	t.Helper()
	counts = map[string]int{}
	seen := map[string]bool{}
	add := func(at string, forms []form) {
		for _, f := range forms {
			if key := f.key() + at; seen[key] {
				t.Errorf("%q is counted twice", key)
				continue
			}
			seen[f.key()+at] = true
			all = append(all, aimed{f, netip.MustParseAddr(at)})
			counts[f.class]++
		}
	}
	for _, at := range []string{"127.0.0.1", "169.254.169.254"} {
		forms := addressForms(netip.MustParseAddr(at))
		if len(forms) < 244 {
			t.Errorf("%d spellings of %s, at least 244 are due", len(forms), at)
		}
		add(at, forms)
	}
	add("127.0.0.1", slices.Concat(rangeForms(), redirectForms(), dnsForms(), parserForms()))
	return all, counts
}

// The page says how many forms there are.
func TestThePageCountsTheseForms(t *testing.T) {
	text, err := os.ReadFile("../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, n := ssrfForms(t)
	for _, want := range []string{
		fmt.Sprintf("| %d spellings of each of 127.0.0.1 and 169.254.169.254", n["spelling"]/2), fmt.Sprintf(" %d redirects,", n["redirect"]),
		fmt.Sprintf(" %d answers of name servers", n["dns"]), fmt.Sprintf(" %d URLs that parsers read differently", n["parser"]), fmt.Sprintf("| %d ordinary URLs", len(publicForms())),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/threat-model.md does not say %q", want)
		}
	}
}

// The whole policy against every form, for each caller: refused, with the code of its class, recorded, and without a
// connection to anything but the public servers of the world.
func TestSSRF(t *testing.T) {
	least := map[string]int{"spelling": 2 * 244, "range": 60, "redirect": 40, "dns": 20, "parser": 30}
	all, counts := ssrfForms(t)
	for class, n := range least {
		if counts[class] < n {
			t.Errorf("%d forms of class %s, at least %d are due", counts[class], class, n)
		}
	}
	for _, c := range callers {
		t.Run(c.name, func(t *testing.T) {
			refused := 0
			for _, f := range all {
				w, b := c.trap(t, f.form, f.at), &book{}
				q := question{url: c.of(f.url), body: f.body}
				if f.status != 0 {
					base, _ := egress.ParseURL(q.url)
					if to, v := base.Resolve(c.of(f.location)); v.Allowed {
						q.to = []string{to.String()}
					}
				}
				want := c.wants(f.form)
				if f.twice {
					if got := c.fetch(t, w, b, q); got.body != "outside" {
						t.Errorf("%s: the first request: %+v", f.name, got)
					}
				}
				got := c.fetch(t, w, b, q)
				if got.reason != want {
					t.Errorf("%s %q (%s): %+v, want %s", f.class, f.url, f.name, got, want)
					continue
				}
				if bad := notPublic(w.dials()); len(bad) != 0 {
					t.Errorf("%s %q (%s): dialled %q", f.class, f.url, f.name, bad)
					continue
				}
				if text := fmt.Sprintf("%+v", b.all()); strings.Contains(text, "S3CRET") || strings.Contains(text, "/x") || strings.Contains(text, "/latest") {
					t.Errorf("%s %q (%s): the audit says %s", f.class, f.url, f.name, text)
					continue
				}
				refused++
			}
			t.Logf("SSRF: %d of %d refused (%d spellings, %d of ranges, %d redirects, %d of name servers, %d for parsers)",
				refused, len(all), counts["spelling"], counts["range"], counts["redirect"], counts["dns"], counts["parser"])
			if refused != len(all) || len(all) < 600 {
				t.Errorf("%d of %d refused, at least 600 are due", refused, len(all))
			}
		})
	}
}

// notPublic are the dials to anything but the two servers of a.example and b.example. It knows nothing of classes of
// addresses, so that it cannot share their faults.
func notPublic(dials []string) []string {
	return slices.DeleteFunc(dials, func(at string) bool {
		host := at[:strings.LastIndexByte(at, ':')]
		return host == public || host == "93.184.216.35"
	})
}

// The recorder sees what it is there to see: with exactly the origin opened, each caller does reach the private address,
// and the dial is in the book.
func TestSSRFRecorderSeesADial(t *testing.T) {
	for _, c := range callers {
		for _, host := range []string{"127.0.0.1", "inside.example", "10.0.0.1", "[::1]"} {
			w := newWorld(t)
			w.name("inside.example", "10.0.0.1")
			at := map[string]string{"inside.example": "10.0.0.1"}[host]
			if at == "" {
				at = host
			}
			url := c.of("http://" + host + "/x")
			if c.secure {
				w.serveTLS(at+":443", say("inside"), strings.Trim(host, "[]"))
			} else {
				w.serve(at+":80", say("inside"))
			}
			got := c.fetch(t, w, &book{}, question{url: url, open: []string{strings.TrimSuffix(url, "/x")}})
			if dials := notPublic(w.dials()); got.body != "inside" || len(dials) != 1 || !strings.HasPrefix(dials[0], at+":") {
				t.Errorf("%s, %s: %+v, recorded %q", c.name, host, got, dials)
			}
		}
	}
}

// publicForms are ordinary URLs and what the server must see of them.
func publicForms() []form {
	var forms []form
	add := func(url string, ips ...string) {
		if len(ips) == 0 {
			ips = []string{public}
		}
		forms = append(forms, form{class: "public", url: url, answers: addresses(ips...)})
	}
	for _, host := range []string{
		"a.example", "api.example.com", "x.y.z.deep.example.org", "a1.example", "1a.example", "123.example.com", "a-b.example", "a--b.example", "xn--bcher-kva.example",
		"xn--e1afmkfd.xn--p1ai", "xn--fiq228c.example", "A.EXAMPLE", "MiXeD.ExAmPlE.cOm", "q.example", "0x7f.1.example.com", "localhost.example.com", "127.0.0.1.nip.example",
		"metadata.example.com", "internal.example.com", strings.Repeat("a", 63) + ".example", strings.Repeat("abcdefghi.", 24) + "abcd.example",
	} {
		add("http://" + host + "/x")
	}
	for _, ip := range []string{"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "172.32.0.0", "192.169.0.0", "223.255.255.255"} {
		add("http://" + ip + "/x")
	}
	for _, ip := range []string{"2606:4700:4700::1111", "2001:4860:4860::8888", "2001:200::1", "2a00:1450:4001::1", "2620:fe::fe", "2400:cb00::1", "3000::1", "2003::"} {
		add("http://[" + ip + "]/x")
	}
	for _, port := range []int{80, 81, 8080, 8443, 1, 65535, 3000} {
		add("http://a.example:" + strconv.Itoa(port) + "/x")
	}
	add("http://8.8.8.8:8080/x")
	add("http://[2606:4700:4700::1111]:8443/x")
	for _, tail := range []string{
		"", "/", "?q=1", "/?", "/?q=a%20b&r=%2F..%2F", "/x?u=http://127.0.0.1/&v=@10.0.0.1", "/a%2Fb", "/%E2%82%AC", "/a//b", "/a;v=1/b", "/@user:x", "/a...b/.c/..d",
		"/" + strings.Repeat("long/", 1500), "/x?" + strings.Repeat("y", 7000), "/x#fragment", "/%7Euser/~user", "/a+b/a=b,c!$&'()*", "/x?a[]=1&b[x]=2", "/%252e%252e/x",
	} {
		add("http://a.example" + tail)
	}
	add("http://a.example/many", public, "93.184.216.35", "2606:4700::1111")
	add("http://a.example/six", "2606:4700::1111")
	return forms
}

// Ordinary requests are allowed, reach the address that was judged and nothing else, and arrive as they were written.
func TestSSRFPublicControls(t *testing.T) {
	for _, c := range callers {
		t.Run(c.name, func(t *testing.T) {
			forms, allowed := publicForms(), 0
			for _, f := range forms {
				w, b := newWorld(t), &book{}
				w.server = nameServer(t, f.answers)
				url := c.of(f.url)
				target, v := egress.ParseURL(url)
				if !v.Allowed {
					t.Errorf("%q: %+v", url, v)
					continue
				}
				at := netip.AddrPortFrom(netip.MustParseAddr(f.answers("", 1, 0).ips[0]), target.Port())
				if ip, literal := target.Address(); literal {
					at = netip.AddrPortFrom(ip, target.Port())
				}
				h := func(out http.ResponseWriter, in *http.Request) { fmt.Fprint(out, in.Host, " ", in.RequestURI) }
				if c.secure {
					w.serveTLS(at.String(), h, strings.Trim(target.Host(), "[]"))
				} else {
					w.serve(at.String(), h)
				}
				want := strings.TrimPrefix(strings.TrimPrefix(target.String(), "http://"), "https://")
				want = strings.Replace(want, target.Path(), " "+target.Path(), 1)
				got := c.fetch(t, w, b, question{url: url})
				if got.reason != "" || got.body != want {
					t.Errorf("%q: %+v, want %q", url, got, want)
					continue
				}
				if dials := w.dials(); !slices.Equal(dials, []string{at.String()}) {
					t.Errorf("%q: dialled %q, want %s", url, dials, at)
					continue
				}
				if all := b.all(); len(all) != 1 || !all[0].Allowed || all[0].Origin != target.Origin() || !slices.Contains(all[0].Addresses, at.Addr()) {
					t.Errorf("%q: audit %+v", url, all)
					continue
				}
				allowed++
			}
			t.Logf("SSRF: %d of %d public controls allowed", allowed, len(forms))
			if allowed != len(forms) || len(forms) < 60 {
				t.Errorf("%d of %d public controls allowed, at least 60 are due", allowed, len(forms))
			}
		})
	}
}
