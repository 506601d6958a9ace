package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
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
			a := pluginAnswer{ID: e.ID, Version: e.Version, State: "ok", Grants: granted.Strings()}
			row := []any{e.ID, e.Version, console.Good("ok"), "", ""}
			if e.Broken != nil {
				broken = append(broken, e.Broken)
				a.State, a.Reason, a.Detail = "broken", string(e.Broken.Reason), e.Broken.Detail
				row[2] = console.Bad(string(e.Broken.Reason))
			} else {
				a.Digest, a.Needs = e.Installed.Digest, needsOf(e.Installed.Manifest, granted)
				for _, t := range e.Installed.Manifest.Tools {
					a.Tools = append(a.Tools, t.Name)
				}
				row[3], row[4] = tools(e.Installed.Manifest), missing(a.Needs)
			}
			answer.Plugins, rows = append(answer.Plugins, a), append(rows, row)
		}
		return s.out.Answer(answer, func(t *console.Text) {
			if len(rows) == 0 {
				t.Say("no plugins are installed; `portcullis plugin install DIR` installs one")
				return
			}
			t.Table([]string{"plugin", "version", "state", "tools", "not granted"}, rows)
			for _, b := range broken {
				t.Say("%s %s", console.Bad("broken:"), b)
			}
		})
	})
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
		Name: "remove", Usage: "remove one version of a plugin; its grants stay", ArgsUsage: "ID@VERSION",
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
			return s.records(c, func(ctx context.Context, r *app.Records) error {
				if err := plugin.At(home.Path).Remove(ctx, id, version); err != nil {
					return err
				}
				if err := r.Note(ctx, event.PluginRemoved, event.F("plugin", id), event.F("version", version)); err != nil {
					return err
				}
				answer := map[string]any{"id": id, "version": version, "removed": true}
				return s.out.Answer(answer, func(t *console.Text) { t.Say("%s %s %s", console.Good("removed:"), id, version) })
			})
		},
	}
}
