package effect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Of whatever ends without a result after a request that nobody answered, nobody knows whether it happened.
func TestAnUnansweredRequestLeavesTheEffectUncertain(t *testing.T) {
	ends := map[string]effect.Outcome{
		"cancelled": {Status: effect.Cancelled},
		"timed out": {Status: effect.TimedOut},
		"failed":    {Status: effect.Failed, Reason: "guest_trap"},
		"fault":     {Status: effect.Failed, Reason: "fault_timeout", Fault: &wire.Fault{Code: wire.CodeTimeout, Message: "no answer"}},
		"no result": {Status: effect.Succeeded},
		"unfit":     {Status: effect.Succeeded, Result: json.RawMessage(`[]`)},
	}
	call := func(out effect.Outcome, recovery string) effect.Result {
		f := newFixture(t, "tool.call:*")
		acting := tool("a.b", adapter(func(context.Context, effect.Call) effect.Outcome { return out }))
		acting.Recovery = recovery
		return f.run(`{}`, acting)
	}
	for name, out := range ends {
		for _, recovery := range wire.Recoveries() {
			answered := call(out, recovery)
			out := out
			out.Unanswered = true
			got := call(out, recovery)
			switch {
			case answered.Status == effect.Indeterminate:
				t.Errorf("%s, %s: uncertain though it was answered", name, recovery)
			case recovery == wire.RecoveryRead && (got.Status != answered.Status || got.Reason != answered.Reason):
				t.Errorf("%s: what only reads is %s (%s), not %s", name, got.Status, got.Reason, answered.Status)
			case recovery != wire.RecoveryRead && (got.Status != effect.Indeterminate || got.Reason != "request_unanswered"):
				t.Errorf("%s, %s: %s (%s)", name, recovery, got.Status, got.Reason)
			case recovery != wire.RecoveryRead && (!strings.Contains(got.Sentence, answered.Sentence) || !strings.Contains(got.Views.Model.String(), "do not repeat it")):
				t.Errorf("%s, %s: %s; the model is told %s", name, recovery, got.Sentence, got.Views.Model)
			}
		}
	}
	// The tool knows better: it has a result.
	if got := call(effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`), Unanswered: true}, wire.RecoveryManual); got.Status != effect.Succeeded {
		t.Errorf("with a result: %s (%s)", got.Status, got.Reason)
	}
}
