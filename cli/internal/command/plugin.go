package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/shellword"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func (s *shell) plugin() *cli.Command {
	return &cli.Command{
		Name: "plugin", Usage: "write, build, inspect, install and grant plugins", Action: group,
		Subcommands: []*cli.Command{
			s.pluginNew(), s.pluginBuild(), s.pluginPack(), s.pluginInspect(), s.pluginInstall(), s.pluginList(), s.pluginRemove(),
			s.pluginGrant(), s.pluginRevoke(),
		},
	}
}

// buildFolder is where `plugin build` puts the binary and plugin.json, below the plugin's own folder.
const buildFolder = "dist"

// builtIn finds the folder with plugin.json that a person means: the one named, the dist below it, or the one that a
// named plugin.json or .wasm file is in.
func (s *shell) builtIn(typed string) (string, error) {
	path := s.path(typed)
	info, err := os.Stat(path)
	if err != nil {
		p := usage("%s does not exist", typed)
		p.Code, p.Remedy = "plugin_source_not_found", "name the folder of a plugin"
		if !errors.Is(err, fs.ErrNotExist) {
			p.Message = err.Error()
		}
		return "", p
	}
	if !info.IsDir() {
		dir := filepath.Dir(path)
		_, err := os.Stat(filepath.Join(dir, manifest.FileName))
		if filepath.Ext(path) == ".wasm" && errors.Is(err, fs.ErrNotExist) {
			p := usage("%s has no %s beside it", typed, manifest.FileName)
			p.Code, p.Remedy = "plugin_source_manifest_missing", "make a plugin of it first: `portcullis plugin pack "+shellword.Quote(typed)+"`"
			return "", p
		}
		return dir, nil
	}
	for _, dir := range []string{path, filepath.Join(path, buildFolder)} {
		if _, err := os.Stat(filepath.Join(dir, manifest.FileName)); err == nil {
			return dir, nil
		}
	}
	p := usage("%s has no %s", typed, manifest.FileName)
	p.Code, p.Remedy = "plugin_source_manifest_missing", "build it first: `portcullis plugin build "+shellword.Quote(typed)+"`"
	return "", p
}

// target splits ID[@VERSION].
func target(text string) (id, version string) {
	id, version, _ = strings.Cut(text, "@")
	return id, version
}

// installed finds a plugin of the home; version "" is the newest.
func (s *shell) installed(ctx context.Context, text string) (plugin.Installed, error) {
	home, err := s.home()
	if err != nil {
		return plugin.Installed{}, err
	}
	if err := home.Check(); err != nil {
		return plugin.Installed{}, err
	}
	id, version := target(text)
	return plugin.At(home.Path).Find(ctx, id, version)
}

// need is one capability that a plugin asks for, as an answer shows it.
type need struct {
	Name    string `json:"name"`
	Reason  string `json:"reason"`
	Granted bool   `json:"granted"`
}

func needsOf(m *manifest.Manifest, granted capability.Snapshot) []need {
	out := make([]need, 0, len(m.Capabilities))
	for _, c := range m.Capabilities {
		name, err := capability.Parse(c.Name)
		out = append(out, need{c.Name, c.Reason, err == nil && granted.Meets(name)})
	}
	return out
}

// grantLines is what to type so that a plugin gets what it asks for and has not. A capability that needs an argument
// takes it from what the plugin says about its egress; a host that only the caller knows stays open. core is listed too,
// when one is named.
func grantLines(m *manifest.Manifest, granted capability.Snapshot, core string) []string {
	var lines []string
	for _, n := range needsOf(m, granted) {
		if n.Granted {
			continue
		}
		for _, name := range concrete(m, n.Name) {
			lines = append(lines, capability.GrantLine(m.ID, name, core))
		}
	}
	return lines
}

// revokeLines is what to type so that a plugin has no grant left that it does not ask for, as after an update.
func revokeLines(m *manifest.Manifest, granted capability.Snapshot) []string {
	var lines []string
	for _, g := range granted.Grants() {
		if !asksFor(m, g) {
			lines = append(lines, "portcullis plugin revoke "+m.ID+" "+shellword.Quote(g.String()))
		}
	}
	return lines
}

func concrete(m *manifest.Manifest, name string) []string {
	parsed, err := capability.Parse(name)
	if err != nil || !parsed.Open() {
		return []string{name}
	}
	var out []string
	if name == wire.CapNetFetch {
		for _, e := range m.Egress {
			switch {
			case strings.Contains(e.Host, "*"):
			case e.Port != 0: // a grant without a port is for the schemes' own
				out = append(out, name+":"+e.Host+":"+strconv.Itoa(e.Port))
			default:
				out = append(out, name+":"+e.Host)
			}
		}
	}
	if len(out) == 0 {
		out = []string{parsed.Example()}
	}
	return out
}

// tools names a plugin's tools for one cell of a table.
func tools(m *manifest.Manifest) string { return strings.Join(toolNames(m), " ") }

func toolNames(m *manifest.Manifest) []string {
	names := make([]string, len(m.Tools))
	for i, t := range m.Tools {
		names[i] = t.Name
	}
	return names
}

func granting(granted bool) console.Styled {
	if granted {
		return console.Good("granted")
	}
	return console.Warn("not granted")
}
