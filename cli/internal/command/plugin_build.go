package command

import (
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/bundle"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

func (s *shell) pluginBuild() *cli.Command {
	return &cli.Command{
		Name: "build", Usage: "compile a plugin and write its plugin.json", ArgsUsage: "[DIR]",
		Description: "DIR is the plugin's folder; left out, it is the one you are in. The plugin is compiled with the ordinary\n" +
			"Go toolchain, asked in an empty sandbox what it is, and checked. Nothing is installed. With --all, in a checkout of Portcullis, all bundled plugins are built.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "write to `DIR`", DefaultText: "dist below the plugin's folder"},
			&cli.BoolFlag{Name: "all", Usage: "build the plugins of the checkout around this folder into .build/guests"},
		},
		Action: func(c *cli.Context) error {
			args, err := operands(c)
			if err != nil {
				return err
			}
			switch all := c.Bool("all"); {
			case all && (args[0] != "" || c.IsSet("out")):
				return usage("--all goes with neither DIR nor --out")
			case all:
				return s.buildAll(c)
			case args[0] == "":
				return s.buildOne(c, ".")
			}
			return s.buildOne(c, args[0])
		},
	}
}

// buildAnswer is one built plugin.
type buildAnswer struct {
	ID           string   `json:"id"`
	Version      string   `json:"version"`
	Dir          string   `json:"dir"`
	SHA256       string   `json:"sha256"`
	Size         int64    `json:"size"`
	Unchanged    bool     `json:"unchanged"`
	Tools        []string `json:"tools"`
	Capabilities []string `json:"capabilities"`
	Warnings     []string `json:"warnings"`
	manifest     *manifest.Manifest
}

func buildOf(m *manifest.Manifest, dir string, unchanged bool, warnings []string) buildAnswer {
	b := buildAnswer{
		ID: m.ID, Version: m.Version, Dir: dir, SHA256: m.Wasm.SHA256, Size: m.Wasm.Size, Unchanged: unchanged,
		Tools: []string{}, Capabilities: []string{}, Warnings: append([]string{}, warnings...), manifest: m,
	}
	for _, t := range m.Tools {
		b.Tools = append(b.Tools, t.Name)
	}
	for _, c := range m.Capabilities {
		b.Capabilities = append(b.Capabilities, c.Name)
	}
	return b
}

func (s *shell) buildOne(c *cli.Context, typed string) error {
	dir := s.path(typed)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		p := usage("%s is not a folder", typed)
		p.Code, p.Remedy = "plugin_source_not_found", "name the folder of the plugin's main package"
		return p
	}
	out := filepath.Join(dir, buildFolder)
	if c.IsSet("out") {
		out = s.path(c.String("out"))
	}
	describe, err := s.describer()
	if err != nil {
		return err
	}
	progress := console.NewProgress(s.proc.Err, time.Now)
	r, err := guestbuild.Build(c.Context, guestbuild.Options{
		Dir: dir, OutDir: out, Describe: describe, Shorten: wasmbin.Shorten, Progress: func(line string) { progress.Step("%s", line) },
	})
	progress.Close()
	if err != nil {
		return err
	}
	if err := usable(r.Manifest); err != nil {
		return err
	}
	from := typed
	if c.IsSet("out") {
		from = c.String("out")
	}
	return s.answerBuilt(c.Context, buildOf(r.Manifest, out, r.Skipped, r.Warnings), from)
}

func (s *shell) buildAll(c *cli.Context) error {
	source, err := s.bundled("")
	if p := buildProblem(err); p != nil {
		p.Cause, p.Remedy = err, "run the command in a checkout of Portcullis; a plugin of your own is built with `portcullis plugin build DIR`"
		return p
	}
	if err != nil {
		return err
	}
	if source.Checkout == "" {
		return usage("this program carries its plugins; --all builds them from a checkout")
	}
	names, err := source.Names()
	if err != nil {
		return err
	}
	cache, err := app.UserCache(s.proc.Env)
	if err != nil {
		return err
	}
	made, err := s.makePlugins(c.Context, source, "", cache, names)
	if err != nil {
		return err
	}
	answer := struct {
		Plugins []buildAnswer `json:"plugins"`
	}{}
	for _, m := range made {
		answer.Plugins = append(answer.Plugins, buildOf(m.Manifest, m.Dir, !m.Built, m.Warnings))
	}
	return s.out.Answer(answer, func(t *console.Text) {
		for _, b := range answer.Plugins {
			sayBuilt(t, b)
		}
	})
}

func sayBuilt(t *console.Text, b buildAnswer) {
	done := "built"
	if b.Unchanged {
		done = "unchanged"
	}
	t.Say("%s %s %s, %d bytes, in %s", console.Good(done), console.Bold(b.ID), b.Version, b.Size, b.Dir)
	for _, tool := range b.manifest.Tools {
		t.Say("  tool %s (risk %s, approval %s): %s", tool.Name, tool.Risk, tool.Approval, console.Cut(tool.Description, 100))
	}
	for _, n := range b.manifest.Capabilities {
		t.Say("  asks for %s %s", n.Name, n.Reason)
	}
	for _, w := range b.Warnings {
		t.Say("  %s %s", console.Warn("look at this:"), w)
	}
}

// bundled finds where the plugins that come with Portcullis are.
func (s *shell) bundled(named string) (bundle.Source, error) {
	if named != "" {
		named = s.path(named)
	}
	return bundle.Find(named, s.proc.Dir, filepath.Dir(s.proc.Program))
}
