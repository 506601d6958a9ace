package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/b3abf3ee/portcullis"

// listed is what `go list -json` says of one package.
type listed struct {
	ImportPath   string
	Dir          string
	Imports      []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
}

// table is the import table as data.
type table struct {
	rows  []row
	doors map[string][]string // foreign module to the packages that may import it
}

type row struct {
	pkg string
	may []string
}

func parseTable(t *testing.T, text string) table {
	t.Helper()
	out := table{doors: map[string][]string{}}
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, ok := strings.Cut(line, "|")
		if !ok {
			t.Fatalf("layout.txt:%d: no | in %q", n+1, line)
		}
		if lib, isDoor := strings.CutPrefix(name, "@"); isDoor {
			out.doors[lib] = strings.Fields(rest)
			continue
		}
		out.rows = append(out.rows, row{name, strings.Fields(rest)})
	}
	return out
}

// fits reports whether pkg is named by pattern: equal, or below a prefix that ends in /*.
func fits(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(pkg, prefix)
	}
	return pattern == pkg
}

// row finds the most specific line for a package.
func (tb table) row(pkg string) (row, bool) {
	best, found := row{}, false
	for _, r := range tb.rows {
		if fits(r.pkg, pkg) && (!found || len(r.pkg) > len(best.pkg)) {
			best, found = r, true
		}
	}
	return best, found
}

// faults lists every edge of the packages that the table does not hold.
func (tb table) faults(pkgs []listed) []string {
	var bad []string
	for _, p := range pkgs {
		pkg := short(p.ImportPath)
		r, known := tb.row(pkg)
		if !known {
			bad = append(bad, pkg+" has no line in layout.txt")
			continue
		}
		for _, imp := range p.Imports {
			if dep, ours := strings.CutPrefix(imp+"/", module+"/"); ours {
				dep = strings.TrimSuffix(dep, "/")
				if dep == "" {
					dep = "."
				}
				sibling := strings.HasPrefix(pkg, "plugins/") && strings.HasPrefix(dep, pkg+"/")
				if !sibling && !slices.ContainsFunc(r.may, func(m string) bool { return fits(m, dep) }) {
					bad = append(bad, pkg+" imports "+dep)
				}
			}
		}
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for lib, doors := range tb.doors {
				through := imp == lib || strings.HasPrefix(imp, lib+"/")
				if through && !slices.ContainsFunc(doors, func(d string) bool { return fits(d, pkg) }) {
					bad = append(bad, pkg+" imports "+imp+", whose door is "+strings.Join(doors, ", "))
				}
			}
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

func short(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles", "./...")
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		// A source file read here makes `go test` run this again when it changes.
		for _, f := range p.GoFiles {
			if _, err := os.Stat(filepath.Join(p.Dir, f)); err != nil {
				t.Fatal(err)
			}
		}
		pkgs = append(pkgs, p)
	}
}

func readTable(t *testing.T) table {
	t.Helper()
	text, err := os.ReadFile("testdata/layout.txt")
	if err != nil {
		t.Fatal(err)
	}
	return parseTable(t, string(text))
}

func TestEveryImportIsInTheTable(t *testing.T) {
	for _, bad := range readTable(t).faults(packages(t)) {
		t.Error(bad)
	}
}

func TestTableNamesOnlyWhatExists(t *testing.T) {
	pkgs := packages(t)
	for _, r := range readTable(t).rows {
		if !slices.ContainsFunc(pkgs, func(p listed) bool { return fits(r.pkg, short(p.ImportPath)) }) {
			t.Errorf("layout.txt has a line for %s, which does not exist", r.pkg)
		}
	}
}

// The table test must be able to go red: an arrow that points up and a second door are faults.
func TestTableCatchesAnArrowUpAndASecondDoor(t *testing.T) {
	tb := readTable(t)
	got := tb.faults([]listed{
		{ImportPath: module + "/policy/redact", Imports: []string{module + "/host/id"}},
		{ImportPath: module + "/host/turn", Imports: []string{"github.com/tetratelabs/wazero/api"}},
		{ImportPath: module + "/host/turn", XTestImports: []string{"modernc.org/sqlite"}},
		{ImportPath: module + "/helpers"},
	})
	if len(got) != 4 {
		t.Fatalf("want 4 faults, got %q", got)
	}
}

// Authority is made in one place. The stores' contract suite is exempt: it must make scopes that no resolver would.
func TestOnlyAuthorityMakesAnIssuer(t *testing.T) {
	for _, p := range packages(t) {
		if pkg := short(p.ImportPath); pkg == "host/authority" || pkg == "policy/principal" || pkg == "store/storetest" {
			continue
		}
		for _, f := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(src, []byte("principal.NewIssuer(")) {
				t.Errorf("%s/%s makes an Issuer; only host/authority may", short(p.ImportPath), f)
			}
		}
	}
}

// TestHouseRulesOfMigrations holds that no two people took the same number.
func TestHouseRulesOfMigrations(t *testing.T) {
	names, err := filepath.Glob("../store/sqlite/migrations/*.sql")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for i, name := range names {
		if want := fmt.Sprintf("%05d_", i+1); !strings.HasPrefix(filepath.Base(name), want) {
			t.Errorf("%s is migration %d: rename yours to the next free number", name, i+1)
		}
	}
}

// A package without its promise in a comment, an oversized file, and `init` outside plugins are refused.
func TestHouseRulesOfSourceFiles(t *testing.T) {
	for _, p := range packages(t) {
		pkg, documented := short(p.ImportPath), false
		for _, f := range p.GoFiles {
			path := filepath.Join(p.Dir, f)
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(src, []byte("\n")); n > 600 {
				t.Errorf("%s/%s has %d lines, the limit is 600", pkg, f, n)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			documented = documented || file.Doc != nil
			guest := strings.HasPrefix(pkg, "plugins/") || strings.HasPrefix(pkg, "conformance/guests/")
			if !guest && bytes.Contains(src, []byte("\nfunc init()")) {
				t.Errorf("%s/%s has an init function; only plugins register in init", pkg, f)
			}
		}
		if len(p.GoFiles) > 0 && !documented {
			t.Errorf("%s has no package comment", pkg)
		}
	}
}
