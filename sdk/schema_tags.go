package sdk

import (
	"errors"
	"reflect"
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
			faults = append(faults, "tag "+k.key+":"+codec.Quote(k.value)+": "+err.Error())
		}
	}
	return faults
}

func (s *schema) set(k keyword, p *codec.Plan) (err error) {
	name, names, at := "", words, description
	for name, names, _ = codec.Cut(names, ' '); name != k.key && names != ""; at++ {
		name, names, _ = codec.Cut(names, ' ')
	}
	value := k.value
	switch k.key {
	case "desc":
		s.keywords[description] = codec.Quote(value)
		return nil
	case "format", "pattern":
		value = codec.Quote(value)
		err = s.only("string")
	case "minLength", "maxLength":
		err = s.count(value, "string")
	case "minItems", "maxItems":
		err = s.count(value, "array")
	case "minimum", "maximum":
		if !codec.ValidNumber(value) || !codec.InRange(value) {
			return errors.New("is not a number")
		}
		err = s.only("integer", "number")
	case "enum":
		value, err = s.literals(value, p)
	case "default":
		if err = s.only("string", "integer", "number", "boolean"); err == nil {
			value, err = literal(value, p)
		}
	}
	s.keywords[at] = value
	return err
}

// only refuses a keyword that JSON Schema would ignore on this type.
func (s *schema) only(types ...string) error {
	for _, t := range types {
		if s.is(t) {
			return nil
		}
	}
	return errors.New("works on " + codec.Join(types, " or ") + ", this is " + codec.Join(s.types, " or "))
}

func (s *schema) count(value, on string) error {
	if !codec.ValidCount(value) {
		return errors.New("is not a count")
	}
	return s.only(on)
}

// literals is the list of what is separated by |.
func (s *schema) literals(value string, p *codec.Plan) (string, error) {
	if err := s.only("string", "integer", "number"); err != nil {
		return "", err
	}
	list := "["
	for more := true; more; {
		var text string
		text, value, more = codec.Cut(value, '|')
		v, err := literal(text, p)
		if err != nil {
			return "", err
		}
		list += v
		if more {
			list += ","
		}
	}
	return list + "]", nil
}

// literal turns a tag's text into JSON that p can hold.
func literal(text string, p *codec.Plan) (string, error) {
	json := text
	if p.Kind == codec.String || p.Kind == codec.Other || p.Kind == codec.Bytes {
		json = codec.Quote(text)
	}
	if err := p.Decode(json, unsafe.Pointer(reflect.New(p.Type).Elem().UnsafeAddr())); err != nil {
		return "", errors.New("does not fit " + p.Type.String())
	}
	return json, nil
}
