package core

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/b3abf3ee/portcullis/policy/spelling"
)

// value is one node of a file with the name a person knows it by, as in limits.max_steps.
type value struct {
	node ast.Node
	at   Position
	name string
}

// member is one key that a mapping may have. read is called in the order of the file, and not at all for a key
// that is not there.
type member struct {
	key      string
	required bool
	read     func(value)
}

// must and may name a key that has to be there, and one that need not.
func must(key string, read func(value)) member { return member{key, true, read} }
func may(key string, read func(value)) member  { return member{key, false, read} }

// object reads a mapping with known keys. An unknown key, a key given twice, a key without a value and a missing
// one are faults.
func (r *reading) object(v value, members ...member) {
	keys := make([]string, len(members))
	for i, m := range members {
		keys[i] = m.key
	}
	seen := map[string]bool{}
	if !r.each(v, func(key string, child value) {
		i := slices.Index(keys, key)
		if i < 0 {
			r.fault(child.at, "unknown key %s%s", quote(key), hint(key, keys))
			return
		}
		seen[key] = true
		if !r.null(child) {
			members[i].read(child)
		}
	}) {
		return
	}
	for _, m := range members {
		if m.required && !seen[m.key] {
			r.fault(v.at, "%s is missing", join(v.name, m.key))
		}
	}
}

// each calls read for every key of a mapping once; child.at is the key's place until a reader of the child's value
// needs its own. It is false when v is no mapping.
func (r *reading) each(v value, read func(key string, child value)) bool {
	m, ok := v.node.(*ast.MappingNode)
	if !ok {
		r.wrong(v, "a mapping, one key: value on each line")
		return false
	}
	first := map[string]Position{}
	for _, entry := range m.Values {
		at := r.at(entry.Key.GetToken())
		name, ok := entry.Key.(*ast.StringNode)
		if !ok {
			r.fault(at, "a key of %s is not text; put it in quotes", orFile(v.name))
			continue
		}
		key := name.Value
		if before, twice := first[key]; twice {
			r.fault(at, "key %s is there already in line %d; remove one", quote(key), before.Line)
			continue
		}
		first[key] = at
		read(key, value{entry.Value, at, join(v.name, key)})
	}
	return true
}

// list reads a sequence of at most limit entries.
func (r *reading) list(v value, limit int, read func(value)) {
	s, ok := v.node.(*ast.SequenceNode)
	if !ok {
		r.wrong(v, "a list, one - entry on each line, or [] for none")
		return
	}
	if len(s.Values) > limit {
		r.fault(v.at, "%s has %d entries, at most %d are allowed", v.name, len(s.Values), limit)
		return
	}
	for i, n := range s.Values {
		child := value{n, r.begin(n), fmt.Sprintf("%s[%d]", v.name, i)}
		if !r.null(child) {
			read(child)
		}
	}
}

// null notes a key that has nothing behind it: whether the author meant none or forgot it cannot be told.
func (r *reading) null(v value) bool {
	if _, is := v.node.(*ast.NullNode); !is && v.node != nil {
		return false
	}
	r.fault(v.at, "%s has no value; write one, or remove the line", v.name)
	return true
}

// text reads a string of at most limit bytes that is not empty and has no control characters but newline and tab.
func (r *reading) text(v value, limit int) (string, bool) {
	var s string
	switch n := v.node.(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode:
		s = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		r.fault(r.begin(v.node), "%s must be text; put it in quotes: \"%s\"", v.name, v.node.GetToken().Value)
		return "", false
	default:
		r.wrong(v, "text")
		return "", false
	}
	switch {
	case strings.TrimSpace(s) == "":
		r.fault(r.begin(v.node), "%s is empty; write it, or remove the line", v.name)
	case len(s) > limit:
		r.fault(r.begin(v.node), "%s has %d bytes, at most %d are allowed", v.name, len(s), limit)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, control):
		r.fault(r.begin(v.node), "%s has control characters; remove them", v.name)
	default:
		return s, true
	}
	return "", false
}

func control(c rune) bool {
	return c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0 || c == utf8.RuneError
}

// word reads one of a few words.
func (r *reading) word(v value, of ...string) (string, bool) {
	s, ok := r.text(v, 64)
	if ok && !slices.Contains(of, s) {
		r.fault(r.begin(v.node), "%s is %s, which is not one of %s%s", v.name, quote(s), strings.Join(of, ", "), hint(s, of))
		return "", false
	}
	return s, ok
}

// integer reads a decimal number from low to high.
func (r *reading) integer(v value, low, high int64) int64 {
	n, ok := v.node.(*ast.IntegerNode)
	if !ok {
		r.wrong(v, "a number")
		return low
	}
	x, err := strconv.ParseInt(n.Token.Value, 10, 64)
	switch {
	case n.Token.Type != token.IntegerType || err != nil && strings.Trim(n.Token.Value, "+-0123456789") != "":
		r.fault(r.begin(n), "%s must be a decimal number in plain digits", v.name)
	case err != nil || x < low || x > high:
		r.fault(r.begin(n), "%s is %s; it must be between %d and %d", v.name, n.Token.Value, low, high)
	default:
		return x
	}
	return low
}

// number reads a decimal fraction from low to high.
func (r *reading) number(v value, low, high float64) float64 {
	var x float64
	switch n := v.node.(type) {
	case *ast.FloatNode:
		x = n.Value
	case *ast.IntegerNode:
		return float64(r.integer(v, int64(math.Ceil(low)), int64(high)))
	default:
		r.wrong(v, "a number")
		return low
	}
	if !(x >= low && x <= high) {
		r.fault(r.begin(v.node), "%s is %s; it must be between %v and %v", v.name, v.node.GetToken().Value, low, high)
		return low
	}
	return x
}

// duration reads a Go duration such as 90s or 10m.
func (r *reading) duration(v value, low, high time.Duration) time.Duration {
	const want = "%s must be a duration such as 90s, 10m or 1h"
	if _, number := v.node.(*ast.IntegerNode); number {
		r.fault(r.begin(v.node), want+"; a number alone has no unit", v.name)
		return low
	}
	s, ok := r.text(v, 32)
	if !ok {
		return low
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		r.fault(r.begin(v.node), want, v.name)
	case d < low || d > high:
		r.fault(r.begin(v.node), "%s is %s; it must be between %s and %s", v.name, s, low, high)
	default:
		return d
	}
	return low
}

// size reads a number of bytes: plain, or with KiB, MiB or GiB behind it.
func (r *reading) size(v value, low, high int64) int64 {
	if _, number := v.node.(*ast.IntegerNode); number {
		return r.integer(v, low, high)
	}
	s, ok := r.text(v, 32)
	if !ok {
		return low
	}
	for unit, shift := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		digits, has := strings.CutSuffix(s, unit)
		if !has {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 32)
		if err != nil {
			break
		}
		if b := int64(n) << shift; low <= b && b <= high {
			return b
		}
		r.fault(r.begin(v.node), "%s is %s; it must be between %d and %d bytes", v.name, s, low, high)
		return low
	}
	r.fault(r.begin(v.node), "%s must be a number of bytes such as 65536, 64KiB or 512MiB", v.name)
	return low
}

// boolean reads true or false.
func (r *reading) boolean(v value) bool {
	if b, ok := v.node.(*ast.BoolNode); ok && (b.Token.Value == "true" || b.Token.Value == "false") {
		return b.Value
	}
	r.wrong(v, "true or false")
	return false
}

// wrong notes a value of another type than wanted, without the value.
func (r *reading) wrong(v value, want string) {
	r.fault(r.begin(v.node), "%s must be %s", orFile(v.name), want)
}

func hint(name string, known []string) string {
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	if len(known) == 0 || len(known) > 12 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(known))
	return " (known here: " + strings.Join(sorted, ", ") + ")"
}

func join(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

func orFile(name string) string {
	if name == "" {
		return "the file"
	}
	return name
}
