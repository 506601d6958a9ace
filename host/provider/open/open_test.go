package open_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/open"
	"github.com/b3abf3ee/portcullis/host/provider/scripted"
)

func key(context.Context) (string, error) { return "k", nil }

// clock is a fake clock that remembers how long it slept.
type clock struct{ slept time.Duration }

func (c *clock) Now() time.Time { return time.Unix(0, 0).Add(c.slept) }

func (c *clock) Sleep(_ context.Context, d time.Duration) error {
	c.slept += d
	return nil
}

func TestTheAdapterIsTheOneNamed(t *testing.T) {
	for want, cfg := range map[string]provider.Config{
		"anthropic/claude-sonnet-5": {Kind: provider.Anthropic, Model: "claude-sonnet-5", APIKey: key},
		"openai/gpt-5":              {Kind: provider.OpenAI, Model: "gpt-5", APIKey: key},
	} {
		m, err := open.Model(t.Context(), cfg, provider.Deps{HTTPClient: &http.Client{}})
		if err != nil || m.Name() != want {
			t.Errorf("%s: %v, %v", want, m, err)
		}
	}
}

func TestAScriptRunsThroughTheRetry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	script := "version: 1\nsteps:\n- error: {kind: overloaded, retry_after: 3s}\n- say: hello\n- say: never reached\n"
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &clock{}
	m, err := open.Model(t.Context(), provider.Config{Kind: provider.Scripted, Script: path}, provider.Deps{Clock: c, Random: func() float64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := m.Generate(t.Context(), provider.Request{Messages: []provider.Message{provider.User("q")}}, nil)
	if err != nil || resp.Text() != "hello" || c.slept != 3*time.Second {
		t.Errorf("%q, %v after %s", resp.Text(), err, c.slept)
	}
}

func TestRefusalsKeepTheirType(t *testing.T) {
	var ce *provider.ConfigError
	if _, err := open.Model(t.Context(), provider.Config{Kind: "other"}, provider.Deps{}); !errors.As(err, &ce) || ce.Field != "kind" {
		t.Errorf("got %v", err)
	}
	if _, err := open.Model(t.Context(), provider.Config{Kind: provider.OpenAI, Model: "m"}, provider.Deps{}); !errors.As(err, &ce) {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nsteps: [{sya: x}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var se *scripted.SyntaxError
	if _, err := open.Model(t.Context(), provider.Config{Kind: provider.Scripted, Script: path}, provider.Deps{}); !errors.As(err, &se) || se.Line != 2 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open.Model(ctx, provider.Config{}, provider.Deps{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
