package command

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/policy/spelling"
)

// order moves flags in front of operands, where urfave/cli expects them: global ones behind the program's name, a
// command's own behind the command. It knows the tree, so a flag's value is never taken for an operand, and it finds
// unknown commands and flags with the nearest that exist. Everything behind "--" is an operand.
func order(app *cli.App, args []string) ([]string, error) {
	l := line{app: app, commands: app.Commands, path: []string{app.Name}}
	rest := args[min(1, len(args)):]
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		var err error
		switch {
		case arg == "--":
			l.operands = append(l.operands, rest...)
			rest = nil
		case len(arg) > 1 && arg[0] == '-':
			rest, err = l.flag(arg, rest)
		default:
			err = l.word(arg)
		}
		if err != nil {
			return nil, err
		}
	}
	if l.help && l.current == nil {
		l.global = append(l.global, "--help")
	} else if l.help {
		l.local = append(l.local, "--help")
	}
	if len(l.operands) > 0 {
		l.local = append(append(l.local, "--"), l.operands...)
	}
	return slices.Concat(l.path[:1], l.global, l.path[1:], l.local), nil
}

// line is a command line as far as it was read.
type line struct {
	app                     *cli.App
	commands                []*cli.Command // what may follow path
	current                 *cli.Command   // nil at the top
	path                    []string       // the program's name and the commands
	help                    bool
	global, local, operands []string
}

// word is a command's name while there are commands to choose from, else an operand.
func (l *line) word(arg string) error {
	if len(l.commands) == 0 {
		l.operands = append(l.operands, arg)
		return nil
	}
	if l.current == nil && arg == "help" && !l.help {
		l.help = true // `portcullis help call` is `portcullis call --help`
		return nil
	}
	for _, c := range l.commands {
		if c.HasName(arg) {
			l.path, l.current, l.commands = append(slices.Clone(l.path), arg), c, c.Subcommands
			return nil
		}
	}
	p := usage("%s has no command %q", strings.Join(l.path, " "), arg)
	if near := spelling.Nearest(arg, commandNames(l.commands)); near != "" {
		p.Remedy = "did you mean `" + strings.Join(append(slices.Clone(l.path), near), " ") + "`?"
		return p
	}
	p.Remedy = "its commands: " + strings.Join(commandNames(l.commands), ", ")
	return p
}

// flag takes one flag, and its value when it has one.
func (l *line) flag(arg string, rest []string) ([]string, error) {
	name, _, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	found, global := l.find(name)
	if found == nil {
		p := usage("%s has no flag %s", strings.Join(l.path, " "), arg[:len(arg)-len(strings.TrimLeft(arg, "-"))]+name)
		p.Remedy = "`" + strings.Join(l.path, " ") + " --help` lists its flags; put `--` before an operand that begins with a dash"
		if near := spelling.Nearest(name, l.names()); name == "version" || name == "v" {
			p.Remedy = "type `" + l.app.Name + " version`"
		} else if near != "" {
			p.Remedy = "did you mean --" + near + "?"
		}
		return nil, p
	}
	taken := []string{arg}
	if takesValue(found) && !joined {
		if len(rest) == 0 || l.isFlag(rest[0]) {
			p := usage("flag --%s needs a value", name)
			p.Remedy = "type it behind the flag: --" + name + "=VALUE"
			return nil, p
		}
		taken, rest = append(taken, rest[0]), rest[1:]
	}
	if global {
		l.global = append(l.global, taken...)
	} else {
		l.local = append(l.local, taken...)
	}
	return rest, nil
}

// isFlag reports whether a word that stands where a value belongs is a flag of this very line.
func (l *line) isFlag(word string) bool {
	name, ok := strings.CutPrefix(word, "--")
	if !ok {
		return false
	}
	name, _, _ = strings.Cut(name, "=")
	found, _ := l.find(name)
	return found != nil
}

// find looks for a flag of the current command, then for a global one.
func (l *line) find(name string) (f cli.Flag, global bool) {
	if name == "help" || name == "h" {
		return cli.HelpFlag, l.current == nil
	}
	if l.current != nil {
		if f := named(l.current.Flags, name); f != nil {
			return f, false
		}
	}
	f = named(l.app.Flags, name)
	return f, f != nil
}

func named(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// names are the flags that the current command takes.
func (l *line) names() []string {
	var out []string
	flags := slices.Clone(l.app.Flags)
	if l.current != nil {
		flags = append(flags, l.current.Flags...)
	}
	for _, f := range flags {
		out = append(out, f.Names()...)
	}
	return out
}

func commandNames(commands []*cli.Command) []string {
	var out []string
	for _, c := range commands {
		if !c.Hidden {
			out = append(out, c.Name)
		}
	}
	return out
}
