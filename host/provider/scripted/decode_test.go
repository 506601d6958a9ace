package scripted_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/scripted"
)

func TestAWrongScriptIsRefusedWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text         string
		line, column int
		want         string
	}{
		"empty":               {"", 0, 0, "exactly one YAML document"},
		"two documents":       {"version: 1\nsteps: [{say: x}]\n---\nversion: 1\n", 0, 0, "exactly one YAML document"},
		"no version":          {"steps: [{say: x}]\n", 0, 0, "version: 1"},
		"later version":       {"version: 2\nsteps: [{say: x}]\n", 0, 0, "version: 1"},
		"no steps":            {"version: 1\n", 0, 0, "at least one step"},
		"steps not a list":    {"version: 1\nsteps: {say: x}\n", 2, 9, "at least one step"},
		"empty steps":         {"version: 1\nsteps: []\n", 2, 8, "at least one step"},
		"unknown key":         {"version: 1\nstepz: []\n", 2, 1, "unknown field \"stepz\""},
		"unknown key in step": {"version: 1\nsteps:\n  - say: x\n    sya: y\n", 4, 5, "unknown field \"sya\""},
		"unknown expectation": {"version: 1\nsteps:\n  - say: x\n    expect:\n      last_user:\n        contain: y\n", 6, 9, "unknown field \"contain\""},
		"unknown in a result": {"version: 1\nsteps:\n  - say: x\n    expect:\n      tool_result: [{nam: y}]\n", 5, 22, "unknown field \"nam\""},
		"repeated key":        {"version: 1\nsteps:\n  - say: x\n    say: y\n", 4, 5, "already defined"},
		"syntax":              {"version: 1\nsteps: [\n", 2, 8, "sequence end token"},
		"anchor":              {"version: 1\nsteps:\n  - &a {say: x}\n", 3, 5, "anchors"},
		"alias":               {"version: 1\nmodel: &m x\nsteps:\n  - say: *m\n", 2, 8, "anchors"},
		"tag":                 {"version: 1\nsteps:\n  - say: !!str x\n", 3, 10, "tags"},
		"wrong type":          {"version: 1\nsteps:\n  - say: [x]\n", 3, 10, "string"},
		"step is a text":      {"version: 1\nsteps:\n  - hello\n", 3, 5, ""},
		"no action":           {"version: 1\nsteps:\n  - say: x\n  - note: y\n", 4, 5, "0 actions"},
		"two actions":         {"version: 1\nsteps:\n  - say: x\n    call: [{tool: a.b}]\n", 3, 5, "2 actions"},
		"empty say":           {"version: 1\nsteps:\n  - say: ''\n", 3, 5, "say is empty"},
		"null say":            {"version: 1\nsteps:\n  - say:\n", 3, 5, "0 actions"},
		"empty call":          {"version: 1\nsteps:\n  - call: []\n", 3, 5, "empty list"},
		"call without tool":   {"version: 1\nsteps:\n  - call: [{args: {a: 1}}]\n", 3, 5, "names no tool"},
		"two kinds of args":   {"version: 1\nsteps:\n  - call: [{tool: a.b, args: {a: 1}, args_text: x}]\n", 3, 5, "both args"},
		"args not JSON":       {"version: 1\nsteps:\n  - call: [{tool: a.b, args: {a: .nan}}]\n", 3, 5, "cannot be written as JSON"},
		"text with say":       {"version: 1\nsteps:\n  - say: x\n    text: y\n", 3, 5, "text goes with call"},
		"finish with error":   {"version: 1\nsteps:\n  - error: {kind: auth}\n    finish: stop\n", 3, 5, "no meaning beside error"},
		"unknown finish":      {"version: 1\nsteps:\n  - say: x\n    finish: tool_calls\n", 3, 5, "not known"},
		"unknown error":       {"version: 1\nsteps:\n  - error: {kind: canceled}\n", 3, 5, "can simulate"},
		"error without kind":  {"version: 1\nsteps:\n  - error: {status: 500}\n", 3, 5, "can simulate"},
		"bad status":          {"version: 1\nsteps:\n  - error: {kind: auth, status: 900}\n", 3, 5, "HTTP status"},
		"negative wait":       {"version: 1\nsteps:\n  - error: {kind: auth, retry_after: -1s}\n", 3, 5, "negative"},
		"no chunks":           {"version: 1\nsteps:\n  - say: x\n    chunks: 0\n", 3, 5, "chunks"},
		"negative usage":      {"version: 1\nsteps:\n  - say: x\n    usage: {input: -1}\n", 3, 5, "negative"},
		"negative limits":     {"version: 1\nlimits: {max_output: -1}\nsteps: [{say: x}]\n", 0, 0, "negative limits"},
		"no room in limits":   {"version: 1\nlimits: {context_window: 10, max_output: 10}\nsteps: [{say: x}]\n", 0, 0, "leave no room"},
		"empty expectation":   {"version: 1\nsteps:\n  - say: x\n    expect: {not_contains: ''}\n", 3, 5, "empty text"},
		"lone return":         {"version: 1\r\rsteps: []\n", 0, 0, "without a line feed"},
		"too large":           {"version: 1\n#" + strings.Repeat("x", 1<<20), 0, 0, "larger than"},
	} {
		_, err := scripted.Parse("bad.yaml", []byte(c.text))
		var e *scripted.SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		if e.Line != c.line || e.Column != c.column || !strings.Contains(e.Sentence, c.want) || strings.Contains(e.Error(), "\n") {
			t.Errorf("%s: got %v, want line %d column %d with %q", name, e, c.line, c.column, c.want)
		}
	}
}

func TestAScriptFileIsReadOnlyToItsBound(t *testing.T) {
	path := t.TempDir() + "/big.yaml"
	if err := os.WriteFile(path, []byte("version: 1\n#"+strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := scripted.Load(path); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestNestingIsBoundedBeforeParsing(t *testing.T) {
	indented := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}
	for name, c := range map[string]struct{ fits, deep string }{
		"brackets": {"[" + strings.Repeat("[", 62) + strings.Repeat("]", 63), strings.Repeat("[", 65)},
		"braces":   {"{a: [" + strings.Repeat("{a: 1}, ", 200) + "]}", strings.Repeat("{a: ", 65)},
		"dashes":   {strings.Repeat("- ", 60) + "x", strings.Repeat("- ", 65) + "x"},
		"marks":    {"- x", strings.Repeat("? ", 65) + "x"},
		"indent":   {indented(60), indented(70)},
	} {
		var e *scripted.SyntaxError
		if _, err := scripted.Parse("x.yaml", []byte(c.deep)); !errors.As(err, &e) || !strings.Contains(e.Sentence, "64 levels") || e.Line == 0 {
			t.Errorf("%s: deep: %v", name, err)
		}
		if _, err := scripted.Parse("x.yaml", []byte(c.fits)); err == nil || strings.Contains(err.Error(), "64 levels") {
			t.Errorf("%s: fits: %v", name, err)
		}
	}
}

// FuzzParse: a script that is accepted has at least one step, every step does
// exactly one thing, and doing it gives either a sound answer or a typed error.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("testdata/calculator.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	for _, s := range []string{
		"version: 1\nsteps: [{say: x}]", "version: 1\nsteps: [{call: [{tool: a.b}]}]", "version: 1\nsteps: [{error: {kind: auth}}]",
		"version: 1\nsteps:\n- say: |\n    x\n  chunks: 9\n", "- a\n- b", "{", "a: &a [*a]", "version: 1\nsteps: [{say: x, <<: {}}]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		script, err := scripted.Parse("fuzz.yaml", []byte(text))
		if err != nil {
			var e *scripted.SyntaxError
			if !errors.As(err, &e) || script != nil {
				t.Fatalf("%v (%T) beside %v", err, err, script)
			}
			return
		}
		if script.Steps() == 0 {
			t.Fatal("accepted without a step")
		}
		for i, n := range script.Actions() {
			if n != 1 {
				t.Errorf("step %d has %d actions", i+1, n)
			}
		}
		m := script.Model()
		resp, err := m.Generate(t.Context(), request(provider.User("q")), nil)
		var e *provider.Error
		switch {
		case err == nil:
			said, called := resp.Text() != "", len(resp.Calls()) > 0
			if !said && !called {
				t.Errorf("a step did nothing: %+v", resp)
			}
		case !errors.As(err, &e):
			t.Errorf("untyped error %v", err)
		case len(resp.Parts) > 0:
			t.Errorf("an answer beside %v", err)
		}
	})
}
