package host

import (
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/net"
	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/egress"
)

// The first no in the order of the gate is the judgement; without one it is what the approval rules say.
func TestTheFirstNoIsTheJudgement(t *testing.T) {
	no := egress.Verdict{Sentence: "not here"}
	yes := egress.Verdict{Allowed: true}
	ask := policy.Verdict{Action: policy.Ask, Stage: policy.Approval, Why: "w", Approval: approval.Verdict{
		Mode: approval.Prompt, Why: approval.Step{Source: "config.yaml", Rule: "default"},
	}}
	denied := ask
	denied.Action, denied.Reason = policy.Deny, policy.DeniedByRules
	url := func(change func(*URLExplanation)) *URLExplanation {
		u := &URLExplanation{Explanation: net.Explanation{Parsed: yes, Declared: yes, Rules: yes, Judged: yes, Address: yes, Granted: true, InCore: true}}
		u.Needs = []string{"net.fetch:[::1]:80"}
		change(u)
		return u
	}
	base := func(change func(*Explanation)) Explanation {
		x := Explanation{Explanation: effect.Explanation{Tool: "a.b", Plugin: "p@1.0.0", Found: true, Policy: ask}, Core: "c"}
		change(&x)
		return x
	}
	for name, c := range map[string]struct {
		x                   Explanation
		action              policy.Action
		stage               policy.Stage
		reason, rule, remed string
	}{
		"nothing objects": {base(func(*Explanation) {}), policy.Ask, policy.Approval, "", "config.yaml: default", ""},
		"no such tool":    {base(func(x *Explanation) { x.Found = false }), policy.Deny, StageRequest, "tool_not_found", "request", ""},
		"arguments before policy": {base(func(x *Explanation) {
			x.Arguments, x.Policy = effect.Objection{Reason: "arguments_schema"}, policy.Verdict{Action: policy.Deny, Stage: policy.Capability}
		}), policy.Deny, StageRequest, "arguments_schema", "request", ""},
		"policy before a plan": {base(func(x *Explanation) {
			x.Policy = policy.Verdict{Action: policy.Deny, Stage: policy.Capability, Reason: policy.NotInCore, Remedy: "r"}
			x.Planned = effect.Objection{Reason: "p"}
		}), policy.Deny, policy.Capability, policy.NotInCore, "capability", "r"},
		"a plan before the rules": {base(func(x *Explanation) { x.Policy, x.Planned = denied, effect.Objection{Reason: "p"} }), policy.Deny, policy.HostChecks, "p", "host checks", ""},
		"the rules before secrets": {base(func(x *Explanation) {
			x.Policy, x.Secrets = denied, effect.Refusal{Reason: "s"}
		}), policy.Deny, policy.Approval, policy.DeniedByRules, "config.yaml: default", ""},
		"secrets before the network": {base(func(x *Explanation) {
			x.Secrets, x.URL = effect.Refusal{Reason: "s", Remedy: "portcullis secrets set A"}, url(func(u *URLExplanation) { u.InCore, u.Judged = false, no })
		}), policy.Deny, StageSecrets, "s", "secrets", "portcullis secrets set A"},
		"a URL that is fine":     {base(func(x *Explanation) { x.URL = url(func(*URLExplanation) {}) }), policy.Ask, policy.Approval, "", "config.yaml: default", ""},
		"a URL that never is":    {base(func(x *Explanation) { x.URL = url(func(u *URLExplanation) { u.Parsed = no }) }), policy.Deny, StageEgress, "url_refused", "egress", ""},
		"a URL not declared":     {base(func(x *Explanation) { x.URL = url(func(u *URLExplanation) { u.Declared, u.Judged = no, no }) }), policy.Deny, StageEgress, "url_not_declared", "egress", ""},
		"a URL the core refuses": {base(func(x *Explanation) { x.URL = url(func(u *URLExplanation) { u.Rules, u.Judged = no, no }) }), policy.Deny, StageEgress, "url_refused_by_core", "egress", "change egress in cores/c/agent.yaml"},
		"a URL not granted":      {base(func(x *Explanation) { x.URL = url(func(u *URLExplanation) { u.Granted, u.Judged = false, no }) }), policy.Deny, StageEgress, "url_not_granted", "egress", "portcullis plugin grant p 'net.fetch:[::1]:80' --core c"},
		"a URL not in the core":  {base(func(x *Explanation) { x.URL = url(func(u *URLExplanation) { u.InCore, u.Judged = false, no }) }), policy.Deny, StageEgress, "url_not_granted", "egress", "portcullis plugin grant p 'net.fetch:[::1]:80' --core c"},
		"a URL whose address is closed": {base(func(x *Explanation) {
			x.URL = url(func(u *URLExplanation) { u.Address = egress.Verdict{Reason: egress.PrivateAddress, Sentence: "s"} })
		}), policy.Deny, StageEgress, "url_refused_address", "egress", ""},
		"an address that nothing opens": {base(func(x *Explanation) {
			x.URL = url(func(u *URLExplanation) { u.Address = egress.Verdict{Reason: egress.MetadataAddress, Sentence: "s"} })
		}), policy.Deny, StageEgress, "url_refused", "egress", ""},
		"a URL behind a rule's no": {base(func(x *Explanation) { x.Policy = denied; x.URL = url(func(u *URLExplanation) { u.Parsed = no }) }), policy.Deny, policy.Approval, policy.DeniedByRules, "config.yaml: default", ""},
	} {
		j := c.x.Judge()
		if j.Action != c.action || j.Stage != c.stage || j.Reason != c.reason || j.Rule != c.rule || j.Remedy != c.remed {
			t.Errorf("%s: %+v", name, j)
		}
	}
}
