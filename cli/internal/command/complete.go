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

// complete is the words that may come next. It reads the tree and nothing else: whatever stands on an unfinished line,
// no action runs. Where only the user knows what comes next (operands, a flag's value, anything behind "--") there are
// no words.
func complete(app *cli.App, args []string) []string {
	l := line{app: app, commands: app.Commands}
	rest := args[min(1, len(args)):]
	for i, arg := range rest {
		last := i == len(rest)-1
		name, dashed := strings.CutPrefix(arg, "-")
		name = strings.TrimPrefix(name, "-")
		switch {
		case arg == "--":
			return nil
		case l.awaitsValue(rest[:i]):
			// a flag's value, whatever it looks like
		case dashed && last:
			if f, _ := l.find(name); f == nil || !takesValue(f) {
				return l.flagsFrom(name)
			}
		case dashed:
		default:
			for _, c := range l.commands {
				if c.HasName(arg) {
					l.current, l.commands = c, c.Subcommands
					break
				}
			}
		}
	}
	if l.awaitsValue(rest) {
		return nil
	}
	return commandNames(l.commands)
}

// awaitsValue reports whether what follows words is the value of a flag that ends them.
func (l *line) awaitsValue(words []string) bool {
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	if len(last) < 2 || last[0] != '-' || strings.Contains(last, "=") {
		return false
	}
	f, _ := l.find(strings.TrimLeft(last, "-"))
	return f != nil && takesValue(f)
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
