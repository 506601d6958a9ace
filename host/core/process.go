package core

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/policy/command"
)

// Process is what a core says of the programs that its agent may run, beside the capability process.exec. The zero
// Process lets none run.
type Process struct {
	Programs    []string // names that are looked up in PATH, or absolute paths; [AnyProgram] alone is any
	Folder      string   // where they run unless a call says otherwise: below the workspace, with slashes; "." is the workspace
	Timeout     time.Duration
	Environment []string // names of variables that programs get when the host has them, and that a call may set
	// CodeFlags says that options which make a program run other code are asked about and not refused.
	CodeFlags bool
	// Workspace says that programs which lie in the workspace may run.
	Workspace bool
	// Shell says that the agent has process.shell, which runs a text as a shell does.
	Shell  bool
	CPU    time.Duration // processor time of each process; 0: no bound
	Memory int64         // bytes of address space of each process; 0: no bound
}

// AnyProgram as the only one of a core's programs stands for all.
const AnyProgram = "*"

// Bounds of [Process].
const (
	maxPrograms    = 256
	maxEnvironment = 64
	minMemory      = 16 << 20
	maxMemory      = 1 << 40
	minCPU         = time.Second
)

// process reads the section of that name.
func (r *reading) process(v value) Process {
	p := Process{Folder: "."}
	r.object(v,
		must("programs", func(v value) {
			r.list(v, maxPrograms, func(v value) {
				if s, ok := r.program(v); ok && slices.Contains(p.Programs, s) {
					r.fault(v.at, "%s is there already; remove one", quote(s))
				} else if ok {
					p.Programs = append(p.Programs, s)
				}
			})
			if len(p.Programs) > 1 && slices.Contains(p.Programs, AnyProgram) {
				r.fault(v.at, "%s has %q, which is every program, and others; keep one kind", v.name, AnyProgram)
			}
		}),
		may("workdir", func(v value) { p.Folder = r.workdir(v) }),
		may("timeout", func(v value) { p.Timeout = r.duration(v, MinTimeout, MaxEffect) }),
		may("environment", func(v value) {
			r.list(v, maxEnvironment, func(v value) {
				if s, ok := r.variable(v); ok && slices.Contains(p.Environment, s) {
					r.fault(v.at, "%s is there already; remove one", quote(s))
				} else if ok {
					p.Environment = append(p.Environment, s)
				}
			})
		}),
		may("code_flags", func(v value) {
			word, _ := r.word(v, "deny", "ask")
			p.CodeFlags = word == "ask"
		}),
		may("workspace_programs", func(v value) { p.Workspace = r.boolean(v) }),
		may("shell", func(v value) { p.Shell = r.boolean(v) }),
		may("cpu_time", func(v value) { p.CPU = r.duration(v, minCPU, MaxEffect) }),
		may("memory", func(v value) { p.Memory = r.size(v, minMemory, maxMemory) }),
	)
	return p
}

// program is a name or an absolute path; which file that is turns out when it is run.
func (r *reading) program(v value) (string, bool) {
	s, ok := r.text(v, maxPathLength)
	switch {
	case !ok:
		return "", false
	case strings.ContainsAny(s, "\n\t") || s != strings.TrimSpace(s):
		r.fault(v.at, "%s has spaces around it, or a line break or tab in it", v.name)
	case s == AnyProgram:
		return s, true
	case strings.ContainsAny(s, "*?$~"):
		r.fault(v.at, "%s is %s; patterns and variables are not expanded: write each program, or %q alone for any", v.name, quote(s), AnyProgram)
	case strings.HasPrefix(s, "/") && path.Clean(s) == s:
		return s, true
	case strings.ContainsAny(s, `/\`):
		r.fault(v.at, "%s is %s; write a name such as git, or a whole path such as /usr/bin/git", v.name, quote(s))
	case strings.Contains(s, " "):
		r.fault(v.at, "%s is %s; write the program alone: what it is told is approved with each call", v.name, quote(s))
	default:
		return s, true
	}
	return "", false
}

func (r *reading) workdir(v value) string {
	s, ok := r.text(v, maxPathLength)
	if ok && (strings.HasPrefix(s, "/") || strings.ContainsAny(s, "\\\n\t~$") || path.Clean(s) != s || s == ".." || strings.HasPrefix(s, "../")) {
		r.fault(r.begin(v.node), "%s is %s; write a folder below the workspace, as in src", v.name, quote(s))
		return "."
	}
	if !ok {
		return "."
	}
	return s
}

func (r *reading) variable(v value) (string, bool) {
	s, ok := r.text(v, 200)
	if !ok {
		return "", false
	}
	if !command.ValidVariable(s) {
		r.fault(v.at, "%s is %s, which is no name of a variable such as CI", v.name, quote(s))
		return "", false
	}
	if slices.Contains(command.Passed(), s) {
		r.fault(v.at, "%s: every program gets %s; remove the line", v.name, s)
		return "", false
	}
	if why, refused := command.RefusedVariable(s); refused {
		r.fault(v.at, "%s: %s %s, so that nobody may set it; remove the line", v.name, s, why)
		return "", false
	}
	return s, true
}

func (p Process) clone() Process {
	p.Programs, p.Environment = slices.Clone(p.Programs), slices.Clone(p.Environment)
	return p
}
