package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

func testTree() *cli.App {
	return &cli.App{
		Name:  "portcullis",
		Flags: []cli.Flag{&cli.StringFlag{Name: "home"}, &cli.BoolFlag{Name: "json"}},
		Commands: []*cli.Command{
			{Name: "call", ArgsUsage: "TOOL", Flags: []cli.Flag{&cli.StringFlag{Name: "args", Usage: "arguments as `JSON`, or @FILE"}, &cli.BoolFlag{Name: "fresh"}}},
			{Name: "plugin", Subcommands: []*cli.Command{
				{Name: "list"},
				{Name: "new", Flags: []cli.Flag{&cli.StringFlag{Name: "name"}}},
				{Name: "grant", ArgsUsage: "PLUGIN [CAPABILITY...]"},
			}},
		},
	}
}

func TestFlagsMayStandAnywhere(t *testing.T) {
	for in, want := range map[string]string{
		"portcullis call calc.eval --args {} --json":  "portcullis --json call --args {} -- calc.eval",
		"x --home h call --fresh a":                   "portcullis --home h call --fresh -- a",
		"portcullis call a --args=--json -- --fresh":  "portcullis call --args=--json -- a --fresh",
		"portcullis call a --args -":                  "portcullis call --args - -- a",
		"portcullis plugin new d --name n --home=/h":  "portcullis --home=/h plugin new --name n -- d",
		"portcullis call help":                        "portcullis call -- help",
		"portcullis help plugin new":                  "portcullis plugin new --help",
		"portcullis help":                             "portcullis --help",
		"portcullis -h":                               "portcullis -h",
		"portcullis plugin -h":                        "portcullis plugin -h",
		"portcullis":                                  "portcullis",
		"portcullis call -- a --json --generate-ba-c": "portcullis call -- a --json --generate-ba-c",
	} {
		got, err := order(testTree(), strings.Fields(in))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("order(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestWrongLinesSayWhatToType(t *testing.T) {
	for in, want := range map[string][2]string{
		"portcullis cal x":              {`portcullis has no command "cal"`, "did you mean `portcullis call`?"},
		"portcullis zebra":              {`portcullis has no command "zebra"`, "its commands: call, plugin"},
		"portcullis plugin lsit":        {`portcullis plugin has no command "lsit"`, "did you mean `portcullis plugin list`?"},
		"portcullis call --arg x":       {"portcullis call has no flag --arg", "did you mean --args?"},
		"portcullis call --zebra":       {"portcullis call has no flag --zebra", "`portcullis call --help` lists its flags; put `--` before an operand that begins with a dash"},
		"portcullis plugin --fresh":     {"portcullis plugin has no flag --fresh", "`portcullis plugin --help` lists its flags; put `--` before an operand that begins with a dash"},
		"portcullis call --args":        {"flag --args needs a value", "type it behind the flag: --args=VALUE"},
		"portcullis call --args --json": {"flag --args needs a value", "type it behind the flag: --args=VALUE"},
	} {
		_, err := order(testTree(), strings.Fields(in))
		var p *console.Problem
		if !errors.As(err, &p) || p.Message != want[0] || p.Remedy != want[1] || p.ExitCode() != console.ExitUsage {
			t.Errorf("order(%q) = %+v, want %q", in, p, want)
		}
	}
}

// TestOrderOfFlagsAndOperandsDoesNotMatter shuffles a line: what comes out is the same but for the order of the
// flags among themselves, and no word is lost.
func TestOrderOfFlagsAndOperandsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{1,8}`)
		operands := rapid.SliceOfN(word, 0, 4).Draw(t, "operands")
		flags := [][]string{{"--args", word.Draw(t, "value")}, {"--fresh"}, {"--json"}, {"--home=" + word.Draw(t, "home")}}
		parts := make([][]string, 0, len(operands)+len(flags))
		for _, o := range operands {
			parts = append(parts, []string{o})
		}
		at := rapid.SliceOfN(rapid.IntRange(0, len(operands)), len(flags), len(flags)).Draw(t, "at")
		args := []string{"portcullis", "call"}
		for i := range len(operands) + 1 {
			for f, place := range at {
				if place == i {
					args = append(args, flags[f]...)
				}
			}
			if i < len(operands) {
				args = append(args, parts[i]...)
			}
		}
		got, err := order(testTree(), args)
		if err != nil || len(got) < len(args) {
			t.Fatalf("order(%q) = %q, %v", args, got, err)
		}
		tail := []string{}
		if len(operands) > 0 {
			tail = got[len(got)-len(operands)-1:]
			if tail[0] != "--" {
				t.Fatalf("order(%q) = %q: no -- before the operands", args, got)
			}
			tail = tail[1:]
		}
		if !reflect.DeepEqual(tail, operands) && len(operands) > 0 {
			t.Fatalf("operands %q became %q", operands, tail)
		}
	})
}

func TestCompletionKnowsTheTree(t *testing.T) {
	for in, want := range map[string]next{
		"portcullis":                            {words: []string{"call", "plugin"}},
		"portcullis plugin":                     {words: []string{"list", "new", "grant"}},
		"portcullis --home plugin":              {words: []string{"call", "plugin"}, home: "plugin"},
		"portcullis --home":                     {},
		"portcullis plugin new":                 {},
		"portcullis plugin new --n":             {words: []string{"--name"}},
		"portcullis plugin new --name":          {},
		"portcullis call -":                     {words: []string{"--home", "--json", "--args", "--fresh", "--help"}},
		"portcullis call -- x":                  {},
		"portcullis --":                         {},
		"portcullis call --args -- -":           {},
		"portcullis nothing":                    {words: []string{"call", "plugin"}},
		"portcullis call x --generate-bash-com": {},
		"portcullis call --args={} --fresh=":    {value: "TOOL"},
		"portcullis call":                       {value: "TOOL"},
		"portcullis call --fresh --home=h":      {value: "TOOL", home: "h"},
		"portcullis call --args":                {value: "JSON"},
		"portcullis call x":                     {},
		"portcullis plugin grant":               {value: "PLUGIN"},
		"portcullis plugin grant web":           {value: "CAPABILITY", of: "web"},
		"portcullis plugin grant web a b":       {value: "CAPABILITY", of: "web"},
	} {
		if got := complete(testTree(), strings.Fields(in)); !reflect.DeepEqual(got, want) {
			t.Errorf("complete(%q) = %+v, want %+v", in, got, want)
		}
	}
}

// Whatever is on the line and wherever "--" stands, asking how it goes on runs nothing: every command of these would
// at least make a home or say that there is none.
func TestCompletionRunsNothing(t *testing.T) {
	dir := t.TempDir()
	words := []string{"--", "run", "init", "doctor", "hello", "--home", "--json", "--script=x", "-", "call", "--args", "{}", "--home=h"}
	rapid.Check(t, func(t *rapid.T) {
		line := append([]string{"portcullis"}, rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "line")...)
		var out, notes bytes.Buffer
		p := console.Process{In: strings.NewReader(""), Out: &out, Err: &notes, Dir: dir, Env: func(string) string { return dir }}
		code := Main(context.Background(), append(line, completionFlag), p)
		left, err := os.ReadDir(dir)
		if code != console.ExitDone || notes.Len() > 0 || err != nil || len(left) > 0 || strings.ContainsAny(out.String(), " {") {
			t.Fatalf("completing %q: exit code %d, %q, %q, left %v (%v)", line, code, out.String(), notes.String(), left, err)
		}
	})
}

// Go's HTTP client prints what a server sends unasked with the standard logger: it has no place to print to.
func TestTheStandardLoggerSaysNothing(t *testing.T) {
	p := console.System()
	p.Out, p.Err = io.Discard, io.Discard
	if code := Main(t.Context(), []string{"portcullis", "version"}, p); code != console.ExitDone || log.Writer() != io.Discard {
		t.Errorf("exit %d, and the logger writes to %v", code, log.Writer())
	}
}
