package command

import (
	"path"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/egress"
)

func (s *shell) policy() *cli.Command {
	return &cli.Command{
		Name: "policy", Usage: "what the gate would decide", Action: group,
		Subcommands: []*cli.Command{{
			Name: "explain", Usage: "say what the gate would do with a call, and which rule decides; runs and records nothing", ArgsUsage: "[TOOL]",
			Description: "Exit code 0: it would run, or a person would be asked. 1: it would be denied.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "tool", Usage: "`TOOL`, when it is not an operand"},
				&cli.StringFlag{Name: "args", Usage: "also look at these arguments: `JSON`, @FILE, or - for standard input"},
				&cli.StringFlag{Name: "core", Usage: "core `ID`", DefaultText: "default_core of config.yaml"},
			},
			Action: s.explain,
		}},
	}
}

// explainAnswer is an explanation in a document.
type explainAnswer struct {
	Tool      string        `json:"tool"`
	Plugin    string        `json:"plugin,omitempty"`
	Core      string        `json:"core"`
	Revision  string        `json:"revision"`
	Found     bool          `json:"found"`
	Decision  policy.Action `json:"decision,omitempty"` // allow, ask or deny
	Stage     policy.Stage  `json:"stage,omitempty"`    // that decided
	Reason    string        `json:"reason,omitempty"`
	Why       string        `json:"why,omitempty"`
	Remedy    string        `json:"remedy,omitempty"`
	Checks    []checkLine   `json:"checks"`
	Arguments string        `json:"arguments_refused,omitempty"`
	URL       *urlAnswer    `json:"url,omitempty"`
}

// checkLine is one check that was made.
type checkLine struct {
	Stage  policy.Stage `json:"stage"`
	Passed bool         `json:"passed"`
	Text   string       `json:"text"`
}

// urlAnswer is what would be said of the URL in the arguments, without asking a name server.
type urlAnswer struct {
	Origin   string   `json:"origin,omitempty"`
	Method   string   `json:"method"`
	Refused  string   `json:"refused,omitempty"` // why the URL can never be used
	Needs    []string `json:"needs_one_of"`
	Granted  bool     `json:"granted"`
	InCore   bool     `json:"in_core"`
	CoreRule string   `json:"refused_by_core,omitempty"`
	Manifest string   `json:"refused_by_manifest,omitempty"` // the plugin does not say that it goes there
	Grant    string   `json:"refused_by_grant,omitempty"`    // what is granted, net.fetch:*, does not do for this place
	Address  string   `json:"refused_address,omitempty"`     // the host is an address that is not open
}

// allowed reports whether every layer that needs no network would let the URL pass.
func (u *urlAnswer) allowed() bool {
	return u == nil || u.Refused+u.CoreRule+u.Manifest+u.Grant+u.Address == "" && u.Granted && u.InCore
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
	x, err := look.Explain(c.Context, host.Request{Core: c.String("core"), Workspace: s.workspace()}, tool, raw)
	if err != nil {
		return s.noCore(c.Context, look.Host, c.String("core"), err)
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
	case !a.URL.allowed() && a.Decision != policy.Deny:
		a.Decision, a.Stage, a.Reason = policy.Deny, policy.Capability, "url_not_granted"
		switch u := a.URL; {
		case u.Refused != "":
			a.Reason, a.Why, a.Remedy = "url_refused", u.Refused, ""
		case u.CoreRule != "":
			a.Reason, a.Why = "url_refused_by_core", u.CoreRule
			a.Remedy = "change egress in " + path.Join(core.FolderName, a.Core, core.AgentFile)
		case u.Manifest != "":
			a.Reason, a.Why, a.Remedy = "url_not_declared", u.Manifest, ""
		case u.Granted && u.InCore && u.Grant == "":
			a.Reason, a.Why, a.Remedy = "url_refused_address", u.Address, ""
		case len(u.Needs) > 0:
			plugin, _ := target(a.Plugin)
			need := u.Needs[0]
			a.Why = "the URL needs one of " + strings.Join(u.Needs, ", ")
			if u.Grant != "" {
				a.Why = u.Grant
			}
			a.Remedy = "portcullis plugin grant " + plugin + " " + console.Quote(need) + " --core " + a.Core
		}
	}
	a.Remedy = s.out.Typed(a.Remedy)
	err = s.out.Answer(a, func(t *console.Text) { sayExplained(t, a) })
	if err == nil && (!a.Found || a.Decision == policy.Deny || a.Arguments != "" || !a.URL.allowed()) {
		err = no{}
	}
	return err
}

func explainOf(x host.Explanation) explainAnswer {
	a := explainAnswer{
		Tool: x.Tool, Plugin: x.Plugin, Core: x.Core, Revision: x.Revision, Found: x.Found, Decision: x.Policy.Action, Stage: x.Policy.Stage,
		Reason: x.Policy.Reason, Why: x.Policy.Why, Remedy: x.Policy.Remedy, Checks: []checkLine{}, Arguments: x.Arguments,
	}
	for _, l := range x.Policy.Trace {
		a.Checks = append(a.Checks, checkLine(l))
	}
	if u := x.URL; u != nil {
		a.URL = &urlAnswer{Origin: u.Origin, Method: u.Method, Needs: append([]string{}, u.Needs...), Granted: u.Granted, InCore: u.InCore}
		if !u.Parsed.Allowed {
			a.URL.Refused = u.Parsed.Sentence
		}
		if !u.Rules.Allowed {
			a.URL.CoreRule = u.Rules.Sentence
		}
		if u.Parsed.Allowed && !u.Declared.Allowed {
			a.URL.Manifest = u.Declared.Sentence
		}
		if u.Declared.Allowed && u.Granted && u.InCore && u.Rules.Allowed && !u.Judged.Allowed {
			a.URL.Grant = u.Judged.Sentence
		}
		switch u.Address.Reason {
		case egress.Allowed:
		case egress.PrivateAddress:
			a.URL.Address = u.Address.Sentence
		default: // nothing opens it
			a.URL.Refused = u.Address.Sentence
		}
	}
	return a
}

func sayExplained(t *console.Text, a explainAnswer) {
	if !a.Found {
		t.Say("%s core %s has no tool %s: %s", console.Bad("not found:"), a.Core, a.Tool, console.Command(a.Remedy))
		return
	}
	decision := map[policy.Action]console.Styled{
		policy.Allow: console.Good("would run"), policy.Ask: console.Warn("a person would be asked"), policy.Deny: console.Bad("would be denied"),
	}[a.Decision]
	from := a.Plugin
	if from == "" {
		from = "the host itself"
	}
	t.Say("%s of %s in core %s: %s", console.Bold(a.Tool), from, a.Core, decision)
	for _, c := range a.Checks {
		mark := console.Good("pass")
		if !c.Passed {
			mark = console.Bad("no  ")
		}
		t.Say("  %s %-11s %s", mark, string(c.Stage), c.Text)
	}
	if a.Why != "" {
		t.Say("decided by %s: %s", string(a.Stage), a.Why)
	}
	if a.Arguments != "" {
		t.Say("%s %s", console.Bad("the arguments would be refused:"), a.Arguments)
	}
	if u := a.URL; u != nil {
		switch {
		case u.Refused != "":
			t.Say("%s %s", console.Bad("the URL can never be used:"), u.Refused)
		case u.CoreRule != "":
			t.Say("%s %s", console.Bad("the core's egress rules refuse the URL:"), u.CoreRule)
		case u.Manifest != "":
			t.Say("%s %s", console.Bad("the plugin does not declare this URL:"), u.Manifest)
		case u.Grant == "" && u.Granted && u.InCore && u.Address != "":
			t.Say("%s %s", console.Bad("the URL's address would be refused:"), u.Address)
		default:
			t.Say("the URL's origin is %s; granted to the plugin: %v; listed in the core: %v", u.Origin, u.Granted, u.InCore)
		}
	}
	if a.Remedy != "" {
		t.Say("to change that: %s", console.Command(a.Remedy))
	}
}
