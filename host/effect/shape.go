package effect

import (
	"bytes"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// shape is the plain part of a compiled schema: types, members, elements, lengths, counts and words to choose from.
// It answers only yes or "cannot tell": the library has the last word on every no.
type shape struct {
	types      kinds    // 0: any
	words      [][]byte // enum of strings; nil: any
	members    []member // sorted by name, as canonical documents are
	required   int      // how many of them
	others     *shape   // of members that are not named; nil: any
	closed     bool     // no others
	least      int      // members or
	most       int      // -1: any number
	items      *shape   // of all elements; nil: any
	minItems   int
	maxItems   int // -1: any number
	minRunes   int
	maxRunes   int // -1: any number
	minimum    *big.Rat
	maximum    *big.Rat
	choices    []*shape // anyOf
	everything bool     // the schema true
	open       bool     // whether a value fits is told by its kind and its class, and the names and counts in it
}

// member is one name that a shape knows.
type member struct {
	name     string
	required bool
	of       *shape // nil: required, and else like any other name
}

// plainKeywords are the fields of a compiled schema that a shape holds, and those that judge nothing. A schema that
// sets any other is the library's.
func plainKeywords() []string {
	return []string{
		"DraftVersion", "Location", "Bool", "Types", "Enum", "AnyOf", "MaxProperties", "MinProperties", "Required", "Properties",
		"AdditionalProperties", "MinItems", "MaxItems", "Items2020", "MinLength", "MaxLength", "Minimum", "Maximum",
		"Title", "Description", "Default", "Comment", "ReadOnly", "WriteOnly", "Examples", "Deprecated",
	}
}

// plainly makes a shape of a compiled schema, or nil when it has a keyword that a shape does not hold.
func plainly(s *jsonschema.Schema) *shape {
	if s == nil || s.DraftVersion < 2020 {
		return nil
	}
	known := plainKeywords()
	for v, i := reflect.ValueOf(s).Elem(), 0; i < v.NumField(); i++ {
		if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() && !slices.Contains(known, f.Name) {
			return nil
		}
	}
	if s.Bool != nil {
		if *s.Bool {
			return &shape{everything: true, open: true}
		}
		return nil
	}
	out := &shape{
		least: least(s.MinProperties), most: most(s.MaxProperties), minItems: least(s.MinItems), maxItems: most(s.MaxItems),
		minRunes: least(s.MinLength), maxRunes: most(s.MaxLength), minimum: s.Minimum, maximum: s.Maximum,
	}
	if s.Types != nil {
		for _, name := range s.Types.ToStrings() {
			out.types |= kindsNamed(name)
		}
	}
	if out = out.with(s); out != nil {
		out.open = out.looksAtNoText()
	}
	return out
}

// looksAtNoText reports a shape that asks nothing of the text of a string or number, here or further in.
func (h *shape) looksAtNoText() bool {
	inside := func(of *shape) bool { return of == nil || of.open }
	return h.words == nil && h.minRunes == 0 && h.maxRunes < 0 && h.minimum == nil && h.maximum == nil && inside(h.others) && inside(h.items) &&
		!slices.ContainsFunc(h.members, func(m member) bool { return !inside(m.of) }) &&
		!slices.ContainsFunc(h.choices, func(c *shape) bool { return !inside(c) })
}

// with adds what may turn out not to be plain.
func (h *shape) with(s *jsonschema.Schema) *shape {
	if s.Enum != nil {
		h.words = [][]byte{}
		for _, v := range s.Enum.Values {
			word, ok := v.(string)
			if !ok {
				return nil
			}
			h.words = append(h.words, []byte(word))
		}
	}
	for name, sub := range s.Properties {
		inner := plainly(sub)
		if inner == nil {
			return nil
		}
		h.members = append(h.members, member{name, slices.Contains(s.Required, name), inner})
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			h.members = append(h.members, member{name, true, nil})
		}
	}
	slices.SortFunc(h.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	h.required = len(s.Required)
	switch more := s.AdditionalProperties.(type) {
	case bool:
		h.closed = !more
	case *jsonschema.Schema:
		if h.others = plainly(more); h.others == nil {
			return nil
		}
	}
	if s.Items2020 != nil {
		if h.items = plainly(s.Items2020); h.items == nil {
			return nil
		}
	}
	for _, sub := range s.AnyOf {
		choice := plainly(sub)
		if choice == nil {
			return nil
		}
		h.choices = append(h.choices, choice)
	}
	return h
}

func least(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func most(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

// fits reports that the value at i certainly fits.
func (h *shape) fits(d *document.Document, i int32) bool {
	if h.everything {
		return true
	}
	t := d.At(i)
	if h.types != 0 && h.types&kindsOf(t) == 0 {
		return false
	}
	if len(h.choices) > 0 && !slices.ContainsFunc(h.choices, func(c *shape) bool { return c.fits(d, i) }) {
		return false
	}
	if h.words != nil && !(t.Kind == document.String && slices.ContainsFunc(h.words, func(w []byte) bool { return bytes.Equal(w, d.Text(i)) })) {
		return false
	}
	switch t.Kind {
	case document.Object:
		return h.object(d, i, t)
	case document.Array:
		return h.array(d, i, t)
	case document.String:
		if h.minRunes == 0 && h.maxRunes < 0 {
			return true
		}
		return inRange(utf8.RuneCount(d.Text(i)), h.minRunes, h.maxRunes)
	}
	return t.Class < document.Integer || h.number(d.Literal(t))
}

func inRange(n, least, most int) bool { return n >= least && (most < 0 || n <= most) }

// number compares exactly, and only numbers of an ordinary length: a few digits of exponent make a rational huge.
func (h *shape) number(text []byte) bool {
	if h.minimum == nil && h.maximum == nil {
		return true
	}
	if len(text) > 32 || bytes.ContainsAny(text, "eE") {
		return false
	}
	n, ok := new(big.Rat).SetString(string(text))
	return ok && (h.minimum == nil || n.Cmp(h.minimum) >= 0) && (h.maximum == nil || n.Cmp(h.maximum) <= 0)
}

func (h *shape) object(d *document.Document, i int32, t *document.Token) bool {
	if (h.least > 0 || h.most >= 0) && !inRange(d.Count(i), h.least, h.most) {
		return false
	}
	missing, next := h.required, 0
	for at := i + 1; at < t.Next; at = d.At(at + 1).Next {
		m := h.member(d.Text(at), &next)
		if m != nil && m.required {
			missing-- // names are unique, and so are those that are required
		}
		switch {
		case m != nil && m.of != nil:
			if !m.of.fits(d, at+1) {
				return false
			}
		case h.closed || h.others != nil && !h.others.fits(d, at+1):
			return false
		}
	}
	return missing == 0
}

// member finds a name, or nil. It looks first behind the one found last, where the next name of a sorted object stands.
func (h *shape) member(name []byte, next *int) *member {
	for range h.members {
		if *next == len(h.members) {
			*next = 0
		}
		m := &h.members[*next]
		*next++
		if m.name == string(name) {
			return m
		}
	}
	return nil
}

func (h *shape) array(d *document.Document, i int32, t *document.Token) bool {
	if (h.minItems > 0 || h.maxItems >= 0) && !inRange(d.Count(i), h.minItems, h.maxItems) {
		return false
	}
	if h.items == nil {
		return true
	}
	for at := i + 1; at < t.Next; {
		e := d.At(at)
		if !(h.items.open && e.Class == document.Alike) && !h.items.fits(d, at) { // one like the one before fits as that did
			return false
		}
		at = e.Next
	}
	return true
}
