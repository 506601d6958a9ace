package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
)

//go:generate go test -run TestReferenceIsCurrent . -update

// update makes TestReferenceIsCurrent write docs/cli.md before it compares it.
var update = flag.Bool("update", false, "write docs/cli.md")

// TestReferenceIsCurrent holds docs/cli.md to the commands as they are. `go generate` writes it.
func TestReferenceIsCurrent(t *testing.T) {
	path := filepath.Join(conformancetest.Root(t), "docs", "cli.md")
	want := reference((&shell{}).tree())
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/cli.md is not what the commands say: run `go generate ./cli/internal/command`")
	}
}

const referenceHead = `# Command line

Written by ` + "`go generate ./cli/internal/command`" + ` from the commands themselves.

Flags may stand anywhere, also behind operands; ` + "`--`" + ` ends them. The answer goes to standard output, notes, progress, questions
and logs to standard error. With ` + "`--json`" + ` the answer is one JSON document, for failures too:

    {"error": {"code": "...", "message": "...", "remedy": "...", "file": "...", "line": 1, "column": 1}}

A list is one document too: its elements, newest first where they have a time, and for those that page whether there are more,
which ` + "`--skip`" + ` goes on with:

    {"sessions": [...], "more": true}

| Exit code | Meaning |
|---|---|
| 0 | done |
| 1 | it ran, and the answer is no: a failed turn, a denied effect, a failed check |
| 2 | the command or the configuration is wrong; nothing was done |
| 3 | the host could not do its job |
| 130 | a second Ctrl-C ended the process while the first was still being obeyed |
| 141 | who read the answer, such as ` + "`head`" + ` behind a pipe, left before all of it was out |

What tools, models and files say is never obeyed by the terminal: in text, a character that a terminal would obey, or that
nobody could see, stands as its code point, ‹U+001B›, and a byte that is not UTF-8 as ‹0xFF›. Line breaks, tabs and the joiners
that some scripts need stay in replies and other texts of several lines. In a JSON document such characters are \u escapes,
which a JSON reader reads as the same character.

| Variable | Meaning |
|---|---|
| ` + "`PORTCULLIS_HOME`" + ` | the home, unless ` + "`--home`" + ` names one |
| ` + "`PORTCULLIS_CACHE`" + ` | an absolute folder for compiled plugins, instead of ` + "`cache/`" + ` below the home, and of ` + "`portcullis/compiled`" + ` below the user's cache folder for builds and the quickstart |
| ` + "`NO_COLOR`" + ` | print no colours; so does ` + "`TERM=dumb`" + ` |

`

// reference is the whole command line as a document.
func reference(app *cli.App) []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	b.WriteString("## Flags of every command\n\n")
	writeFlags(&b, app.Flags)
	for _, c := range app.Commands {
		writeCommand(&b, "portcullis", c)
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

func writeCommand(b *bytes.Buffer, above string, c *cli.Command) {
	line := above + " " + c.Name
	fmt.Fprintf(b, "## %s\n\n%s%s.\n\n", line, strings.ToUpper(c.Usage[:1]), c.Usage[1:])
	if len(c.Subcommands) == 0 {
		usage := line
		if len(c.Flags) > 0 {
			usage += " [flags]"
		}
		fmt.Fprintf(b, "    %s\n\n", strings.TrimSpace(usage+" "+c.ArgsUsage))
	}
	if c.Description != "" {
		fmt.Fprintf(b, "%s\n\n", strings.ReplaceAll(c.Description, "\n   ", "\n    "))
	}
	writeFlags(b, c.Flags)
	for _, sub := range c.Subcommands {
		writeCommand(b, line, sub)
	}
}

func writeFlags(b *bytes.Buffer, flags []cli.Flag) {
	if len(flags) == 0 {
		return
	}
	b.WriteString("| Flag | Meaning | Default |\n|---|---|---|\n")
	for _, f := range flags {
		d := f.(cli.DocGenerationFlag)
		placeholder, words := "", d.GetUsage()
		if quoted := regexp.MustCompile("`([^`]+)`").FindStringSubmatch(words); quoted != nil && d.TakesValue() {
			placeholder, words = " "+quoted[1], strings.Replace(words, quoted[0], quoted[1], 1)
		}
		standard := d.GetDefaultText()
		if !d.TakesValue() {
			standard = ""
		}
		fmt.Fprintf(b, "| `--%s%s` | %s | %s |\n", f.Names()[0], placeholder, strings.ReplaceAll(words, "|", `\|`), standard)
	}
	b.WriteString("\n")
}

// TestEveryCommandThatIsNamedExists looks for `portcullis ...` in all sentences and documents of the repository and
// holds it against the commands: what a refusal tells a person to type must be there to type.
func TestEveryCommandThatIsNamedExists(t *testing.T) {
	named := regexp.MustCompile("`portcullis ([a-z][^`\\n]*)`")
	later := []string{"mcp", "conformance", "tenant", "token", "inbox"} // DESIGN names them; they are not built yet
	root, app, checked := conformancetest.Root(t), (&shell{}).tree(), 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".md" && ext != ".yaml" && ext != ".tmpl" || strings.HasSuffix(path, "order_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			words := strings.Fields(string(m[1]))
			if slices.Contains(later, words[0]) {
				continue
			}
			checked++
			if complaint := unknown(app, words); complaint != "" {
				name, _ := filepath.Rel(root, path)
				t.Errorf("%s names `portcullis %s`: %s", name, m[1], complaint)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 50 {
		t.Errorf("only %d commands were found to check: does the search still work?", checked)
	}
}

// unknown says what is wrong with the commands and flags of a line. Operands are placeholders and not looked at.
func unknown(app *cli.App, words []string) string {
	commands, flags, value := app.Commands, app.Flags, false
	for i, w := range words {
		if value || i == 0 && w == "help" {
			value = false
			continue
		}
		name, isFlag := strings.CutPrefix(w, "--")
		name, _, holds := strings.Cut(name, "=")
		switch {
		case isFlag && name == "":
			return ""
		case isFlag:
			flag := named(append(flags, cli.HelpFlag), name)
			if flag == nil {
				return "there is no flag --" + name
			}
			value = !holds && takesValue(flag)
		case !isFlag && len(commands) > 0:
			i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(w) })
			if i < 0 {
				return "there is no command " + w
			}
			flags, commands = append(slices.Clone(flags), commands[i].Flags...), commands[i].Subcommands
		}
	}
	return ""
}

// TestEveryCommandHasHelp runs --help of every command in this process.
func TestEveryCommandHasHelp(t *testing.T) {
	var walk func(path []string, c *cli.Command)
	walk = func(path []string, c *cli.Command) {
		path = append(slices.Clone(path), c.Name)
		var out, notes bytes.Buffer
		p := console.Process{In: strings.NewReader(""), Out: &out, Err: &notes, Env: func(string) string { return "" }, Dir: t.TempDir()}
		if code := Main(context.Background(), append(append([]string{"portcullis"}, path...), "--help"), p); code != console.ExitDone || !strings.Contains(out.String(), c.Usage) || notes.Len() > 0 {
			t.Errorf("%s --help: exit code %d\n%s%s", strings.Join(path, " "), code, out.String(), notes.String())
		}
		for _, sub := range c.Subcommands {
			walk(path, sub)
		}
	}
	for _, c := range (&shell{}).tree().Commands {
		walk(nil, c)
	}
}
