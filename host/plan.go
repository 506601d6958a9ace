package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/child"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/exec"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// prepared is a core made ready: its plugins verified, its rules compiled, everything pinned to one revision.
type prepared struct {
	core     core.Core
	plugins  []plugin.Installed
	policies []approval.Policy
	programs *exec.Source
}

// prepare loads a core and holds it against what is installed. Faults of its files are [core.LoadErrors]; a missing
// or changed plugin is an error of host/plugin; rules that cannot be reached are [approval.Faults].
func (h *Host) prepare(ctx context.Context, id string) (prepared, error) {
	if id == "" {
		id = h.settings.DefaultCore
	}
	c, err := core.Load(ctx, h.cfg.Home, id)
	if err != nil {
		return prepared{}, err
	}
	p := prepared{core: c, programs: h.programsOf(c)}
	builtin, err := turn.Ask{}.Tools(ctx, binding.Turn{})
	if err != nil {
		return prepared{}, err
	}
	runs, err := p.programs.Offered(c.Capabilities())
	if err != nil {
		return prepared{}, err
	}
	looks, err := h.taskTools().Offered(c.Capabilities())
	if err != nil {
		return prepared{}, err
	}
	known := append(entries(slices.Concat(builtin, runs, looks)), child.Known(c.Capabilities())...)
	for _, pin := range c.Plugins() {
		in, err := h.plugins.Pinned(ctx, pin.ID, pin.Version, pin.Digest)
		if err != nil {
			return prepared{}, fmt.Errorf("core %s: %w", id, err)
		}
		tools, err := toolsOf(in.Manifest)
		if err != nil {
			return prepared{}, err
		}
		known = append(known, entries(tools)...)
		p.plugins = append(p.plugins, in)
	}
	own, faults := approval.Compile(c.Approval(), approval.Known{Tools: known})
	if len(faults) > 0 {
		return prepared{}, faults
	}
	anyRuns, err := exec.Known() // the host's rules are for every core
	if err != nil {
		return prepared{}, err
	}
	anyLooks, err := task.Known()
	if err != nil {
		return prepared{}, err
	}
	wide, err := h.hostRules(ctx, append(entries(slices.Concat(builtin, anyRuns, anyLooks)), child.Known(c.Capabilities())...))
	if err != nil {
		return prepared{}, err
	}
	p.policies = []approval.Policy{own, wide}
	return p, nil
}

// hostRules compiles the approval rules of config.yaml. They are for every core, so they are held against everything
// that is installed and not against one core's plugins.
func (h *Host) hostRules(ctx context.Context, known []approval.Entry) (approval.Policy, error) {
	rules := h.settings.Approval
	var all []plugin.Entry
	if len(rules.Tools)+len(rules.Capabilities)+len(rules.Risks) > 0 { // a default alone concerns no tool in particular
		var err error
		if all, err = h.plugins.List(ctx); err != nil {
			return approval.Policy{}, err
		}
	}
	for _, e := range all {
		if e.Installed == nil {
			continue
		}
		tools, err := toolsOf(e.Installed.Manifest)
		if err != nil {
			return approval.Policy{}, err
		}
		for _, more := range entries(tools) {
			if !slices.ContainsFunc(known, func(k approval.Entry) bool { return k.Tool == more.Tool }) {
				known = append(known, more)
			}
		}
	}
	policy, faults := approval.Compile(rules, approval.Known{Tools: known})
	if len(faults) > 0 {
		return approval.Policy{}, faults
	}
	return policy, nil
}

// entries are tools as the approval rules see them.
func entries(tools []effect.Tool) []approval.Entry {
	var out []approval.Entry
	for _, t := range tools {
		out = append(out, t.Entry())
	}
	return out
}

// noteRevision ends what was allowed and is being asked under another revision of a core, forwards or back, as soon as a
// turn finds that the core has changed.
func (h *Host) noteRevision(c core.Core) {
	h.mu.Lock()
	before := h.revisions[c.ID()]
	h.revisions[c.ID()] = c.Revision()
	h.mu.Unlock()
	if before != "" && before != c.Revision() {
		h.gate.EndCore(c.ID())
	}
}

// planner pins a core for one turn.
type planner struct{ h *Host }

// Plan loads the core anew, so that a turn runs what the files say now; what the turn has pinned does not change
// under it.
func (p planner) Plan(ctx context.Context, req turn.Request) (turn.Plan, error) {
	ready, err := p.h.prepare(ctx, req.Core)
	if err != nil {
		return turn.Plan{}, err
	}
	c := ready.core
	if req.Revision != "" && req.Revision != c.Revision() {
		return turn.Plan{}, fmt.Errorf("core %s is at revision %s now, and the request pins %s", c.ID(), c.Revision(), req.Revision)
	}
	p.h.noteRevision(c)
	var model provider.Model
	var asked core.Model
	if !req.Direct {
		if model, asked, err = p.h.model(ctx, c, req); err != nil {
			return turn.Plan{}, err
		}
	}
	workspace, err := workspaceOf(c, req.Workspace)
	if req.Parent != nil {
		workspace, err = req.Parent.Turn.Workspace(), nil // or none, whatever the core has
	}
	if err != nil {
		return turn.Plan{}, err
	}
	if workspace != "" {
		if err := os.MkdirAll(workspace, 0o700); err != nil {
			return turn.Plan{}, fmt.Errorf("make the workspace of core %s: %w", c.ID(), err)
		}
	}
	setup, may, err := p.h.setup(ctx, ready, req.Known, req.Actor, req.Parent)
	if err != nil {
		return turn.Plan{}, err
	}
	limits := c.Limits()
	return turn.Plan{
		Core:   binding.Core{ID: c.ID(), Revision: c.Revision(), Capabilities: may},
		System: c.System(), Model: model, Summaries: c.ScriptName() == "", MaxOutput: asked.MaxOutputTokens, Temperature: asked.Temperature,
		Setup:    setup,
		MaxSteps: limits.MaxSteps, Timeout: limits.TurnTimeout, Workspace: workspace,
	}, nil
}

// approvers are who may decide what a turn of actor asks. Where config.yaml names nobody it is the operator: a conversation does
// not allow its own calls. What runs for the operator or for the host itself has nobody else anyway.
func (h *Host) approvers(actor principal.Facts) []string {
	named := h.settings.Approval.Approvers
	if len(named) == 0 && actor.Authority == principal.Conversation {
		named = []string{approval.Operator}
	}
	var out []string
	for _, name := range named {
		switch name {
		case approval.Operator:
			name = authority.OperatorID
		case approval.Requester:
			name = actor.PrincipalID
		}
		out = append(out, name)
	}
	return out
}

// setup is what a turn's catalog is made of, and what its core may do. known is what the request names as secret, actor for
// whom it runs. With from, the turn is a child agent's: both are within what its parent has.
func (h *Host) setup(ctx context.Context, ready prepared, known redact.Set, actor principal.Facts, from *turn.Parent) (effect.Setup, capability.Snapshot, error) {
	known, err := h.hidden(ctx, known)
	if err != nil {
		return effect.Setup{}, capability.Snapshot{}, err
	}
	may, limits := ready.core.Capabilities(), ready.core.Limits()
	spawn := &child.Source{Runner: ofTask{h}, Authority: h.resolver}
	setup := effect.Setup{
		Sources:  []effect.Source{turn.Ask{}, ready.programs, h.taskTools(), &pluginSource{h, ready}, spawn},
		Policies: ready.policies, Approvers: h.approvers(actor), Known: known, Timeout: limits.EffectTimeout, Output: limits.OutputBytes,
	}
	if from != nil {
		may = may.Intersect(from.Turn.Core().Capabilities)
		// What its core lets run is no part of what the parent's does: a child runs no programs, and leaves none behind.
		setup.Sources = []effect.Source{turn.Ask{}, &pluginSource{h, ready}, spawn}
		setup = setup.Within(from.Setup, from.Turn)
	}
	return setup, may, nil
}

// workspaceOf chooses the folder of file effects: the request's, which must exist, else the core's.
func workspaceOf(c core.Core, asked string) (string, error) {
	if asked != "" {
		info, err := os.Stat(asked)
		if err != nil || !info.IsDir() || !filepath.IsAbs(asked) {
			return "", fmt.Errorf("workspace %s is not a folder: make it, or name another with --workspace", asked)
		}
		return asked, nil
	}
	return c.Workspace(), nil
}
