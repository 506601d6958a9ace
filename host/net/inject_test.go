package net

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

const tokenValue = "123456:AAE-token_of.a~bot"

// place is a credential of the test for one origin.
func place(in, field, template, origin, prefix string) Credential {
	c := wire.Credential{Name: "one", Secret: "TOKEN", In: in, Field: field, Template: template, Origin: origin, PathPrefix: prefix, Reason: "test"}
	return Credential{c, func() string { return tokenValue }}
}

// carrying is anywhere with credentials, and with what the host knows.
func carrying(t testing.TB, all ...Credential) PluginCall {
	t.Helper()
	c := anywhere(t)
	c.Credentials = all
	set, err := redact.Set{}.With(redact.NewSecret("TOKEN", tokenValue))
	if err != nil {
		t.Fatal(err)
	}
	c.Mask = func(text []byte) ([]byte, bool) {
		masked, _, ok := set.Mask(redact.ForModel, text)
		return masked, ok
	}
	return c
}

// witness is what a server of the test was sent last.
type witness struct {
	method, uri, body string
	header            http.Header
	requests          int
}

// watch is a world whose servers all write down what they are sent.
func watch(t testing.TB, hosts ...string) (*world, *witness) {
	t.Helper()
	w, s := newWorld(t), &witness{}
	for i, host := range hosts {
		ip := fmt.Sprintf("93.184.216.%d", 34+i)
		w.name(host, ip)
		keep := func(out http.ResponseWriter, in *http.Request) {
			body, err := io.ReadAll(in.Body)
			if err != nil {
				t.Error(err)
			}
			*s = witness{in.Method, in.RequestURI, string(body), in.Header.Clone(), s.requests + 1}
			io.WriteString(out, "ok")
		}
		w.serve(ip+":80", keep)
		w.serveTLS(ip+":443", keep, host)
		w.serveTLS(ip+":8443", keep, host)
	}
	return w, s
}

// holds reports that anything that a server was sent has the value in it, as it is or in base64.
func (s *witness) holds() bool {
	all := fmt.Sprint(s.uri, s.body, s.header)
	plain, err := url.QueryUnescape(all)
	if err != nil {
		plain = all
	}
	return strings.Contains(plain, tokenValue) || strings.Contains(all, tokenValue) || strings.Contains(all, "Basic ")
}

func TestACredentialStandsWhereItIsDeclared(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		credential Credential
		req        wire.HTTPRequest
		body       string
		check      func(s *witness) bool
	}{
		"header": {
			place(wire.InHeader, "authorization", "Bearer {TOKEN}", "https://a.example", ""),
			wire.HTTPRequest{URL: "https://a.example/v1"},
			"",
			func(s *witness) bool {
				return slices.Equal(s.header["Authorization"], []string{"Bearer " + tokenValue}) && s.uri == "/v1"
			},
		},
		"header alone": {
			place(wire.InHeader, "X-Api-Key", "", "https://a.example", ""),
			wire.HTTPRequest{URL: "https://a.example/v1"},
			"",
			func(s *witness) bool { return s.header.Get("X-Api-Key") == tokenValue },
		},
		"basic": {
			place(wire.InBasic, "", "bot:{TOKEN}", "https://a.example", ""),
			wire.HTTPRequest{URL: "https://a.example/v1"},
			"",
			func(s *witness) bool {
				return s.header.Get("Authorization") == "Basic "+base64.StdEncoding.EncodeToString([]byte("bot:"+tokenValue))
			},
		},
		"query": {
			place(wire.InQuery, "key", "", "https://a.example", ""),
			wire.HTTPRequest{URL: "https://a.example/v1?q=a%20b"},
			"",
			func(s *witness) bool { return s.uri == "/v1?q=a%20b&key="+url.QueryEscape(tokenValue) },
		},
		"query of its own": {
			place(wire.InQuery, "key", "", "https://a.example", ""),
			wire.HTTPRequest{URL: "https://a.example/v1"},
			"",
			func(s *witness) bool { return s.uri == "/v1?key="+url.QueryEscape(tokenValue) },
		},
		"path": {
			place(wire.InPath, "", "", "https://a.example", ""),
			wire.HTTPRequest{URL: "https://a.example/bot{TOKEN}/getMe?x=1"},
			"",
			func(s *witness) bool { return s.uri == "/bot"+tokenValue+"/getMe?x=1" },
		},
		"path that is not written": {
			place(wire.InPath, "", "", "https://a.example", ""),
			wire.HTTPRequest{URL: "https://a.example/status"},
			"",
			func(s *witness) bool { return s.uri == "/status" && !s.holds() },
		},
		"json": {
			place(wire.InBody, "/auth/0/key~1x", "", "https://a.example", ""),
			wire.HTTPRequest{Method: "POST", URL: "https://a.example/v1", Headers: map[string][]string{"content-type": {"application/json; charset=utf-8"}}},
			` {"n": 1.50, "auth":[ {"key/x" : "\u007bTOKEN}", "{TOKEN}":"{TOKEN} is not it"}]} `,
			func(s *witness) bool {
				return s.body == ` {"n": 1.50, "auth":[ {"key/x" : "`+tokenValue+`", "{TOKEN}":"{TOKEN} is not it"}]} `
			},
		},
		"form": {
			place(wire.InBody, "client_secret", "", "https://a.example", ""),
			wire.HTTPRequest{Method: "POST", URL: "https://a.example/v1", Headers: map[string][]string{"Content-Type": {form}}},
			"grant_type=client%5Fcredentials&client%5fsecret=%7BTOKEN%7D&scope=a+b",
			func(s *witness) bool {
				return s.body == "grant_type=client%5Fcredentials&client%5fsecret="+url.QueryEscape(tokenValue)+"&scope=a+b"
			},
		},
		"form without it": {
			place(wire.InBody, "client_secret", "", "https://a.example", ""),
			wire.HTTPRequest{Method: "POST", URL: "https://a.example/v1", Headers: map[string][]string{"Content-Type": {form}}},
			"client_secret=mine", func(s *witness) bool { return s.body == "client_secret=mine" },
		},
		"no body": {
			place(wire.InBody, "client_secret", "", "https://a.example", ""),
			wire.HTTPRequest{URL: "https://a.example/v1"},
			"", func(s *witness) bool { return s.body == "" && s.requests == 1 },
		},
		"below the prefix": {
			place(wire.InHeader, "X-Api-Key", "", "https://a.example:8443", "/v1"),
			wire.HTTPRequest{URL: "https://A.example:8443/v1/x"},
			"",
			func(s *witness) bool { return s.header.Get("X-Api-Key") == tokenValue },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := watch(t, "a.example")
			b := &book{}
			call := carrying(t, c.credential)
			call.Egress[0].Port = 0
			call.Egress = append(call.Egress, wire.Egress{Host: "a.example", Port: 8443})
			if c.req.Method == "" {
				c.req.Method = "GET"
			}
			reply, _ := do(t, plugin(t, w.gate(b), call), c.req, c.body)
			if reply.Status != 200 || !c.check(s) {
				t.Errorf("%+v (%v), the server got %+v", reply, reply.Fault, s)
			}
			if strings.Contains(fmt.Sprintf("%+v %+v", reply, b.all()), "AAE-token") {
				t.Errorf("the value stands in %+v or %+v", reply, b.all())
			}
			if want := s.holds(); (len(b.all()[0].Credentials) == 1) != want {
				t.Errorf("sent: %v, on record: %v", want, b.all()[0].Credentials)
			}
		})
	}
}

// The same requests to anywhere else carry nothing.
func TestACredentialGoesNowhereElse(t *testing.T) {
	for _, c := range []struct{ url string }{
		{"https://b.example/v1/x"},
		{"https://sub.a.example/v1/x"},
		{"https://a.example:8443/v1/x"},
		{"http://a.example/v1/x"},
		{"https://a.example/v10"},
		{"https://a.example/"},
		{"https://a.example/v2/v1/x"},
		{"https://a.example/v1%2f..%2fadmin"},
		{"https://a.example//v1/x"},
		{"https://a.example/V1/x"},
	} {
		for _, in := range []Credential{
			place(wire.InHeader, "X-Api-Key", "", "https://a.example", "/v1"), place(wire.InQuery, "key", "", "https://a.example", "/v1"),
			place(wire.InBasic, "", "{TOKEN}:", "https://a.example", "/v1"), place(wire.InBody, "/k", "", "https://a.example", "/v1"),
		} {
			w, s := watch(t, "a.example", "b.example", "sub.a.example")
			b := &book{}
			call := carrying(t, in)
			call.Egress = append(call.Egress, wire.Egress{Host: "a.example", Port: 8443, Methods: []string{"POST"}})
			reply, _ := do(t, plugin(t, w.gate(b), call), wire.HTTPRequest{Method: "POST", URL: c.url, Headers: map[string][]string{"Content-Type": {"application/json"}}}, `{"k":"{TOKEN}"}`)
			if reply.Status != 200 || s.holds() || len(b.all()[0].Credentials) > 0 {
				t.Errorf("%s %s: %+v, the server got %+v", in.Place.In, c.url, reply.Fault, s)
			}
		}
	}
}

func TestWhatAPluginMayNotDoAboutACredential(t *testing.T) {
	post := func(kind, url string) wire.HTTPRequest {
		return wire.HTTPRequest{Method: "POST", URL: url, Headers: map[string][]string{"Content-Type": {kind}}}
	}
	header, query := place(wire.InHeader, "X-Api-Key", "", "https://a.example", ""), place(wire.InQuery, "key", "", "https://a.example", "")
	inPath, inJSON := place(wire.InPath, "", "", "https://a.example", "/v1"), place(wire.InBody, "/auth/key", "", "https://a.example", "")
	form := place(wire.InBody, "key", "", "https://a.example", "")
	for name, c := range map[string]struct {
		credential Credential
		req        wire.HTTPRequest
		body       string
		reason     egress.Reason
	}{
		"its own header":             {header, wire.HTTPRequest{URL: "https://a.example/", Headers: map[string][]string{"x-API-key": {"mine"}}}, "", CredentialClobbered},
		"its own authorization":      {place(wire.InBasic, "", "{TOKEN}:", "https://a.example", ""), wire.HTTPRequest{URL: "https://a.example/", Headers: map[string][]string{"Authorization": {""}}}, "", CredentialClobbered},
		"its own parameter":          {query, wire.HTTPRequest{URL: "https://a.example/?a=1&key=mine"}, "", CredentialClobbered},
		"the parameter in disguise":  {query, wire.HTTPRequest{URL: "https://a.example/?a=1;K%65y"}, "", CredentialClobbered},
		"part of the answer":         {header, wire.HTTPRequest{URL: "https://a.example/", Headers: map[string][]string{"range": {"bytes=0-3"}}}, "", RangeWithCredential},
		"a placeholder in the query": {inPath, wire.HTTPRequest{URL: "https://a.example/v1/x?t={TOKEN}"}, "", PlaceholderMisplaced},
		"a placeholder elsewhere":    {inPath, wire.HTTPRequest{URL: "https://a.example/v2/{TOKEN}"}, "", PlaceholderMisplaced},
		"a placeholder to another":   {inPath, wire.HTTPRequest{URL: "https://b.example/v1/{TOKEN}"}, "", PlaceholderMisplaced},
		"another placeholder":        {inPath, wire.HTTPRequest{URL: "https://a.example/v1/{OTHER}"}, "", egress.InvalidURL},
		"a placeholder for a host":   {inPath, wire.HTTPRequest{URL: "https://{TOKEN}/v1/"}, "", egress.InvalidHostname},
		"another member":             {inJSON, post("application/json", "https://a.example/"), `{"auth":{"other":"{TOKEN}"}}`, PlaceholderMisplaced},
		"part of the member":         {inJSON, post("application/json", "https://a.example/"), `{"auth":{"key":"x{TOKEN}"}}`, PlaceholderMisplaced},
		"no type":                    {inJSON, wire.HTTPRequest{Method: "POST", URL: "https://a.example/"}, `{"auth":{"key":"{TOKEN}"}}`, PlaceholderMisplaced},
		"a form for json":            {inJSON, post("application/x-www-form-urlencoded", "https://a.example/"), `%2fauth%2fkey=%7btoken%7d`, PlaceholderMisplaced},
		"the member twice":           {inJSON, post("application/json", "https://a.example/"), `{"auth":{"key":"{TOKEN}","key":"{TOKEN}"}}`, PlaceholderMisplaced},
		"the field twice":            {form, post("application/x-www-form-urlencoded", "https://a.example/"), `key={TOKEN}&key=mine`, PlaceholderMisplaced},
		"another field":              {form, post("application/x-www-form-urlencoded", "https://a.example/"), `text={TOKEN}`, PlaceholderMisplaced},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := watch(t, "a.example", "b.example")
			b := &book{}
			if c.req.Method == "" {
				c.req.Method = "GET"
			}
			reply, _ := do(t, plugin(t, w.gate(b), carrying(t, c.credential)), c.req, c.body)
			faulty(t, reply, wire.CodeDenied, string(c.reason))
			if s.requests > 0 || !slices.Equal(reasons(b.all()), []egress.Reason{c.reason}) {
				t.Errorf("%d requests, audit %v", s.requests, b.all())
			}
		})
	}
}

func TestAValueThatCannotStandInItsPlaceIsNotSent(t *testing.T) {
	for value, c := range map[string]Credential{
		"has/a-slash-0123": place(wire.InPath, "", "", "https://a.example", ""),
		"has%2fone-0123":   place(wire.InPath, "", "", "https://a.example", ""),
		"..;jsession-0123": place(wire.InPath, "", "", "https://a.example", ""),
		"a\r\nb: c-012345": place(wire.InHeader, "X-Api-Key", "", "https://a.example", ""),
		" leads-a-blank-1": place(wire.InHeader, "X-Api-Key", "", "https://a.example", ""),
	} {
		w, s := watch(t, "a.example")
		c.Value = func() string { return value }
		reply, _ := get(t, plugin(t, w.gate(nil), carrying(t, c)), "https://a.example/{TOKEN}/x")
		if c.Place.In == wire.InHeader {
			reply, _ = get(t, plugin(t, w.gate(nil), carrying(t, c)), "https://a.example/x")
		}
		faulty(t, reply, wire.CodeDenied, string(CredentialUnfit))
		if s.requests > 0 || strings.Contains(reply.Fault.Message, value) {
			t.Errorf("%q: %d requests, %v", value, s.requests, reply.Fault)
		}
	}
}

// In the clear goes nothing, but to a loopback address whose origin the operator opened.
func TestACredentialIsNotSentInTheClear(t *testing.T) {
	for name, c := range map[string]struct {
		origin, ip string
		open       []string
		reason     egress.Reason
	}{
		"the internet":         {"http://a.example", "93.184.216.34", nil, CredentialInsecure},
		"the internet, opened": {"http://a.example", "93.184.216.34", []string{"http://a.example"}, CredentialInsecure},
		"a private network":    {"http://a.example", "10.0.0.1", []string{"http://a.example"}, CredentialInsecure},
		"loopback":             {"http://127.0.0.1:8080", "127.0.0.1", nil, egress.PrivateAddress},
		"loopback, opened":     {"http://127.0.0.1:8080", "127.0.0.1", []string{"http://127.0.0.1:8080"}, egress.Allowed},
		"a name for loopback":  {"http://a.example:8080", "127.0.0.1", []string{"http://a.example:8080"}, egress.Allowed},
		"another port opened":  {"http://127.0.0.1:8080", "127.0.0.1", []string{"http://127.0.0.1:8081"}, egress.PrivateAddress},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(t), &book{}
			w.name("a.example", c.ip)
			served := ""
			keep := func(_ http.ResponseWriter, in *http.Request) { served = in.Header.Get("X-Api-Key") }
			w.serve(c.ip+":80", keep)
			w.serve(c.ip+":8080", keep)
			call := carrying(t, place(wire.InHeader, "X-Api-Key", "", c.origin, ""))
			call.Egress = []wire.Egress{{Host: "a.example"}, {Host: "a.example", Port: 8080}, {Host: "127.0.0.1", Port: 8080}}
			call.Grants = snapshot(t, "net.fetch:*", "net.fetch:127.0.0.1:*", "net.fetch:a.example:*")
			call.Capabilities = call.Grants
			get(t, plugin(t, w.gate(b, c.open...), call), c.origin+"/")
			if got := reasons(b.all()); !slices.Equal(got, []egress.Reason{c.reason}) || (served == tokenValue) != (c.reason == egress.Allowed) {
				t.Errorf("audit %v, the server got %q", got, served)
			}
		})
	}
}

func TestARedirectTakesNoCredentialAlong(t *testing.T) {
	places := map[string]Credential{
		"header": place(wire.InHeader, "X-Api-Key", "", "https://a.example", ""),
		"basic":  place(wire.InBasic, "", "{TOKEN}:", "https://a.example", ""),
		"query":  place(wire.InQuery, "key", "", "https://a.example", ""),
		"path":   place(wire.InPath, "", "", "https://a.example", ""),
		"body":   place(wire.InBody, "key", "", "https://a.example", ""),
	}
	for name, c := range places {
		for _, to := range []string{"https://b.example/", "https://sub.a.example/", "https://a.example:8443/"} {
			w, s := watch(t, "b.example", "sub.a.example")
			w.name("a.example", "93.184.216.99")
			w.serveTLS("93.184.216.99:443", func(out http.ResponseWriter, in *http.Request) {
				http.Redirect(out, in, to+"?was="+url.QueryEscape(in.URL.String()), http.StatusTemporaryRedirect)
			}, "a.example")
			b := &book{}
			call := carrying(t, c)
			call.Egress = append(call.Egress, wire.Egress{Host: "a.example", Port: 8443, Methods: []string{"POST"}})
			req := wire.HTTPRequest{Method: "POST", URL: "https://a.example/", Headers: map[string][]string{"Content-Type": {"application/x-www-form-urlencoded"}}}
			body := "key="
			switch name {
			case "path":
				req.URL += "{TOKEN}"
			case "body":
				body += "{TOKEN}"
			}
			reply, _ := do(t, plugin(t, w.gate(b), call), req, body)
			faulty(t, reply, wire.CodeDenied, string(CredentialRedirect))
			if s.requests > 0 || strings.Contains(reply.Fault.Message, "AAE") {
				t.Errorf("%s: %d requests to %s, %v", name, s.requests, to, reply.Fault)
			}
		}
	}
}

// At its own origin a redirect is followed, and what the place is for decides anew. A server that has the value in the
// new address does not get it twice, and the plugin does not read it there.
func TestARedirectAtItsOrigin(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.name("b.example", "93.184.216.99")
	var got []string
	w.serveTLS(public+":443", func(out http.ResponseWriter, in *http.Request) {
		got = append(got, in.RequestURI+" "+in.Header.Get("X-Api-Key"))
		switch in.URL.Path {
		case "/v1/one":
			http.Redirect(out, in, "/v1/two?"+in.URL.RawQuery, http.StatusFound)
		case "/v1/two":
			http.Redirect(out, in, "/v2/three", http.StatusFound)
		case "/v2/three":
			http.Redirect(out, in, "https://b.example/", http.StatusFound)
		}
	}, "a.example")
	b := &book{}
	header, query := place(wire.InHeader, "X-Api-Key", "", "https://a.example", "/v1"), place(wire.InQuery, "key", "", "https://a.example", "/v1")
	query.Place.Name = "two"
	reply, _ := get(t, plugin(t, w.gate(b), carrying(t, header, query)), "https://a.example/v1/one")
	faulty(t, reply, wire.CodeDenied, string(CredentialRedirect))
	key := "key=" + url.QueryEscape(tokenValue)
	want := []string{"/v1/one?" + key + " " + tokenValue, "/v1/two?" + key + " " + tokenValue, "/v2/three "}
	if !slices.Equal(got, want) {
		t.Errorf("the server got %q", got)
	}
	if all := b.all(); len(all) != 4 || !slices.Equal(all[0].Credentials, []string{"one", "two"}) || !slices.Equal(all[1].Credentials, []string{"one"}) || len(all[2].Credentials) > 0 {
		t.Errorf("audit %+v", all)
	}
}

// A chain that comes to the origin of a credential from elsewhere does so by a server's choice.
func TestACredentialIsForRequestsThatThePluginMade(t *testing.T) {
	w, s := watch(t, "a.example")
	w.name("b.example", "93.184.216.99")
	w.serveTLS("93.184.216.99:443", sends(http.StatusFound, "https://a.example/delete"), "b.example")
	b := &book{}
	reply, _ := get(t, plugin(t, w.gate(b), carrying(t, place(wire.InHeader, "X-Api-Key", "", "https://a.example", ""))), "https://b.example/")
	if reply.Status != 200 || s.requests != 1 || s.holds() {
		t.Errorf("%+v, the server got %+v", reply, s)
	}
}

// A server that repeats what it was sent does not hand the value to the plugin.
func TestAnAnswerIsMasked(t *testing.T) {
	zip := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Close()
		return b.Bytes()
	}
	echo := map[string]http.HandlerFunc{
		"in pieces": func(out http.ResponseWriter, in *http.Request) {
			for _, c := range []byte("you sent " + in.Header.Get("Authorization") + ", bye") {
				out.Write([]byte{c})
				out.(http.Flusher).Flush()
			}
		},
		"in json": func(out http.ResponseWriter, in *http.Request) {
			json.NewEncoder(out).Encode(map[string]any{"headers": in.Header, "was": base64.StdEncoding.EncodeToString([]byte(in.Header.Get("Authorization")))})
		},
		"in gzip": func(out http.ResponseWriter, in *http.Request) {
			out.Header().Set("Content-Encoding", "gzip")
			out.Write(zip("you sent " + in.Header.Get("Authorization")))
		},
		"in a header": func(out http.ResponseWriter, in *http.Request) {
			out.Header().Set("X-Echo", in.Header.Get("Authorization"))
			out.Header().Set("X-Echo-Hex", fmt.Sprintf("%x", in.Header.Get("Authorization")))
			io.WriteString(out, "see above")
		},
		"in utf-16": func(out http.ResponseWriter, in *http.Request) {
			for _, c := range []byte(in.Header.Get("Authorization")) {
				out.Write([]byte{c, 0})
			}
		},
	}
	for name, server := range echo {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.name("a.example", public)
			w.serveTLS(public+":443", server, "a.example")
			call := carrying(t, place(wire.InHeader, "Authorization", "Bearer {TOKEN}", "https://a.example", ""))
			reply, body := do(t, plugin(t, w.gate(nil), call), wire.HTTPRequest{Method: "GET", URL: "https://a.example/", Headers: map[string][]string{"Accept-Encoding": {"br"}}}, "")
			all := body + fmt.Sprint(reply)
			if reply.Status != 200 || !strings.Contains(all, redact.Sentinel) {
				t.Errorf("%+v (%v) %q", reply, reply.Fault, body)
			}
			for _, form := range []string{
				tokenValue, base64.StdEncoding.EncodeToString([]byte("Bearer " + tokenValue)), fmt.Sprintf("%x", tokenValue),
				strings.Join(strings.Split(tokenValue, ""), "\x00"), "AAE-token",
			} {
				if strings.Contains(all, form) {
					t.Errorf("the plugin reads %q", all)
				}
			}
		})
	}
}

func TestAnAnswerThatCannotBeSearchedIsNotPassedOn(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.serveTLS(public+":443", func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/br" {
			out.Header().Set("Content-Encoding", "br")
		}
		if in.URL.Path == "/twice" { // the host would undo one of them
			out.Header()["Content-Encoding"] = []string{"gzip", "gzip"}
			out.Write(zipped(t, zipped(t, []byte("you sent "+in.Header.Get("X-Api-Key")))))
			return
		}
		io.WriteString(out, "some bytes")
	}, "a.example")
	call := carrying(t, place(wire.InHeader, "X-Api-Key", "", "https://a.example", ""))
	p := plugin(t, w.gate(nil), call)
	for _, path := range []string{"/br", "/twice"} {
		reply, body := get(t, p, "https://a.example"+path)
		faulty(t, reply, wire.CodeFailed, "cannot be searched")
		if len(body) > 0 {
			t.Errorf("%s: the plugin reads %q", path, body)
		}
	}
	call.Mask = func([]byte) ([]byte, bool) { return nil, false }
	reply, _ := get(t, plugin(t, w.gate(nil), call), "https://a.example/")
	faulty(t, reply, wire.CodeFailed, "cannot be searched")
}

// What fails after the value was put in says where it went and no more.
func TestNoErrorShowsACredential(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.name("b.example", "93.184.216.99") // nobody listens
	w.serveTLS(public+":443", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "a.example")
	b := &book{}
	for _, host := range []string{"a.example", "b.example"} {
		for _, c := range []Credential{place(wire.InPath, "", "", "https://"+host, ""), place(wire.InQuery, "key", "", "https://"+host, ""), place(wire.InHeader, "X-Api-Key", "", "https://"+host, "")} {
			raw := "https://" + host + "/"
			if c.Place.In == wire.InPath {
				raw += "{TOKEN}"
			}
			reply, _ := get(t, plugin(t, w.gate(b), carrying(t, c)), raw)
			if reply.Fault == nil || strings.Contains(fmt.Sprintf("%+v %v %+v", reply, reply.Fault, b.all()), "AAE") {
				t.Errorf("%+v %v %+v", reply, reply.Fault, b.all())
			}
		}
	}
}

func TestACredentialThatNoManifestMayDeclareIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, c := range []Credential{
		place(wire.InHeader, "host", "", "https://a.example", ""), place(wire.InHeader, "X-Forwarded-For", "", "https://a.example", ""),
		place(wire.InHeader, "X-Api-Key", "", "a.example", ""), place(wire.InHeader, "X-Api-Key", "", "https://a.example", "/a/../b"),
	} {
		if _, err := w.gate(nil).Plugin(carrying(t, c)); err == nil {
			t.Errorf("%+v was taken", c.Place)
		}
	}
}

// The manifest refuses at build time what the host would refuse when it runs.
func TestTheManifestKnowsTheHostsOwnHeaders(t *testing.T) {
	for _, name := range []string{
		"Host", "Content-Length", "Expect", "Date", "Via", "Forwarded", "X-Real-Ip", "True-Client-Ip", "Client-Ip", "X-Client-Ip", "Connection",
		"Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings", "Proxy-Authorization", "X-Forwarded-For", "Sec-Fetch-Mode",
	} {
		m := manifest.Manifest{Credentials: []wire.Credential{place(wire.InHeader, name, "", "https://a.example", "").Place}}
		var invalid *manifest.InvalidError
		if !hostHeader(name) {
			t.Errorf("%s is not the host's", name)
		}
		if err := m.Validate(); !errors.As(err, &invalid) || !slices.ContainsFunc(invalid.Faults, func(f manifest.Fault) bool { return f.Path == "credentials[0].field" }) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzInBody: a body that is filled is, but for the one place, what it was, and reads back as the value there.
func FuzzInBody(f *testing.F) {
	f.Add(`{"a":{"b":"{TOKEN}"}}`, true)
	f.Add(`{"a":{"b":"\u007bTOKEN}","c":["{TOKEN}"]}}`, true)
	f.Add("x=1&key=%7BTOKEN%7D&y", false)
	f.Add("key={TOKEN};key=", false)
	f.Fuzz(func(t *testing.T, body string, isJSON bool) {
		s := spot{Credential: place(wire.InBody, "key", "", "https://a.example", "").Place}
		var at *gap
		var err error
		if isJSON {
			s.Field = "/a/b"
			at, err = s.inJSON([]byte(body))
		} else {
			at, err = s.inForm([]byte(body))
		}
		if err != nil || at == nil {
			return
		}
		filled := string(at.fill([]byte(body), tokenValue))
		if filled[:at.start] != body[:at.start] || !strings.HasSuffix(filled, body[at.end:]) {
			t.Fatalf("%q became %q", body, filled)
		}
		if isJSON {
			var doc map[string]any
			err := json.Unmarshal([]byte(filled), &doc)
			inner, _ := doc["a"].(map[string]any)
			if err != nil || inner["b"] != tokenValue {
				t.Fatalf("%q became %q (%v)", body, filled, err)
			}
			return
		}
		for _, p := range pairs(filled) {
			if p.name == "key" && p.value != tokenValue {
				t.Fatalf("%q became %q", body, filled)
			}
		}
	})
}
