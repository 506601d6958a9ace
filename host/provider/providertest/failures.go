package providertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/provider"
)

func failures(t *testing.T, v Vendor) {
	for _, e := range v.Errors {
		t.Run(e.Name, func(t *testing.T) {
			_, events, err := v.Ask(t, fails(e.Status, e.Body, nil), nil)
			got := want(t, err, e.Want)
			if got.Status != e.Status || got.Provider != string(v.Adapter) || got.RequestID != "req_fail" {
				t.Errorf("error %+v", got)
			}
			if len(events) != 0 {
				t.Errorf("events %+v", events)
			}
		})
	}
	t.Run("Retry-After is read in seconds, milliseconds and as a date", func(t *testing.T) {
		for name, value := range map[string]string{
			"Retry-After": "7", "retry-after-ms": "7000",
		} {
			_, _, err := v.Ask(t, fails(429, `{"error":{"message":"slow down"}}`, map[string]string{name: value}), nil)
			if got := want(t, err, provider.KindRateLimited); got.RetryAfter != 7*time.Second {
				t.Errorf("%s: %s gave %s", name, value, got.RetryAfter)
			}
		}
		in := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
		_, _, err := v.Ask(t, fails(429, `{}`, map[string]string{"Retry-After": in}), nil)
		if got := want(t, err, provider.KindRateLimited); got.RetryAfter < 80*time.Second || got.RetryAfter > 90*time.Second {
			t.Errorf("date gave %s", got.RetryAfter)
		}
	})
	t.Run("an error page that is not the vendor's", func(t *testing.T) {
		_, _, err := v.Ask(t, fails(502, "<html>bad gateway</html>", nil), nil)
		want(t, err, provider.KindOverloaded)
	})
	t.Run("the library does not retry by itself", func(t *testing.T) {
		s := Serve(t, fails(500, `{}`, map[string]string{"x-should-retry": "true", "Retry-After": "0"}))
		_, err := v.model(t, v.Config(s.URL), s.Client()).Generate(t.Context(), Request(), nil)
		want(t, err, provider.KindOverloaded)
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
	frames := v.Frames(Answer{Pieces: []Piece{Say("forty"), Say("-two")}, Finish: provider.FinishStop})
	t.Run("an error inside the stream, before and after the first piece", func(t *testing.T) {
		_, events, err := v.Ask(t, Stream(v.StreamError), nil)
		want(t, err, provider.KindOverloaded)
		if streamed(events) != "" {
			t.Errorf("events %+v", events)
		}
		_, events, err = v.Ask(t, Stream(firstText(t, v, frames), v.StreamError), nil)
		want(t, err, provider.KindOverloaded)
		if streamed(events) != "forty" {
			t.Errorf("events %+v", events)
		}
	})
	t.Run("malformed JSON in the stream", func(t *testing.T) {
		_, _, err := v.Ask(t, Stream(firstText(t, v, frames), v.Malformed), nil)
		want(t, err, provider.KindProtocol)
	})
	t.Run("a stream cut at every frame before its end", func(t *testing.T) {
		for n := range frames {
			if complete(frames, n) {
				break
			}
			_, _, err := v.Ask(t, Stream(frames[:n]...), nil)
			want(t, err, provider.KindProtocol)
		}
	})
	t.Run("a connection broken in the middle", func(t *testing.T) {
		_, events, err := v.Ask(t, func(w http.ResponseWriter, r *http.Request) {
			Stream(firstText(t, v, frames))(w, r)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Errorf("hijack: %v", err)
				return
			}
			conn.Close()
		}, nil)
		want(t, err, provider.KindProtocol)
		if streamed(events) != "forty" {
			t.Errorf("events %+v", events)
		}
	})
	t.Run("an answer that is no stream", func(t *testing.T) {
		_, _, err := v.Ask(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }, nil)
		want(t, err, provider.KindProtocol)
	})
	t.Run("nobody listens", func(t *testing.T) {
		s := Serve(t, Stream())
		client, url := s.Client(), s.URL
		s.Close()
		_, err := v.model(t, v.Config(url), client).Generate(t.Context(), Request(), nil)
		want(t, err, provider.KindNetwork)
	})
	t.Run("a request no vendor could answer is not sent", func(t *testing.T) {
		s := Serve(t, Stream(frames...))
		req := Request()
		req.Messages = append(req.Messages, provider.ToolResults(provider.ToolResult{CallID: "nobody"}))
		_, err := v.model(t, v.Config(s.URL), s.Client()).Generate(t.Context(), req, nil)
		want(t, err, provider.KindBadRequest)
		if n := len(s.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
	t.Run("a slow server and a canceled context", func(t *testing.T) { canceled(t, v, frames) })
}

// canceled cancels once the first piece has arrived and the server hangs.
func canceled(t *testing.T, v Vendor, frames []string) {
	gone := make(chan struct{})
	s := Serve(t, func(w http.ResponseWriter, r *http.Request) {
		Stream(firstText(t, v, frames))(w, r)
		<-r.Context().Done()
		close(gone)
	})
	why := errors.New("the operator pressed stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	_, err := v.model(t, v.Config(s.URL), s.Client()).Generate(ctx, Request(), func(e provider.Event) {
		if e.Kind == provider.EventText {
			cancel(why)
		}
	})
	got := want(t, err, provider.KindCanceled)
	if !errors.Is(got, context.Canceled) || !errors.Is(got, why) {
		t.Errorf("chain of %v lacks the context's error or its cause", got)
	}
	// The server sees the connection close: nothing keeps the request alive.
	<-gone
}

// firstText returns the frames up to and including the first piece of text, as one.
func firstText(t *testing.T, v Vendor, frames []string) string {
	t.Helper()
	without := v.Frames(Answer{Finish: provider.FinishStop})
	n := 0
	for n < len(without) && without[n] == frames[n] {
		n++
	}
	// What differs begins with the frames of the text itself.
	out := ""
	for i, f := range frames {
		out += f
		if i >= n && contains(f, "forty") {
			return out
		}
	}
	t.Fatal("the dialect has no frame holding its first piece of text")
	return ""
}

// complete reports whether the first n frames are a whole answer: for some
// vendors the frames after the finish reason add nothing.
func complete(frames []string, n int) bool {
	for _, f := range frames[:n] {
		if contains(f, `"finish_reason":"`) || contains(f, "message_stop") {
			return true
		}
	}
	return false
}

func fails(status int, body string, header map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("request-id", "req_fail")
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// want asserts that err is an [*provider.Error] of the given kind.
func want(t *testing.T, err error, kind provider.ErrorKind) *provider.Error {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a provider error of kind %s", err, kind)
	}
	if e.Kind != kind {
		t.Fatalf("got %v, want kind %s", e, kind)
	}
	if e.Sentence == "" {
		t.Errorf("%v has no sentence", e)
	}
	return e
}
