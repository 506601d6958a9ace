package console

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/shellword"
)

// Typing is how a command of this program must be typed by the person who reads it, so that it acts on the same home
// and is found by their shell.
type Typing struct {
	Program string // "portcullis" when empty; "./portcullis" for a program that is not on PATH
	Home    string // the home that a flag named; "" when the standard one is meant
}

var (
	inSentence = regexp.MustCompile("(`)portcullis ([a-z])")
	onLine     = regexp.MustCompile("(?m)(^ *|`)portcullis ([a-z])")
)

// Sentence rewrites the commands between backticks of a text that is otherwise left alone.
func (y Typing) Sentence(text string) string { return y.rewrite(inSentence, text) }

// Remedy rewrites the commands between backticks and those that begin a line.
func (y Typing) Remedy(text string) string { return y.rewrite(onLine, text) }

func (y Typing) rewrite(command *regexp.Regexp, text string) string {
	as := y.Program
	if as == "" {
		as = "portcullis"
	}
	if y.Home != "" {
		as += " --home " + shellword.Quote(y.Home)
	}
	return command.ReplaceAllString(text, "${1}"+strings.ReplaceAll(as, "$", "$$")+" ${2}")
}

// typedAs tells how the program that was started as arg0 in dir is typed again: its bare name when PATH finds it, the
// `go run` that built it when its file is one of the go command's own, else the path as it was typed.
func typedAs(arg0, dir string) string {
	const name = "portcullis"
	slashed := filepath.ToSlash(arg0)
	switch {
	case !strings.Contains(slashed, "/"):
		return name
	case strings.Contains(slashed, "/go-build"):
		if matches, err := filepath.Glob(filepath.Join(dir, "cli", name, "main.go")); err == nil && len(matches) == 1 {
			return "go run ./cli/" + name
		}
		return name
	}
	if found, err := exec.LookPath(filepath.Base(arg0)); err == nil && filepath.Base(arg0) == name && found == arg0 {
		return name
	}
	return shellword.Quote(arg0)
}
