package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/bundle"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

func (s *shell) init() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "make a home: configuration, the core assistant, the bundled plugins",
		Description: "What is there already stays as it is. New plugins are granted what cannot leave the machine: the files\n" +
			"of the workspace, and small values of their own; anything else, and what was revoked, is granted with\n" +
			"`portcullis plugin grant`.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "only say what would be done; exit code 1 when there is something to do"},
			&cli.BoolFlag{Name: "force", Usage: "write config.yaml, policy.yaml and the core assistant anew, each changed file kept beside it as NAME.bak, and replace changed plugins of the same version"},
			sourceFlag(),
		},
		Action: func(c *cli.Context) error {
			if _, err := operands(c); err != nil {
				return err
			}
			home, err := s.home()
			if err != nil {
				return err
			}
			source, err := s.bundled(c.String("source"))
			if err != nil {
				return err
			}
			if c.Bool("check") {
				return s.initCheck(c.Context, home, source)
			}
			return s.initHome(c, home, source)
		},
	}
}

// sourceFlag names a checkout to build plugins from.
func sourceFlag() cli.Flag {
	return &cli.StringFlag{Name: "source", Usage: "build the plugins from this checkout of Portcullis in `DIR`", DefaultText: "the one around the current folder or the program"}
}

// item is one thing that init makes.
type item struct {
	Name  string `json:"name"`  // path below the home, or "plugin ID VERSION"
	State string `json:"state"` // --check: "missing", "present", "changed", "damaged", "to grant"; else "written", "kept", "installed", "granted"
}

type initAnswer struct {
	Home  string   `json:"home"`
	Done  bool     `json:"done"` // whether nothing is left to do
	Items []item   `json:"items"`
	Next  []string `json:"next"`
}

// initHome makes plugins first, because they take long and can fail: then a home that was not there before is not
// there afterwards.
func (s *shell) initHome(c *cli.Context, home app.Home, source bundle.Source) (err error) {
	if err := home.Check(); err != nil && !missingHome(err) {
		return err
	}
	names, err := source.Names()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "portcullis-init-")
	if err != nil {
		return err
	}
	defer closing(&err, func() error { return os.RemoveAll(work) })
	_, before := os.Lstat(home.Path)
	if err := home.Make(); err != nil {
		return err
	}
	made, err := s.makePlugins(c.Context, source, work, home.Cache(s.proc.Env), names)
	if err != nil {
		if errors.Is(before, fs.ErrNotExist) { // what this run began, it takes back
			err = errors.Join(err, os.RemoveAll(home.Path))
		}
		return err
	}
	lock, err := home.TakeLock(c.Command.Name)
	if err != nil {
		return err
	}
	defer closing(&err, lock.Release)
	answer := initAnswer{Home: home.Path, Done: true}
	err = s.records(c, func(ctx context.Context, r *app.Records) error {
		return furnish(ctx, home, r, made, c.Bool("force"), &answer)
	})
	if err != nil {
		return err
	}
	answer.Next = s.typed(answer.Next)
	return s.out.Answer(answer, func(t *console.Text) { sayInit(t, answer) })
}

func missingHome(err error) bool {
	var p *console.Problem
	return errors.As(err, &p) && p.Code == "home_missing"
}

func sayInit(t *console.Text, a initAnswer) {
	for _, i := range a.Items {
		state := console.Good(i.State)
		if slices.Contains([]string{"missing", "changed", "damaged", "to grant"}, i.State) {
			state = console.Warn(i.State)
		}
		t.Say("%-9s %s", state, i.Name)
	}
	if len(a.Next) > 0 {
		t.Say("next:")
	}
	for _, line := range a.Next {
		t.Say("  %s", line)
	}
}
