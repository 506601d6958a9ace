package effect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// ended is what the gate makes of a tool that ends as out says.
func ended(t *testing.T, out effect.Outcome, recovery string) effect.Result {
	t.Helper()
	f := newFixture(t, "tool.call:*")
	acting := tool("a.b", adapter(func(context.Context, effect.Call) effect.Outcome { return out }))
	acting.Recovery = recovery
	return f.run(`{}`, acting)
}

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
	call := func(out effect.Outcome, recovery string) effect.Result { return ended(t, out, recovery) }
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

// To be stopped takes nothing back that was answered, and whoever repeats the call should know. What the tool itself says stands,
// and with it that something may have been changed.
func TestAnAnsweredRequestIsToldWhateverEndsTheTool(t *testing.T) {
	call := func(out effect.Outcome, recovery string) effect.Result { return ended(t, out, recovery) }
	for name, out := range map[string]effect.Outcome{
		"cancelled": {Status: effect.Cancelled},
		"timed out": {Status: effect.TimedOut},
		"trapped":   {Status: effect.Failed, Reason: "guest_trap"},
		"no result": {Status: effect.Succeeded},
		"unfit":     {Status: effect.Succeeded, Result: json.RawMessage(`[]`)},
	} {
		for _, recovery := range wire.Recoveries() {
			before := call(out, recovery)
			out := out
			out.Changed = true
			got := call(out, recovery)
			switch {
			case recovery == wire.RecoveryRead && (got.Status != before.Status || got.Reason != before.Reason):
				t.Errorf("%s: what only reads is %s (%s), not %s", name, got.Status, got.Reason, before.Status)
			case recovery != wire.RecoveryRead && (got.Status != effect.Indeterminate || got.Reason != "request_answered"):
				t.Errorf("%s, %s: %s (%s)", name, recovery, got.Status, got.Reason)
			case recovery != wire.RecoveryRead && (!strings.Contains(got.Sentence, before.Sentence) || !strings.Contains(got.Views.Model.String(), "do not repeat it")):
				t.Errorf("%s, %s: %s; the model is told %s", name, recovery, got.Sentence, got.Views.Model)
			}
		}
	}
	said := effect.Outcome{Status: effect.Failed, Reason: "fault_failed", Fault: &wire.Fault{Code: wire.CodeFailed, Message: "the second step"}, Changed: true}
	got := call(said, wire.RecoveryManual)
	const words = "a request of it that may have changed something was answered"
	if got.Status != effect.Failed || got.Reason != "fault_failed" || !strings.Contains(got.Sentence, "the second step; before that "+words) {
		t.Errorf("its own fault: %s (%s): %s", got.Status, got.Reason, got.Sentence)
	}
	if told := got.Views.Model.String(); !strings.Contains(told, words+": look before you repeat it") {
		t.Errorf("of its own fault the model is told %s", told)
	}
	if kept := got.Views.Durable.String(); !strings.Contains(kept, words) {
		t.Errorf("of its own fault is kept %s", kept)
	}
	if got := call(said, wire.RecoveryRead); strings.Contains(got.Sentence, words) {
		t.Errorf("of a fault of what only reads: %s", got.Sentence)
	}
	if got := call(effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`), Changed: true}, wire.RecoveryManual); got.Status != effect.Succeeded {
		t.Errorf("with a result: %s (%s)", got.Status, got.Reason)
	}
}
