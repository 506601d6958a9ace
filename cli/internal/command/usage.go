package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

// usage is a mistake in the command line itself.
func usage(format string, args ...any) *console.Problem {
	return &console.Problem{
		Code: "usage", Message: fmt.Sprintf(format, args...), Exit: console.ExitUsage,
		Remedy: "`portcullis --help` shows the commands",
	}
}

// onUsageError turns what urfave/cli found into a Problem.
func onUsageError(c *cli.Context, err error, _ bool) error {
	p := usage("%v", err)
	p.Remedy = "`" + c.Command.HelpName + " --help` shows how it is used"
	return p
}

// operands checks the words behind a command against its ArgsUsage: NAME is required, [NAME] may be left out, and a
// trailing "..." takes any number. Operands that were left out are "".
func operands(c *cli.Context) ([]string, error) {
	given := c.Args().Slice()
	wanted := strings.Fields(c.Command.ArgsUsage)
	help := "`" + c.Command.HelpName + " " + c.Command.ArgsUsage + "` (`" + c.Command.HelpName + " --help` shows the flags)"
	for i, w := range wanted {
		if i >= len(given) && !strings.HasPrefix(w, "[") {
			p := usage("%s needs %s", c.Command.HelpName, w)
			p.Remedy = "type " + help
			return nil, p
		}
		if strings.HasSuffix(strings.Trim(w, "[]"), "...") {
			return given, nil
		}
	}
	if len(given) > len(wanted) {
		p := usage("%s does not take %q", c.Command.HelpName, console.Cut(given[len(wanted)], 40))
		p.Remedy = "type " + strings.Replace(help, " `", "`", 1)
		if strings.Contains(given[len(wanted)], "=") && slices.ContainsFunc(c.Command.Flags, isArgs) {
			p.Remedy = "arguments are one JSON object, quoted for the shell: --args '{\"name\": \"value\"}'"
		}
		return nil, p
	}
	return append(given, make([]string, len(wanted)-len(given))...), nil
}

func isArgs(f cli.Flag) bool { return f.Names()[0] == "args" }

// group is the action of a command that only has others below it.
func group(c *cli.Context) error {
	names := commandNames(c.Command.Subcommands)
	p := usage("%s needs one of its commands", c.Command.HelpName)
	p.Remedy = "type `" + c.Command.HelpName + " " + strings.Join(names, "` or `"+c.Command.HelpName+" ") + "`"
	return p
}
