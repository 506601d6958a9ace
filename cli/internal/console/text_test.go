package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// tty is a buffer that passes for a terminal.
type tty struct {
	bytes.Buffer
	columns int
}

func (t *tty) Columns() int { return t.columns }

const hostile = "x\x1b[2J\u202e\n"

func TestEveryKindOfArgumentIsEscaped(t *testing.T) {
	var buf bytes.Buffer
	text := NewText(&buf, true, 0)
	text.Say("%s %v %s %d", hostile, errors.New(hostile), Bold(hostile), 7)
	text.Part("%v", []string{hostile})
	text.Table([]string{"a"}, [][]any{{hostile}, {Bad(hostile)}})
	text.Stream(hostile)
	text.Prose("  ", hostile)
	if n, err := Escaping(&buf).Write([]byte(hostile)); n != len(hostile) || err != nil {
		t.Errorf("Escaping: %d, %v", n, err)
	}
	out := buf.String()
	for _, own := range []string{"\x1b[1m", "\x1b[31m", "\x1b[0m"} {
		out = strings.ReplaceAll(out, own, "")
	}
	if strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("a terminal would obey: %q", out)
	}
	if want := "x‹U+001B›[2J‹U+202E›‹U+000A›"; strings.Count(out, want) != 6 {
		t.Errorf("want %q six times in %q", want, out)
	}
}

func TestColourOnlyOnATerminalThatWantsIt(t *testing.T) {
	for name, c := range map[string]struct {
		asJSON, colour, terminal bool
		want                     string
	}{
		"terminal": {false, true, true, "\x1b[32mok\x1b[0m\n"},
		"no-color": {false, false, true, "ok\n"},
		"pipe":     {false, true, false, "ok\n"},
	} {
		out := &tty{columns: 80}
		p := Process{Out: out, Err: out}
		if !c.terminal {
			p.Out, p.Err = &out.Buffer, &out.Buffer
		}
		NewPrinter(p, c.asJSON, c.colour).Out().Say("%s", Good("ok"))
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", name, out.String(), c.want)
		}
	}
}

func TestTableIsCutOnATerminalOnly(t *testing.T) {
	row := [][]any{{"calc", strings.Repeat("long ", 20)}}
	pipe, screen := new(bytes.Buffer), new(bytes.Buffer)
	NewText(pipe, false, 0).Table([]string{"id", "what"}, row)
	NewText(screen, false, 40).Table([]string{"id", "what"}, row)
	if !strings.HasPrefix(pipe.String(), "ID    WHAT\ncalc  long long") || !strings.Contains(pipe.String(), row[0][1].(string)[:99]) {
		t.Errorf("pipe: %q", pipe.String())
	}
	for line := range strings.SplitSeq(screen.String(), "\n") {
		if n := len([]rune(line)); n > 40 {
			t.Errorf("a row has %d columns: %q", n, line)
		}
	}
}

func TestAnswerIsOneDocumentThatATerminalShowsAsItIs(t *testing.T) {
	var out, notes bytes.Buffer
	p := NewPrinter(Process{Out: &out, Err: &notes}, true, true)
	if err := p.Answer(map[string]string{"reply": hostile}, func(*Text) { t.Error("text under --json") }); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got["reply"] != hostile {
		t.Errorf("document %q: %v", out.String(), err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("a terminal would obey: %q", out.String())
	}
}

func TestFailureHasPlaceMessageAndRemedy(t *testing.T) {
	f := &Problem{Code: "unknown_key", Message: "unknown key \"modle\"\x1b", Remedy: "remove it", File: "agent.yaml", Line: 3, Column: 5, Exit: ExitUsage}
	var out, notes bytes.Buffer
	if err := NewPrinter(Process{Out: &out, Err: &notes}, false, false).Fail(f); err != nil {
		t.Fatal(err)
	}
	if want := "portcullis: agent.yaml:3:5: unknown key \"modle\"‹U+001B›\n  remove it\n"; notes.String() != want || out.Len() != 0 {
		t.Errorf("text %q and %q, want %q", out.String(), notes.String(), want)
	}
	notes.Reset()
	if err := NewPrinter(Process{Out: &out, Err: &notes}, true, false).Fail(f); err != nil {
		t.Fatal(err)
	}
	var doc map[string]map[string]any
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if e := doc["error"]; e["code"] != "unknown_key" || e["file"] != "agent.yaml" || e["line"] != 3.0 || e["column"] != 5.0 || e["remedy"] != "remove it" || notes.Len() != 0 {
		t.Errorf("document %v, notes %q", doc, notes.String())
	}
}

func TestProblemWithoutAnExitCodeIsTheHosts(t *testing.T) {
	if got := (&Problem{}).ExitCode(); got != ExitHost {
		t.Errorf("exit code %d", got)
	}
}
