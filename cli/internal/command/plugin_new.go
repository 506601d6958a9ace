package command

import (
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/cli/internal/scaffold"
)

// pluginGo is the language version of a new plugin: what the sdk needs.
const pluginGo = "1.26"

func (s *shell) pluginNew() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "write a working plugin in Go, with tests and its own copy of the sdk",
		ArgsUsage: "DIR",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "plugin `ID`", DefaultText: "the folder's name"},
		},
		Action: func(c *cli.Context) error {
			args, err := operands(c)
			if err != nil {
				return err
			}
			dir := s.path(args[0])
			name := c.String("name")
			if name == "" {
				name = filepath.Base(dir)
			}
			next := nextCommands(args[0], name)
			spec := scaffold.Spec{Dir: dir, ID: name, Version: sdkVersion(), Go: pluginGo, Commands: next}
			if err := scaffold.Write(spec); err != nil {
				return err
			}
			answer := struct {
				ID   string   `json:"id"`
				Dir  string   `json:"dir"`
				Next []string `json:"next"`
			}{name, dir, next}
			return s.out.Answer(answer, func(t *console.Text) {
				t.Say("%s the plugin %s is in %s", console.Good("done:"), console.Bold(name), dir)
				t.Say("next:")
				for _, line := range next {
					t.Say("  %s", line)
				}
			})
		},
	}
}

// nextCommands is what to type after `plugin new`, in order; a test types it.
func nextCommands(dir, name string) []string {
	quoted := console.Quote(dir)
	return []string{
		"portcullis plugin build " + quoted,
		"portcullis plugin install " + quoted + " --core assistant",
		"portcullis plugin grant " + name + " kv",
		"portcullis call " + scaffold.ToolPrefix(name) + `.greet --args '{"name":"Ada"}'`,
	}
}

// sdkVersion is what a new plugin's go.mod requires: the version of this program, or v0.0.0 of a development build.
func sdkVersion() string {
	if v := thisVersion().Version; strings.HasPrefix(v, "v") {
		return v
	}
	return "v0.0.0"
}

// path makes a path that a person typed absolute.
func (s *shell) path(typed string) string {
	if filepath.IsAbs(typed) {
		return filepath.Clean(typed)
	}
	return filepath.Join(s.proc.Dir, typed)
}
