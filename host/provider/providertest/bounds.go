package providertest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/provider"
)

func bounds(t *testing.T, v Vendor) {
	big := strings.Repeat("x", 600)
	text := Answer{Pieces: []Piece{Say(big), Say(big)}, Finish: provider.FinishStop}
	call := Answer{Pieces: []Piece{Start(0, "a", "t"), Args(0, `{"x":"`), Args(0, big), Args(0, `"}`)}, Finish: provider.FinishToolCalls}
	two := Answer{Pieces: []Piece{Start(0, "a", "t"), Start(1, "b", "t")}, Finish: provider.FinishToolCalls}
	for _, c := range []struct {
		name  string
		give  Answer
		caps  provider.Caps
		loose provider.Caps // one more than needed: must pass
	}{
		{"response", text, provider.Caps{ResponseBytes: 1199}, provider.Caps{ResponseBytes: 1200}},
		{"arguments", call, provider.Caps{ArgumentBytes: 607}, provider.Caps{ArgumentBytes: 608}},
		{"calls", two, provider.Caps{ToolCalls: 1}, provider.Caps{ToolCalls: 2}},
		{"wire", text, provider.Caps{WireBytes: 1200}, provider.Caps{WireBytes: 100_000}},
		{"line", text, provider.Caps{FrameBytes: 600}, provider.Caps{FrameBytes: 10_000}},
	} {
		t.Run("an answer over its cap of "+c.name, func(t *testing.T) {
			_, _, err := v.Ask(t, Stream(v.Frames(c.give)...), func(cfg *provider.Config) { cfg.Caps = c.caps })
			if e := want(t, err, provider.KindTooLarge); e.Retryable() {
				t.Error("too_large is retryable")
			}
			if _, _, err := v.Ask(t, Stream(v.Frames(c.give)...), func(cfg *provider.Config) { cfg.Caps = c.loose }); err != nil {
				t.Errorf("within the cap: %v", err)
			}
		})
	}
	t.Run("an endless error body is read only in part", func(t *testing.T) {
		_, _, err := v.Ask(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, big); err != nil {
					return
				}
			}
		}, nil)
		e := want(t, err, provider.KindOverloaded)
		if len(e.Error()) > 64<<10+2000 {
			t.Errorf("the error is %d bytes long", len(e.Error()))
		}
	})
	t.Run("an endless line", func(t *testing.T) {
		_, _, err := v.Ask(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: ")
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, big); err != nil {
					return
				}
			}
		}, func(cfg *provider.Config) { cfg.Caps.FrameBytes = 64 << 10 })
		want(t, err, provider.KindTooLarge)
	})
	t.Run("every answer is closed, errors too", func(t *testing.T) {
		for _, status := range []int{200, 307, 400, 503} {
			b := &closing{Reader: strings.NewReader(strings.Join(v.Frames(text), ""))}
			client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: b, Request: r}, nil
			})}
			_, err := v.model(t, v.Config("http://localhost:1"), client).Generate(t.Context(), Request(), nil)
			if (err == nil) != (status == 200) || !b.closed {
				t.Errorf("%d: %v, closed %v", status, err, b.closed)
			}
		}
	})
	t.Run("silence ends the call, bytes prolong it", func(t *testing.T) { idle(t, v) })
}

// idle runs on fake time with a transport in memory: a first piece after 50
// seconds, the next after 50 more, then nothing. The limit is one minute.
func idle(t *testing.T, v Vendor) {
	frames := v.Frames(Answer{Pieces: []Piece{Say("forty"), Say("-two")}, Finish: provider.FinishStop})
	first := firstText(t, v, frames)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			pr, pw := io.Pipe()
			go func() {
				for _, f := range []string{": waiting\n\n", first} {
					pause(r.Context(), 50*time.Second)
					io.WriteString(pw, f)
				}
				<-r.Context().Done()
				pw.CloseWithError(r.Context().Err())
			}()
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: pr, Request: r,
			}, nil
		})}
		cfg := v.Config("http://localhost:1")
		cfg.IdleTimeout = time.Minute
		_, err := v.model(t, cfg, client).Generate(t.Context(), Request(), nil)
		want(t, err, provider.KindNetwork)
		if took := time.Since(began); took != 160*time.Second {
			t.Errorf("ended after %s, want 2m40s", took)
		}
	})
}

// closing is a body that remembers being closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// pause waits on the bubble's fake clock.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func contains(s, sub string) bool { return strings.Contains(s, sub) }
