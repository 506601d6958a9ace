package command

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/agentfile"
	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

func (s *shell) pluginGrant() *cli.Command {
	return &cli.Command{
		Name: "grant", Usage: "let a plugin use capabilities that it asks for", ArgsUsage: "PLUGIN CAPABILITY...",
		Description: "A call needs its capability twice: granted to the plugin, and listed in the core's agent.yaml,\n" +
			"which --core does.",
		Flags: []cli.Flag{&cli.StringFlag{Name: "core", Usage: "also list them in `CORE`"}},
		Action: func(c *cli.Context) error {
			id, grants, err := grantArgs(c)
			if err != nil {
				return err
			}
			in, err := s.installed(c.Context, id)
			if err != nil {
				return err
			}
			for _, g := range grants {
				if !asksFor(in.Manifest, g) {
					return notAsked(in.Manifest, g)
				}
			}
			return s.records(c, func(ctx context.Context, r *app.Records) error {
				return s.grant(ctx, r, in.ID, grants, c.String("core"))
			})
		},
	}
}

// grantArgs reads PLUGIN CAPABILITY...
func grantArgs(c *cli.Context) (id string, grants []capability.Grant, err error) {
	args, err := operands(c)
	if err != nil {
		return "", nil, err
	}
	for _, text := range args[1:] {
		g, err := capability.ParseGrant(text)
		if err != nil {
			p := usage("%v", err)
			p.Code, p.Remedy = "bad_capability", "`portcullis plugin inspect "+args[0]+"` shows what the plugin asks for"
			return "", nil, p
		}
		grants = append(grants, g)
	}
	return args[0], grants, nil
}

// asksFor reports whether the grant serves something that the plugin asks for. What it does not ask for is refused: it
// could only be a mistake, or a trap for a later version.
func asksFor(m *manifest.Manifest, g capability.Grant) bool {
	for _, c := range m.Capabilities {
		name, err := capability.Parse(c.Name)
		if err == nil && (g.Matches(name) || name.Open() && name.Family() == g.Family()) {
			return true
		}
	}
	return false
}

func notAsked(m *manifest.Manifest, g capability.Grant) error {
	p := usage("plugin %s %s does not ask for %s", m.ID, m.Version, g)
	p.Code, p.Remedy = "not_asked_for", "it asks for nothing"
	if len(m.Capabilities) > 0 {
		p.Remedy = "what it asks for:\n" + strings.Join(grantLines(m, capability.Snapshot{}, ""), "\n")
	}
	return p
}

func (s *shell) grant(ctx context.Context, r *app.Records, id string, grants []capability.Grant, coreID string) error {
	home, err := s.home()
	if err != nil {
		return err
	}
	if coreID != "" {
		if _, err := core.Load(ctx, home.Path, coreID); err != nil {
			return err
		}
	}
	answer := grantAnswer{ID: id, Core: coreID}
	for _, g := range grants {
		changed, err := r.Grant(ctx, id, g)
		if err != nil {
			return err
		}
		answer.Changed = answer.Changed || changed
		if coreID == "" {
			continue
		}
		listed, err := editCore(ctx, home, coreID, func(data []byte) ([]byte, bool, error) {
			return agentfile.AddCapability(data, g.String())
		})
		if err != nil {
			return err
		}
		answer.CoreChanged = answer.CoreChanged || listed
	}
	if answer.Next, err = unkept(ctx, home, grants); err != nil {
		return err
	}
	answer.Next = s.typed(answer.Next)
	return s.answerGrants(ctx, r, answer, func(t *console.Text, a grantAnswer) {
		t.Say("%s %s may use %s", console.Good("granted:"), console.Bold(id), strings.Join(a.Grants, ", "))
		if a.CoreChanged {
			t.Say("listed in %s", home.Join(core.FolderName, coreID, core.AgentFile))
		}
		for _, line := range a.Next {
			t.Say("next: `%s`", line)
		}
	})
}

// grantAnswer is what a plugin may use after a change.
type grantAnswer struct {
	ID          string   `json:"id"`
	Changed     bool     `json:"changed"`
	Core        string   `json:"core,omitempty"`
	CoreChanged bool     `json:"core_changed"`
	Grants      []string `json:"grants"`
	Next        []string `json:"next,omitempty"` // to type, for secrets that are not kept yet
}

func (s *shell) answerGrants(ctx context.Context, r *app.Records, a grantAnswer, human func(*console.Text, grantAnswer)) error {
	granted, err := r.Store.PluginGrants(ctx, a.ID)
	if err != nil {
		return err
	}
	a.Grants = granted.Strings()
	return s.out.Answer(a, func(t *console.Text) { human(t, a) })
}

func (s *shell) pluginRevoke() *cli.Command {
	return &cli.Command{
		Name: "revoke", Usage: "take capabilities of a plugin back, from its next call on", ArgsUsage: "PLUGIN CAPABILITY...",
		Action: func(c *cli.Context) error {
			id, grants, err := grantArgs(c)
			if err != nil {
				return err
			}
			return s.records(c, func(ctx context.Context, r *app.Records) error {
				answer := grantAnswer{ID: id}
				for _, g := range grants {
					changed, err := r.Revoke(ctx, id, g)
					if err != nil {
						return err
					}
					answer.Changed = answer.Changed || changed
				}
				return s.answerGrants(ctx, r, answer, func(t *console.Text, a grantAnswer) {
					if !a.Changed {
						t.Say("%s had none of these grants", id)
					}
					rest := strings.Join(a.Grants, ", ")
					if rest == "" {
						rest = "nothing"
					}
					t.Say("%s may now use %s", console.Bold(id), rest)
				})
			})
		},
	}
}
