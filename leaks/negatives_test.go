package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

// literals are the texts of one kind of list in the source of the rules of gitleaks: "fps" are those that a rule must not
// take for a secret, "tps" those that it must.
func literals(t *testing.T, list string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/zricethezav/gitleaks/v8").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "cmd", "generate", "config", "rules", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	var all []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
				return true
			}
			name, named := a.Lhs[0].(*ast.Ident)
			lit, isList := a.Rhs[0].(*ast.CompositeLit)
			if !named || !isList || name.Name != list {
				return true
			}
			for _, e := range lit.Elts {
				if text, ok := constant(e); ok {
					all = append(all, text)
				}
			}
			return true
		})
	}
	return all
}

// constant is the text of a literal, or of several put together.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		x, ok := constant(e.X)
		y, also := constant(e.Y)
		return x + y, ok && also && e.Op == token.ADD
	case *ast.ParenExpr:
		return constant(e.X)
	}
	return "", false
}

// missed is a text that the rules of gitleaks mark as a secret which they should find and do not.
const missed = "MailchimpSDK.initialize(token: 3012a5754bbd716926f99c028f7ea428-us18)"

// The detectors mask nothing that is no secret to another tool. What a rule of it must leave and another one of its rules
// takes for a secret is none of those.
func TestNegativesOfAnotherScannerStay(t *testing.T) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	all, secrets, masked := literals(t, "fps"), 0, 0
	for _, s := range all {
		if s == missed || len(d.DetectString(s)) > 0 {
			secrets++
			continue
		}
		v, err := redact.Build(redact.Set{}, redact.DefaultBounds(), redact.Text(s))
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Found) > 0 || v.Durable.String() != s {
			masked++
			t.Errorf("changed, found %v: %q", v.Found, s)
		}
	}
	t.Logf("gitleaks negatives: %d of %d unchanged; %d more are secrets to another of its rules", len(all)-secrets-masked, len(all)-secrets, secrets)
	if len(all)-secrets < 275 {
		t.Errorf("only %d of %d are looked at", len(all)-secrets, len(all))
	}
}

// What the detectors find of what another tool must find, and with no name beside it: to be stricter about what is none
// must not cost any of that.
func TestPositivesOfAnotherScannerAreFound(t *testing.T) {
	const least = 51
	all, found := literals(t, "tps"), 0
	for _, s := range all {
		v, err := redact.Build(redact.Set{}, redact.DefaultBounds(), redact.Text(s))
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Found) > 0 {
			found++
		}
	}
	t.Logf("gitleaks positives: %d of %d masked", found, len(all))
	if found < least {
		t.Errorf("%d are masked, and were %d", found, least)
	}
}

// Go's own sources are ordinary text: code, prose, test data. A line of them is masked once in some ten thousand.
func TestLinesOfGoStay(t *testing.T) {
	lines, masked, code := 0, 0, 0
	err := filepath.WalkDir(filepath.Join(runtime.GOROOT(), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			lines++
			v, err := redact.BuildFor(redact.Set{}, redact.DefaultBounds(), redact.Text(line), redact.ForModel)
			if err != nil {
				return err
			}
			if len(v.Found) == 0 {
				continue
			}
			masked++
			if !strings.HasSuffix(path, "_test.go") {
				code++
			}
		}
		return nil
	})
	t.Logf("lines of Go: %d of %d masked, %d of them outside of tests", masked, lines, code)
	if err != nil || lines < 1_000_000 || masked*10_000 > lines {
		t.Errorf("%d of %d lines are masked, %v", masked, lines, err)
	}
}

// The look finds what is there, and says so.
func TestTheLookSeesWhatIsLeft(t *testing.T) {
	dir := t.TempDir()
	planted := filepath.Join(dir, "planted.txt")
	run := filepath.Join(dir, "run")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(planted, "fKd83jWq0zLp57\nq7Vd/9+xK\"2&p<L'm%3Zt=hRw\n")
	write(filepath.Join(run, "clean.log"), "nothing here\n")
	if n, err := look(run, planted); n != 0 || err != nil {
		t.Errorf("in a clean run: %d findings, %v", n, err)
	}
	write(filepath.Join(run, "portcullis.db"), "SQLite format 3\x00...\x00fKd83jWq0zLp57\x00")
	if n, err := look(run, planted); n == 0 || err != nil {
		t.Errorf("in a database with a value: %d findings, %v", n, err)
	}
	if _, err := look(filepath.Join(dir, "nothing"), planted); err == nil {
		t.Error("nothing to look at is no error")
	}
}
