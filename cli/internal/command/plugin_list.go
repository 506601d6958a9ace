package command

import (
	"context"
	"path"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/plugin"
)

func (s *shell) pluginList() *cli.Command {
	return &cli.Command{Name: "list", Usage: "list installed plugins, broken ones with the reason", Action: s.listPlugins}
}

// pluginAnswer is one folder below plugins/ in a document.
type pluginAnswer struct {
	ID      string   `json:"id"`
	Version string   `json:"version"`
	State   string   `json:"state"` // "ok" or "broken"
	Reason  string   `json:"reason,omitempty"`
	Detail  string   `json:"detail,omitempty"`
	Digest  string   `json:"digest,omitempty"`
	Tools   []string `json:"tools,omitempty"`
	Needs   []need   `json:"needs,omitempty"`
	Grants  []string `json:"grants"`
	Cores   []string `json:"cores"` // that pin this version
}

func (s *shell) listPlugins(c *cli.Context) error {
	if _, err := operands(c); err != nil {
		return err
	}
	home, err := s.home()
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		found, err := plugin.At(home.Path).List(ctx)
		if err != nil {
			return err
		}
		cores, err := core.List(ctx, home.Path)
		if err != nil {
			return err
		}
		answer := struct {
			Plugins []pluginAnswer `json:"plugins"`
		}{[]pluginAnswer{}}
		var rows [][]any
		var broken []*plugin.BrokenError
		for _, e := range found {
			granted, err := r.Store.PluginGrants(ctx, e.ID)
			if err != nil {
				return err
			}
			a := pluginAnswer{ID: e.ID, Version: e.Version, State: "ok", Grants: granted.Strings(), Cores: pinning(cores, e.ID, e.Version)}
			row := []any{e.ID, e.Version, console.Good("ok"), strings.Join(a.Cores, " "), "", ""}
			if e.Broken != nil {
				broken = append(broken, e.Broken)
				a.State, a.Reason, a.Detail = "broken", string(e.Broken.Reason), e.Broken.Detail
				row[2] = console.Bad(string(e.Broken.Reason))
			} else {
				a.Digest, a.Needs = e.Installed.Digest, needsOf(e.Installed.Manifest, granted)
				for _, t := range e.Installed.Manifest.Tools {
					a.Tools = append(a.Tools, t.Name)
				}
				row[4], row[5] = tools(e.Installed.Manifest), missing(a.Needs)
			}
			answer.Plugins, rows = append(answer.Plugins, a), append(rows, row)
		}
		return s.out.Answer(answer, func(t *console.Text) {
			if len(rows) == 0 {
				t.Say("no plugins are installed; `portcullis plugin install DIR` installs one")
				return
			}
			t.Table([]string{"plugin", "version", "state", "cores", "tools", "not granted"}, rows)
			sayDigests(t, answer.Plugins)
			for _, b := range broken {
				t.Say("%s %s", console.Bad("broken:"), b)
			}
		})
	})
}

// sayDigests prints what a core pins. A line is never cut, as a cell of a table is on a narrow terminal.
func sayDigests(t *console.Text, plugins []pluginAnswer) {
	t.Say("\ndigests, as agent.yaml pins them:")
	for _, p := range plugins {
		if p.Digest != "" {
			t.Say("%s %s@%s", p.Digest, p.ID, p.Version)
		}
	}
}

func missing(needs []need) string {
	out := ""
	for _, n := range needs {
		if !n.Granted {
			out += " " + n.Name
		}
	}
	if out == "" {
		return ""
	}
	return out[1:]
}

func (s *shell) pluginRemove() *cli.Command {
	return &cli.Command{
		Name: "remove", Usage: "remove one version of a plugin; its grants stay", ArgsUsage: "PLUGIN@VERSION",
		Description: "A sound version that a core pins stays, because the core could not run without it. --force removes it all\n" +
			"the same.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "also when a core pins it"}},
		Action: func(c *cli.Context) error {
			args, err := operands(c)
			if err != nil {
				return err
			}
			home, err := s.home()
			if err != nil {
				return err
			}
			id, version := target(args[0])
			if version == "" {
				p := usage("%s names no version", args[0])
				p.Remedy = "type `portcullis plugin remove " + id + "@VERSION`; `portcullis plugin list` shows the versions"
				return p
			}
			pinned, err := pinnedBy(c.Context, home, id, version)
			if err != nil {
				return err
			}
			if _, broken := plugin.At(home.Path).Find(c.Context, id, version); broken == nil && len(pinned) > 0 && !c.Bool("force") {
				p := usage("%s is pinned by core %s, which could not run without it", args[0], strings.Join(pinned, ", "))
				p.Code = "plugin_pinned"
				p.Remedy = "take it out of " + path.Join(core.FolderName, pinned[0], core.AgentFile) + ", or type `portcullis plugin remove --force " + args[0] + "`"
				return p
			}
			return s.records(c, func(ctx context.Context, r *app.Records) error {
				if err := plugin.At(home.Path).Remove(ctx, id, version); err != nil {
					return err
				}
				if err := r.Note(ctx, event.PluginRemoved, event.F("plugin", id), event.F("version", version)); err != nil {
					return err
				}
				answer := map[string]any{"id": id, "version": version, "removed": true}
				if len(pinned) > 0 {
					answer["pinned_by"] = pinned
				}
				return s.out.Answer(answer, func(t *console.Text) {
					t.Say("%s %s %s", console.Good("removed:"), id, version)
					if len(pinned) > 0 {
						t.Say("%s core %s pins it and cannot run until it is installed again", console.Warn("note:"), strings.Join(pinned, ", "))
					}
				})
			})
		},
	}
}

// pinnedBy are the cores that pin one version of a plugin. A core that does not load pins nothing that could be told.
func pinnedBy(ctx context.Context, home app.Home, id, version string) ([]string, error) {
	if err := home.Check(); err != nil {
		return nil, err
	}
	all, err := core.List(ctx, home.Path)
	if err != nil {
		return nil, err
	}
	return pinning(all, id, version), nil
}

// pinning are the cores among all that pin one version of a plugin; never nil, so that a document has a list.
func pinning(all []core.Listing, id, version string) []string {
	out := []string{}
	for _, l := range all {
		if l.Err == nil && pins(l.Core, id, version) {
			out = append(out, l.ID)
		}
	}
	return out
}
