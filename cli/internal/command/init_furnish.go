package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/bundle"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// furnish installs plugins, grants new ones what stays on the machine, and writes the default files that are missing.
func furnish(ctx context.Context, home app.Home, r *app.Records, made []bundle.Made, force bool, answer *initAnswer) error {
	var pins []core.Pin
	for _, m := range made {
		known := isKnown(home, m.Manifest.ID)
		in, state, err := installMade(ctx, home, r, m, force)
		if err != nil {
			return err
		}
		pins = append(pins, core.Pin{ID: in.ID, Version: in.Version, Digest: in.Digest})
		answer.Items = append(answer.Items, item{"plugin " + in.ID + " " + in.Version, state})
		if !known {
			if err := grantLocal(ctx, r, in.Manifest, answer); err != nil {
				return err
			}
		}
		granted, err := r.Store.PluginGrants(ctx, in.ID)
		if err != nil {
			return err
		}
		for _, line := range grantLines(in.Manifest, granted, core.DefaultID) { // one command for both layers
			answer.Next = append(answer.Next, strings.Replace(line, ":HOST", ":example.org", 1))
		}
	}
	for _, f := range append([]core.File{core.DefaultHostConfig(), core.DefaultTable()}, core.Default(pins)...) {
		kept := ""
		if force {
			var err error
			if kept, err = home.Keep(f.Path, f.Bytes); err != nil {
				return err
			}
		}
		written, err := home.Put(f.Path, f.Bytes, f.Mode, force)
		if err != nil {
			return err
		}
		state := "kept"
		if written {
			state = "written"
		}
		if kept != "" {
			answer.Items = append(answer.Items, item{kept + " (" + f.Path + " as it was)", "kept"})
		}
		answer.Items = append(answer.Items, item{f.Path, state})
	}
	answer.Next = append([]string{"portcullis doctor", "portcullis chat"}, answer.Next...)
	return nil
}

// isKnown reports whether the home has the plugin in any version and any state. What such a plugin may do was decided:
// a capability that it has not was perhaps revoked, and is not for init to give back.
func isKnown(home app.Home, id string) bool {
	_, err := os.Lstat(home.Join(plugin.FolderName, id))
	return err == nil
}

// installMade installs one plugin and tells whether it was there: "installed" or "kept". With force, an installed one
// of that version with another content is replaced, which is what a person wants who just changed its source.
func installMade(ctx context.Context, home app.Home, r *app.Records, m bundle.Made, force bool) (plugin.Installed, string, error) {
	had, absent := plugin.At(home.Path).Find(ctx, m.Manifest.ID, m.Manifest.Version)
	in, _, err := put(ctx, home, m.Dir, force)
	var conflict *plugin.ConflictError
	if errors.As(err, &conflict) {
		p := pluginProblem(conflict)
		p.Cause, p.Remedy = err, "`"+forceInit+"` puts the bundled one in the place of that one"
		return plugin.Installed{}, "", p
	}
	if err != nil {
		return plugin.Installed{}, "", err
	}
	if absent == nil && had.Digest == in.Digest {
		return in, "kept", nil
	}
	return in, "installed", r.Note(ctx, event.PluginInstalled, event.F("plugin", in.ID), event.F("version", in.Version), event.F("digest", in.Digest))
}

// local are the capabilities that init grants: they end at the workspace and at a plugin's own values.
func local() []string { return []string{wire.CapFSRead, wire.CapFSWrite, wire.CapKV} }

// localOf are those of them that the plugin asks for.
func localOf(m *manifest.Manifest) []string {
	var out []string
	for _, c := range m.Capabilities {
		if slices.Contains(local(), c.Name) {
			out = append(out, c.Name)
		}
	}
	return out
}

// grantLocal grants a new plugin those of them that it asks for, and says so.
func grantLocal(ctx context.Context, r *app.Records, m *manifest.Manifest, answer *initAnswer) error {
	for _, name := range localOf(m) {
		g, err := capability.ParseGrant(name)
		if err != nil {
			return fmt.Errorf("command: grant to %s: %w", m.ID, err)
		}
		changed, err := r.Grant(ctx, m.ID, g)
		if err != nil {
			return err
		}
		if changed {
			answer.Items = append(answer.Items, item{"plugin " + m.ID + " may use " + name, "granted"})
		}
	}
	return nil
}
