package effect

import (
	"context"
	"fmt"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// decided is what policy says of one call.
type decided struct {
	ask       bool
	why       string
	key       approval.Key
	cacheable bool
	grants    capability.Snapshot
}

func names(list []capability.Name) []string {
	var out []string
	for _, n := range list {
		out = append(out, n.String())
	}
	return out
}

func (r *Runtime) checkScope(_ context.Context, p *passage) verdict {
	if !p.turn.Principal().Allows(string(p.turn.Session())) {
		return verdict{status: Denied, reason: "scope", why: "the principal may not act in this session", model: "not allowed"}
	}
	return pass(p.turn.Principal().PrincipalID())
}

func (r *Runtime) checkCapability(_ context.Context, p *passage) verdict {
	t := p.entry.tool
	core := p.turn.Core()
	if missing := core.Capabilities.Missing(t.Needs...); len(missing) > 0 {
		return verdict{status: Denied, reason: "capability", why: fmt.Sprintf("core %s does not list %s", core.ID, strings.Join(names(missing), ", ")), model: "not allowed"}
	}
	v := approval.Decide(t.Entry(), p.catalog.setup.Policies...)
	p.policy.ask, p.policy.why, p.policy.grants = v.Mode == approval.Prompt, v.Why.String(), p.entry.grants
	if v.Mode == approval.Deny {
		return verdict{status: Denied, reason: "approval_policy", why: v.Why.String(), model: "not allowed"}
	}
	return pass("")
}
