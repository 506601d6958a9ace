package command

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// about is what the program's own help says below its name.
const about = "Begin with `portcullis quickstart`, which needs nothing and leaves nothing behind; `portcullis init` makes a home, and\n" +
	"`portcullis doctor` says what is wrong with one and what to type.\n\n" +
	"Exit codes:\n\n" +
	"   0    done\n" +
	"   1    it ran, and the answer is no: a failed turn, a denied effect, a failed check\n" +
	"   2    the command or the configuration is wrong; nothing was done\n" +
	"   3    the host could not do its job\n" +
	"   130  ended by a second Ctrl-C\n" +
	"   141  who read the answer left before all of it was out"

// examples are command lines as a newcomer would type them, by the command that they are shown with.
func examples() map[string][]string {
	return map[string][]string{
		"run": {
			"portcullis run 'what is 6 times 7?'",
			"portcullis run --json --approve deny < question.txt",
		},
		"call": {
			`portcullis call calc.eval --args '{"expression":"0.1+0.2"}'`,
			`portcullis call files.write --args @write.json --approve wait=5m --trace`,
		},
		"plugin new": {
			"portcullis plugin new ./weather",
			"portcullis plugin new ./words --lang rust",
		},
		"plugin install": {
			"portcullis plugin install ./weather --core assistant",
			"portcullis plugin install ./weather --replace",
		},
		"plugin grant": {
			"portcullis plugin grant notes kv",
			"portcullis plugin grant web net.fetch:go.dev --core assistant",
		},
		"plugin revoke": {"portcullis plugin revoke web net.fetch:go.dev"},
		"plugin remove": {"portcullis plugin remove web@1.0.0"},
		"approvals list": {
			"portcullis approvals list",
			"portcullis approvals list --state all --limit 50",
		},
		"sessions search": {"portcullis sessions search 'release notes'"},
		"audit": {
			"portcullis audit --since 90m",
			"portcullis audit --kind effect.denied --json",
		},
		"secrets set": {
			"portcullis secrets set MAIL_TOKEN < token.txt",
			"portcullis secrets set ANTHROPIC_API_KEY --from env:ANTHROPIC_API_KEY",
		},
		"policy explain": {`portcullis policy explain web.fetch --args '{"url":"https://go.dev/"}'`},
		"store backup":   {"portcullis store backup ../portcullis.bak"},
	}
}

// exemplify puts the examples of a command and of those below it behind what its help says.
func exemplify(commands []*cli.Command, above string) {
	for _, c := range commands {
		name := strings.TrimSpace(above + " " + c.Name)
		if lines := examples()[name]; len(lines) > 0 {
			c.Description = strings.TrimLeft(c.Description+"\n\nFor example:\n\n   "+strings.Join(lines, "\n   "), "\n")
		}
		exemplify(c.Subcommands, name)
	}
}
