package net

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	stdnet "net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// zipped is data in gzip.
func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// answers makes a world whose one server sends the header and body, and asks it.
func answers(t *testing.T, req wire.HTTPRequest, header map[string]string, status int, body []byte) (wire.HTTPReply, string) {
	t.Helper()
	w := newWorld(t)
	w.name("a.example", public)
	w.serve(public+":80", func(out http.ResponseWriter, _ *http.Request) {
		for name, value := range header {
			out.Header().Set(name, value)
		}
		out.WriteHeader(status)
		if header["Content-Length"] == "" {
			out.(http.Flusher).Flush() // chunked: the client cannot know the length
		}
		out.Write(body)
	})
	if req.Method == "" {
		req.Method = "GET"
	}
	req.URL = "http://a.example/"
	return do(t, plugin(t, w.gate(nil), anywhere(t)), req, "")
}

func TestBodiesAreBoundedWhileRead(t *testing.T) {
	for _, c := range []struct {
		size, limit int64
		ok          bool
	}{{10, 10, true}, {11, 10, false}, {0, 1, true}, {wire.MaxBodyBytes, 0, true}, {wire.MaxBodyBytes + 1, 0, false}, {wire.MaxBodyBytes + 1, 1 << 40, false}} {
		reply, body := answers(t, wire.HTTPRequest{MaxBytes: c.limit}, nil, 200, bytes.Repeat([]byte("x"), int(c.size)))
		if c.ok != (reply.Fault == nil && int64(len(body)) == c.size) {
			t.Errorf("%d of %d bytes: %v, %d read", c.size, c.limit, reply.Fault, len(body))
		}
		if !c.ok {
			faulty(t, reply, wire.CodeTooLarge, "has more than")
		}
	}
}

// A server that says its answer is too long is not read at all; one that never stops is left.
func TestEndlessAnswersAreCutOff(t *testing.T) {
	w, sent := newWorld(t), make(chan int, 2)
	w.name("a.example", public)
	w.serve(public+":80", func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/said" {
			out.Header().Set("Content-Length", "1000000000")
		}
		n, chunk := 0, make([]byte, 1024)
		for {
			if _, err := out.Write(chunk); err != nil {
				break
			}
			n += len(chunk)
		}
		sent <- n
	})
	p := plugin(t, w.gate(nil), anywhere(t))
	for _, path := range []string{"said", "endless"} {
		reply, _ := do(t, p, wire.HTTPRequest{Method: "GET", URL: "http://a.example/" + path, MaxBytes: 100_000}, "")
		faulty(t, reply, wire.CodeTooLarge)
		if n := <-sent; n > 300_000 {
			t.Errorf("%s: %d bytes were taken", path, n)
		}
	}
}

func TestGzipIsUnpackedWithinTheBound(t *testing.T) {
	gz := map[string]string{"Content-Encoding": "gzip"}
	reply, body := answers(t, wire.HTTPRequest{}, gz, 200, zipped(t, []byte("hello")))
	if body != "hello" || reply.Headers["Content-Encoding"] != nil || reply.Headers["Content-Length"] != nil {
		t.Errorf("%q %v", body, reply.Headers)
	}
	bomb := zipped(t, make([]byte, wire.MaxBodyBytes+1)) // about 16 KiB
	if len(bomb) > 32<<10 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	reply, _ = answers(t, wire.HTTPRequest{}, gz, 200, bomb)
	faulty(t, reply, wire.CodeTooLarge)
	reply, _ = answers(t, wire.HTTPRequest{MaxBytes: 1000}, gz, 200, zipped(t, make([]byte, 1001)))
	faulty(t, reply, wire.CodeTooLarge)
	// Empty members unpack to nothing for ever; the packed bytes count too.
	reply, _ = answers(t, wire.HTTPRequest{MaxBytes: 1000}, gz, 200, bytes.Repeat(zipped(t, nil), 100))
	faulty(t, reply, wire.CodeTooLarge)

	for name, text := range map[string][]byte{"not gzip": []byte("hello"), "bad checksum": append(zipped(t, []byte("hello"))[:20], make([]byte, 9)...)} {
		if reply, _ = answers(t, wire.HTTPRequest{}, gz, 200, text); reply.Fault == nil || reply.Fault.Code != wire.CodeIO {
			t.Errorf("%s: %v", name, reply.Fault)
		}
	}
	reply, _ = answers(t, wire.HTTPRequest{}, gz, 200, zipped(t, []byte("hello"))[:15])
	faulty(t, reply, wire.CodeIO, "before a whole answer was read")
	if reply, body = answers(t, wire.HTTPRequest{}, gz, http.StatusNoContent, nil); reply.Fault != nil || body != "" {
		t.Errorf("204: %v", reply.Fault)
	}
	if reply, body = answers(t, wire.HTTPRequest{Method: "HEAD"}, gz, 200, nil); reply.Fault != nil || body != "" {
		t.Errorf("HEAD: %v", reply.Fault)
	}
}

func TestAPluginThatAsksForAnEncodingGetsItAsItIs(t *testing.T) {
	packed := zipped(t, []byte("hello"))
	reply, body := answers(t, wire.HTTPRequest{Headers: map[string][]string{"accept-encoding": {"gzip"}}}, map[string]string{"Content-Encoding": "gzip"}, 200, packed)
	if body != string(packed) || reply.Headers["Content-Encoding"][0] != "gzip" {
		t.Errorf("%q %v", body, reply.Headers)
	}
}

func TestBrokenConnectionIsAFault(t *testing.T) {
	reply, body := answers(t, wire.HTTPRequest{}, map[string]string{"Content-Length": "10"}, 200, []byte("five5"))
	faulty(t, reply, wire.CodeIO, "before a whole answer was read")
	if body != "" {
		t.Errorf("half an answer came back: %q", body)
	}
}

func TestUnaskedSwitchOfProtocolIsRefused(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.serve(public+":80", func(out http.ResponseWriter, _ *http.Request) {
		conn, _, err := out.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		conn.Close()
	})
	reply, _ := get(t, plugin(t, w.gate(nil), anywhere(t)), "http://a.example/")
	faulty(t, reply, wire.CodeFailed, "another protocol")
}

func TestUntrustedCertificatesAreRefused(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.serveTLS(public+":443", say("x"), "b.example")
	reply, _ := get(t, plugin(t, w.gate(nil), anywhere(t)), "https://a.example/")
	faulty(t, reply, wire.CodeIO, "the certificate of https://a.example:443 does not verify")

	other := newWorld(t) // whose authority nobody here trusts
	other.name("a.example", public)
	other.serveTLS(public+":443", say("x"), "a.example")
	g := New(Config{Resolver: other, Dialer: other})
	defer g.Close()
	reply, _ = get(t, plugin(t, g, anywhere(t)), "https://a.example/")
	faulty(t, reply, wire.CodeIO, "does not verify")
}

// The clock of these is the bubble's: no test waits.
func TestSlowServersEndInTime(t *testing.T) {
	for name, c := range map[string]struct {
		slow func(out http.ResponseWriter, stop <-chan struct{})
		ask  time.Duration
		want time.Duration
	}{
		"says nothing":      {func(_ http.ResponseWriter, stop <-chan struct{}) { <-stop }, 0, ExchangeTimeout},
		"asked for less":    {func(_ http.ResponseWriter, stop <-chan struct{}) { <-stop }, 5 * time.Second, 5 * time.Second},
		"stops in the body": {func(out http.ResponseWriter, stop <-chan struct{}) { out.(http.Flusher).Flush(); <-stop }, 7 * time.Second, 7 * time.Second},
		"drips for ever": {func(out http.ResponseWriter, stop <-chan struct{}) {
			for {
				io.WriteString(out, "x")
				out.(http.Flusher).Flush()
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
				}
			}
		}, 0, ExchangeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, stop := newWorld(t), make(chan struct{})
				w.name("a.example", public)
				w.serve(public+":80", func(out http.ResponseWriter, _ *http.Request) { c.slow(out, stop) })
				t.Cleanup(func() { close(stop) }) // before the server is closed: cleanups run backwards
				p := plugin(t, w.gate(nil), anywhere(t))
				begin := time.Now()
				reply, _ := do(t, p, wire.HTTPRequest{Method: "GET", URL: "http://a.example/", TimeoutMS: c.ask.Milliseconds()}, "")
				faulty(t, reply, wire.CodeTimeout, "no answer from http://a.example:80 in time")
				if spent := time.Since(begin); spent != c.want {
					t.Errorf("ended after %s, want %s", spent, c.want)
				}
			})
		})
	}
}

func TestCancelAndCloseEndARequest(t *testing.T) {
	for name, end := range map[string]func(p *PluginHTTP, cancel func()){
		"cancel": func(_ *PluginHTTP, cancel func()) { cancel() },
		"close":  func(p *PluginHTTP, _ func()) { p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			w, stop, reached := newWorld(t), make(chan struct{}), make(chan struct{})
			w.name("a.example", public)
			w.serve(public+":80", func(http.ResponseWriter, *http.Request) { close(reached); <-stop })
			t.Cleanup(func() { close(stop) })
			p := plugin(t, w.gate(nil), anywhere(t))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { <-reached; end(p, cancel) }()
			reply, body, err := p.Do(ctx, wire.HTTPRequest{Method: "GET", URL: "http://a.example/"}, nil)
			if !errors.Is(err, context.Canceled) || reply.Status != 0 || body != nil || strings.Contains(err.Error(), "/?") {
				t.Errorf("reply %+v, %v", reply, err)
			}
		})
	}
}

// A name server or a door that never answers holds a request no longer than connecting may take.
func TestConnectingEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.name("a.example", public)
		d := &door{calls: make(chan stdnet.Conn), gone: make(chan struct{})}
		w.servers[netip.MustParseAddrPort(public+":80")] = d
		p := plugin(t, w.gate(nil), anywhere(t))
		begin := time.Now()
		reply, _ := get(t, p, "http://a.example/")
		faulty(t, reply, wire.CodeUnavailable, "could not connect to http://a.example:80")
		if spent := time.Since(begin); spent != dialTimeout {
			t.Errorf("ended after %s, want %s", spent, dialTimeout)
		}
		silent := New(Config{Resolver: silence{}, Dialer: w})
		defer silent.Close()
		begin = time.Now()
		reply, _ = get(t, plugin(t, silent, anywhere(t)), "http://b.example/")
		faulty(t, reply, wire.CodeUnavailable, "could not be resolved in time")
		if spent := time.Since(begin); spent != dialTimeout {
			t.Errorf("ended after %s, want %s", spent, dialTimeout)
		}
	})
}

// Closing a call ends a connection that is still being made, at once and not when its time is over.
func TestCloseEndsConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ended := newWorld(t), make(chan time.Time, 1)
		w.name("a.example", public)
		g := New(Config{Resolver: w, Dialer: dialFunc(func(ctx context.Context) { <-ctx.Done(); ended <- time.Now() })})
		defer g.Close()
		p := plugin(t, g, anywhere(t))
		begin, done := time.Now(), make(chan error, 1)
		go func() {
			_, _, err := p.Do(t.Context(), wire.HTTPRequest{Method: "GET", URL: "http://a.example/"}, nil)
			done <- err
		}()
		synctest.Wait()
		p.Close()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Do = %v", err)
		}
		if spent := (<-ended).Sub(begin); spent != 0 {
			t.Errorf("the dialer was left for %s", spent)
		}
	})
}

// dialFunc is a dialer that does something and then fails.
type dialFunc func(ctx context.Context)

// DialContext is [Dialer]'s.
func (f dialFunc) DialContext(ctx context.Context, _, _ string) (stdnet.Conn, error) {
	f(ctx)
	return nil, errors.New("no connection")
}

func TestRequestBodyIsBounded(t *testing.T) {
	w := newWorld(t)
	reply, _, err := plugin(t, w.gate(nil), anywhere(t)).Do(t.Context(), wire.HTTPRequest{Method: "POST", URL: "http://a.example/"}, make([]byte, wire.MaxBodyBytes+1))
	if err != nil || len(w.dials())+w.questions() != 0 {
		t.Errorf("error %v", err)
	}
	faulty(t, reply, wire.CodeTooLarge)
}
