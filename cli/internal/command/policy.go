package command

import (
	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func (s *shell) policy() *cli.Command {
	return &cli.Command{
		Name: "policy", Usage: "what the gate would decide", Action: group,
		Subcommands: []*cli.Command{
			{
				Name: "explain", Usage: "say what the gate would do with a call, and which rule decides; runs, asks and records nothing", ArgsUsage: "[TOOL]",
				Description: "Exit code 0: it would run, or a person would be asked. 1: it would be denied.",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "tool", Usage: "`TOOL`, when it is not an operand"},
					&cli.StringFlag{Name: "args", Usage: "also look at these arguments: `JSON`, @FILE, or - for standard input"},
					&cli.StringFlag{Name: "core", Usage: "`CORE` whose agent it is", DefaultText: "default_core of config.yaml"},
					&cli.StringFlag{Name: "principal", Usage: "for `WHOM`: operator, conversation, system or delegated_agent", Value: "operator", DefaultText: "operator"},
				},
				Action: s.explain,
			},
			{
				Name: "test", Usage: "hold a table of expected verdicts against the rules as they stand; runs, asks and records nothing", ArgsUsage: "[FILE]",
				Description: "FILE is a table as in docs/configuration.md, " + core.TableFile + " of the home without one. Needs no network and no\n" +
					"running host. Whether a secret is kept here makes no difference. Exit code 0: every row is as expected. 1: one is\n" +
					"not. 2: the table or the configuration is wrong.",
				Action: s.testPolicy,
			},
		},
	}
}

func (s *shell) explain(c *cli.Context) (err error) {
	args, err := operands(c)
	if err != nil {
		return err
	}
	tool := args[0]
	switch named := c.String("tool"); {
	case tool == "" && named == "":
		p := usage("portcullis policy explain needs TOOL")
		p.Remedy = "type `portcullis policy explain TOOL`; `portcullis plugin list` names the tools"
		return p
	case tool != "" && named != "":
		return usage("the tool is named twice: %s and --tool %s", tool, named)
	case tool == "":
		tool = named
	}
	as := principal.Authority(c.String("principal"))
	if !as.Valid() {
		p := usage("--principal %q is nobody's kind of authority", console.Cut(string(as), 40))
		p.Remedy = "write --principal=operator, conversation, system or delegated_agent"
		return p
	}
	var raw []byte
	if c.IsSet("args") {
		if raw, err = s.arguments(c.String("args")); err != nil {
			return err
		}
	}
	home, err := s.home()
	if err != nil {
		return err
	}
	if err := home.Check(); err != nil {
		return err
	}
	look, err := home.OpenShadow(c.Context)
	if err != nil {
		return err
	}
	defer closing(&err, look.Close)
	with, err := look.Explainer(c.Context, host.Supposed{Core: c.String("core"), Workspace: s.workspace(), As: as})
	if err != nil {
		return s.noCore(c.Context, look.Host, c.String("core"), err)
	}
	defer with.Close()
	x, err := with.Explain(c.Context, tool, raw)
	if err != nil {
		return err
	}
	a := explainOf(x)
	switch {
	case !a.Found:
		if a.Remedy, err = findTool(c.Context, look.Host, c.String("core"), tool); err != nil {
			return err
		}
		if a.Remedy == "" {
			a.Remedy = "`portcullis plugin list` names the tools"
		}
	case a.Arguments != "" && a.Remedy == "" && a.Plugin != "":
		plugin, _ := target(a.Plugin)
		a.Remedy = "`portcullis plugin inspect " + plugin + "` shows the arguments"
	}
	if a.URL != nil && a.URL.Refused != "" {
		a.Remedy = "" // nothing that is granted opens it
	}
	a.Remedy = s.out.Typed(a.Remedy)
	err = s.out.Answer(a, func(t *console.Text) { sayExplained(t, a, x) })
	if err == nil && a.Decision == policy.Deny {
		err = no{}
	}
	return err
}
