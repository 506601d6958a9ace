package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// tags is what the struct tags of one field say. The rule is one: the tag's key
// is the JSON Schema keyword and its value the keyword's, except desc for
// description and enum, whose words are separated by |.
type tags struct {
	name       string
	skip       bool
	omit       bool // omitempty or omitzero
	hasDefault bool
	keywords   []keyword
}

type keyword struct{ key, value string }

// parseTags reads every key of a tag. One that it does not know is refused: a
// misspelt keyword would otherwise be a rule that is silently not there.
func parseTags(tag reflect.StructTag) (tags, error) {
	var t tags
	rest := string(tag)
	for {
		rest = strings.TrimLeft(rest, " ")
		if rest == "" {
			return t, nil
		}
		key, after, ok := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if !ok || err != nil || key == "" {
			return t, fmt.Errorf("tag %q is not key:\"value\" pairs", tag)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return t, fmt.Errorf("tag %q: %w", tag, err)
		}
		if err := t.set(key, value); err != nil {
			return t, err
		}
		rest = after[len(quoted):]
	}
}

func (t *tags) set(key, value string) error {
	switch key {
	case "json":
		return t.setJSON(value)
	case "desc", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems":
	case "default":
		t.hasDefault = true
	default:
		return fmt.Errorf("tag %s is not one of json, desc, enum, default, minimum, maximum, minLength, maxLength, pattern, format, minItems, maxItems", key)
	}
	t.keywords = append(t.keywords, keyword{key, value})
	return nil
}

func (t *tags) setJSON(value string) error {
	if value == "-" {
		t.skip = true
		return nil
	}
	name, options, _ := strings.Cut(value, ",")
	t.name = name
	for o := range strings.SplitSeq(options, ",") {
		switch o {
		case "":
		case "omitempty", "omitzero":
			t.omit = true
		default:
			return fmt.Errorf("json option %s is not supported", o)
		}
	}
	return nil
}

// apply puts the keywords into s, the schema of typ. On a list, minItems,
// maxItems, desc and default are the list's (which has no default) and every
// other keyword is its elements'.
func (t *tags) apply(s *schema, typ reflect.Type) error {
	for _, k := range t.keywords {
		to, of := s, typ
		list := k.key == "desc" || k.key == "minItems" || k.key == "maxItems" || k.key == "default"
		if s.Items != nil && !list {
			to, of = s.Items, typ.Elem()
		}
		if err := to.set(k, of); err != nil {
			return fmt.Errorf("tag %s:%q: %w", k.key, k.value, err)
		}
	}
	return nil
}

func (s *schema) set(k keyword, t reflect.Type) error {
	switch k.key {
	case "desc":
		s.Description = k.value
		return nil
	case "format":
		s.Format = k.value
		return s.only("string")
	case "pattern":
		s.Pattern = k.value
		return s.only("string")
	case "minLength":
		return s.count(&s.MinLength, k.value, "string")
	case "maxLength":
		return s.count(&s.MaxLength, k.value, "string")
	case "minItems":
		return s.count(&s.MinItems, k.value, "array")
	case "maxItems":
		return s.count(&s.MaxItems, k.value, "array")
	case "minimum":
		return s.bound(&s.Minimum, k.value)
	case "maximum":
		return s.bound(&s.Maximum, k.value)
	case "enum":
		return s.enum(k.value, t)
	}
	return s.setDefault(k.value, t)
}

// only refuses a keyword that JSON Schema would ignore on this type.
func (s *schema) only(types ...string) error {
	for _, t := range types {
		if s.Type == t {
			return nil
		}
	}
	return fmt.Errorf("works on %s, this is %v", strings.Join(types, " or "), s.Type)
}

func (s *schema) count(to *json.Number, value, on string) error {
	if _, err := strconv.ParseUint(value, 10, 31); err != nil {
		return fmt.Errorf("is not a count")
	}
	*to = json.Number(value)
	return s.only(on)
}

func (s *schema) bound(to *json.Number, value string) error {
	if !json.Valid([]byte(value)) {
		return fmt.Errorf("is not a number")
	}
	if _, err := strconv.ParseFloat(value, 64); err != nil {
		return fmt.Errorf("is not a number")
	}
	*to = json.Number(value)
	return s.only("integer", "number")
}

func (s *schema) enum(value string, t reflect.Type) error {
	for word := range strings.SplitSeq(value, "|") {
		v, err := literal(word, t)
		if err != nil {
			return err
		}
		s.Enum = append(s.Enum, v)
	}
	return s.only("string", "integer", "number")
}

func (s *schema) setDefault(value string, t reflect.Type) error {
	if err := s.only("string", "integer", "number", "boolean"); err != nil {
		return err
	}
	v, err := literal(value, t)
	s.Default = v
	return err
}

// literal turns a tag's text into JSON that t can hold.
func literal(text string, t reflect.Type) (json.RawMessage, error) {
	raw := json.RawMessage(text)
	if t.Kind() == reflect.String || marshals(t) {
		b, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		raw = b
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		return nil, fmt.Errorf("does not fit %s", t)
	}
	return raw, nil
}
