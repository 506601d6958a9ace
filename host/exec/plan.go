package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/policy/command"
)

// words is process.exec.
type words struct{ *Source }

// shell is process.shell.
type shell struct{ *Source }

// shellPath runs the texts of process.shell.
const shellPath = "/bin/sh"

// held is what a plan keeps open, and what of it must still be so when it is used.
type held struct {
	program *process.Pinned
	dir     *os.File
	argv    []string
	files   []pinned       // beside the program
	links   []process.Seen // names that a link stands at, with what they lead to
}

// pinned is one file with the digest that was shown.
type pinned struct {
	seen   process.Seen
	digest string
}

// Close lets the files go. It may be called again.
func (h *held) Close() error { return errors.Join(h.program.Close(), closed(h.dir)) }

func closed(f *os.File) error {
	if f == nil {
		return nil
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Plan is [effect.Planner].
func (w *words) Plan(ctx context.Context, call effect.Call) (effect.Plan, effect.Objection) {
	a, err := read(call.Arguments)
	if err != nil {
		return effect.Plan{}, unreadable(err)
	}
	p := &planning{Source: w.Source, call: call, args: a, held: &held{argv: a.Argv}}
	return p.plan(ctx, a.Argv[0], func() *effect.Objection { return p.listed(a.Argv[0]) })
}

// Plan is [effect.Planner].
func (s *shell) Plan(ctx context.Context, call effect.Call) (effect.Plan, effect.Objection) {
	a, err := read(call.Arguments)
	if err != nil {
		return effect.Plan{}, unreadable(err)
	}
	p := &planning{Source: s.Source, call: call, args: a, shell: true, held: &held{argv: []string{shellPath, "-c", a.Command}}}
	return p.plan(ctx, shellPath, func() *effect.Objection { return nil })
}

func unreadable(err error) effect.Objection {
	return effect.Objection{Reason: "arguments_schema", Why: err.Error(), Model: "the arguments cannot be read"}
}

// planning is one plan being made.
type planning struct {
	*Source
	call  effect.Call
	args  arguments
	shell bool
	held  *held
	at    string // the folder, absolute, links resolved
	out   effect.Plan
}

// plan goes through everything that can be refused, the cheapest first, and leaves nothing open when something was.
func (p *planning) plan(ctx context.Context, program string, allowed func() *effect.Objection) (effect.Plan, effect.Objection) {
	for _, check := range []func() *effect.Objection{
		p.able, p.plain, p.variables, p.folder, allowed,
		func() *effect.Objection { return p.pin(ctx, program) },
		p.judge,
		func() *effect.Objection { return p.runner(ctx) },
		func() *effect.Objection { return p.operands(ctx) },
	} {
		if no := check(); no != nil {
			_ = p.held.Close() // it was only read
			return effect.Plan{}, *no
		}
	}
	p.out.Argv, p.out.Dir, p.out.Held = p.held.argv, p.at, io.Closer(p.held)
	p.out.Cacheable = len(p.out.Notes) == 0
	return p.out, effect.Objection{}
}

func (p *planning) able() *effect.Objection {
	if err := p.cfg.Engine.Able(); err != nil {
		return &effect.Objection{Reason: "programs_unavailable", Why: fmt.Sprintf("no program can be run here: %v", err), Model: "no program can be run here"}
	}
	return nil
}

// plain refuses what no program can be told.
func (p *planning) plain() *effect.Objection {
	all := append(slices.Concat(p.held.argv, slices.Collect(maps.Values(p.args.Env))), p.args.Cwd)
	if p.held.argv[0] == "" || slices.ContainsFunc(all, func(s string) bool { return strings.ContainsRune(s, 0) }) {
		return &effect.Objection{Reason: "arguments_unusable", Why: "the program has no name, or a word holds a NUL character, which no program can be given", Model: "a word is empty or holds a NUL character"}
	}
	return nil
}

func (p *planning) variables() *effect.Objection {
	for _, name := range slices.Sorted(maps.Keys(p.args.Env)) {
		if no := p.variable(name, false); no != nil {
			return no
		}
		if _, twice := p.args.Secrets[name]; twice {
			return &effect.Objection{Reason: "variable_refused", Why: name + " is set twice, by env and by secrets", Model: name + " is set twice"}
		}
		p.out.Env = append(p.out.Env, name)
	}
	for _, name := range slices.Sorted(maps.Keys(p.args.Secrets)) {
		if no := p.variable(name, true); no != nil {
			return no
		}
		p.out.Env = append(p.out.Env, name)
	}
	return nil
}

// folder opens the folder to run in, below the workspace whatever links say.
func (p *planning) folder() *effect.Objection {
	rel := cmp.Or(p.args.Cwd, p.rule.Folder, ".")
	workspace := p.call.Turn.Workspace()
	no := func(reason, why, model string) *effect.Objection {
		return &effect.Objection{Reason: reason, Why: why, Model: model}
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return no("no_workspace", fmt.Sprintf("the workspace %s cannot be opened: make it, or name another with --workspace", workspace), "there is no workspace")
	}
	defer root.Close()
	if filepath.IsAbs(rel) || !filepath.IsLocal(rel) {
		return no("folder_outside", fmt.Sprintf("%q is not below the workspace: name a folder as in \"src\"", rel), "that folder is not below the workspace")
	}
	dir, err := root.Open(rel)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return no("folder_not_found", fmt.Sprintf("there is no folder %q in the workspace", rel), "there is no such folder")
	case err != nil:
		return no("folder_outside", fmt.Sprintf("%q cannot be opened below the workspace, or a link in it leads out", rel), "that folder is not below the workspace")
	}
	p.held.dir = dir
	info, err := dir.Stat()
	if err != nil || !info.IsDir() {
		return no("folder_not_found", fmt.Sprintf("%q in the workspace is no folder", rel), "that is no folder")
	}
	if p.at, err = filepath.EvalSymlinks(filepath.Join(workspace, rel)); err != nil {
		return no("folder_not_found", fmt.Sprintf("the folder %q changed while it was looked at", rel), "that folder changed")
	}
	if now, err := os.Stat(p.at); err != nil || !os.SameFile(info, now) || !filepath.IsAbs(p.at) {
		return no("folder_not_found", fmt.Sprintf("the folder %q changed while it was looked at", rel), "that folder changed")
	}
	return nil
}

func (p *planning) finder() process.Finder {
	return process.Finder{Path: p.folders(), Digests: p.cfg.Digests, UID: p.cfg.UID}
}

// folders is the PATH of a program: the host's, without what lies in the workspace.
func (p *planning) folders() []string {
	return slices.DeleteFunc(slices.Clone(p.path), func(dir string) bool { return !p.rule.Workspace && process.Below(p.call.Turn.Workspace(), dir) })
}

// listed holds a program against the core's list by where it is found, before links: a name that leads to the same file as
// another is still another name, as those of busybox are.
func (p *planning) listed(program string) *effect.Objection {
	found, err := p.finder().Look(program, p.at)
	if err != nil {
		return unpinned(err)
	}
	for _, one := range p.rule.Programs {
		switch {
		case one == core.AnyProgram, one == found:
			return nil
		case !strings.Contains(one, "/"):
			if at, err := p.finder().Look(one, p.at); err == nil && at == found {
				return nil
			}
		}
	}
	remedy := fmt.Sprintf("add %s to process.programs in %s", program, p.file())
	return &effect.Objection{
		Reason: "program_not_listed", Why: fmt.Sprintf("core %s does not list %s (%s): %s", p.core, program, found, remedy),
		Model: "this agent may not run that program", Remedy: remedy,
	}
}

func (p *planning) pin(ctx context.Context, program string) *effect.Objection {
	workspace := p.call.Turn.Workspace()
	if p.rule.Workspace {
		workspace = ""
	}
	pin, err := p.finder().Pin(ctx, program, p.at, workspace)
	if err != nil {
		return unpinned(err)
	}
	p.held.program = pin
	p.out.Operands = append(p.out.Operands, effect.Operand{Role: "executable", Path: pin.Path, SHA256: pin.Digest})
	return nil
}

func unpinned(err error) *effect.Objection {
	var no *process.PinError
	if !errors.As(err, &no) {
		return &effect.Objection{Reason: "program_not_read", Why: fmt.Sprintf("the program cannot be read: %v", err), Model: "that program cannot be run"}
	}
	why := no.Error()
	if no.Want != "" {
		why += ": " + no.Want
	}
	model := "that program cannot be run"
	if no.Code == process.NotFound {
		model = "there is no such program"
	}
	return &effect.Objection{Reason: "program_" + no.Code, Why: why, Model: model, Remedy: no.Want}
}

// judge asks what is known of the words. Code is refused unless the core wants to be asked; the rest is shown, and
// asked about each time.
func (p *planning) judge() *effect.Objection {
	if p.shell {
		p.out.Notes = append(p.out.Notes, "the shell runs the whole text: what it names is neither looked up nor pinned")
		return nil
	}
	found := command.Judge(command.Line{
		Names: []string{p.held.argv[0], p.held.program.Path}, Words: p.held.argv[1:], Stdin: p.args.Stdin != "",
	})
	for _, f := range found {
		if f.Kind == command.Code && !p.rule.CodeFlags {
			remedy := fmt.Sprintf("set code_flags: ask below process in %s", p.file())
			return &effect.Objection{
				Reason: "code_in_words", Why: fmt.Sprintf("%s (%s): leave it out, or %s", f, f.Source, remedy),
				Model: f.String() + ", which is not allowed", Remedy: remedy,
			}
		}
		p.out.Notes = append(p.out.Notes, f.String())
	}
	return nil
}
