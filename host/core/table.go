package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml/ast"
)

// TableFile is the table of a home.
const TableFile = "policy.yaml"

// Table is what a person expects the gate to decide, row by row.
type Table struct {
	File string // as it was named
	Rows []Row
}

// Row is one call and the verdict that it should have. Reason and Rule are not held when they are empty.
type Row struct {
	At        Position // of the row
	Name      string
	Core      string          // empty: the default core of the home
	Tool      string          //
	Arguments json.RawMessage // empty: they are not looked at
	As        string          // operator, conversation, system or delegated_agent
	Expect    string          // allow, ask or deny
	Reason    string          // stable code of a denial
	Rule      string          // that decides, as `policy explain` names it without its line
}

// MaxRows bounds a table.
const MaxRows = 1000

// ReadTable reads the table at path: schema_version, an optional core for rows that name none, and rows. Faults of the
// file are a [LoadErrors]; any other error is the disk's.
func ReadTable(path string) (Table, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return Table{}, fmt.Errorf("core: open the folder of %s: %w", path, err)
	}
	defer root.Close()
	data, err := readPlain(root, filepath.Base(path), MaxYAMLBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Table{}, refuse(path, "is missing")
	case errors.Is(err, errNotPlain), errors.Is(err, errTooLarge):
		return Table{}, refuse(path, "%v", err)
	case err != nil:
		return Table{}, fmt.Errorf("core: read %s: %w", path, err)
	}
	return decodeTable(path, data)
}

// decodeTable reads the text of a table.
func decodeTable(file string, data []byte) (Table, error) {
	r := &reading{path: file}
	t := Table{File: file}
	root, ok := r.root(data)
	if !ok {
		return Table{}, r.err()
	}
	standard := ""
	r.object(root,
		must("schema_version", r.schemaVersion),
		may("core", func(v value) { standard = r.coreID(v) }),
		must("rows", func(v value) {
			names := map[string]Position{}
			r.list(v, MaxRows, func(v value) { t.Rows = append(t.Rows, r.row(v, names)) })
			if len(t.Rows) == 0 && len(r.faults) == 0 {
				r.fault(v.at, "rows has none; a table without rows proves nothing")
			}
		}),
	)
	if err := r.err(); err != nil {
		return Table{}, err
	}
	for i := range t.Rows {
		if t.Rows[i].Core == "" {
			t.Rows[i].Core = standard
		}
	}
	return t, nil
}

func (r *reading) row(v value, names map[string]Position) Row {
	row := Row{At: v.at, As: "operator"}
	r.object(v,
		must("name", func(v value) {
			at := r.begin(v.node)
			if row.Name, _ = r.text(v, 200); row.Name == "" {
				return
			}
			if before, twice := names[row.Name]; twice {
				r.fault(at, "%s is %s, as in line %d; give each row a name of its own", v.name, quote(row.Name), before.Line)
			}
			names[row.Name] = at
		}),
		may("core", func(v value) { row.Core = r.coreID(v) }),
		must("tool", func(v value) { row.Tool, _ = r.text(v, 64) }),
		may("args", func(v value) {
			if _, is := v.node.(*ast.MappingNode); !is {
				r.wrong(v, "a mapping, as in {expression: \"1+1\"}")
				return
			}
			row.Arguments, _ = json.Marshal(r.document(v)) // of text, numbers, lists and mappings only
		}),
		may("principal", func(v value) {
			row.As, _ = r.word(v, "operator", "conversation", "system", "delegated_agent")
		}),
		must("expect", func(v value) { row.Expect, _ = r.word(v, "allow", "ask", "deny") }),
		may("reason", func(v value) {
			row.Reason, _ = r.text(v, 64)
			if row.Expect != "" && row.Expect != "deny" {
				r.fault(v.at, "%s: only a denial has a reason; remove the line", v.name)
			}
		}),
		may("rule", func(v value) { row.Rule, _ = r.text(v, 300) }),
	)
	return row
}

// document is a node as JSON has it. What JSON cannot say is a fault.
func (r *reading) document(v value) any {
	switch n := v.node.(type) {
	case *ast.MappingNode:
		out := map[string]any{}
		r.each(v, func(key string, child value) { out[key] = r.document(child) })
		return out
	case *ast.SequenceNode:
		out := []any{}
		for i, item := range n.Values {
			out = append(out, r.document(value{item, r.begin(item), fmt.Sprintf("%s[%d]", v.name, i)}))
		}
		return out
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.BoolNode:
		return n.Value
	case *ast.NullNode:
		return nil
	case *ast.IntegerNode, *ast.FloatNode:
		if text := n.GetToken().Value; json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	r.fault(r.begin(v.node), "%s must be text, a number, true, false, null, a list or a mapping, as JSON writes it", v.name)
	return nil
}
