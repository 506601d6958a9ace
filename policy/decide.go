// Package policy owns the fixed order of the checks that stand before every effect, as one pure function.
//
// [Decide] takes facts and returns a verdict: no I/O, no clock, no context, no lookup. The order is scope, visibility,
// capability (the core's, then the operator's grant to the plugin), the host's own checks, approval; the first that
// says no decides, and what comes after it is not asked. A verdict says who has to do what: the operator gets a
// sentence with the command to type, the model one without any.
// Source: Host Runtime Contracts, EffectRuntime, Ordering and Invariants 2 to 5.
package policy

import (
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Stage is one check in the order.
type Stage string

// The stages, in their order.
const (
	Scope      Stage = "scope"
	Capability Stage = "capability"
	HostChecks Stage = "host checks"
	Approval   Stage = "approval"
)

// Action is what a verdict comes to.
type Action string

// The actions.
const (
	Allow Action = "allow"
	Ask   Action = "ask" // a person must allow it
	Deny  Action = "deny"
)

// Stable reasons of a denial. A host check brings its own.
const (
	NotInScope    = "scope_not_allowed"
	NotVisible    = "tool_not_visible"
	NotInCore     = "capability_not_in_core"
	NotGranted    = "capability_not_granted"
	DeniedByRules = "approval_policy"
)

// Check is one thing that the host found out without running anything: workspace, URL, bounds.
type Check struct {
	Name   string
	Passed bool
	Reason string // stable code, when it did not pass
	Why    string // what was found, for the operator
	Model  string // the same for the model: no command, no path
	Remedy string // what to type, or empty
}

// Facts are all that a verdict rests on.
type Facts struct {
	Principal principal.Scope
	Session   string
	Tool      approval.Entry
	Visible   bool // the tool is one that this principal is shown

	Core         string // core id, for sentences
	Capabilities capability.Snapshot

	Plugin  string              // empty for a builtin, which needs no operator grant
	Granted capability.Snapshot // what the operator granted the plugin
	Loads   []capability.Name   // what the plugin's module needs to be loaded at all

	Checks   []Check
	Policies []approval.Policy
}

// Line is one check that was asked, for an explanation.
type Line struct {
	Stage  Stage
	Passed bool
	Text   string
}

// Verdict is what the checks come to. Stage and Reason say which check decided; Why and Remedy are for the operator,
// Model is for the model. The words of an Allow say what let it through.
type Verdict struct {
	Action   Action
	Stage    Stage
	Reason   string // stable code of a denial, else empty
	Why      string
	Model    string
	Remedy   string
	Missing  capability.Name  // the zero Name unless a capability is missing
	Approval approval.Verdict // the zero Verdict when it was not asked
	Trace    []Line
}

// At returns what one stage said, joined; empty when it was not asked.
func (v Verdict) At(s Stage) string {
	text := ""
	for _, l := range v.Trace {
		if l.Stage != s {
			continue
		}
		if text != "" {
			text += "; "
		}
		text += l.Text
	}
	return text
}

// Decide is the fixed order. It is total: every Facts has a verdict, and facts that are left out deny.
func Decide(f Facts) Verdict {
	var v Verdict
	for _, stage := range []func(Facts, *Verdict) bool{scope, visibility, inCore, granted, checks} {
		if !stage(f, &v) {
			return v
		}
	}
	return decideApproval(f, v)
}

func (v *Verdict) pass(s Stage, format string, args ...any) bool {
	v.Trace = append(v.Trace, Line{s, true, fmt.Sprintf(format, args...)})
	return true
}

func (v *Verdict) deny(s Stage, reason, why, model, remedy string) bool {
	v.Action, v.Stage, v.Reason, v.Why, v.Model, v.Remedy = Deny, s, reason, why, model, remedy
	v.Trace = append(v.Trace, Line{s, false, why})
	return false
}

func scope(f Facts, v *Verdict) bool {
	if !f.Principal.Allows(f.Session) {
		return v.deny(Scope, NotInScope, fmt.Sprintf("%s may not act in this session", f.Principal), "you may not act here", "")
	}
	return v.pass(Scope, "%s acts in the session", f.Principal)
}

func visibility(f Facts, v *Verdict) bool {
	if !f.Visible {
		return v.deny(Scope, NotVisible, fmt.Sprintf("%s is not among the tools of this turn", f.Tool.Tool), "there is no such tool", "")
	}
	return v.pass(Scope, "%s is among the tools of the turn", f.Tool.Tool)
}

// inCore holds what the tool needs against what the core lists.
func inCore(f Facts, v *Verdict) bool {
	for _, need := range f.Tool.Capabilities {
		if f.Capabilities.Meets(need) {
			continue
		}
		v.Missing = need
		remedy := ""
		if f.Plugin != "" && need.Family() != "tool.call" { // one command for both layers
			remedy = capability.GrantLine(f.Plugin, need.Example(), f.Core)
		}
		return v.deny(Capability, NotInCore,
			fmt.Sprintf("%s needs %s and core %s does not list it: add %q to capabilities in cores/%s/agent.yaml", f.Tool.Tool, need, f.Core, need.Example(), f.Core),
			fmt.Sprintf("this agent does not have the capability %s", need), remedy)
	}
	return v.pass(Capability, "core %s lists %s", f.Core, list(f.Tool.Capabilities))
}

// granted holds what the tool and its module need against what the operator granted. That a tool may be called at all
// is the core's matter alone: no operator grants tool.call to a plugin.
func granted(f Facts, v *Verdict) bool {
	if f.Plugin == "" {
		return v.pass(Capability, "a builtin needs no grant")
	}
	for _, need := range append(append([]capability.Name(nil), f.Tool.Capabilities...), f.Loads...) {
		if need.Family() == "tool.call" || f.Granted.Meets(need) {
			continue
		}
		v.Missing = need
		core := ""
		if need.Open() && slices.Contains(f.Tool.Capabilities, need) { // the core lists some host, perhaps not the one that is granted now
			core = f.Core
		}
		remedy := capability.GrantLine(f.Plugin, need.Example(), core)
		return v.deny(Capability, NotGranted,
			fmt.Sprintf("plugin %s asks for %s and it is not granted: `%s`", f.Plugin, need, remedy),
			fmt.Sprintf("the operator has not granted %s", need), remedy)
	}
	return v.pass(Capability, "plugin %s is granted what it needs", f.Plugin)
}

func checks(f Facts, v *Verdict) bool {
	for _, c := range f.Checks {
		if !c.Passed {
			return v.deny(HostChecks, c.Reason, c.Why, c.Model, c.Remedy)
		}
		v.pass(HostChecks, "%s: %s", c.Name, c.Why)
	}
	return true
}

func decideApproval(f Facts, v Verdict) Verdict {
	v.Approval = approval.Decide(f.Tool, f.Policies...)
	v.Stage, v.Why = Approval, v.Approval.Why.String()
	switch v.Approval.Mode {
	case approval.Auto:
		v.Action = Allow
		v.pass(Approval, "%s", v.Why)
	case approval.Prompt:
		v.Action = Ask
		v.pass(Approval, "%s", v.Why)
	default:
		v.deny(Approval, DeniedByRules, fmt.Sprintf("%s is denied by the approval rules: %s", f.Tool.Tool, v.Why), "the rules of this host do not allow it", "")
	}
	return v
}

func list(names []capability.Name) string {
	if len(names) == 0 {
		return "nothing, and nothing is needed"
	}
	text := ""
	for i, n := range names {
		if i > 0 {
			text += ", "
		}
		text += n.String()
	}
	return text
}
