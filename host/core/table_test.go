package core

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const goodTable = `schema_version: 1
core: assistant
rows:
  - name: sums
    tool: calc.eval
    args: {expression: "1+1"}
    expect: allow
  - name: writes
    core: ops
    tool: files.write
    args:
      path: a.txt
      content: |
        two
        lines
      deep: {n: 12345678901234567890, x: [1.5, true, null, "é"]}
    principal: conversation
    expect: deny
    reason: capability_not_granted
    rule: capability
`

func TestTableKeepsWhatIsExpected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(goodTable), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTable(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Table{File: path, Rows: []Row{
		{At: Position{File: path, Line: 4, Column: 5}, Name: "sums", Core: "assistant", Tool: "calc.eval", Arguments: json.RawMessage(`{"expression":"1+1"}`), As: "operator", Expect: "allow"},
		{
			At: Position{File: path, Line: 8, Column: 5}, Name: "writes", Core: "ops", Tool: "files.write",
			Arguments: json.RawMessage(`{"content":"two\nlines\n","deep":{"n":12345678901234567890,"x":[1.5,true,null,"é"]},"path":"a.txt"}`),
			As:        "conversation", Expect: "deny", Reason: "capability_not_granted", Rule: "capability",
		},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, missing := range []string{path + "x", t.TempDir()} {
		if _, err := ReadTable(missing); len(Faults(err)) != 1 {
			t.Errorf("%s: %v", missing, err)
		}
	}
}

func TestTableFaultsHaveAPlace(t *testing.T) {
	row := "schema_version: 1\nrows:\n  - name: a\n    tool: x.y\n    expect: allow\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "p.yaml: is empty"},
		"no version":        {"rows: []\n", "p.yaml:1:1: schema_version is missing"},
		"other version":     {"schema_version: 2\nrows: []\n", "p.yaml:1:17: schema_version must be 1"},
		"no rows":           {"schema_version: 1\n", "p.yaml:1:1: rows is missing"},
		"rows are empty":    {"schema_version: 1\nrows: []\n", "p.yaml:2:1: rows has none"},
		"unknown key":       {"schema_version: 1\nrow: []\n", `p.yaml:2:1: unknown key "row" (did you mean "rows"?)`},
		"unknown row key":   {row + "    expct: ask\n", `p.yaml:6:5: unknown key "expct" (did you mean "expect"?)`},
		"twice":             {row + "    tool: z.y\n", `p.yaml:6:5: key "tool" is there already in line 4`},
		"no name":           {"schema_version: 1\nrows:\n  - tool: x.y\n    expect: allow\n", "p.yaml:3:5: rows[0].name is missing"},
		"no verdict":        {"schema_version: 1\nrows:\n  - name: a\n    tool: x.y\n", "p.yaml:3:5: rows[0].expect is missing"},
		"other verdict":     {strings.Replace(row, "allow", "alow", 1), `p.yaml:5:13: rows[0].expect is "alow", which is not one of allow, ask, deny (did you mean "allow"?)`},
		"a name twice":      {row + "  - name: a\n    tool: x.y\n    expect: allow\n", `p.yaml:6:11: rows[1].name is "a", as in line 3`},
		"reason of allow":   {row + "    reason: x\n", "p.yaml:6:5: rows[0].reason: only a denial has a reason"},
		"args are text":     {row + "    args: '{}'\n", "p.yaml:6:11: rows[0].args must be a mapping"},
		"args not of JSON":  {row + "    args: {n: .inf}\n", "p.yaml:6:15: rows[0].args.n must be text, a number"},
		"args hexadecimal":  {row + "    args: {n: 0x10}\n", "p.yaml:6:15: rows[0].args.n must be text, a number"},
		"principal unknown": {row + "    principal: root\n", `p.yaml:6:16: rows[0].principal is "root"`},
		"core is no id":     {row + "    core: A/B\n", `p.yaml:6:11: rows[0].core is "A/B"`},
		"anchors":           {row + "    args: &a {}\n", "p.yaml:6:11: anchors and aliases"},
		"not a mapping":     {"schema_version: 1\nrows:\n  - a\n", "p.yaml:3:5: rows[0] must be a mapping"},
	} {
		_, err := decodeTable("p.yaml", []byte(c.text))
		if len(Faults(err)) == 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// FuzzTable: what is accepted reads back from another spelling as the same table; what is refused has a place.
func FuzzTable(f *testing.F) {
	f.Add([]byte(goodTable))
	f.Add([]byte("schema_version: 1\nrows:\n- {name: a, tool: b.c, expect: ask, args: {x: [1e5, -0, {}]}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeTable("p.yaml", data)
		if err != nil {
			wellPlaced(t, data, err)
			return
		}
		var rows []object
		for _, r := range got.Rows {
			o := objectOf{"name": r.Name, "tool": r.Tool, "expect": r.Expect, "principal": r.As}.set("core", r.Core).set("reason", r.Reason).set("rule", r.Rule)
			if r.Arguments != nil {
				if !json.Valid(r.Arguments) {
					t.Fatalf("arguments %q", r.Arguments)
				}
				o["args"] = r.Arguments
			}
			rows = append(rows, object(o))
		}
		again, err := decodeTable("p.yaml", rewrite(t, object{"schema_version": SchemaVersion, "rows": rows}))
		if err != nil {
			t.Fatalf("accepted, and refused when written anew: %v", err)
		}
		for i := range got.Rows {
			got.Rows[i].At, again.Rows[i].At = Position{}, Position{}
		}
		if !reflect.DeepEqual(got, again) {
			t.Fatalf("%+v became %+v", got, again)
		}
	})
}
