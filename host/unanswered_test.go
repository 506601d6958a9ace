package host_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// outside is a home with the plugin that sends one POST to a server of this machine.
func outside(t *testing.T, server, script, limits string) *home {
	t.Helper()
	h := newHome(t)
	in, err := plugin.At(h.dir).Install(t.Context(), conformancetest.Build(t, filepath.Join(conformancetest.Root(t), "conformance", "guests", "outside"), "outside"))
	if err != nil {
		t.Fatal(err)
	}
	h.pins = append(h.pins, core.Pin{ID: in.ID, Version: in.Version, Digest: in.Digest})
	h.write("config.yaml", "schema_version: 1\ndefault_core: assistant\nnetwork: {allow_private: [\""+server+"\"]}\n")
	h.core(script, []string{"tool.call:*", "net.fetch:" + strings.TrimPrefix(server, "http://")}, "approval: {default: auto}", limits)
	return h
}

// Whatever ends an effect whose request a server has read and not answered: whether it happened is not known, and no turn
// goes on with it. What could not be sent did not happen.
func TestWhatWasSentAndNotAnsweredIsUncertain(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(out http.ResponseWriter, given <-chan struct{}) // nil: nobody listens
		cancel  bool
		limits  string
		effect  effect.Status
		reason  string
		outcome turn.Outcome
	}{
		"cancelled": {
			answer: func(_ http.ResponseWriter, up <-chan struct{}) { <-up }, cancel: true,
			effect: effect.Indeterminate, reason: "request_unanswered", outcome: turn.Indeterminate,
		},
		"its time is over": {
			answer: func(_ http.ResponseWriter, up <-chan struct{}) { <-up }, limits: "limits: {effect_timeout: 4s}",
			effect: effect.Indeterminate, reason: "request_unanswered", outcome: turn.Indeterminate,
		},
		"the plugin gives up": {
			answer: func(out http.ResponseWriter, _ <-chan struct{}) {
				if conn, _, err := http.NewResponseController(out).Hijack(); err == nil {
					conn.Close()
				}
			},
			effect: effect.Indeterminate, reason: "request_unanswered", outcome: turn.Indeterminate,
		},
		"not sent":         {effect: effect.Failed, reason: "fault_unavailable", outcome: turn.Completed},
		"answered":         {answer: func(http.ResponseWriter, <-chan struct{}) {}, effect: effect.Succeeded, outcome: turn.Completed},
		"answered with no": {answer: func(out http.ResponseWriter, _ <-chan struct{}) { out.WriteHeader(500) }, effect: effect.Succeeded, outcome: turn.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			over := make(chan struct{})
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
				io.Copy(io.Discard, in.Body)
				if c.cancel {
					cancel()
				}
				c.answer(out, over)
			}))
			at := "http://" + s.Listener.Addr().String()
			if c.answer != nil {
				s.Start()
			} else {
				at = "http://127.0.0.1:1" // a port that was given back could be another test's by now
			}
			defer s.Close()
			defer close(over)
			h := outside(t, at, "steps:\n  - call: [{tool: outside.act, args: {url: \""+at+"/\"}}]\n  - say: It went on.\n", c.limits)
			on := h.open()
			by, err := on.Operator(t.Context(), "test")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := on.Grant(t.Context(), by, "outside", "net.fetch:"+strings.TrimPrefix(at, "http://")); err != nil {
				t.Fatal(err)
			}
			if c.limits != "" { // a busy machine must not need all of the time to load the plugin: a call that reaches nobody has it loaded
				if _, res, err := on.Call(t.Context(), host.Request{}, "outside.act", []byte(`{"url":"http://127.0.0.1:1/"}`), turn.Observer{}); err != nil || res.Status == effect.Succeeded {
					t.Fatal(res.Status, err)
				}
			}
			var seen []effect.Result
			res, err := on.Run(ctx, host.Request{Input: "act"}, turn.Observer{Effect: func(r effect.Result) { seen = append(seen, r) }})
			if err != nil && !c.cancel {
				t.Fatal(err)
			}
			if len(seen) != 1 || seen[0].Status != c.effect || seen[0].Reason != c.reason {
				t.Fatalf("%d effects, the turn is %s (%s): %+v", len(seen), res.Outcome(), res.Reason(), res.Effects())
			}
			if res.Outcome() != c.outcome || (c.outcome == turn.Completed) != (res.Reply() == "It went on.") {
				t.Errorf("the turn is %s (%s): %s", res.Outcome(), res.Reason(), res.Sentence())
			}
			if c.effect == effect.Indeterminate && (strings.Contains(res.Sentence(), "nothing is left running") || !strings.Contains(res.Sentence(), "may or may not have happened")) {
				t.Errorf("the turn says %q", res.Sentence())
			}
		})
	}
}
