package command

import (
	_ "embed"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

// The scripts ask the program for the words that may come next. Unlike urfave/cli's own they never evaluate what was
// typed so far: a line with $(...) in it must not run when a person asks how it might go on.

//go:embed completion/portcullis.bash
var bashCompletion string

//go:embed completion/portcullis.zsh
var zshCompletion string

func (s *shell) completion() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the script that completes commands, flags and names of the home in a shell",
		ArgsUsage: "SHELL",
		Description: "SHELL is bash, zsh or fish. To use it at once:\n\n" +
			"   source <(portcullis completion bash)\n" +
			"   source <(portcullis completion zsh)\n" +
			"   portcullis completion fish | source",
		Action: func(c *cli.Context) error {
			args, err := operands(c)
			if err != nil {
				return err
			}
			script, err := completionScript(c.App, args[0])
			if err != nil {
				return err
			}
			return s.out.Answer(map[string]string{"shell": args[0], "script": script}, func(t *console.Text) { t.Stream(script) })
		},
	}
}

func completionScript(app *cli.App, shell string) (string, error) {
	switch shell {
	case "bash":
		return bashCompletion, nil
	case "zsh":
		return zshCompletion, nil
	case "fish":
		script, err := app.ToFishCompletion()
		if err != nil {
			return "", fmt.Errorf("command: make the fish completion: %w", err)
		}
		return script, nil
	}
	p := usage("there is no completion for %q", console.Cut(shell, 20))
	p.Remedy = "type `portcullis completion bash`, `portcullis completion zsh` or `portcullis completion fish`"
	return "", p
}
