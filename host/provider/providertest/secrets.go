package providertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
)

func secrets(t *testing.T, v Vendor) {
	frames := v.Frames(Answer{Pieces: []Piece{Say("forty")}, Finish: provider.FinishStop})
	t.Run("the key goes in its header and is asked for every time", func(t *testing.T) {
		s := Serve(t, Stream(frames...))
		cfg := v.Config(s.URL)
		n := 0
		cfg.APIKey = func(context.Context) (string, error) {
			n++
			return fmt.Sprintf("  key-number-%d\n", n), nil
		}
		m := v.model(t, cfg, s.Client())
		for range 2 {
			if _, err := m.Generate(t.Context(), Request(), nil); err != nil {
				t.Fatal(err)
			}
		}
		seen := s.Requests()
		if v.KeyOf(seen[0].Header) != "key-number-1" || v.KeyOf(seen[1].Header) != "key-number-2" {
			t.Errorf("keys %q and %q", v.KeyOf(seen[0].Header), v.KeyOf(seen[1].Header))
		}
	})
	t.Run("a redirect is not followed and the key stays", func(t *testing.T) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			other := Serve(t, Stream(frames...))
			_, _, err := v.Ask(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/elsewhere?q=1", status)
			}, nil)
			e := want(t, err, provider.KindBadRequest)
			if !strings.Contains(e.Sentence, "localhost") || strings.Contains(e.Sentence, "q=1") {
				t.Errorf("%d: sentence %q should name the origin and no more", status, e.Sentence)
			}
			if seen := other.Requests(); len(seen) != 0 {
				t.Errorf("%d: the other server was asked, with key %q", status, v.KeyOf(seen[0].Header))
			}
		}
	})
	t.Run("a server that repeats the key does not get it into an error", func(t *testing.T) {
		for name, handle := range map[string]http.HandlerFunc{
			"json": fails(400, fmt.Sprintf(`{"type":"error","error":{"type":"x","message":"bad key %s given"}}`, Key), nil),
			"page": fails(401, "you sent "+Key, map[string]string{"request-id": Key, "x-request-id": Key}),
			"to": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://"+Key+".example/", http.StatusTemporaryRedirect)
			},
		} {
			_, _, err := v.Ask(t, handle, nil)
			if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), Key) {
				t.Errorf("%s: %+v", name, err)
			}
		}
	})
	// One variable at a time: a library that finds a key first would not look at
	// the rest.
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY":        "ambient-secret",
		"ANTHROPIC_AUTH_TOKEN":     "ambient-secret",
		"ANTHROPIC_PROFILE":        "no-such-profile",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Ambient: ambient-secret",
		"ANTHROPIC_BASE_URL":       "http://127.0.0.1:1",
		"OPENAI_API_KEY":           "ambient-secret",
		"OPENAI_BASE_URL":          "http://127.0.0.1:1",
		"OPENAI_ORG_ID":            "ambient-secret",
	} {
		t.Run("the environment is not read: "+name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv(name, value)
			s := Serve(t, Stream(frames...))
			if _, err := v.model(t, v.Config(s.URL), s.Client()).Generate(t.Context(), Request(), nil); err != nil {
				t.Fatal(err)
			}
			seen := s.Requests()[0]
			if strings.Contains(fmt.Sprint(seen), "ambient-secret") || v.KeyOf(seen.Header) != Key {
				t.Errorf("request %+v", seen)
			}
		})
	}
	t.Run("a key that cannot be had or used sends nothing", func(t *testing.T) {
		locked := errors.New("the store is locked")
		for name, source := range map[string]func(context.Context) (string, error){
			"error": func(context.Context) (string, error) { return "half-a-key", locked },
			"empty": func(context.Context) (string, error) { return " \n", nil },
			"lines": func(context.Context) (string, error) { return "line-one\r\nX-Evil: line-two", nil },
		} {
			s := Serve(t, Stream(frames...))
			cfg := v.Config(s.URL)
			cfg.APIKey = source
			_, err := v.model(t, cfg, s.Client()).Generate(t.Context(), Request(), nil)
			e := want(t, err, provider.KindAuth)
			if len(s.Requests()) != 0 {
				t.Errorf("%s: a request was sent", name)
			}
			if strings.Contains(e.Error(), "half-a-key") || strings.Contains(e.Error(), "line-two") {
				t.Errorf("%s: %v", name, e)
			}
			if name == "error" && !errors.Is(e, locked) {
				t.Errorf("the cause is lost: %v", e)
			}
		}
	})
	t.Run("the host's HTTP client is required and left as it is", func(t *testing.T) {
		if _, err := v.Open(v.Config("http://localhost:1"), provider.Deps{}); err == nil {
			t.Error("opened without an HTTP client")
		}
		client := &http.Client{}
		v.model(t, v.Config("http://localhost:1"), client)
		if client.CheckRedirect != nil {
			t.Error("the host's client was changed")
		}
	})
}
