package command

import (
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/cli/internal/scaffold"
	"github.com/b3abf3ee/portcullis/policy/shellword"
)

// pluginGo is the language version of a new plugin: what the sdk needs.
const pluginGo = "1.26"

func (s *shell) pluginNew() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "write a working plugin, in Go with tests and its own copy of the sdk",
		ArgsUsage: "DIR",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "`NAME` of the plugin", DefaultText: "the folder's name"},
			&cli.StringFlag{Name: "lang", Usage: "write it in `LANGUAGE`: " + strings.Join(scaffold.Languages(), ", "), Value: scaffold.Languages()[0]},
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
			if err := scaffold.Write(scaffold.Spec{Dir: dir, ID: name, Version: sdkVersion(), Go: pluginGo, Language: c.String("lang")}); err != nil {
				return err
			}
			next := s.typed(scaffold.Commands(shellword.Quote(args[0]), name, c.String("lang")))
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
