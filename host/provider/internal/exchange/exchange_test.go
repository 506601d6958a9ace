package exchange

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/provider"
)

type memory func(*http.Request) (*http.Response, error)

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) { return m(r) }

func TestACallIsGoodForOneRequest(t *testing.T) {
	asked := 0
	client := Client(&http.Client{Transport: memory(func(r *http.Request) (*http.Response, error) {
		asked++
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("x")), Request: r}, nil
	})})
	call := New(client, Options{Adapter: provider.OpenAI, Caps: provider.DefaultCaps(), Idle: time.Minute, Now: time.Now})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := call.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, err := call.Do(req); !errors.Is(err, errReused) || asked != 1 {
		t.Errorf("second use: %v after %d requests", err, asked)
	}
}

func TestTailKeepsTheEndAcrossReads(t *testing.T) {
	call := New(nil, Options{Caps: provider.DefaultCaps()})
	for _, p := range []string{strings.Repeat("a", 100), "data: [DO", "NE]\n", "\n"} {
		call.count([]byte(p))
	}
	if got := string(call.Tail()); len(got) != tailBytes || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("tail %q", got)
	}
}

func TestRetryAfterIgnoresNonsense(t *testing.T) {
	now := func() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "1.5": 1500 * time.Millisecond, "-3": 0, "NaN": 0, "soon": 0,
		"1e300": 24 * time.Hour, "Inf": 24 * time.Hour,
		"Tue, 01 Jan 2030 00:00:10 GMT": 10 * time.Second,
		"Mon, 31 Dec 2029 00:00:00 GMT": 0,
		"Fri, 01 Jan 2999 00:00:00 GMT": 24 * time.Hour,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

// closedDoor is a policy's refusal as an HTTP client reports it.
type closedDoor struct{}

func (closedDoor) Error() string { return "example.org is not granted" }
func (closedDoor) Refused() bool { return true }

func TestARefusedConnectionIsNoNetworkFailure(t *testing.T) {
	for _, c := range []struct {
		err  error
		want provider.ErrorKind
	}{{closedDoor{}, provider.KindBadRequest}, {io.ErrUnexpectedEOF, provider.KindNetwork}} {
		client := Client(&http.Client{Transport: memory(func(*http.Request) (*http.Response, error) { return nil, c.err })})
		call := New(client, Options{Adapter: provider.OpenAI, Caps: provider.DefaultCaps(), Idle: time.Minute, Now: time.Now})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = call.Do(req)
		got := call.Failure(t.Context(), err)
		if got == nil || got.Kind != c.want || !strings.Contains(got.Sentence, c.err.Error()) {
			t.Errorf("%v became %v", c.err, got)
		}
	}
}
