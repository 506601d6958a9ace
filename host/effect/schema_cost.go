package effect

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema comes from a plugin's author and is asked in the host's own process, so it may not decide how long that
// takes: forty definitions of which each refers to the next twice are a trillion visits, and the library that checks
// has no deadline. Each visit, and each byte that a pattern looks at, is therefore paid for.
const (
	checkBase    = 50_000  // visits of any document,
	checkPerByte = 4       // for each byte of it,
	checkMost    = 500_000 // and together: each may leave a fault of some hundred bytes behind
	// maxLooks bounds the bytes of a document times what one of its values may be held against.
	maxLooks = 64 << 20
)

// size is how much a schema has to hold a value against.
type size struct {
	enum int // words of the longest enum
	all  int // schemas and words of enums, together
}

// meter counts what one check has left. It belongs to one Schema and is used by one check at a time.
type meter struct {
	left int
	enum int // words of the longest enum
}

// errTooCostly ends a check by panic, since the library has no other way out.
var errTooCostly = errors.New("effect: a schema takes too long to check")

func (m *meter) spend(n int) {
	if m.left -= n; m.left < 0 {
		panic(errTooCostly)
	}
}

// metered is a pattern that pays for what it looks at: a regular expression takes its own size for each byte.
type metered struct {
	*regexp.Regexp
	size  int
	meter *meter
}

// MatchString is the expression's, paid for.
func (r metered) MatchString(s string) bool {
	r.meter.spend(1 + len(s)*r.size/64)
	return r.Regexp.MatchString(s)
}

// pattern compiles the patterns of a schema.
func (m *meter) pattern(text string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	return metered{re, len(prog.Inst), m}, nil
}

// attach has every visit of every schema that s leads to pay, and returns how large they are. The check of a
// format is what the library does first of all that may branch.
func (m *meter) attach(s *jsonschema.Schema) (sum size, err error) {
	seen := map[*jsonschema.Schema]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if s, ok := v.Interface().(*jsonschema.Schema); ok {
				if s == nil || seen[s] {
					return
				}
				seen[s] = true
				if s.DynamicRef != nil || s.RecursiveRef != nil {
					err = errors.New("effect: a schema may not have $dynamicRef or $recursiveRef")
				}
				sum.all++
				if s.Enum != nil {
					sum.enum, sum.all = max(sum.enum, len(s.Enum.Values)), sum.all+len(s.Enum.Values)
				}
				s.Format = m.visited(s)
			}
			walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			for each := v.MapRange(); each.Next(); {
				walk(each.Value())
			}
		}
	}
	walk(reflect.ValueOf(s))
	m.enum = sum.enum
	return sum, err
}

// visited is the format of s, or one that takes everything, which pays for a visit of s before it. What a value is held
// against at once is paid here too, and so are its members and elements, because a schema that says no by its type or
// its words does so before the format is asked.
func (m *meter) visited(s *jsonschema.Schema) *jsonschema.Format {
	beside := 1 + len(s.AllOf) + len(s.AnyOf) + len(s.OneOf) + len(s.DependentSchemas) + len(s.Dependencies)
	f := s.Format
	if f == nil {
		f = &jsonschema.Format{Validate: func(any) error { return nil }}
	}
	return &jsonschema.Format{Name: f.Name, Validate: func(v any) error {
		inside := 0
		switch v := v.(type) {
		case []any:
			inside = len(v)
		case map[string]any:
			inside = len(v)
		}
		m.spend(beside + inside*(1+m.enum/16))
		return f.Validate(v)
	}}
}

// tooCostly turns the panic of spend into an error and lets every other panic pass.
func tooCostly(err *error) {
	switch v := recover(); v {
	case nil:
	case errTooCostly:
		*err = errTooCostly
	default:
		panic(fmt.Sprint(v))
	}
}
