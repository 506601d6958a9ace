package command

import "github.com/urfave/cli/v2"

// commands are all sub-commands in the order in which a new user meets them.
func (s *shell) commands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "plugin", Usage: "write, build, inspect, install and grant plugins", Action: group,
			Subcommands: []*cli.Command{s.pluginNew()},
		},
		s.completion(),
		s.version(),
	}
}
