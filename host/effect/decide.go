package effect

import (
	"context"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// Facts are what policy decides a call of the tool by, apart from the call itself. The gate and an explanation ask the
// same function with the same facts.
func (c *Catalog) facts(e *entry, needs []capability.Name, granted capability.Snapshot) policy.Facts {
	t := e.tool
	return policy.Facts{
		Principal: c.turn.Principal(), Session: string(c.turn.Session()), Tool: t.entry(needs), Visible: true,
		Core: c.turn.Core().ID, Capabilities: c.turn.Core().Capabilities,
		Plugin: t.Plugin, Granted: granted, Loads: t.PluginNeeds,
		Checks: []policy.Check{workspaceCheck(t, c.turn.Workspace()), boundsCheck(t)}, Policies: c.setup.Policies,
	}
}

func workspaceCheck(t Tool, workspace string) policy.Check {
	c := policy.Check{Name: "workspace", Passed: true, Why: workspace}
	switch {
	case !t.Files:
		c.Why = "not used"
	case workspace == "":
		c.Passed, c.Reason, c.Remedy = false, "no_workspace", "--workspace DIR"
		c.Why = fmt.Sprintf("%s works on files and the turn has no workspace: add --workspace DIR, or a workspace to the core", t.Name)
		c.Model = "there is no workspace in this conversation"
	}
	return c
}

func boundsCheck(t Tool) policy.Check {
	return policy.Check{Name: "bounds", Passed: true, Why: fmt.Sprintf("at most %s and %d bytes", t.Timeout, t.Output)}
}

// ruling is what policy says of one tool of one turn, with the words of each stage.
type ruling struct {
	policy.Verdict
	scope, capability, checks, approval string
}

func decide(f policy.Facts) ruling {
	v := policy.Decide(f)
	return ruling{v, v.At(policy.Scope), v.At(policy.Capability), v.At(policy.HostChecks), v.At(policy.Approval)}
}

func (v *ruling) at(s policy.Stage) string {
	switch s {
	case policy.Scope:
		return v.scope
	case policy.Capability:
		return v.capability
	case policy.HostChecks:
		return v.checks
	}
	return v.approval
}

// rule asks policy. All facts of a tool are frozen with its catalog but three, that the principal's scope is still alive,
// what a call's arguments ask for and what is left of the grants: apart from those, what was said once is said again.
func (c *Catalog) rule(e *entry, needs []capability.Name, granted capability.Snapshot) *ruling {
	if len(needs) != len(e.tool.Needs) || !granted.Equal(e.grants) || !c.turn.Principal().Allows(string(c.turn.Session())) {
		now := decide(c.facts(e, needs, granted))
		return &now
	}
	if known := e.ruled.Load(); known != nil {
		return known
	}
	now := decide(c.facts(e, needs, granted))
	e.ruled.Store(&now)
	return &now
}

// checkScope is step 2. Policy is asked once, here; the steps that follow report what it said of them.
func (r *Runtime) checkScope(ctx context.Context, p *passage) verdict {
	if v := r.standing(ctx, p); v.stops() {
		return v
	}
	p.policy = p.catalog.rule(p.entry, p.needs, p.granted)
	return p.said(policy.Scope)
}

// standing is what is left of the grants that the turn began with, each as it was given. What the operator takes back ends
// with the next call; what they add is for the next turn, also where it is a narrower grant: one that names a host gives more
// than one of every host. Step 7 asks once more, in the transaction of the start.
func (r *Runtime) standing(ctx context.Context, p *passage) verdict {
	p.granted = p.entry.grants
	if p.entry.tool.Plugin == "" {
		return verdict{}
	}
	now, err := r.grants.PluginGrants(ctx, p.entry.tool.Plugin)
	switch {
	case ctx.Err() != nil:
		return verdict{status: Cancelled, reason: "cancelled", why: "cancelled before it started", model: "cancelled"}
	case err != nil:
		return verdict{
			status: Denied, reason: "grants_unreadable", remedy: "portcullis store check",
			why:   fmt.Sprintf("what plugin %s is granted cannot be read, so it gets nothing: `portcullis store check`", p.entry.tool.Plugin),
			model: "the host could not look up whether this is allowed, so it did not run",
		}
	case !now.Equal(p.granted):
		p.granted = p.granted.Still(now)
	}
	return verdict{}
}

// checkCapability is step 3.
func (r *Runtime) checkCapability(_ context.Context, p *passage) verdict {
	p.nameMissing()
	return p.said(policy.Capability)
}

// nameMissing words the denial of an open need ("some host") by the one that this call would need. Whoever has none of the
// family does not have that one: it stays a denial.
func (p *passage) nameMissing() {
	v, stands := p.policy, p.entry.tool.Stands
	if v.Action != policy.Deny || v.Stage != policy.Capability || !v.Missing.Open() || stands == nil {
		return
	}
	one, ok := stands(v.Missing, p.args.read)
	at := slices.Index(p.needs, v.Missing)
	if !ok || at < 0 {
		return
	}
	needs := slices.Clone(p.needs)
	needs[at] = one
	if named := decide(p.catalog.facts(p.entry, needs, p.granted)); named.Action == policy.Deny && named.Stage == policy.Capability {
		p.policy = &named
	}
}

// checkHost is step 4: what the host can say without running anything, and what the adapter plans.
func (r *Runtime) checkHost(ctx context.Context, p *passage) verdict {
	v := p.said(policy.HostChecks)
	if v.stops() {
		return v
	}
	if planned := r.plan(ctx, p); planned.stops() {
		return planned
	}
	if p.planned != nil {
		v.why += fmt.Sprintf("; plan: %d words, %d files", len(p.planned.Argv), len(p.planned.Operands))
	}
	return v
}

// said is policy's word on one stage.
func (p *passage) said(s policy.Stage) verdict {
	if v := p.policy.Verdict; v.Action == policy.Deny && v.Stage == s {
		return verdict{status: Denied, reason: v.Reason, why: v.Why, model: v.Model, remedy: v.Remedy}
	}
	return pass(p.policy.at(s))
}

// key is what an allowance for the session would be remembered by; false when there may be none: what is critical,
// uses a secret, or is planned as something that nobody can foresee is asked about each time.
func (p *passage) key() (approval.Key, bool) {
	e := p.entry.tool.entry(p.needs)
	for _, n := range e.Capabilities {
		if n.Family() == bindFamily {
			return approval.Key{}, false
		}
	}
	core := p.turn.Core()
	key, ok := approval.NewKey(p.turn.Principal(), string(p.turn.Session()), approval.Basis{
		Core: core.ID, Revision: core.Revision, Capabilities: core.Capabilities.Fingerprint(),
		Effective: p.policy.Approval.Mode, Entry: e, Definition: p.entry.pin(),
		Policy: p.catalog.rules(), Granted: p.granted.Fingerprint(),
	}, e.RuleKey(p.covered(e)))
	return key, ok && !e.Risk.AtLeast(approval.Critical) && (p.planned == nil || p.planned.Cacheable)
}

// covered is the part of the rule key that comes from this call: what its plan says, else, where the tool's name does
// not say enough, its exact input. Empty covers every argument.
func (p *passage) covered(e approval.Entry) string {
	switch {
	case p.planned != nil && p.planned.RuleKey != "":
		return p.planned.RuleKey
	case p.planned != nil || e.NamesInput():
		return "input sha256:" + p.digest
	}
	return ""
}

func names(list []capability.Name) []string {
	var out []string
	for _, n := range list {
		out = append(out, n.String())
	}
	return out
}
