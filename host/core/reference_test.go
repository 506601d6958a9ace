package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// section is the part of docs/configuration.md about one file: its example and the keys of its table.
func section(t *testing.T, page, file string) (example string, keys []string) {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n## "+file+"\n")
	if !ok {
		t.Fatalf("the page has no section %s", file)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	_, block, ok := strings.Cut(rest, "```yaml\n")
	example, table, closed := strings.Cut(block, "```\n")
	if !ok || !closed {
		t.Fatalf("%s has no example", file)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		keys = append(keys, m[1])
	}
	slices.Sort(keys)
	return example, keys
}

// written are the keys of an example as the page names them: a name that the operator chooses is NAME, and what is
// below a list has []. The keys of rules, which are names as well, are left out.
func written(path string, v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		switch path {
		case "rows[].args": // names of the tool's own
			return
		case "approval.tools", "approval.capabilities", "approval.risks":
			return
		}
		for key, child := range v {
			if path == "providers" {
				written(path+".NAME", child, into)
				continue
			}
			into[join(path, key)] = true
			written(join(path, key), child, into)
		}
	case []any:
		for _, child := range v {
			written(path+"[]", child, into)
		}
	}
}

// accepted counts how often a key is named by a decoder of this package: in a call of must or may.
func accepted(t *testing.T) map[string]int {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if fun, ok := call.Fun.(*ast.Ident); ok && (fun.Name == "must" || fun.Name == "may") {
				key, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				count[key]++
			}
			return true
		})
	}
	return count
}

// Every key that a decoder takes has a row, every row is a key that its decoder takes, and the examples are files.
func TestTheReferenceHasEveryKey(t *testing.T) {
	raw, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for file, decode := range map[string]func([]byte) error{
		HostFile:            func(b []byte) error { _, err := decodeHost(b); return err },
		AgentFile:           func(b []byte) error { _, err := decodeAgent(AgentFile, b); return err },
		TableFile:           func(b []byte) error { _, err := decodeTable(TableFile, b); return err },
		"schedules/ID.yaml": func(b []byte) error { _, err := decodeSchedule("schedules/id.yaml", b); return err },
	} {
		example, keys := section(t, string(raw), file)
		if err := decode([]byte(example)); err != nil {
			t.Errorf("the example of %s: %v", file, err)
		}
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(example), &doc); err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		written("", doc, used)
		if file == AgentFile {
			used["model.script"] = true // goes with a scripted model alone, which the example does not have
		}
		if got := slices.Sorted(maps.Keys(used)); !slices.Equal(got, keys) {
			t.Errorf("%s: the example has the keys\n%q\nand the table\n%q", file, got, keys)
		}
		for _, key := range keys {
			rows[key[strings.LastIndexAny(key, ".")+1:]]++
		}
	}
	taken := accepted(t)
	if len(taken) < 30 {
		t.Fatalf("found only the keys %v", taken)
	}
	for key, n := range taken {
		if rows[key] < n {
			t.Errorf("docs/configuration.md has %d rows for %s, and the decoders take it in %d places", rows[key], key, n)
		}
	}
}
