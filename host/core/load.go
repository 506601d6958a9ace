package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/egress"
)

// maxSoul bounds the system prompt.
const maxSoul = 256 << 10

// Core is one Agent Core as it was read at one moment. It is immutable and safe to share; its zero value is no core.
type Core struct{ of *loaded }

// loaded is what a Core points at; nothing changes it after [Load].
type loaded struct {
	agent
	revision  string
	files     tree
	snapshot  capability.Snapshot
	policy    egress.Policy
	workspace string // absolute
	schedules []Schedule
}

// Load reads cores/<id> of the home. A core has agent.yaml, agent/soul.md (the system prompt), and whatever else it
// wants below agent/ in .md .txt .json .jsonl and .yaml files, among them its schedules ([ScheduleFolder]); a README.md may stand beside the manifest. Names
// that begin with a dot or end with a tilde or .bak are editors' leftovers and not looked at.
//
// Faults of the core are a [LoadErrors]; any other error is the disk's or ctx's.
func Load(ctx context.Context, home, id string) (Core, error) {
	at := path.Join(FolderName, id)
	if !ValidID(id) {
		return Core{}, refuse(FolderName, "%s is no core's id; see `portcullis core list`", quote(id))
	}
	root, err := openCore(home, id)
	if err != nil {
		return Core{}, err
	}
	defer root.Close()
	files, err := readTree(ctx, root, at)
	if err != nil {
		return Core{}, err
	}
	manifest := path.Join(at, AgentFile)
	data, ok := files[AgentFile]
	if !ok {
		return Core{}, refuse(manifest, "is missing; `portcullis init` writes one to start from")
	}
	a, err := decodeAgent(manifest, data)
	if err != nil {
		return Core{}, err
	}
	l := &loaded{agent: a, revision: files.revision(), files: files, snapshot: capability.NewSnapshot(a.grants...)}
	if l.policy, err = egress.NewPolicy(a.egress...); err != nil {
		return Core{}, fmt.Errorf("core: egress of %s: %w", id, err) // each rule was accepted before
	}
	if faults := append(l.check(home, at, id), l.readSchedules(at)...); len(faults) > 0 {
		return Core{}, faults
	}
	return Core{l}, nil
}

// openCore opens the core's folder without following a link on the way.
func openCore(home, id string) (*os.Root, error) {
	root, err := os.OpenRoot(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(FolderName, "there is no home at %s; make one with `portcullis init`", home)
	}
	if err != nil {
		return nil, fmt.Errorf("core: open the home: %w", err)
	}
	defer root.Close()
	at := FolderName
	for _, at = range []string{FolderName, path.Join(FolderName, id)} {
		info, err := root.Lstat(filepath.FromSlash(at))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if id == DefaultID {
				return nil, refuse(at, "does not exist%s; `portcullis init` makes it", others(root))
			}
			return nil, refuse(at, "does not exist%s; a core is that folder with %s and %s in it, and can begin as a copy of another", others(root), AgentFile, path.Join(SurfaceFolder, SoulFile))
		case err != nil:
			return nil, fmt.Errorf("core: look at %s: %w", at, err)
		case !info.IsDir():
			return nil, refuse(at, "is not a folder (links are not followed)")
		}
	}
	sub, err := root.OpenRoot(filepath.FromSlash(at))
	if err != nil {
		return nil, fmt.Errorf("core: open %s: %w", at, err)
	}
	return sub, nil
}

// others names the cores that are there, for a sentence; it is a hint and may be empty.
func others(root *os.Root) string {
	found, err := fs.ReadDir(root.FS(), FolderName)
	var names []string
	for _, e := range found {
		if e.IsDir() && ValidID(e.Name()) && len(names) < 10 {
			names = append(names, e.Name())
		}
	}
	if err != nil || len(names) == 0 {
		return ""
	}
	return " (there is " + strings.Join(names, ", ") + ")"
}

// check holds the manifest against the rest of the tree.
func (l *loaded) check(home, at, id string) (faults LoadErrors) {
	fault := func(name string, pos Position, format string, args ...any) {
		faults = append(faults, &LoadError{path.Join(at, name), pos.Line, pos.Column, fmt.Sprintf(format, args...)})
	}
	if l.id != id {
		fault(AgentFile, Position{}, "agent.id is %s, but the folder is %s; rename one", quote(l.id), quote(id))
	}
	soul, ok := l.files[path.Join(SurfaceFolder, SoulFile)]
	switch {
	case !ok:
		fault(path.Join(SurfaceFolder, SoulFile), Position{}, "is missing; write there who the agent is and how it should work")
	case strings.TrimSpace(string(soul)) == "":
		fault(path.Join(SurfaceFolder, SoulFile), Position{}, "is empty; write there who the agent is and how it should work")
	case len(soul) > maxSoul:
		fault(path.Join(SurfaceFolder, SoulFile), Position{}, "has %d bytes, at most %d are allowed", len(soul), maxSoul)
	case strings.ContainsFunc(strings.ReplaceAll(string(soul), "\r\n", "\n"), control):
		fault(path.Join(SurfaceFolder, SoulFile), Position{}, "is not plain UTF-8 text")
	}
	if s := l.model.Script; s != "" && l.files[path.Join(SurfaceFolder, s)] == nil {
		fault(AgentFile, l.modelAt, "model.script names %s, which is not below %s/", quote(s), SurfaceFolder)
	}
	if l.agent.workspace != "" {
		var want string
		if l.workspace, want = placeWorkspace(home, l.agent.workspace); want != "" {
			fault(AgentFile, l.workspaceAt, "workspace %s", want)
		}
	}
	return faults
}

// placeWorkspace makes the workspace absolute. It must not reach what the host lives from: an agent that could
// write its own core, its plugins or its database would be past every rule in them.
func placeWorkspace(home, text string) (place, want string) {
	home, err := filepath.Abs(home)
	if err != nil {
		return "", "cannot be placed, because the home has no absolute path"
	}
	place = filepath.Clean(filepath.FromSlash(text))
	if !filepath.IsAbs(place) {
		place = filepath.Join(home, place)
	}
	for _, pair := range [][2]string{{home, place}, {resolved(home), resolved(place)}} {
		home, place := pair[0], pair[1]
		if within(home, place) {
			return "", "would hold the home itself; give it a folder of its own, as in workspace"
		}
		if rel, err := filepath.Rel(home, place); err == nil && filepath.IsLocal(rel) && strings.Split(rel, string(filepath.Separator))[0] != WorkspaceFolder {
			return "", "is among the host's own files; inside the home only " + WorkspaceFolder + " and folders below it can be one"
		}
	}
	return place, ""
}

// WorkspaceFolder is the one folder of the home that a workspace may be in.
const WorkspaceFolder = "workspace"

// within reports whether inner is outer or below it.
func within(inner, outer string) bool {
	rel, err := filepath.Rel(outer, inner)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// resolved follows the links of the longest beginning of a path that exists.
func resolved(p string) string {
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(p)
		if up == p {
			return filepath.Join(p, rest)
		}
		rest, p = filepath.Join(filepath.Base(p), rest), up
	}
}

// Zero reports whether c is no core.
func (c Core) Zero() bool { return c.of == nil }

func (c Core) get() *loaded {
	if c.of == nil {
		return &loaded{}
	}
	return c.of
}

// ID is the name of the core and of its folder.
func (c Core) ID() string { return c.get().id }

// Summary is a line for people; it may be empty.
func (c Core) Summary() string { return c.get().summary }

// Revision is the content digest of the whole tree, "sha256:<hex>".
func (c Core) Revision() string { return c.get().revision }

// System is the system prompt: agent/soul.md with unix line ends.
func (c Core) System() string {
	return strings.ReplaceAll(string(c.get().files[path.Join(SurfaceFolder, SoulFile)]), "\r\n", "\n")
}

// Model is what to ask which provider for, as far as the core says; see [HostConfig.ModelFor].
func (c Core) Model() Model { return c.get().model.clone() }

// Script is the content of the script of a scripted model, else nil.
func (c Core) Script() []byte {
	if s := c.get().model.Script; s != "" {
		return slices.Clone(c.get().files[path.Join(SurfaceFolder, s)])
	}
	return nil
}

// ScriptName is the path of that script below the core, with slashes, or empty.
func (c Core) ScriptName() string {
	if s := c.get().model.Script; s != "" {
		return path.Join(SurfaceFolder, s)
	}
	return ""
}

// Plugins are the plugins the core uses, in the order of the file.
func (c Core) Plugins() []Pin { return slices.Clone(c.get().plugins) }

// Capabilities is what the core may use at all: the snapshot of its turns.
func (c Core) Capabilities() capability.Snapshot { return c.get().snapshot }

// Egress narrows net.fetch; ok is false when the core has no egress section, and then nothing narrows it. A section
// with no rules allows nothing.
func (c Core) Egress() (p egress.Policy, ok bool) { return c.get().policy, c.get().narrows }

// Approval are the core's rules with their places, for [approval.Compile].
func (c Core) Approval() approval.Rules {
	rules := c.get().approval
	rules.Tools, rules.Capabilities, rules.Risks = slices.Clone(rules.Tools), slices.Clone(rules.Capabilities), slices.Clone(rules.Risks)
	return rules
}

// Limits bound the core's turns.
func (c Core) Limits() Limits { return c.get().limits }

// Process is what the core says of programs; the zero Process when it says nothing.
func (c Core) Process() Process { return c.get().process.clone() }

// Workspace is the absolute folder of file effects, or empty: no files. It need not exist yet.
func (c Core) Workspace() string { return c.get().workspace }

// Files lists the paths of the tree below the core, with slashes, in byte order.
func (c Core) Files() []string { return c.get().files.names() }

// File is the content of one file as it was read.
func (c Core) File(name string) ([]byte, bool) {
	data, ok := c.get().files[name]
	return slices.Clone(data), ok
}

func (m Model) clone() Model {
	if m.Temperature != nil {
		t := *m.Temperature
		m.Temperature = &t
	}
	return m
}
