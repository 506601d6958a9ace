package crash

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// named lists the failpoints of the source: each name in a call of failpoint.Hit, and the three of each function that
// writes to the store, which Hit is given as a variable.
func named(t *testing.T) []string {
	t.Helper()
	var all []string
	files := token.NewFileSet()
	for _, root := range []string{"../../host", "../../store/sqlite"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "failpoint") {
				return err
			}
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, decl := range f.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok {
					all = append(all, inFunc(fn, filepath.Base(filepath.Dir(path)))...)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	if twice := slices.Compact(slices.Clone(all)); len(twice) != len(all) {
		t.Errorf("a failpoint's name is used twice: %q", all)
	}
	return all
}

func inFunc(fn *ast.FuncDecl, dir string) (all []string) {
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on, _ := sel.X.(*ast.Ident)
		switch {
		case on == nil:
		case on.Name == "failpoint" && sel.Sel.Name == "Hit":
			if lit, ok := call.Args[0].(*ast.BasicLit); ok {
				if name, err := strconv.Unquote(lit.Value); err == nil {
					all = append(all, name)
				}
			}
		case dir == "sqlite" && on.Name == "s" && (sel.Sel.Name == "write" || sel.Sel.Name == "behind"):
			for _, stage := range []string{"begin", "ran", "committed"} {
				all = append(all, "sqlite."+fn.Name.Name+"."+stage)
			}
		}
		return true
	})
	return all
}

var withPoints = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "portcullis-crash-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "crash.test")
	build := exec.Command("go", "test", "-c", "-tags", "failpoint", "-o", out, ".")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return out, nil
})

func TestEveryFailpoint(t *testing.T) {
	exe, err := withPoints()
	if err != nil {
		t.Fatal(err)
	}
	names := named(t)
	if len(names) < 40 {
		t.Errorf("%d failpoints in the source, at least 40 are wanted", len(names))
	}
	dir := t.TempDir()
	hits := filepath.Join(dir, "hits")
	if e := run(t, fresh(t, dir), exe, []string{"PORTCULLIS_FAILPOINT_HITS=" + hits}); e.killed || e.failed {
		t.Fatalf("the child with nothing armed: %+v", e)
	}
	text, err := os.ReadFile(hits)
	if err != nil {
		t.Fatal(err)
	}
	reached := strings.Fields(string(text))
	for _, name := range names {
		if !slices.Contains(reached, name) {
			t.Errorf("failpoint %s is never reached: a write of the store that no test of this package uses?", name)
		}
	}
	for _, name := range reached {
		if !slices.Contains(names, name) {
			t.Errorf("failpoint %s is reached and not in the list made from the source", name)
		}
	}
	for _, mode := range []string{"kill", "error", "delay"} {
		sum, step := &tally{}, 1
		if mode != "kill" {
			step = stride(t, 8)
		}
		each(step, func(n int) bool {
			if n > len(names) {
				return false
			}
			sum.visit(t, exe, names[n-1], mode)
			return true
		})
		visits := (len(names) + step - 1) / step
		sum.report(t, fmt.Sprintf("%s at %d failpoints", mode, visits))
		ended := map[string]int{"kill": sum.killed, "delay": sum.ok}[mode]
		if mode != "error" && ended != visits {
			t.Errorf("%s: %d of %d children ended so", mode, ended, visits)
		}
	}
}

// visit arms one point and holds what the child leaves behind.
func (y *tally) visit(t *testing.T, exe, name, mode string) {
	dir, err := os.MkdirTemp(os.Getenv(dirEnv), "portcullis-crash-")
	if err != nil {
		t.Error(err)
		return
	}
	defer os.RemoveAll(dir)
	path := fresh(t, dir)
	e := run(t, path, exe, []string{"PORTCULLIS_FAILPOINT=" + name + "=" + mode})
	y.add(name+"="+mode, e, hold(t, path, read(e.out)))
}
