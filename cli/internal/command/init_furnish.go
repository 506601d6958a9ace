package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/bundle"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// furnish installs plugins, grants what stays on the machine, and writes the default files that are missing.
func furnish(ctx context.Context, home app.Home, r *app.Records, made []bundle.Made, force bool, answer *initAnswer) error {
	var pins []core.Pin
	for _, m := range made {
		in, err := installMade(ctx, home, r, m, force)
		if err != nil {
			return err
		}
		pins = append(pins, core.Pin{ID: in.ID, Version: in.Version, Digest: in.Digest})
		answer.Items = append(answer.Items, item{"plugin " + in.ID + " " + in.Version, "installed"})
		granted, err := grantLocal(ctx, r, in.Manifest)
		if err != nil {
			return err
		}
		answer.Next = append(answer.Next, grantLines(in.Manifest, granted)...)
	}
	for _, f := range append([]core.File{core.DefaultHostConfig()}, core.Default(pins)...) {
		written, err := home.Put(f.Path, f.Bytes, f.Mode, force)
		if err != nil {
			return err
		}
		state := "kept"
		if written {
			state = "written"
		}
		answer.Items = append(answer.Items, item{f.Path, state})
	}
	answer.Next = append([]string{"portcullis doctor", "portcullis chat"}, answer.Next...)
	return nil
}

// installMade installs one plugin. With force, an installed one of that version with another content is replaced,
// which is what a person wants who just changed its source.
func installMade(ctx context.Context, home app.Home, r *app.Records, m bundle.Made, force bool) (plugin.Installed, error) {
	folder := plugin.At(home.Path)
	in, err := folder.Install(ctx, m.Dir)
	var conflict *plugin.ConflictError
	var broken *plugin.BrokenError
	if force && (errors.As(err, &conflict) || errors.As(err, &broken)) {
		if err := folder.Remove(ctx, m.Manifest.ID, m.Manifest.Version); err != nil {
			return plugin.Installed{}, err
		}
		in, err = folder.Install(ctx, m.Dir)
	}
	if err != nil {
		return plugin.Installed{}, err
	}
	return in, r.Note(ctx, event.PluginInstalled, event.F("plugin", in.ID), event.F("version", in.Version), event.F("digest", in.Digest))
}

// local are the capabilities that init grants: they end at the workspace and at a plugin's own values.
func local() []string { return []string{wire.CapFSRead, wire.CapFSWrite, wire.CapKV} }

// grantLocal grants those of them that the plugin asks for, and returns all that it has then.
func grantLocal(ctx context.Context, r *app.Records, m *manifest.Manifest) (capability.Snapshot, error) {
	for _, c := range m.Capabilities {
		if !slices.Contains(local(), c.Name) {
			continue
		}
		g, err := capability.ParseGrant(c.Name)
		if err != nil {
			return capability.Snapshot{}, fmt.Errorf("command: grant to %s: %w", m.ID, err)
		}
		if _, err := r.Grant(ctx, m.ID, g); err != nil {
			return capability.Snapshot{}, err
		}
	}
	return r.Store.PluginGrants(ctx, m.ID)
}
