package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// What help shows can be typed: each example is of the command that it stands with, and has no flag that this lacks.
func TestEveryExampleIsOfItsCommand(t *testing.T) {
	app := (&shell{}).tree()
	for name, lines := range examples() {
		var at *cli.Command
		below := app.Commands
		for word := range strings.FieldsSeq(name) {
			i := slices.IndexFunc(below, func(c *cli.Command) bool { return c.Name == word })
			if i < 0 {
				t.Fatalf("there are examples of %q, and no such command", name)
			}
			at, below = below[i], below[i].Subcommands
		}
		for _, line := range lines {
			rest, ok := strings.CutPrefix(line, "portcullis "+name)
			if !ok {
				t.Errorf("%s is no example of %s", line, name)
			}
			if !strings.Contains(at.Description, line) {
				t.Errorf("the help of %s does not show %s", name, line)
			}
			for word := range strings.FieldsSeq(rest) {
				flag, is := strings.CutPrefix(word, "--")
				known := slices.ContainsFunc(append(app.Flags, at.Flags...), func(f cli.Flag) bool { return slices.Contains(f.Names(), flag) })
				if is && !known {
					t.Errorf("%s: %s has no flag --%s", line, name, flag)
				}
			}
		}
	}
}
