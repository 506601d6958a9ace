package httpx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/httpx"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
)

func call(t *testing.T, h http.Handler, f func(ctx context.Context, c *http.Client) error) {
	t.Helper()
	plugintest.For(t, sdk.Plugin{
		ID: "demo", Version: "1.0.0", Summary: "s", License: "l",
		Capabilities: []sdk.Capability{{Name: "net.fetch", Reason: "r"}},
		Egress:       []sdk.Egress{{Host: "a.example", Methods: []string{"GET", "PUT"}, Reason: "r"}},
		Tools: []sdk.ToolSpec{sdk.Tool("demo.run", "d", func(ctx context.Context, _ struct{}, h sdk.Host) (struct{}, error) {
			return struct{}{}, f(ctx, &http.Client{Transport: httpx.Transport(h)})
		}, sdk.Needs("net.fetch"))},
	}).HTTP(h).Call(t, "demo.run", `{}`)
}

func TestClientSendsAndReceives(t *testing.T) {
	h := http.NewServeMux()
	h.HandleFunc("PUT /echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["x-lower"] = []string{"a", "b"}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, r.Header.Get("X-Sent")+":")
		_, _ = io.Copy(w, r.Body)
	})
	call(t, h, func(ctx context.Context, c *http.Client) error {
		req, err := http.NewRequestWithContext(ctx, "PUT", "https://a.example/echo", strings.NewReader("body"))
		if err != nil {
			return err
		}
		req.Header.Set("X-Sent", "yes")
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "yes:body" || resp.Status != "202 Accepted" || resp.StatusCode != 202 ||
			resp.ContentLength != 8 || resp.Request != req || strings.Join(resp.Header.Values("X-Lower"), ",") != "a,b" {
			return fmt.Errorf("got %q, %+v, %w", body, resp, err)
		}
		return resp.Body.Close()
	})
}

// The client follows, and each hop is a request that the host checks.
func TestRedirectsAreTheClientsAndTheHostChecksEach(t *testing.T) {
	h := http.NewServeMux()
	h.HandleFunc("GET /near", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/here", http.StatusFound) })
	h.HandleFunc("GET /away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://b.example/", http.StatusFound)
	})
	h.HandleFunc("GET /here", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	call(t, h, func(ctx context.Context, c *http.Client) error {
		hops := 0
		c.CheckRedirect = func(*http.Request, []*http.Request) error { hops++; return nil }
		resp, err := c.Get("https://a.example/near")
		if err != nil || hops != 1 || resp.Request.URL.Path != "/here" {
			return fmt.Errorf("%d hops, %+v, %w", hops, resp, err)
		}
		_, err = c.Get("https://a.example/away")
		if !errors.Is(err, sdk.Denied) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

type failing struct{ closed *bool }

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
func (f failing) Close() error           { *f.closed = true; return nil }

func TestRefusedBeforeAnythingIsSent(t *testing.T) {
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was sent", r.URL) })
	call(t, h, func(ctx context.Context, c *http.Client) error {
		req := func(body io.Reader) *http.Request {
			r, err := http.NewRequestWithContext(ctx, "PUT", "https://a.example/", body)
			if err != nil {
				t.Error(err)
			}
			return r
		}
		other := req(nil)
		other.Host = "b.example"
		if _, err := c.Do(other); !errors.Is(err, sdk.Invalid) {
			return fmt.Errorf("another Host: %w", err)
		}
		if _, err := c.Do(req(strings.NewReader(strings.Repeat("x", 16<<20+1)))); !errors.Is(err, sdk.TooLarge) {
			return fmt.Errorf("large body: %w", err)
		}
		closed := false
		if _, err := c.Do(req(failing{&closed})); !errors.Is(err, io.ErrUnexpectedEOF) || !closed {
			return fmt.Errorf("body that fails: closed %v, %w", closed, err)
		}
		return nil
	})
}
