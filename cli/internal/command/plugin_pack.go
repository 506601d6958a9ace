package command

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/policy/shellword"
	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

func (s *shell) pluginPack() *cli.Command {
	return &cli.Command{
		Name: "pack", Usage: "make a plugin of a WebAssembly file that another toolchain built", ArgsUsage: "FILE.wasm",
		Description: "The file is asked in an empty sandbox what it is, checked, and copied with its plugin.json to a folder that\n" +
			"`plugin install` takes. Any language can make such a file: docs/writing-a-plugin.md tells what it must export.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "write to `DIR`", DefaultText: "dist beside the file"},
		},
		Action: func(c *cli.Context) error {
			args, err := operands(c)
			if err != nil {
				return err
			}
			file := s.path(args[0])
			if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
				p := usage("%s is not a file", args[0])
				p.Code, p.Remedy = "plugin_source_not_found", "name the WebAssembly file; a folder with Go sources is for `portcullis plugin build`"
				return p
			}
			out := c.String("out")
			if out == "" {
				out = filepath.Join(filepath.Dir(args[0]), buildFolder)
			}
			describe, err := s.describer()
			if err != nil {
				return err
			}
			progress := console.NewProgress(s.proc.Err, time.Now)
			r, err := guestbuild.Pack(c.Context, file, guestbuild.Options{
				OutDir: s.path(out), Describe: describe, Progress: func(line string) { progress.Step("%s", line) },
			})
			progress.Close()
			if bad := (*guestbuild.BinaryError)(nil); errors.As(err, &bad) {
				return &console.Problem{
					Code: "not_a_plugin", Message: args[0] + " cannot be a plugin: " + bad.Cause.Error(), Exit: console.ExitNo, Cause: err,
					Remedy: "docs/writing-a-plugin.md has a whole plugin by hand, and what a file must export and answer",
				}
			}
			if err != nil {
				return err
			}
			if err := usable(r.Manifest); err != nil {
				return err
			}
			return s.answerBuilt(c.Context, buildOf(r.Manifest, s.path(out), false, r.Warnings), out)
		},
	}
}

// answerBuilt shows one plugin and what comes next, which is to install it from the folder or file from.
func (s *shell) answerBuilt(ctx context.Context, b buildAnswer, from string) error {
	how := "--core " + core.DefaultID
	if s.taken(ctx, b) {
		how = "--replace"
	}
	return s.out.Answer(b, func(t *console.Text) {
		sayBuilt(t, b)
		t.Say("next: `portcullis plugin install %s %s`", shellword.Quote(from), how)
	})
}

// taken reports whether the home has this version with another content, or broken. Building needs no home: one that
// is not there, or that cannot be looked at, has nothing.
func (s *shell) taken(ctx context.Context, b buildAnswer) bool {
	home, err := s.home()
	if err != nil {
		return false
	}
	if _, err := os.Lstat(home.Join(plugin.FolderName, b.ID, b.Version)); err != nil {
		return false
	}
	had, err := plugin.At(home.Path).Find(ctx, b.ID, b.Version)
	if err != nil {
		return true
	}
	raw, err := readAtMost(filepath.Join(b.Dir, manifest.FileName), manifest.MaxBytes)
	return err == nil && fmt.Sprintf("sha256:%x", sha256.Sum256(raw)) != had.Digest
}
