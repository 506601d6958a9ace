package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/shellword"
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

// database checks the file itself and reports whether the rest may be held against it. furnished: the home has cores
// and plugins, and so had a database once.
func (e *examination) database(ctx context.Context, furnished bool) (usable bool) {
	path := e.home.Join(app.DatabaseName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if furnished {
			e.add("store.check", Warn, "the database is gone, and with it grants, sessions, questions and the audit",
				"copy a backup to "+path+"; without one, `portcullis init` begins a new one, and `portcullis plugin grant` grants again")
			return true
		}
		e.ok("store.check", "there is no database yet; the first command makes one")
		return true
	}
	r, err := sqlite.Check(ctx, path)
	switch {
	case err != nil:
		e.problem("store.check", err, "portcullis store check")
		return false
	case len(r.Faults) > 0:
		e.add("store.check", Error, fmt.Sprintf("the database has %d faults, the first: %s", len(r.Faults), r.Faults[0]), "portcullis store check")
		return false
	case r.Schema < r.Known:
		e.add("store.schema", Warn, fmt.Sprintf("the database has schema %d, this program knows %d", r.Schema, r.Known), "portcullis store migrate")
	case r.Schema > r.Known:
		e.add("store.schema", Error, fmt.Sprintf("the database has schema %d, this program knows only %d", r.Schema, r.Known), "use the newer portcullis that made it")
		return false
	default:
		e.ok("store.check", fmt.Sprintf("the database is sound: %d bytes, schema %d", r.Bytes, r.Schema))
	}
	return true
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
	e.leftRunning(host.Left)
	e.waiting(host.Waiting)
	e.tasks(host.Waiting)
	e.schedules(ctx, host, cores, time.Now())
	e.programs(cores)
	e.workspaces(cores)
	e.children(cores)
	pinned := map[string]bool{}
	for _, c := range cores {
		for _, p := range c.Plugins() {
			pinned[p.ID+"@"+p.Version] = true
		}
		if _, err := host.CheckCore(ctx, c.ID()); err != nil {
			remedy := "portcullis plugin list"
			var clash *effect.ClashError
			if errors.As(err, &clash) {
				remedy = "edit " + e.home.Join(core.FolderName, c.ID(), core.AgentFile)
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
		e.grants(p, granted, inCores(cores, p))
	}
}

// inCores are the cores that pin a plugin.
func inCores(cores []core.Core, p plugin.Installed) (out []core.Core) {
	for _, c := range cores {
		if slices.ContainsFunc(c.Plugins(), func(pin core.Pin) bool { return pin.ID == p.ID && pin.Version == p.Version }) {
			out = append(out, c)
		}
	}
	return out
}

// leftRunning notes turns that nobody runs any more.
func (e *examination) leftRunning(left []turn.Recovered) {
	if by, err := e.home.LockedBy(); err != nil || by != "" {
		return // they may be running right now
	}
	for _, r := range left {
		message := fmt.Sprintf("turn %s was left running by a process that is gone; nothing dangerous was under way", r.Turn)
		if r.Outcome == turn.Indeterminate {
			effects := "1 effect"
			if r.Effects != 1 {
				effects = fmt.Sprintf("%d effects", r.Effects)
			}
			message = fmt.Sprintf("turn %s was left running by a process that is gone: %s may or may not have happened", r.Turn, effects)
		}
		e.add("turn.left", Warn, message, fmt.Sprintf("portcullis turns show %s (the next command that runs turns ends it as %s)", r.Turn, r.Outcome))
	}
}

// grants notes what a plugin asks for and was not granted, or a core that pins it does not list: a decision that may be
// meant so.
func (e *examination) grants(p plugin.Installed, granted capability.Snapshot, cores []core.Core) {
	var missing []string
	for _, c := range p.Manifest.Capabilities {
		if name, err := capability.Parse(c.Name); err == nil && !granted.Meets(name) {
			missing = append(missing, name.Example())
		}
	}
	unlisted := 0
	for _, c := range cores {
		for _, asked := range p.Manifest.Capabilities {
			name, err := capability.Parse(asked.Name)
			if err != nil || !granted.Meets(name) || c.Capabilities().Meets(name) || !usedByTool(p, asked.Name) {
				continue
			}
			unlisted++
			grant := name.Example()
			for _, g := range granted.Grants() {
				if g.Family() == name.Family() {
					grant = g.String()
				}
			}
			e.add("plugin.grants", Warn, fmt.Sprintf("plugin %s was granted %s, and core %s does not list it: its calls are denied there", p.ID, name, c.ID()),
				"portcullis plugin grant "+p.ID+" "+shellword.Quote(grant)+" --core "+c.ID())
		}
	}
	if len(missing) == 0 && unlisted > 0 {
		return
	}
	if len(missing) == 0 {
		e.ok("plugin.grants", fmt.Sprintf("plugin %s has all that it asks for", p.ID))
		return
	}
	in := ""
	if len(cores) > 0 { // one command for both layers
		in = " --core " + cores[0].ID()
	}
	e.add("plugin.grants", Warn, fmt.Sprintf("plugin %s asks for %s and was not granted it: its calls are denied", p.ID, strings.Join(missing, ", ")),
		"portcullis plugin grant "+p.ID+" "+shellword.Quote(strings.Replace(missing[0], ":HOST", ":example.org", 1))+in+", or leave it")
}

// usedByTool reports whether a tool of the plugin needs the capability, which a core then has to list. What the module
// alone imports needs the grant and nothing else.
func usedByTool(p plugin.Installed, name string) bool {
	for _, t := range p.Manifest.Tools {
		if slices.Contains(t.Capabilities, name) {
			return true
		}
	}
	return false
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
		if _, err := e.reader(settings).Read(ctx, p.Key); err != nil {
			e.add("provider.key", Error, fmt.Sprintf("the key of provider %s, which core %s uses: %v", p.Name, c.ID(), err), "set it where config.yaml says it is")
			continue
		}
		e.ok("provider.key", fmt.Sprintf("the key of provider %s is there", p.Name))
	}
}

// secrets says where the identity of the vault is, and whether it opens what is kept.
func (e *examination) secrets(ctx context.Context, settings core.HostConfig) {
	vault := secret.Open(e.home.Path, settings.Identity, time.Now)
	kept, err := vault.List(ctx)
	if err != nil {
		e.problem("secrets.identity", err, "portcullis secrets list")
		return
	}
	if len(kept) == 0 { // there may be no identity either: the first secret makes it
		e.ok("secrets.identity", "no secrets are kept")
		return
	}
	e.ok("secrets.identity", fmt.Sprintf("%d secrets are kept, and %s decrypts them", len(kept), vault.Where()))
	for _, one := range kept {
		if !one.Expires.IsZero() && !time.Now().Before(one.Expires) {
			e.add("secrets.expired", Warn, fmt.Sprintf("the secret %s expired on %s and is given to nobody", one.Name, one.Expires.UTC().Format(time.DateOnly)), "portcullis secrets rotate "+string(one.Name))
		}
	}
}

// reader gives out what the host would; only whether it can is asked.
func (e *examination) reader(settings core.HostConfig) secret.Reader {
	lookup := func(name string) (string, bool) { v := e.machine.Env(name); return v, v != "" }
	return secret.Reader{Home: e.home.Path, Lookup: lookup, Vault: secret.Open(e.home.Path, settings.Identity, time.Now), Clock: time.Now}
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
		e.add("cache.folder", Error, fmt.Sprintf("%s has mode %04o, and it holds machine code", e.machine.Cache, info.Mode().Perm()), "chmod 700 "+shellword.Quote(e.machine.Cache))
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
