package net

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// hangUp ends the connection of a request that was read, after it wrote text.
func hangUp(t *testing.T, text string) http.HandlerFunc {
	return func(out http.ResponseWriter, in *http.Request) {
		io.Copy(io.Discard, in.Body)
		conn, _, err := http.NewResponseController(out).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, text)
		conn.Close()
	}
}

// From the moment that a request which may change something has a connection until the plugin has its whole answer, nobody
// but the server knows whether it was done.
func TestARequestThatWentOutIsUnansweredUntilItsAnswerIsThere(t *testing.T) {
	const cut = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
	for name, c := range map[string]struct {
		method, path string
		unanswered   bool
	}{
		"no answer":                        {"POST", "/hang-up", true},
		"no answer to another method":      {"DELETE", "/hang-up", true},
		"half an answer":                   {"POST", "/cut", true},
		"more answer than may be read":     {"POST", "/long", true},
		"an answer":                        {"POST", "/", false},
		"an answer that says no":           {"POST", "/no", false},
		"GET":                              {"GET", "/hang-up", false},
		"HEAD":                             {"HEAD", "/hang-up", false},
		"done, and the page beside it not": {"POST", "/303/hang-up", true},
		"done, and led elsewhere":          {"POST", "/303/refused", true},
		"done, and the page beside it":     {"POST", "/303/", false},
		"passed on, to no answer":          {"POST", "/307/hang-up", true},
		"passed on, to nobody":             {"POST", "/307/nobody", false},
		"passed on, to where it may not":   {"POST", "/307/refused", false},
		"passed on, to an answer":          {"POST", "/307/", false},
		"passed on, and done, and no page": {"POST", "/307/303/hang-up", true},
		"done, and its page passed on":     {"POST", "/303/307/hang-up", true},
		"looked at, and passed on":         {"GET", "/307/hang-up", false},
		"looked at where it is not found":  {"GET", "/303/nobody", false},
		"told to be done, to nobody":       {"PUT", "/302/nobody", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.name("a.example", public)
			w.name("nobody.example", "93.184.216.35")
			w.name("inside.example", "10.0.0.1")
			mux := http.NewServeMux()
			mux.HandleFunc("/", say("done"))
			mux.HandleFunc("/hang-up", hangUp(t, ""))
			mux.HandleFunc("/cut", hangUp(t, cut))
			mux.HandleFunc("/long", say("more than five"))
			mux.HandleFunc("/no", func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusBadGateway) })
			for prefix, status := range map[string]int{"/302": 302, "/303": 303, "/307": 307} {
				mux.HandleFunc(prefix+"/", func(out http.ResponseWriter, in *http.Request) {
					to := in.URL.Path[len(prefix):]
					switch to {
					case "/nobody":
						to = "http://nobody.example/"
					case "/refused":
						to = "http://inside.example/"
					}
					sends(status, to)(out, in)
				})
			}
			w.serve(public+":80", mux.ServeHTTP)
			p := plugin(t, w.gate(nil), anywhere(t))
			do(t, p, wire.HTTPRequest{Method: c.method, URL: "http://a.example" + c.path, MaxBytes: 5}, "")
			if p.Unanswered() != c.unanswered {
				t.Errorf("unanswered: %v", p.Unanswered())
			}
			do(t, p, wire.HTTPRequest{Method: "POST", URL: "http://a.example/"}, "")
			if p.Unanswered() != c.unanswered {
				t.Errorf("after another request that was answered: %v", p.Unanswered())
			}
		})
	}
}

// What is refused, or cannot be sent, is certain: it was not done.
func TestARequestThatDidNotGoOutIsNotUnanswered(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", public)
	w.name("inside.example", "10.0.0.1")
	w.serveTLS(public+":443", say("not reached"), "other.example")
	over := make(chan struct{})
	silent := "93.184.216.40"
	w.name("silent.example", silent)
	// It takes the connection and no handshake.
	w.open(silent+":443", http.HandlerFunc(say("not reached")), &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		<-over
		return nil, errors.New("no handshake")
	}})
	defer close(over)
	for name, url := range map[string]string{
		"not connected":     "http://a.example/",
		"not resolved":      "http://none.example/",
		"not public":        "http://inside.example/",
		"no URL":            "http://u:p@a.example/",
		"bad certificate":   "https://a.example/",
		"handshake unended": "https://silent.example/",
	} {
		t.Run(name, func(t *testing.T) {
			p := plugin(t, w.gate(nil), anywhere(t))
			reply, _ := do(t, p, wire.HTTPRequest{Method: "POST", URL: url, TimeoutMS: 200}, "x")
			if reply.Fault == nil || p.Unanswered() {
				t.Errorf("%+v, unanswered: %v", reply, p.Unanswered())
			}
		})
	}
}

// To give up takes nothing back.
func TestARequestThatIsGivenUpWasSent(t *testing.T) {
	for name, c := range map[string]struct {
		method     string
		timeout    time.Duration // 0: cancelled
		unanswered bool
	}{
		"cancelled":        {"POST", 0, true},
		"in time":          {"POST", 50 * time.Millisecond, true},
		"a look cancelled": {"GET", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the time is over when the request is with the server, and no sooner
				w := newWorld(t)
				w.name("a.example", public)
				came, over := make(chan struct{}), make(chan struct{})
				defer close(over)
				w.serve(public+":80", func(http.ResponseWriter, *http.Request) {
					close(came)
					<-over
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.timeout == 0 {
					go func() {
						<-came
						cancel()
					}()
				}
				p := plugin(t, w.gate(nil), anywhere(t))
				reply, _, err := p.Do(ctx, wire.HTTPRequest{Method: c.method, URL: "http://a.example/", TimeoutMS: c.timeout.Milliseconds()}, nil)
				if err == nil && reply.Fault == nil || p.Unanswered() != c.unanswered {
					t.Errorf("%+v %v, unanswered: %v", reply, err, p.Unanswered())
				}
			})
		})
	}
}

// What was answered was done, unless the answer says that it was refused.
func TestAnAnswerToARequestThatMayChangeSomethingIsNoted(t *testing.T) {
	for name, c := range map[string]struct {
		method, path string
		changed      bool
	}{
		"done":                             {"POST", "/", true},
		"done, by another method":          {"DELETE", "/", true},
		"failed on the way":                {"POST", "/500", true},
		"refused":                          {"POST", "/404", false},
		"looked at":                        {"GET", "/", false},
		"no answer":                        {"POST", "/hang-up", false},
		"done, and the page beside it not": {"POST", "/303/404", true},
		"done, and led elsewhere":          {"POST", "/303/refused", true},
		"passed on, and done":              {"POST", "/307/", true},
		"passed on, and refused":           {"POST", "/307/404", false},
		"passed on, to where it may not":   {"POST", "/307/refused", false},
		"looked at, and passed on":         {"GET", "/307/", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.name("a.example", public)
			w.name("inside.example", "10.0.0.1")
			mux := http.NewServeMux()
			mux.HandleFunc("/", say("done"))
			mux.HandleFunc("/hang-up", hangUp(t, ""))
			for path, status := range map[string]int{"/404": 404, "/500": 500} {
				mux.HandleFunc(path, func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(status) })
			}
			for prefix, status := range map[string]int{"/303": 303, "/307": 307} {
				mux.HandleFunc(prefix+"/", func(out http.ResponseWriter, in *http.Request) {
					to := in.URL.Path[len(prefix):]
					if to == "/refused" {
						to = "http://inside.example/"
					}
					sends(status, to)(out, in)
				})
			}
			w.serve(public+":80", mux.ServeHTTP)
			p := plugin(t, w.gate(nil), anywhere(t))
			do(t, p, wire.HTTPRequest{Method: c.method, URL: "http://a.example" + c.path}, "")
			if p.Changed() != c.changed {
				t.Errorf("changed: %v", p.Changed())
			}
			do(t, p, wire.HTTPRequest{Method: "GET", URL: "http://a.example/"}, "")
			if p.Changed() != c.changed {
				t.Errorf("after a look: %v", p.Changed())
			}
		})
	}
}
