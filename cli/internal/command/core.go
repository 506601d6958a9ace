package command

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/plugin"
)

func (s *shell) core() *cli.Command {
	return &cli.Command{
		Name: "core", Usage: "the agents of this home: their models, plugins and rules", Action: group,
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list cores, broken ones with the reason", Action: s.listCores},
			{Name: "show", Usage: "show one core as it is read", ArgsUsage: "CORE", Action: s.showCore},
		},
	}
}

// coreAnswer is a core in a document.
type coreAnswer struct {
	ID           string      `json:"id"`
	State        string      `json:"state"` // "ok" or "broken"
	Problem      string      `json:"problem,omitempty"`
	Summary      string      `json:"summary,omitempty"`
	Revision     string      `json:"revision,omitempty"`
	Provider     string      `json:"provider,omitempty"`
	Model        string      `json:"model,omitempty"`
	Plugins      []pinAnswer `json:"plugins,omitempty"`
	Capabilities []string    `json:"capabilities,omitempty"`
	Workspace    string      `json:"workspace,omitempty"`
	Files        []string    `json:"files,omitempty"`
}

// pinAnswer is a plugin that a core uses.
type pinAnswer struct {
	ID      string   `json:"id"`
	Version string   `json:"version"`
	Digest  string   `json:"digest"`
	Tools   []string `json:"tools,omitempty"`   // of `core show`
	Problem string   `json:"problem,omitempty"` // of `core show`: why it has none
}

func coreOf(c core.Core) coreAnswer {
	a := coreAnswer{
		ID: c.ID(), State: "ok", Summary: c.Summary(), Revision: c.Revision(), Provider: c.Model().Provider, Model: c.Model().Name,
		Capabilities: c.Capabilities().Strings(), Workspace: c.Workspace(), Files: c.Files(),
	}
	for _, p := range c.Plugins() {
		a.Plugins = append(a.Plugins, pinAnswer{ID: p.ID, Version: p.Version, Digest: p.Digest})
	}
	return a
}

func (s *shell) listCores(c *cli.Context) error {
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	all, err := core.List(c.Context, home.Path)
	if err != nil {
		return err
	}
	answer := struct {
		Cores []coreAnswer `json:"cores"`
	}{[]coreAnswer{}}
	var rows [][]any
	for _, l := range all {
		a := coreAnswer{ID: l.ID, State: "broken"}
		state := console.Bad("broken")
		if l.Err != nil {
			a.Problem = l.Err.Error()
		} else {
			a, state = coreOf(l.Core), console.Good("ok")
		}
		answer.Cores = append(answer.Cores, a)
		rows = append(rows, []any{a.ID, state, strings.TrimSpace(a.Provider + " " + a.Model), len(a.Plugins), a.Summary})
	}
	return s.out.Answer(answer, func(t *console.Text) {
		if len(rows) == 0 {
			t.Say("there are no cores; `portcullis init` writes one to start from")
			return
		}
		t.Table([]string{"core", "state", "model", "plugins", "summary"}, rows)
		for _, a := range answer.Cores {
			if a.Problem != "" {
				t.Prose("", a.Problem)
			}
		}
	})
}

func (s *shell) showCore(c *cli.Context) error {
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	found, err := core.Load(c.Context, home.Path, c.Args().First())
	if err != nil {
		return err
	}
	a, limits := coreOf(found), found.Limits()
	installed := plugin.At(home.Path)
	for i, p := range a.Plugins {
		in, err := installed.Pinned(c.Context, p.ID, p.Version, p.Digest)
		switch {
		case c.Context.Err() != nil:
			return c.Context.Err()
		case err != nil: // the core is shown all the same: the plugin may be what somebody wants to find out about
			a.Plugins[i].Problem = err.Error()
		default:
			a.Plugins[i].Tools = toolNames(in.Manifest)
		}
	}
	return s.out.Answer(a, func(t *console.Text) {
		t.Say("%s  %s", console.Bold(a.ID), a.Summary)
		t.Say("revision     %s", a.Revision)
		t.Say("model        %s", strings.TrimSpace(a.Provider+" "+a.Model))
		for _, p := range a.Plugins {
			t.Say("plugin       %s %s %s", p.ID, p.Version, console.Dim(p.Digest))
			if p.Problem != "" {
				t.Say("  %s: %s", console.Bad("has no tools"), console.Command(p.Problem))
			} else {
				t.Say("  tools      %s", strings.Join(p.Tools, ", "))
			}
		}
		t.Say("capabilities %s", strings.Join(a.Capabilities, ", "))
		t.Say("limits       %d steps, %s a turn, %s an effect, %d bytes a result", limits.MaxSteps, limits.TurnTimeout, limits.EffectTimeout, limits.OutputBytes)
		if a.Workspace != "" {
			t.Say("workspace    %s", a.Workspace)
		}
		t.Say("files        %s", strings.Join(a.Files, ", "))
	})
}
