package net

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// client makes a provider's client whose own configuration opens the given origins.
func client(t *testing.T, g *Gate, base string, open ...string) *http.Client {
	t.Helper()
	also, err := ParseAllowances(open...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.ProviderClient("main", base, also)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fetch makes a request as a model adapter would.
func fetch(t *testing.T, c *http.Client, url string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer S3CRET")
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func refusedFor(t *testing.T, err error, want egress.Reason) {
	t.Helper()
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Reason != want {
		t.Errorf("error %v, want the refusal %s", err, want)
	}
}

func TestProviderReachesItsOriginOverHTTP2(t *testing.T) {
	w, b := newWorld(t), &book{}
	w.name("api.example", public)
	w.serveTLS(public+":443", func(out http.ResponseWriter, in *http.Request) {
		fmt.Fprint(out, in.Proto, in.URL.Path, in.Header.Get("Authorization"), in.Header.Get("Accept-Encoding"))
	}, "api.example")
	c := client(t, w.gate(b), "https://api.example/v1")
	for range 2 {
		if status, body, err := fetch(t, c, "https://api.example/v1/chat"); status != 200 || body != "HTTP/2.0/v1/chatBearer S3CRET" {
			t.Errorf("%d %q %v", status, body, err)
		}
	}
	if got := w.dials(); !slices.Equal(got, []string{public + ":443"}) {
		t.Errorf("dialled %q", got)
	}
	if got := b.all(); len(got) != 1 || got[0].Caller != "provider main" || got[0].Origin != "https://api.example:443" || !got[0].Allowed || len(got[0].Addresses) != 1 {
		t.Errorf("audit %+v", got)
	}
}

func TestProviderReachesNothingElse(t *testing.T) {
	w := newWorld(t)
	for host, ip := range map[string]string{"api.example": public, "other.example": "93.184.216.35"} {
		w.name(host, ip)
		w.serveTLS(ip+":443", say("reached"), host)
		w.serve(ip+":80", say("reached"))
	}
	c := client(t, w.gate(nil), "https://api.example/v1")
	for url, want := range map[string]egress.Reason{
		"https://other.example/":       OtherOrigin,
		"http://api.example/":          OtherOrigin,
		"https://api.example:8443/":    OtherOrigin,
		"https://sub.api.example/":     OtherOrigin,
		"https://127.0.0.1/":           OtherOrigin,
		"https://u:p@api.example/":     egress.Userinfo,
		"https://api.example./":        egress.InvalidHostname,
		"https://api.example/a/../../": egress.NonCanonicalPath,
	} {
		_, _, err := fetch(t, c, url)
		refusedFor(t, err, want)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://api.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "other.example"
	_, err = c.Do(req)
	refusedFor(t, err, OtherOrigin)
	if got := w.dials(); len(got) != 0 {
		t.Errorf("dialled %q", got)
	}
}

func TestProviderFollowsNoRedirect(t *testing.T) {
	for _, to := range []string{"https://other.example/", "/elsewhere", "http://169.254.169.254/"} {
		w := newWorld(t)
		w.name("api.example", public)
		w.name("other.example", "93.184.216.35")
		w.serveTLS(public+":443", sends(307, to), "api.example")
		w.serveTLS("93.184.216.35:443", say("reached"), "other.example")
		if status, _, err := fetch(t, client(t, w.gate(nil), "https://api.example"), "https://api.example/"); status != 307 {
			t.Errorf("%s: %d %v", to, status, err)
		}
		if got := w.dials(); len(got) != 1 {
			t.Errorf("%s: dialled %q", to, got)
		}
	}
}

// A client that somebody copied with another redirect rule is still held to its origin.
func TestProviderTransportHoldsTheOriginAlone(t *testing.T) {
	w := newWorld(t)
	w.name("api.example", public)
	w.serve(public+":80", sends(302, "http://other.example/"))
	c := client(t, w.gate(nil), "http://api.example")
	_, _, err := fetch(t, &http.Client{Transport: c.Transport}, "http://api.example/")
	refusedFor(t, err, OtherOrigin)
}

func TestProviderReachesPrivateAddressesOnlyWhenTheOriginIsNamed(t *testing.T) {
	for _, c := range []struct {
		base, open, opened string // by the provider's entry, by the gate
		want               egress.Reason
	}{
		{"http://127.0.0.1:8080", "", "", egress.PrivateAddress},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080", "", egress.Allowed},
		{"http://127.0.0.1:8080", "", "http://127.0.0.1:8080", egress.Allowed},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8081", "https://127.0.0.1:8080", egress.PrivateAddress},
		{"http://model.example:8080", "", "", egress.PrivateAddress},
		{"http://model.example:8080", "http://127.0.0.1:8080", "", egress.PrivateAddress},
		{"http://model.example:8080", "http://model.example:8080", "", egress.Allowed},
		{"http://meta.example", "http://meta.example", "", egress.MetadataAddress},
		{"http://mixed.example", "", "", egress.PrivateAddress},
		{"http://metadata.google.internal", "", "http://metadata.google.internal", egress.MetadataHostname},
	} {
		w, b := newWorld(t), &book{}
		w.name("model.example", "127.0.0.1")
		w.name("meta.example", "169.254.169.254")
		w.name("metadata.google.internal", public)
		w.name("mixed.example", public, "10.0.0.1")
		w.serve("127.0.0.1:8080", say("model"))
		w.serve(public+":80", say("public"))
		var opened, open []string
		if c.opened != "" {
			opened = append(opened, c.opened)
		}
		if c.open != "" {
			open = append(open, c.open)
		}
		_, body, err := fetch(t, client(t, w.gate(b, opened...), c.base, open...), c.base+"/v1")
		if c.want == egress.Allowed {
			if body != "model" {
				t.Errorf("%s: %v", c.base, err)
			}
		} else {
			refusedFor(t, err, c.want)
			if got := w.dials(); len(got) != 0 {
				t.Errorf("%s: dialled %q", c.base, got)
			}
		}
		if got := b.all(); len(got) != 1 || got[0].Reason != c.want {
			t.Errorf("%s: audit %+v", c.base, got)
		}
	}
}

// A client lives as long as the host, so that every connection asks again; a name that turns private is refused
// then.
func TestProviderJudgesEveryConnection(t *testing.T) {
	w := newWorld(t)
	w.name("api.example", public)
	w.name("api.example", "10.0.0.1")
	w.serve("10.0.0.1:80", say("inside"))
	w.serve(public+":80", func(out http.ResponseWriter, _ *http.Request) { out.Header().Set("Connection", "close") })
	c := client(t, w.gate(nil), "http://api.example")
	if status, _, err := fetch(t, c, "http://api.example/"); status != 200 {
		t.Fatal(err)
	}
	_, _, err := fetch(t, c, "http://api.example/")
	refusedFor(t, err, egress.PrivateAddress)
	if got := w.dials(); !slices.Equal(got, []string{public + ":80"}) {
		t.Errorf("dialled %q", got)
	}
}

// The first part of a stream is there before the server has written the second, and only the context ends it.
func TestProviderStreams(t *testing.T) {
	w, more, gone := newWorld(t), make(chan struct{}), make(chan struct{})
	w.name("api.example", public)
	w.serveTLS(public+":443", func(out http.ResponseWriter, in *http.Request) {
		io.WriteString(out, "one")
		out.(http.Flusher).Flush()
		<-more
		io.WriteString(out, "two")
		out.(http.Flusher).Flush()
		<-in.Context().Done()
		close(gone)
	}, "api.example")
	c := client(t, w.gate(nil), "https://api.example")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "https://api.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	part := make([]byte, 3)
	if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != "one" {
		t.Fatalf("%q %v", part, err)
	}
	close(more)
	if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != "two" {
		t.Fatalf("%q %v", part, err)
	}
	cancel()
	if _, err := resp.Body.Read(part); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v", err)
	}
	<-gone
	if c.Timeout != 0 {
		t.Errorf("the client cuts streams off after %s", c.Timeout)
	}
}

func TestProviderErrorsDoNotRepeatTheKey(t *testing.T) {
	w := newWorld(t)
	w.name("api.example", "10.0.0.1")
	g := w.gate(nil)
	_, _, err := fetch(t, client(t, g, "http://api.example"), "http://api.example/v1")
	if err == nil || strings.Contains(err.Error(), "S3CRET") {
		t.Errorf("error %v", err)
	}
	for _, base := range []string{"http://u:S3CRET@api.example", "S3CRET", "ftp://api.example"} {
		c, err := g.ProviderClient("main", base, Allowances{})
		var refused *RefusedError
		if c != nil || !errors.As(err, &refused) || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: %v", base, err)
		}
	}
}

func TestProviderDecisionThatCannotBeRecordedIsARefusal(t *testing.T) {
	w, b := newWorld(t), &book{fail: errors.New("disk full")}
	w.name("api.example", public)
	w.serve(public+":80", say("reached"))
	if _, _, err := fetch(t, client(t, w.gate(b), "http://api.example"), "http://api.example/"); !errors.Is(err, b.fail) || len(w.dials()) != 0 {
		t.Errorf("error %v", err)
	}
}

func TestClosedGateConnectsNoMore(t *testing.T) {
	w := newWorld(t)
	w.name("api.example", public)
	w.serve(public+":80", say("reached"))
	g := w.gate(nil)
	c := client(t, g, "http://api.example")
	if status, _, err := fetch(t, c, "http://api.example/"); status != 200 {
		t.Fatal(err)
	}
	g.Close()
	if _, _, err := fetch(t, c, "http://api.example/"); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}

func TestTransportsLookAtNoProxy(t *testing.T) {
	tr := newWorld(t).gate(nil).transport(nil)
	if tr.Proxy != nil || tr.TLSClientConfig.InsecureSkipVerify || tr.TLSClientConfig.MinVersion < 0x0303 || !tr.DisableCompression {
		t.Errorf("transport %+v", tr)
	}
}

func TestProviderAnswersAreBounded(t *testing.T) {
	body := &boundedBody{capped{strings.NewReader("12345"), 4}, io.NopCloser(nil)}
	if got, err := io.ReadAll(body); !errors.Is(err, errTooLarge) || len(got) > 5 {
		t.Errorf("%q, %v", got, err)
	}
}
