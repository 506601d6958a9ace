package host

import (
	"path"
	"strings"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/egress"
)

// Stages of a [Judgement] beside those of policy.
const (
	StageRequest policy.Stage = "request" // the tool is not there, or the arguments do not fit
	StageEgress  policy.Stage = "egress"
	StageSecrets policy.Stage = "secrets"
)

// Judgement is what everything in an [Explanation] comes to: what would become of the call.
type Judgement struct {
	Action policy.Action
	Stage  policy.Stage // that decides
	Rule   string       // the rule that decides, "<file>: <rule>" or "tool: own mode of <tool>"; else the stage
	Reason string       // stable code of a denial, else empty
	Why    string
	Remedy string
}

// Judge is the first no in the order of the gate, or what the approval rules say. What a call asks of the network is
// decided while it runs; here it comes last.
func (x Explanation) Judge() Judgement {
	no := func(stage policy.Stage, reason, why, remedy string) Judgement {
		return Judgement{policy.Deny, stage, string(stage), reason, why, remedy}
	}
	v := x.Policy
	switch {
	case !x.Found:
		return no(StageRequest, "tool_not_found", "core "+x.Core+" has no tool "+x.Tool, "")
	case x.Arguments.Reason != "":
		return no(StageRequest, x.Arguments.Reason, x.Arguments.Why, x.Arguments.Remedy)
	case v.Action == policy.Deny && v.Stage != policy.Approval:
		return no(v.Stage, v.Reason, v.Why, v.Remedy)
	case x.Planned.Reason != "":
		return no(policy.HostChecks, x.Planned.Reason, x.Planned.Why, x.Planned.Remedy)
	}
	said := Judgement{v.Action, v.Stage, v.Approval.Why.Source + ": " + v.Approval.Why.Rule, v.Reason, v.Why, v.Remedy}
	switch {
	case v.Action == policy.Deny:
		return said
	case x.Unshown.Reason != "":
		return no(policy.Approval, x.Unshown.Reason, x.Unshown.Why, x.Unshown.Remedy)
	case !x.Secrets.Zero():
		return no(StageSecrets, x.Secrets.Reason, x.Secrets.Why, x.Secrets.Remedy)
	case !x.URL.allowed():
		return x.URL.judge(no, x.Core, x.Plugin)
	}
	return said
}

// allowed reports whether every layer that needs no network would let the URL pass.
func (u *URLExplanation) allowed() bool {
	return u == nil || u.Parsed.Allowed && u.Judged.Allowed && u.Address.Allowed
}

// never reports an address that nothing opens.
func (u *URLExplanation) never() bool {
	return !u.Address.Allowed && u.Address.Reason != egress.PrivateAddress
}

func (u *URLExplanation) judge(no func(stage policy.Stage, reason, why, remedy string) Judgement, coreID, plugin string) Judgement {
	switch {
	case !u.Parsed.Allowed:
		return no(StageEgress, "url_refused", u.Parsed.Sentence, "")
	case u.never():
		return no(StageEgress, "url_refused", u.Address.Sentence, "")
	case !u.Rules.Allowed:
		return no(StageEgress, "url_refused_by_core", u.Rules.Sentence, "change egress in "+path.Join(core.FolderName, coreID, core.AgentFile))
	case !u.Declared.Allowed:
		return no(StageEgress, "url_not_declared", u.Declared.Sentence, "")
	case u.Judged.Allowed:
		return no(StageEgress, "url_refused_address", u.Address.Sentence, "")
	}
	why, remedy := "the URL needs one of "+strings.Join(u.Needs, ", "), ""
	if u.Granted && u.InCore { // net.fetch:*, which does not do for this place
		why = u.Judged.Sentence
	}
	if id, _, ok := strings.Cut(plugin, "@"); ok && len(u.Needs) > 0 {
		remedy = capability.GrantLine(id, u.Needs[0], coreID)
	}
	return no(StageEgress, "url_not_granted", why, remedy)
}
