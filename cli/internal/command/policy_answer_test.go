package command

import (
	"fmt"
	"testing"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy"
)

// An explanation shows the check that says no as one that does not pass, and none that the gate would not come to.
func TestTheCheckThatSaysNoHasNotPassed(t *testing.T) {
	found := func(change func(*host.Explanation)) host.Explanation {
		var x host.Explanation
		x.Found = true
		x.Policy = policy.Verdict{Action: policy.Ask, Stage: policy.Approval, Trace: []policy.Line{
			{Stage: policy.Scope, Passed: true}, {Stage: policy.Capability, Passed: true}, {Stage: policy.HostChecks, Passed: true}, {Stage: policy.Approval, Passed: true},
		}}
		change(&x)
		return x
	}
	no := effect.Objection{Reason: "no", Why: "because"}
	for name, c := range map[string]struct {
		change func(*host.Explanation)
		want   string
	}{
		"nothing":   {func(*host.Explanation) {}, "[scope true capability true host checks true approval true]"},
		"arguments": {func(x *host.Explanation) { x.Arguments = no }, "[request false]"},
		"plan":      {func(x *host.Explanation) { x.Planned = no }, "[scope true capability true host checks true host checks false]"},
		"unshown":   {func(x *host.Explanation) { x.Unshown = no }, "[scope true capability true host checks true approval false]"},
		"secrets": {
			func(x *host.Explanation) { x.Secrets = effect.Refusal{Reason: "no", Why: "because"} },
			"[scope true capability true host checks true approval true secrets false]",
		},
		"rules": {func(x *host.Explanation) {
			x.Policy.Action, x.Policy.Trace[3].Passed = policy.Deny, false
		}, "[scope true capability true host checks true approval false]"},
	} {
		var got []string
		for _, l := range explainOf(found(c.change)).Checks {
			got = append(got, fmt.Sprint(l.Stage, " ", l.Passed))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
