package providertest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
)

func answers(t *testing.T, v Vendor) {
	t.Run("text arrives in pieces and whole", func(t *testing.T) {
		resp := v.good(t, Answer{Pieces: []Piece{Say("forty"), Say("-two ✓")}, Finish: provider.FinishStop}, func(events []provider.Event) {
			if got := streamed(events); got != "forty|-two ✓" {
				t.Errorf("text events %q", got)
			}
		})
		if resp.Text() != "forty-two ✓" || resp.FinishReason != provider.FinishStop {
			t.Errorf("got %q finished %s", resp.Text(), resp.FinishReason)
		}
		if resp.ProviderRequestID == "" || resp.Model != "test-model-1" {
			t.Errorf("request id %q, model %q", resp.ProviderRequestID, resp.Model)
		}
	})
	t.Run("a tool call split over many deltas", func(t *testing.T) {
		args := `{"expression":"6*7","note":"é\""}`
		pieces := []Piece{Say("let me see"), Start(0, "id_1", "calc-eval")}
		for i := range len(args) {
			// Cutting between the bytes of a character would not be JSON on the wire.
			if args[i]&0xC0 != 0x80 {
				end := i + 1
				for end < len(args) && args[end]&0xC0 == 0x80 {
					end++
				}
				pieces = append(pieces, Args(0, args[i:end]))
			}
		}
		resp := v.good(t, Answer{Pieces: pieces, Finish: provider.FinishToolCalls}, nil)
		calls := resp.Calls()
		if len(calls) != 1 || calls[0].ID != "id_1" || calls[0].Name != "calc-eval" || string(calls[0].Arguments) != args {
			t.Errorf("calls %+v", calls)
		}
		if resp.Text() != "let me see" || resp.FinishReason != provider.FinishToolCalls {
			t.Errorf("got %q finished %s", resp.Text(), resp.FinishReason)
		}
	})
	t.Run("two parallel tool calls with interleaved arguments", func(t *testing.T) {
		resp := v.good(t, Answer{Finish: provider.FinishToolCalls, Pieces: []Piece{
			Start(0, "id_a", "calc-eval"), Start(1, "id_b", "fs-read"),
			Args(0, `{"expression"`), Args(1, `{"path":`), Args(0, `:"1"}`), Args(1, `"x"}`),
		}}, nil)
		calls := resp.Calls()
		if len(calls) != 2 || string(calls[0].Arguments) != `{"expression":"1"}` || string(calls[1].Arguments) != `{"path":"x"}` {
			t.Fatalf("calls %+v", calls)
		}
		if calls[0].ID != "id_a" || calls[1].ID != "id_b" || calls[1].Name != "fs-read" {
			t.Errorf("calls %+v", calls)
		}
	})
	t.Run("a call without arguments is an empty object", func(t *testing.T) {
		resp := v.good(t, Answer{Pieces: []Piece{Start(0, "id_1", "time-now")}, Finish: provider.FinishToolCalls}, nil)
		if c := resp.Calls(); len(c) != 1 || string(c[0].Arguments) != "{}" || c[0].Malformed != "" {
			t.Errorf("calls %+v", c)
		}
	})
	t.Run("arguments that are no strict object are marked and withheld", func(t *testing.T) {
		for _, args := range []string{`{"a":`, `[1]`, `{"a":1,"a":2}`, `{"a":1} x`, `nope`} {
			resp := v.good(t, Answer{Pieces: []Piece{Start(0, "id_1", "calc-eval"), Args(0, args)}, Finish: provider.FinishToolCalls}, nil)
			if c := resp.Calls(); len(c) != 1 || c[0].Arguments != nil || c[0].Malformed == "" {
				t.Errorf("%s: calls %+v", args, c)
			}
		}
	})
	t.Run("usage keeps cached tokens apart", func(t *testing.T) {
		want := provider.Usage{Input: 11, Output: 7, CacheRead: 5, Reported: true}
		resp := v.good(t, Answer{Pieces: []Piece{Say("x")}, Finish: provider.FinishStop, Usage: &want}, nil)
		if resp.Usage != want {
			t.Errorf("usage %+v, want %+v", resp.Usage, want)
		}
		if resp.Usage.Prompt() != 16 {
			t.Errorf("prompt %d", resp.Usage.Prompt())
		}
	})
	for _, reason := range []provider.FinishReason{provider.FinishStop, provider.FinishLength, provider.FinishRefused} {
		t.Run("finish "+string(reason), func(t *testing.T) {
			if resp := v.good(t, Answer{Pieces: []Piece{Say("x")}, Finish: reason}, nil); resp.FinishReason != reason {
				t.Errorf("got %s", resp.FinishReason)
			}
		})
	}
	t.Run("a call cut off by the output limit is not executable", func(t *testing.T) {
		for _, pieces := range [][]Piece{
			{Start(0, "id_1", "calc-eval")},
			{Start(0, "id_1", "calc-eval"), Args(0, `{"expression":"6`)},
		} {
			resp := v.good(t, Answer{Pieces: pieces, Finish: provider.FinishLength}, nil)
			if c := resp.Calls(); len(c) != 1 || c[0].Malformed == "" || resp.FinishReason != provider.FinishLength {
				t.Errorf("finish %s, calls %+v", resp.FinishReason, c)
			}
		}
	})
	t.Run("a refused answer holds no call", func(t *testing.T) {
		resp := v.good(t, Answer{Pieces: []Piece{Say("no"), Start(0, "id_1", "calc-eval"), Args(0, `{"a":1}`)}, Finish: provider.FinishRefused}, nil)
		if len(resp.Calls()) != 0 || resp.Text() != "no" || resp.FinishReason != provider.FinishRefused {
			t.Errorf("finish %s, parts %+v", resp.FinishReason, resp.Parts)
		}
	})
	t.Run("a finish word that contradicts the calls is corrected", func(t *testing.T) {
		resp := v.good(t, Answer{Pieces: []Piece{Start(0, "id_1", "calc-eval")}, Finish: provider.FinishStop}, nil)
		if resp.FinishReason != provider.FinishToolCalls {
			t.Errorf("with a call: %s", resp.FinishReason)
		}
		resp = v.good(t, Answer{Pieces: []Piece{Say("x")}, Finish: provider.FinishToolCalls}, nil)
		if resp.FinishReason != provider.FinishOther {
			t.Errorf("without a call: %s", resp.FinishReason)
		}
	})
	t.Run("a missing call id is made up and stays the same", func(t *testing.T) {
		a := Answer{Pieces: []Piece{Start(0, "", "calc-eval"), Start(1, "", "calc-eval")}, Finish: provider.FinishToolCalls}
		first, second := v.good(t, a, nil).Calls(), v.good(t, a, nil).Calls()
		if len(first) != 2 || first[0].ID == "" || first[0].ID == first[1].ID || first[0].ID != second[0].ID {
			t.Errorf("ids %+v and %+v", first, second)
		}
	})
	t.Run("nothing the caller changes during the call reaches the answer", func(t *testing.T) { isolated(t, v) })
}

// isolated changes the request from inside every function of the caller that
// runs during the call, and the answer after it, and looks whether either shows
// elsewhere.
func isolated(t *testing.T, v Vendor) {
	frames := v.Frames(Answer{Pieces: []Piece{Start(0, "id_1", "calc-eval"), Args(0, `{"a":1}`)}, Finish: provider.FinishToolCalls})
	s := Serve(t, Stream(frames...))
	req := Request()
	spoil := func() {
		req.Messages[0].Parts[0].Text = "changed"
		req.Tools[0].InputSchema[0] = 'X'
	}
	cfg := v.Config(s.URL)
	cfg.APIKey = func(context.Context) (string, error) {
		spoil()
		return Key, nil
	}
	resp, err := v.model(t, cfg, s.Client()).Generate(t.Context(), req, func(provider.Event) { spoil() })
	if err != nil {
		t.Fatal(err)
	}
	if body := s.Requests()[0].Body; strings.Contains(body, "changed") || !strings.Contains(body, "6*7") {
		t.Errorf("request body %s", body)
	}
	message := resp.Message()
	resp.Parts[0].Call.Arguments[0] = 'X'
	if got := string(message.Calls()[0].Arguments); got != `{"a":1}` {
		t.Errorf("the message shares memory with the response: %s", got)
	}
}

// good asks for an answer that must succeed.
func (v Vendor) good(t *testing.T, a Answer, look func([]provider.Event)) provider.Response {
	t.Helper()
	resp, events, err := v.Ask(t, http.HandlerFunc(Stream(v.Frames(a)...)), nil)
	if err != nil {
		t.Fatalf("generate: %v", err)
	}
	if look != nil {
		look(events)
	}
	return resp
}

func streamed(events []provider.Event) string {
	var texts []string
	for _, e := range events {
		if e.Kind == provider.EventText {
			texts = append(texts, e.Text)
		}
	}
	return strings.Join(texts, "|")
}
