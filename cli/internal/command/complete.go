package command

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completionFlag is what the shell's completion appends to an unfinished line.
const completionFlag = "--generate-bash-completion"

// completes reports whether a line asks how it might go on, and gives the line without that question.
func completes(args []string) ([]string, bool) {
	if len(args) == 0 || args[len(args)-1] != completionFlag {
		return nil, false
	}
	return args[:len(args)-1], true
}

// next is what may come behind an unfinished line.
type next struct {
	words []string // commands or flags
	value string   // else what kind of value, as usage texts call it: CORE, TOOL; "" where only the user knows
	home  string   // that the line names, or ""
	of    string   // the operand in front of this one, or ""
}

// complete says what may come next. It reads the tree and nothing else: whatever stands on an unfinished line, no action
// runs.
func complete(app *cli.App, args []string) next {
	l := line{app: app, commands: app.Commands}
	var n next
	rest := args[min(1, len(args)):]
	for i, arg := range rest {
		last := i == len(rest)-1
		name, dashed := strings.CutPrefix(arg, "-")
		name = strings.TrimPrefix(name, "-")
		switch {
		case arg == "--":
			return next{}
		case l.awaits(rest[:i]) != nil: // a flag's value, whatever it looks like
			if strings.TrimLeft(rest[i-1], "-") == "home" {
				n.home = arg
			}
		case dashed && last && !strings.Contains(name, "="):
			if f, _ := l.find(name); f == nil || !takesValue(f) {
				return next{words: l.flagsFrom(name)}
			}
		case dashed:
			if home, ok := strings.CutPrefix(name, "home="); ok {
				n.home = home
			}
		case len(l.commands) == 0:
			l.operands = append(l.operands, arg)
		default:
			for _, c := range l.commands {
				if c.HasName(arg) {
					l.current, l.commands = c, c.Subcommands
					break
				}
			}
		}
	}
	if f := l.awaits(rest); f != nil {
		n.value = placeholder(f)
	} else if n.words = commandNames(l.commands); len(n.words) == 0 && l.current != nil {
		n.value, n.of = l.operand()
	}
	return n
}

// awaits is the flag that ends words and whose value comes next, or nil.
func (l *line) awaits(words []string) cli.Flag {
	if len(words) == 0 {
		return nil
	}
	last := words[len(words)-1]
	if len(last) < 2 || last[0] != '-' || strings.Contains(last, "=") {
		return nil
	}
	if f, _ := l.find(strings.TrimLeft(last, "-")); f != nil && takesValue(f) {
		return f
	}
	return nil
}

// operand is what the command calls the operand that comes next, and the one in front of it.
func (l *line) operand() (value, of string) {
	wanted := strings.Fields(l.current.ArgsUsage)
	at := len(l.operands)
	if at > 0 {
		of = l.operands[0]
	}
	if many := len(wanted) - 1; many >= 0 && at > many && strings.HasSuffix(strings.Trim(wanted[many], "[]"), "...") {
		at = many
	}
	if at >= len(wanted) {
		return "", ""
	}
	return strings.TrimSuffix(strings.Trim(wanted[at], "[]"), "..."), of
}

// placeholder is what a flag's usage calls its value.
func placeholder(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return ""
	}
	_, rest, _ := strings.Cut(d.GetUsage(), "`")
	name, _, _ := strings.Cut(rest, "`")
	return name
}

// flagsFrom are the flags that may be typed here and begin with prefix.
func (l *line) flagsFrom(prefix string) []string {
	var out []string
	for _, name := range append(l.names(), "help") {
		if flag := "--" + name; len(name) > 1 && strings.HasPrefix(name, prefix) && !slices.Contains(out, flag) {
			out = append(out, flag)
		}
	}
	return out
}
