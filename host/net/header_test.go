package net

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// seen makes a world with one server and returns what headers it got for what a plugin wrote.
func seen(t *testing.T, headers map[string][]string) (http.Header, string) {
	t.Helper()
	w, got := newWorld(t), make(chan http.Header, 1)
	var host string
	w.name("a.example", public)
	w.serve(public+":80", func(_ http.ResponseWriter, in *http.Request) {
		host = in.Host
		got <- in.Header
	})
	reply, _ := do(t, plugin(t, w.gate(nil), anywhere(t)), wire.HTTPRequest{Method: "GET", URL: "http://a.example/", Headers: headers}, "")
	if reply.Fault != nil {
		t.Fatal(reply.Fault)
	}
	return <-got, host
}

func TestHeadersThatAreTheHostsAreLeftOut(t *testing.T) {
	headers := map[string][]string{
		"Host": {"evil.example"}, "hOsT": {"evil.example"}, "Connection": {"X-Named, close"}, "X-Named": {"1"}, "Keep-Alive": {"x"},
		"Proxy-Authorization": {"x"}, "Proxy-Connection": {"x"}, "TE": {"trailers"}, "Trailer": {"X"}, "Transfer-Encoding": {"chunked"}, "Upgrade": {"websocket"},
		"Content-Length": {"5"}, "Expect": {"100-continue"}, "Via": {"x"}, "Forwarded": {"for=127.0.0.1"}, "X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Host": {"x"},
		"X-Real-IP": {"127.0.0.1"}, "True-Client-IP": {"127.0.0.1"}, "Sec-Fetch-Site": {"same-origin"}, "HTTP2-Settings": {"x"}, "Request-Range": {"bytes=0-1"},
		"Authorization": {"Bearer mine"}, "Cookie": {"mine=1"}, "X-Mine": {"1", "2"}, "Accept": {"text/plain"},
	}
	got, host := seen(t, headers)
	if host != "a.example" {
		t.Errorf("Host was %q", host)
	}
	var names []string
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"Accept", "Accept-Encoding", "Authorization", "Cookie", "User-Agent", "X-Mine"}; !slices.Equal(names, want) {
		t.Errorf("the server saw %q, want %q", names, want)
	}
	if !slices.Equal(got["X-Mine"], []string{"1", "2"}) || got.Get("Authorization") != "Bearer mine" {
		t.Errorf("the server saw %v", got)
	}
}

func TestNothingIsSentThatThePluginDidNotWrite(t *testing.T) {
	got, _ := seen(t, nil)
	want := http.Header{"User-Agent": {"portcullis"}, "Accept-Encoding": {"gzip"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the server saw %v, want %v", got, want)
	}
}

func TestHeadersThatHTTPDoesNotAllowAreInvalid(t *testing.T) {
	for _, headers := range []map[string][]string{
		{"": {"x"}}, {"a b": {"x"}}, {"a:": {"x"}}, {"a\r\nb": {"x"}}, {"ä": {"x"}}, {"X": {"a\r\nEvil: 1"}}, {"X": {"a\x00"}}, {"X": {"\x7f"}}, {"Host": {"a\nb"}},
	} {
		w := newWorld(t)
		reply, _ := do(t, plugin(t, w.gate(nil), anywhere(t)), wire.HTTPRequest{Method: "GET", URL: "http://a.example/", Headers: headers}, "")
		faulty(t, reply, wire.CodeInvalid)
		if len(w.dials())+w.questions() != 0 {
			t.Errorf("%q went out", headers)
		}
	}
}

func TestTooManyRequestHeadersAreRefused(t *testing.T) {
	many := map[string][]string{"X": make([]string, wire.MaxHeaderCount+1)}
	long := map[string][]string{"X": {strings.Repeat("x", maxHeaderBytes)}}
	for _, headers := range []map[string][]string{many, long} {
		reply, _ := do(t, plugin(t, newWorld(t).gate(nil), anywhere(t)), wire.HTTPRequest{Method: "GET", URL: "http://a.example/", Headers: headers}, "")
		faulty(t, reply, wire.CodeTooLarge)
	}
}

func TestTooManyResponseHeadersAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		add  func(http.Header)
		code wire.Code
	}{
		"many lines": {func(h http.Header) { h["X"] = make([]string, wire.MaxHeaderCount+1) }, wire.CodeTooLarge},
		"grow in JSON": {func(h http.Header) {
			for i := range 9 {
				h[fmt.Sprint("X", i)] = []string{strings.Repeat(`"`, 3500)}
			}
		}, wire.CodeTooLarge},
		"over the wire": {func(h http.Header) { h.Set("X", strings.Repeat("x", 2*maxHeaderBytes)) }, wire.CodeIO},
	} {
		w := newWorld(t)
		w.name("a.example", public)
		w.serve(public+":80", func(out http.ResponseWriter, _ *http.Request) { c.add(out.Header()) })
		reply, _ := get(t, plugin(t, w.gate(nil), anywhere(t)), "http://a.example/")
		if reply.Fault == nil || reply.Fault.Code != c.code {
			t.Errorf("%s: %+v, %v", name, reply.Fault, len(reply.Headers))
		}
	}
}

func TestResponseHeadersAreTextAndNotOfTheConnection(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.serve(public+":80", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("X-Odd", "a\xffb")
		out.Header().Set("Connection", "close")
		out.Header().Set("Keep-Alive", "5")
		out.Header().Set("Proxy-Authenticate", "x")
	})
	reply, _ := get(t, plugin(t, w.gate(nil), anywhere(t)), "http://a.example/")
	if reply.Headers["X-Odd"][0] != "a\ufffdb" || reply.Headers["Connection"] != nil || reply.Headers["Keep-Alive"] != nil || reply.Headers["Proxy-Authenticate"] != nil {
		t.Errorf("headers %q", reply.Headers)
	}
}
