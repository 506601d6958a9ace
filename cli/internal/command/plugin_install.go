package command

import (
	"context"
	"os"
	"path"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/agentfile"
	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

func (s *shell) pluginInstall() *cli.Command {
	return &cli.Command{
		Name: "install", Usage: "check a built plugin and copy it into the home", ArgsUsage: "DIR",
		Description: "DIR is a folder with plugin.json, or a plugin's folder that `plugin build` built. Installing grants\n" +
			"nothing. A core uses a plugin only when its agent.yaml pins it, which --core does.\n\n" +
			"A new version is installed beside the old one, and --core moves the pin to it. --replace puts other content in\n" +
			"the place of the same version, for whoever just built it anew: the cores that pin that version pin the new\n" +
			"digest. Grants are a plugin's in every version; what it asks for anew has to be granted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "core", Usage: "pin the plugin in `CORE`"},
			&cli.BoolFlag{Name: "replace", Usage: "replace an installed plugin of the same version, also in the cores that pin it"},
		},
		Action: func(c *cli.Context) error {
			args, err := operands(c)
			if err != nil {
				return err
			}
			dir, err := s.builtIn(args[0])
			if err != nil {
				return err
			}
			return s.records(c, func(ctx context.Context, r *app.Records) error {
				return s.install(ctx, r, dir, c.String("core"), c.Bool("replace"))
			})
		},
	}
}

func (s *shell) install(ctx context.Context, r *app.Records, dir, coreID string, replace bool) error {
	home, err := s.home()
	if err != nil {
		return err
	}
	if coreID != "" { // before anything is copied: a misspelt core must leave nothing behind
		c, err := core.Load(ctx, home.Path, coreID)
		if err != nil {
			return err
		}
		if err := clash(ctx, home, c, dir); err != nil {
			return err
		}
	}
	if err := usableIn(dir); err != nil {
		return err
	}
	in, old, err := put(ctx, home, dir, replace)
	if err != nil {
		return err
	}
	fields := []event.Field{event.F("plugin", in.ID), event.F("version", in.Version), event.F("digest", in.Digest)}
	if err := r.Note(ctx, event.PluginInstalled, fields...); err != nil {
		return err
	}
	granted, err := r.Store.PluginGrants(ctx, in.ID)
	if err != nil {
		return err
	}
	answer := struct {
		ID        string   `json:"id"`
		Version   string   `json:"version"`
		Digest    string   `json:"digest"`
		Path      string   `json:"path"`
		Core      string   `json:"core,omitempty"`
		CoreAdded bool     `json:"core_changed"`
		Replaced  string   `json:"replaced,omitempty"`      // the digest that was there, or what was wrong
		Repinned  []string `json:"cores_changed,omitempty"` // cores that pinned it and pin the new one now
		Needs     []need   `json:"needs"`
		Next      []string `json:"next"`
	}{ID: in.ID, Version: in.Version, Digest: in.Digest, Path: in.Path, Core: coreID, Needs: needsOf(in.Manifest, granted), Next: s.typed(grantLines(in.Manifest, granted, coreID))}
	if coreID != "" {
		if answer.CoreAdded, err = pin(ctx, home, coreID, in); err != nil {
			return err
		}
	}
	if answer.Replaced = old.Digest; old.Broken != "" {
		answer.Replaced = "one that was broken: " + string(old.Broken)
	}
	pinned, err := pinnedBy(ctx, home, in.ID, in.Version)
	if err != nil {
		return err
	}
	if replace { // also where nothing gave way: an earlier one may have been broken off before its pins were moved
		if answer.Repinned, err = repin(ctx, home, in, pinned); err != nil {
			return err
		}
	}
	answer.Next = append(answer.Next, s.typed(revokeLines(in.Manifest, granted))...)
	return s.out.Answer(answer, func(t *console.Text) {
		t.Say("%s %s %s", console.Good("installed:"), console.Bold(in.ID), in.Version)
		t.Say("digest %s", in.Digest)
		if answer.Replaced != "" {
			t.Say("in the place of %s", answer.Replaced)
		}
		for _, id := range answer.Repinned {
			t.Say("pinned anew in %s", home.Join(core.FolderName, id, core.AgentFile))
		}
		switch {
		case answer.CoreAdded:
			t.Say("pinned in %s", home.Join(core.FolderName, coreID, core.AgentFile))
		case coreID == "" && len(pinned) == 0:
			t.Say("no core uses it yet; `--core assistant` pins it, or add to an agent.yaml:")
			t.Prose("  ", "plugins:\n  - id: "+in.ID+"\n    version: "+in.Version+"\n    digest: "+in.Digest)
		}
		saySecrets(t, in.Manifest)
		sayNeeds(t, answer.Needs, answer.Next)
	})
}

// put installs the plugin in dir. With replace, one of the same version with other content, or broken, gives way.
func put(ctx context.Context, home app.Home, dir string, replace bool) (plugin.Installed, plugin.Former, error) {
	if replace {
		return plugin.At(home.Path).Replace(ctx, dir)
	}
	in, err := plugin.At(home.Path).Install(ctx, dir)
	return in, plugin.Former{}, err
}

// repin moves the pins of the plugin's version to its digest, in every core that has one.
func repin(ctx context.Context, home app.Home, in plugin.Installed, pinned []string) ([]string, error) {
	var changed []string
	for _, id := range pinned {
		anew, err := pin(ctx, home, id, in)
		if err != nil {
			return changed, err
		}
		if anew {
			changed = append(changed, id)
		}
	}
	return changed, nil
}

// clash refuses a plugin whose tools have the names of another plugin of the core: no turn of that core would start.
// What is wrong with the folder itself is for the installation to say.
func clash(ctx context.Context, home app.Home, c core.Core, dir string) error {
	raw, err := readAtMost(filepath.Join(dir, manifest.FileName), manifest.MaxBytes)
	if err != nil {
		return err
	}
	m, err := manifest.Parse(raw)
	if err != nil {
		return nil //nolint:nilerr // said by the installation
	}
	for _, pin := range c.Plugins() {
		if pin.ID == m.ID {
			continue // replaced by the new one
		}
		in, err := plugin.At(home.Path).Pinned(ctx, pin.ID, pin.Version, pin.Digest)
		if err != nil {
			continue // broken already, which `portcullis doctor` tells
		}
		for _, t := range m.Tools {
			if _, taken := in.Manifest.Tool(t.Name); taken {
				return &console.Problem{
					Code: "tool_clash", Exit: console.ExitUsage,
					Message: "plugin " + m.ID + " has a tool " + t.Name + ", and so has " + in.ID + " " + in.Version + " of core " + c.ID() + ": no turn could tell them apart",
					Remedy:  "take " + in.ID + " out of " + path.Join(core.FolderName, c.ID(), core.AgentFile) + " first, pin the new one in another core, or give its tool another name",
				}
			}
		}
	}
	return nil
}

func sayNeeds(t *console.Text, needs []need, next []string) {
	for _, n := range needs {
		t.Say("asks for %s (%s): %s", n.Name, granting(n.Granted), n.Reason)
	}
	if len(next) > 0 {
		t.Say("to grant:")
	}
	for _, line := range next {
		t.Say("  %s", line)
	}
}

// pin lists the plugin in the core's agent.yaml and loads the core again. false when it was listed already.
func pin(ctx context.Context, home app.Home, coreID string, in plugin.Installed) (bool, error) {
	return editCore(ctx, home, coreID, func(data []byte) ([]byte, bool, error) {
		return agentfile.AddPlugin(data, agentfile.Pin{ID: in.ID, Version: in.Version, Digest: in.Digest})
	})
}

// editCore changes one core's agent.yaml. When the core does not load afterwards, the file gets its old content back.
func editCore(ctx context.Context, home app.Home, coreID string, edit func([]byte) ([]byte, bool, error)) (bool, error) {
	file := home.Join(core.FolderName, coreID, core.AgentFile)
	before, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	after, changed, err := edit(before)
	if err != nil {
		return false, atFile(err, path.Join(core.FolderName, coreID, core.AgentFile))
	}
	if !changed {
		return false, nil
	}
	if err := agentfile.Replace(file, after); err != nil {
		return false, err
	}
	if _, err := core.Load(ctx, home.Path, coreID); err != nil {
		if back := agentfile.Replace(file, before); back != nil {
			return false, back
		}
		return false, err
	}
	return true, nil
}

// atFile says of an edit that must be made by hand in which file.
func atFile(err error, name string) error {
	p := usage("%v", err)
	p.Code, p.File, p.Cause = "edit_by_hand", name, err
	p.Remedy = "then look at the result with `portcullis doctor`"
	return p
}
