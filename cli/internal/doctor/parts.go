package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// plugins verifies every installed plugin whole and returns the sound ones.
func (e *examination) plugins(ctx context.Context) []plugin.Installed {
	all, err := plugin.At(e.home.Path).List(ctx)
	if err != nil {
		e.problem("plugin.files", err, "")
		return nil
	}
	if len(all) == 0 {
		e.add("plugin.files", Warn, "no plugins are installed", "portcullis init")
	}
	var sound []plugin.Installed
	for _, entry := range all {
		if entry.Broken != nil {
			e.add("plugin.files", Error, entry.Broken.Error(), fmt.Sprintf("portcullis plugin remove %s@%s\nportcullis init (for a bundled plugin; another is installed with `portcullis plugin install DIR`)", entry.ID, entry.Version))
			continue
		}
		e.ok("plugin.files", fmt.Sprintf("plugin %s %s is as it was installed", entry.ID, entry.Version))
		sound = append(sound, *entry.Installed)
	}
	return sound
}

// database checks the file itself.
func (e *examination) database(ctx context.Context) {
	path := e.home.Join(app.DatabaseName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		e.ok("store.check", "there is no database yet; the first command makes one")
		return
	}
	r, err := sqlite.Check(ctx, path)
	switch {
	case err != nil:
		e.problem("store.check", err, "portcullis store check")
	case len(r.Faults) > 0:
		e.add("store.check", Error, fmt.Sprintf("the database has %d faults, the first: %s", len(r.Faults), r.Faults[0]), "portcullis store check")
	case r.Schema < r.Known:
		e.add("store.schema", Warn, fmt.Sprintf("the database has schema %d, this program knows %d", r.Schema, r.Known), "portcullis store migrate")
	case r.Schema > r.Known:
		e.add("store.schema", Error, fmt.Sprintf("the database has schema %d, this program knows only %d", r.Schema, r.Known), "use the newer portcullis that made it")
	default:
		e.ok("store.check", fmt.Sprintf("the database is sound: %d bytes, schema %d", r.Bytes, r.Schema))
	}
}

// together holds cores, plugins, rules and grants against each other, as the start of a turn would.
func (e *examination) together(ctx context.Context, cores []core.Core, plugins []plugin.Installed) {
	host, err := e.home.OpenShadow(ctx)
	if err != nil {
		e.problem("host.open", err, "portcullis store check")
		return
	}
	defer func() {
		if err := host.Close(); err != nil {
			e.add("host.open", Warn, err.Error(), "")
		}
	}()
	pinned := map[string]bool{}
	for _, c := range cores {
		for _, p := range c.Plugins() {
			pinned[p.ID+"@"+p.Version] = true
		}
		if _, err := host.CheckCore(ctx, c.ID()); err != nil {
			remedy := "portcullis plugin list"
			var clash *effect.ClashError
			if errors.As(err, &clash) {
				remedy = "mend " + e.home.Join(core.FolderName, c.ID(), core.AgentFile)
			}
			e.problem("core.plugins", err, remedy)
			continue
		}
		e.ok("core.plugins", fmt.Sprintf("core %s: its %d plugins are there and its rules can be reached", c.ID(), len(c.Plugins())))
	}
	for _, p := range plugins {
		if !pinned[p.ID+"@"+p.Version] {
			continue
		}
		granted, err := host.PluginGrants(ctx, p.ID)
		if err != nil {
			e.problem("plugin.grants", err, "portcullis store check")
			continue
		}
		e.grants(p, granted)
	}
}

// grants notes what a plugin asks for and was not granted: a decision that may be meant so.
func (e *examination) grants(p plugin.Installed, granted capability.Snapshot) {
	var missing []string
	for _, c := range p.Manifest.Capabilities {
		if name, err := capability.Parse(c.Name); err == nil && !granted.Meets(name) {
			missing = append(missing, name.Example())
		}
	}
	if len(missing) == 0 {
		e.ok("plugin.grants", fmt.Sprintf("plugin %s has all that it asks for", p.ID))
		return
	}
	e.add("plugin.grants", Warn, fmt.Sprintf("plugin %s asks for %s and was not granted it: its calls are denied", p.ID, strings.Join(missing, ", ")),
		"portcullis plugin grant "+p.ID+" '"+missing[0]+"', or leave it")
}

// providers asks whether each key that a core needs is there. It never looks at the key.
func (e *examination) providers(ctx context.Context, settings core.HostConfig, cores []core.Core) {
	for _, c := range cores {
		if c.Model().Provider == core.Scripted {
			e.ok("provider.key", fmt.Sprintf("core %s uses the scripted model, which needs no key", c.ID()))
			continue
		}
		p, _, err := settings.ModelFor(c)
		if err != nil {
			e.faults("provider.config", err)
			continue
		}
		if p.Key.Zero() {
			e.ok("provider.key", fmt.Sprintf("provider %s is used without a key", p.Name))
			continue
		}
		lookup := func(name string) (string, bool) { v := e.machine.Env(name); return v, v != "" }
		if _, err := p.Key.Read(ctx, e.home.Path, lookup); err != nil {
			e.add("provider.key", Error, fmt.Sprintf("the key of provider %s, which core %s uses: %v", p.Name, c.ID(), err), "set it where config.yaml says it is")
			continue
		}
		e.ok("provider.key", fmt.Sprintf("the key of provider %s is there", p.Name))
	}
}

// cache looks at the folder of compiled code: what is in it is executed.
func (e *examination) cache() {
	info, err := os.Lstat(e.machine.Cache)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.ok("cache.folder", "there is no compiled code yet; the first call of each plugin takes some seconds")
	case err != nil:
		e.add("cache.folder", Error, err.Error(), "")
	case !info.IsDir():
		e.add("cache.folder", Error, e.machine.Cache+" is not a folder", "move it away")
	case info.Mode().Perm()&0o022 != 0:
		e.add("cache.folder", Error, fmt.Sprintf("%s has mode %04o, and it holds machine code", e.machine.Cache, info.Mode().Perm()), "chmod 700 "+e.machine.Cache)
	default:
		e.ok("cache.folder", e.machine.Cache+" is the operator's alone")
	}
}

func (e *examination) lock() {
	by, err := e.home.LockedBy()
	switch {
	case err != nil:
		e.problem("home.lock", err, "")
	case by != "":
		e.ok("home.lock", by+" is running in this home")
	default:
		e.ok("home.lock", "nothing is running in this home")
	}
}

// toolchain looks for what building plugins needs; running them needs none of it.
func (e *examination) toolchain(ctx context.Context) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if err != nil {
		e.add("go.toolchain", Warn, "there is no Go toolchain: plugins run, but none can be built", "install Go 1.26 or newer (https://go.dev/dl)")
		return
	}
	e.ok("go.toolchain", strings.TrimSpace(string(out))+" builds plugins")
}
