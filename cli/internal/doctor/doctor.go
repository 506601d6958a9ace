package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/policy/approval"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	OK    Level = "ok"
	Warn  Level = "warn"  // works, and a person should look
	Error Level = "error" // something will not work
)

// Finding is one check and what it found.
type Finding struct {
	Code    string `json:"code"` // stable: "home.mode"
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // what to type or edit; empty when all is well
}

// Machine is what the checks ask of the world around the home.
type Machine struct {
	Env   func(string) string
	Cache string // where compiled plugins of the home are kept
	// MayWrite asks whether files can be made in a folder, without making one; nil asks the system.
	MayWrite func(dir string) error
}

// Examine makes all checks. It never fails: what cannot be looked at is a finding.
func Examine(ctx context.Context, home app.Home, m Machine) []Finding {
	e := &examination{home: home, machine: m}
	if !e.folder() {
		return e.found
	}
	e.writable()
	settings, known := e.config(ctx)
	cores, names := e.cores(ctx)
	if known {
		e.defaultCore(settings, names)
		e.secrets(ctx, settings)
		e.places(ctx, settings)
	}
	plugins := e.plugins(ctx)
	if usable := e.database(ctx, len(cores) > 0 && len(plugins) > 0); usable && known {
		e.together(ctx, cores, plugins)
		e.providers(ctx, settings, cores)
		e.room(settings, cores, plugins)
	}
	e.cache()
	e.lock()
	e.toolchain(ctx)
	return e.found
}

// Worst is the level of the worst finding.
func Worst(found []Finding) Level {
	worst := OK
	for _, f := range found {
		if f.Level == Error || f.Level == Warn && worst == OK {
			worst = f.Level
		}
	}
	return worst
}

type examination struct {
	home    app.Home
	machine Machine
	found   []Finding
}

func (e *examination) add(code string, l Level, message, remedy string) {
	e.found = append(e.found, Finding{code, l, message, remedy})
}

func (e *examination) ok(code, message string) { e.add(code, OK, message, "") }

// problem notes an error with the remedy it brings, if it brings one.
func (e *examination) problem(code string, err error, remedy string) {
	var p *console.Problem
	if errors.As(err, &p) {
		e.add(code, Error, p.Error(), p.Remedy)
		return
	}
	if remedy == "" {
		remedy = "see that the home can be read, then type the command again"
	}
	e.add(code, Error, err.Error(), remedy)
}

// folder reports whether there is a home to look into.
func (e *examination) folder() bool {
	err := e.home.Check()
	var p *console.Problem
	switch {
	case err == nil:
		e.ok("home.folder", e.home.Path+" is the operator's alone")
	case errors.As(err, &p) && p.Code == "home_open_to_others":
		e.problem("home.mode", err, "")
	case errors.As(err, &p) && p.Code == "home_closed" && e.readable():
		e.problem("home.mode", err, "")
	default:
		e.problem("home.folder", err, "")
		return false
	}
	return true
}

// writable asks the system, since a mode says nothing of a file system that is mounted read-only. It writes nothing:
// looking leaves a home as it is.
func (e *examination) writable() {
	ask := e.machine.MayWrite
	if ask == nil {
		ask = mayWrite
	}
	if err := ask(e.home.Path); err != nil {
		e.add("home.writable", Error, fmt.Sprintf("nothing can be written in %s: %v", e.home.Path, err),
			"mount it for writing, give it back to this user, or name another home with --home")
		return
	}
	e.ok("home.writable", "the home can be written")
}

// readable reports whether a home that its operator closed can be looked at all the same.
func (e *examination) readable() bool {
	info, err := os.Stat(e.home.Path)
	return err == nil && info.Mode().Perm()&0o500 == 0o500
}

func (e *examination) config(ctx context.Context) (core.HostConfig, bool) {
	settings, err := core.LoadHost(ctx, e.home.Path)
	if err != nil {
		e.faults("config.file", err)
		return settings, false
	}
	e.ok("config.file", core.HostFile+" decodes")
	who := "the operator"
	for _, name := range settings.Approval.Approvers {
		if name == approval.Requester {
			name = "whoever asks"
		}
		if name != approval.Operator {
			who += ", " + name
		}
	}
	e.ok("config.approvers", "who may decide what must be allowed: "+who)
	return settings, true
}

// faults notes every fault of a file that a person wrote.
func (e *examination) faults(code string, err error) {
	faults := core.Faults(err)
	for _, f := range faults {
		remedy := "edit " + e.home.Join(f.Path)
		if _, err := os.Lstat(e.home.Join(f.Path)); f.Path == core.HostFile && errors.Is(err, os.ErrNotExist) {
			remedy = "portcullis init"
		}
		e.add(code, Error, f.Error(), remedy)
	}
	if len(faults) == 0 {
		e.problem(code, err, "mend the file, or write the default one with `portcullis init --force`")
	}
}

// defaultCore holds the core that config.yaml names against those that are there, also those with faults of their own.
func (e *examination) defaultCore(settings core.HostConfig, names []string) {
	id := settings.DefaultCore
	if id == "" || slices.Contains(names, id) {
		return
	}
	remedy := "portcullis init"
	if len(names) > 0 {
		remedy = "set default_core in " + e.home.Join(core.HostFile) + " to one of: " + strings.Join(names, ", ")
	}
	e.add("config.core", Error, fmt.Sprintf("%s names default_core %s and there is no such core", core.HostFile, id), remedy)
}

// cores returns the cores that load, and the ids of all that are there.
func (e *examination) cores(ctx context.Context) (out []core.Core, ids []string) {
	all, err := core.List(ctx, e.home.Path)
	if err != nil {
		e.problem("core.files", err, "")
		return nil, nil
	}
	if len(all) == 0 {
		e.add("core.files", Warn, "there are no cores", "portcullis init")
	}
	for _, l := range all {
		if core.ValidID(l.ID) {
			ids = append(ids, l.ID)
		}
		if l.Err != nil {
			e.faults("core.files", l.Err)
			continue
		}
		e.ok("core.files", "core "+l.ID+" decodes")
		out = append(out, l.Core)
	}
	return out, ids
}
