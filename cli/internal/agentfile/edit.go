package agentfile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Pin is a plugin as agent.yaml lists it.
type Pin struct{ ID, Version, Digest string }

// ByHandError says that a file must be edited by hand, and how.
type ByHandError struct {
	Why   string // why we do not, as in "plugins is written in brackets"
	Lines string // what to write instead, ended by a line break
}

// Error is the reason and the lines.
func (e *ByHandError) Error() string { return e.Why + "; write this by hand:\n" + e.Lines }

// AddPlugin returns data with p among its plugins. A pin of the same plugin gets p's version and digest. changed is
// false when p was there already. The error is a [*ByHandError].
func AddPlugin(data []byte, p Pin) (out []byte, changed bool, err error) {
	entry := []string{"- id: " + p.ID, "  version: " + p.Version, "  digest: " + p.Digest}
	e, err := open(data, "plugins", entry)
	if err != nil {
		return nil, false, err
	}
	want := map[string]any{"id": p.ID, "version": p.Version, "digest": p.Digest}
	at := slices.IndexFunc(e.entries(), func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && m["id"] == p.ID
	})
	switch {
	case at >= 0 && reflect.DeepEqual(e.entries()[at], want):
		return data, false, nil
	case at >= 0:
		out = e.replace(at, entry)
	default:
		out = e.add(entry)
	}
	return e.checked(out, at, want)
}

// AddCapability returns data with the capability among those of the core. changed is false when it was there already.
// The error is a [*ByHandError].
func AddCapability(data []byte, name string) (out []byte, changed bool, err error) {
	entry := []string{"- " + name}
	e, err := open(data, "capabilities", entry)
	if err != nil {
		return nil, false, err
	}
	if slices.Contains(e.entries(), any(name)) {
		return data, false, nil
	}
	return e.checked(e.add(entry), -1, name)
}

// edit is one list of one file about to be changed.
type edit struct {
	key    string
	lines  []string // of the file, each with its line break
	before map[string]any
	byHand string
	seq    *ast.SequenceNode // nil when the key is missing or has no entries
	keyAt  int               // line of the key, from 0; -1 when it is missing
}

func open(data []byte, key string, entry []string) (*edit, error) {
	e := &edit{key: key, keyAt: -1, lines: strings.SplitAfter(string(data), "\n")}
	if last := len(e.lines) - 1; e.lines[last] == "" {
		e.lines = e.lines[:last]
	} else {
		e.lines[last] += "\n"
	}
	e.byHand = key + ":\n  " + strings.Join(entry, "\n  ") + "\n"
	// The decoder counts a lone carriage return as a line break and we do not, so its line numbers would not be ours.
	if strings.Contains(strings.ReplaceAll(string(data), "\r\n", ""), "\r") {
		return nil, e.refuse("the file has carriage returns without line feeds")
	}
	if err := yaml.Unmarshal(data, &e.before); err != nil {
		return nil, e.refuse("the file does not decode")
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil || len(file.Docs) != 1 {
		return nil, e.refuse("the file is not one document")
	}
	for _, v := range members(file.Docs[0].Body) {
		if v.Key.GetToken().Value != key {
			continue
		}
		if e.keyAt = v.Key.GetToken().Position.Line - 1; e.keyAt >= len(e.lines) {
			return nil, e.refuse(key + " is written in a way that cannot be edited safely")
		}
		switch list := v.Value.(type) {
		case *ast.SequenceNode:
			if list.IsFlowStyle {
				if len(list.Values) > 0 || !strings.HasSuffix(strings.TrimSpace(e.lines[e.keyAt]), "[]") {
					return nil, e.refuse(key + " is written in brackets")
				}
				e.lines[e.keyAt] = key + ":\n"
				return e, nil
			}
			e.seq = list
			if !e.inLines() {
				return nil, e.refuse(key + " is written in a way that cannot be edited safely")
			}
		case *ast.NullNode:
			if strings.TrimSpace(e.lines[e.keyAt]) != key+":" {
				return nil, e.refuse(key + " has no list")
			}
		default:
			return nil, e.refuse(key + " is not a list")
		}
	}
	return e, nil
}

func members(body ast.Node) []*ast.MappingValueNode {
	switch m := body.(type) {
	case *ast.MappingNode:
		return m.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}
	}
	return nil
}

func (e *edit) refuse(why string) error { return &ByHandError{why, e.byHand} }

func (e *edit) entries() []any {
	list, _ := e.before[e.key].([]any)
	return list
}

// add puts an entry behind the last one.
func (e *edit) add(entry []string) []byte {
	at, indent := len(e.lines), "  "
	var head []string
	switch {
	case e.seq != nil && len(e.seq.Values) > 0:
		_, at = e.span(len(e.seq.Values) - 1)
		indent = e.indent()
	case e.keyAt >= 0:
		at = e.keyAt + 1
	default:
		head = []string{e.key + ":\n"}
	}
	return join(e.lines[:at], head, indented(indent, entry), e.lines[at:])
}

// replace puts an entry in the place of another.
func (e *edit) replace(n int, entry []string) []byte {
	from, to := e.span(n)
	return join(e.lines[:from], indented(e.indent(), entry), e.lines[to:])
}

// span is the lines of one entry, from and up to, counted from 0.
func (e *edit) span(n int) (from, to int) {
	var l last
	ast.Walk(&l, e.seq.Values[n])
	return l.first - 1, l.line
}

// inLines is false when an entry does not stand on lines of the file.
func (e *edit) inLines() bool {
	for n := range e.seq.Values {
		if from, to := e.span(n); from < 0 || from >= to || to > len(e.lines) {
			return false
		}
	}
	return true
}

// indent is the white space before the dashes of the list.
func (e *edit) indent() string {
	from, _ := e.span(0)
	line := e.lines[from]
	return line[:len(line)-len(strings.TrimLeft(line, " "))]
}

// last finds the first and the last line of a node.
type last struct{ first, line int }

// Visit notes where a node's token stands.
func (l *last) Visit(n ast.Node) ast.Visitor {
	if at := n.GetToken().Position.Line; at > 0 {
		l.line = max(l.line, at)
		if l.first == 0 || at < l.first {
			l.first = at
		}
	}
	return l
}

func indented(indent string, entry []string) []string {
	out := make([]string, len(entry))
	for i, line := range entry {
		out[i] = indent + line + "\n"
	}
	return out
}

func join(parts ...[]string) []byte { return []byte(strings.Join(slices.Concat(parts...), "")) }

// checked decodes the new text and compares: at is the entry that was replaced, or -1 for one that was added.
func (e *edit) checked(out []byte, at int, entry any) ([]byte, bool, error) {
	var after map[string]any
	if err := yaml.Unmarshal(out, &after); err != nil {
		return nil, false, e.refuse("the file is written in a way that cannot be edited safely")
	}
	want := map[string]any{}
	for k, v := range e.before {
		want[k] = v
	}
	list := slices.Clone(e.entries())
	if at >= 0 {
		list[at] = entry
	} else {
		list = append(list, entry)
	}
	want[e.key] = list
	if !reflect.DeepEqual(after, want) {
		return nil, false, e.refuse(fmt.Sprintf("%s is written in a way that cannot be edited safely", e.key))
	}
	return out, true, nil
}
