package sdk

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
)

// tags is what the struct tags of one field say. The rule is one: the tag's key
// is the JSON Schema keyword and its value the keyword's, except desc for
// description and enum, whose words are separated by |.
type tags struct {
	hasDefault bool
	keywords   []keyword
}

type keyword struct{ key, value string }

// parseTags reads every key of a tag. One that it does not know is refused: a
// misspelt keyword would otherwise be a rule that is silently not there.
func parseTags(tag reflect.StructTag) (t tags, faults codec.Faults) {
	for {
		key, value, rest, ok, err := codec.NextTag(tag)
		if err == nil && ok {
			err = t.set(key, value)
		}
		if err != nil {
			faults = append(faults, err.Error())
		}
		if !ok {
			return t, faults
		}
		tag = rest
	}
}

func (t *tags) set(key, value string) error {
	switch key {
	case "json":
		return nil // the table has read it
	case "desc", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems":
	case "default":
		t.hasDefault = true
	default:
		return errors.New("tag " + key + " is not one of json, desc, enum, default, minimum, maximum, minLength, maxLength, pattern, format, minItems, maxItems")
	}
	t.keywords = append(t.keywords, keyword{key, value})
	return nil
}

// apply puts the keywords into s, the schema of p. On a list, minItems,
// maxItems, desc and default are the list's (which has no default) and every
// other keyword is its elements'.
func (t *tags) apply(s *schema, p *codec.Plan) (faults codec.Faults) {
	for _, k := range t.keywords {
		to, of := s, p
		list := k.key == "desc" || k.key == "minItems" || k.key == "maxItems" || k.key == "default"
		if s.items != nil && !list {
			to, of = s.items, p.Elem
		}
		if of.Kind == 0 {
			continue // what fits a type with a fault nobody knows
		}
		if err := to.set(k, of); err != nil {
			faults = append(faults, "tag "+k.key+":"+strconv.Quote(k.value)+": "+err.Error())
		}
	}
	return faults
}

func (s *schema) set(k keyword, p *codec.Plan) error {
	switch k.key {
	case "desc":
		s.description = k.value
		return nil
	case "format":
		s.format = k.value
		return s.only("string")
	case "pattern":
		s.pattern = k.value
		return s.only("string")
	case "minLength":
		return s.count(&s.minLength, k.value, "string")
	case "maxLength":
		return s.count(&s.maxLength, k.value, "string")
	case "minItems":
		return s.count(&s.minItems, k.value, "array")
	case "maxItems":
		return s.count(&s.maxItems, k.value, "array")
	case "minimum":
		return s.bound(&s.minimum, k.value)
	case "maximum":
		return s.bound(&s.maximum, k.value)
	case "enum":
		return s.setEnum(k.value, p)
	}
	return s.setDefault(k.value, p)
}

// only refuses a keyword that JSON Schema would ignore on this type.
func (s *schema) only(types ...string) error {
	for _, t := range types {
		if s.is(t) {
			return nil
		}
	}
	return errors.New("works on " + strings.Join(types, " or ") + ", this is " + strings.Join(s.types, " or "))
}

func (s *schema) count(to *string, value, on string) error {
	if !codec.ValidNumber(value) || len(value) > 9 || strings.ContainsAny(value, "-.eE") {
		return errors.New("is not a count")
	}
	*to = value
	return s.only(on)
}

func (s *schema) bound(to *string, value string) error {
	if _, err := strconv.ParseFloat(value, 64); err != nil || !codec.ValidNumber(value) {
		return errors.New("is not a number")
	}
	*to = value
	return s.only("integer", "number")
}

func (s *schema) setEnum(value string, p *codec.Plan) error {
	if err := s.only("string", "integer", "number"); err != nil {
		return err
	}
	for word := range strings.SplitSeq(value, "|") {
		v, err := literal(word, p)
		if err != nil {
			return err
		}
		s.enum = append(s.enum, v)
	}
	return nil
}

func (s *schema) setDefault(value string, p *codec.Plan) error {
	if err := s.only("string", "integer", "number", "boolean"); err != nil {
		return err
	}
	v, err := literal(value, p)
	s.deflt = v
	return err
}

// literal turns a tag's text into JSON that p can hold.
func literal(text string, p *codec.Plan) (string, error) {
	json := text
	if p.Kind == codec.String || p.Kind == codec.Other || p.Kind == codec.Bytes {
		json = quote(text)
	}
	if err := p.Decode(json, unsafe.Pointer(reflect.New(p.Type).Elem().UnsafeAddr())); err != nil {
		return "", errors.New("does not fit " + p.Type.String())
	}
	return json, nil
}
