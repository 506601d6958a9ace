package exec

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/policy/command"
)

// Bounds of what is hashed before a call.
const (
	maxOperand  = 64 << 20  // bytes of one file; a larger one is not pinned
	maxHashed   = 256 << 20 // bytes of all
	maxOperands = 200
)

// runner pins the interpreter of a script that is run by its own name, and the one behind env.
func (p *planning) runner(ctx context.Context) *effect.Objection {
	line := p.held.program.Runner
	if len(line) == 0 {
		return nil
	}
	names := line[:1]
	if path.Base(line[0]) == "env" {
		for _, w := range line[1:] {
			if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
				names = append(names, w)
				break
			}
		}
	}
	for _, name := range names {
		at, err := p.finder().Look(name, p.at)
		if err != nil {
			return unpinned(err)
		}
		if no := p.pinFile(ctx, "interpreter", at); no != nil {
			return no
		}
	}
	return nil
}

// operands pins every file that a word names: as it is, behind =, behind @ or behind a short option, as in -fpatterns. What is
// no file now is not pinned, and when it is one at the moment of use the plan is another.
func (p *planning) operands(ctx context.Context) *effect.Objection {
	if p.shell {
		return nil
	}
	role := "input"
	if slices.ContainsFunc(command.Judge(command.Line{Names: []string{p.held.argv[0], p.held.program.Path}}), func(f command.Finding) bool { return f.Kind == command.Interpreter }) {
		role = "script"
	}
	for _, w := range p.held.argv[1:] {
		_, value, _ := strings.Cut(w, "=")
		for _, name := range append(attached(w), w, value, strings.TrimPrefix(w, "@"), strings.TrimPrefix(value, "@")) {
			if name == "" || len(name) > 4096 {
				continue
			}
			if !filepath.IsAbs(name) {
				name = filepath.Join(p.at, name)
			}
			name = filepath.Clean(name)
			if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
				continue
			}
			if no := p.pinFile(ctx, role, name); no != nil {
				return no
			}
			role = "input"
		}
	}
	return nil
}

// attached are the names that can stand behind a short option or a cluster of some in the same word.
func attached(w string) (names []string) {
	const most = 8 // letters in a cluster
	if !strings.HasPrefix(w, "-") || strings.HasPrefix(w, "--") {
		return nil
	}
	for at := len("-x"); at < min(len(w), most+1); at++ {
		names = append(names, w[at:])
	}
	return names
}

// pinFile pins one file. One that cannot be read or is too large is shown as not pinned, and the call is asked about each
// time; so is one that a link leads to, which could lead elsewhere between the last look and the program's.
func (p *planning) pinFile(ctx context.Context, role, name string) *effect.Objection {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(p.held.files, func(f pinned) bool { return f.seen.Path == real })
	switch {
	case i >= 0:
		p.linked(role, name, p.held.files[i].seen)
		return nil
	case real == p.held.program.Path:
		p.linked(role, name, p.held.program.Seen)
		return nil
	}
	if len(p.out.Operands) >= maxOperands {
		return &effect.Objection{Reason: "too_many_files", Why: fmt.Sprintf("the words name more than %d files: name a folder, or call several times", maxOperands), Model: "the words name too many files"}
	}
	one, err := digest(ctx, p.cfg.Digests, real, maxOperand)
	switch {
	case ctx.Err() != nil:
		return &effect.Objection{Reason: "files_not_read", Why: "the files that the words name could not be read in time", Model: "the files could not be read in time"}
	case err != nil || p.hashed()+one.seen.Size > maxHashed:
		p.out.Notes = append(p.out.Notes, real+" cannot be pinned (unreadable, changing or too large): it may be another when the program reads it")
		return nil
	}
	p.held.files = append(p.held.files, one)
	p.out.Operands = append(p.out.Operands, effect.Operand{Role: role, Path: real, SHA256: one.digest})
	p.linked(role, name, one.seen)
	return nil
}

// linked keeps a name that a link stands at, so that it is looked at once more where the file is.
func (p *planning) linked(role, name string, is process.Seen) {
	if is.Path == name {
		return
	}
	to := is.Path
	is.Path = name
	if slices.Contains(p.held.links, is) {
		return
	}
	p.held.links = append(p.held.links, is)
	if role != "interpreter" { // which only the system's own folders lead to
		p.out.Notes = append(p.out.Notes, name+" is a link to "+to+": it may lead elsewhere when the program reads it")
	}
}

func (p *planning) hashed() (n int64) {
	for _, f := range p.held.files {
		n += f.seen.Size
	}
	return n
}

// digest opens a file without waiting for it and reads it.
func digest(ctx context.Context, digests *process.Digests, real string, limit int64) (pinned, error) {
	f, err := process.OpenToRead(real)
	if err != nil {
		return pinned{}, err
	}
	defer f.Close()
	seen, sum, err := digests.Of(ctx, f, real, limit)
	return pinned{seen, sum}, err
}
