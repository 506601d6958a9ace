package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"unicode/utf8"
)

// unknownKeyword is a part of a schema that this package has no check for.
type unknownKeyword struct{ what string }

func (u *unknownKeyword) Error() string { return u.what }

// object is a JSON object, as a schema or as a value.
type object = map[string]any

// readable reports what of a schema is not checked, so that no rule of an author
// is silently left out.
func readable(s any) error {
	schema, ok := s.(object)
	if !ok {
		if _, ok := s.(bool); ok {
			return nil
		}
		return &unknownKeyword{"a schema that is neither an object nor true or false"}
	}
	for key, v := range schema {
		var err error
		switch key {
		case "$schema", "title", "description", "default", "examples", "contentEncoding": // say nothing about what fits
		case "type", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "required":
		case "format":
			if name, _ := v.(string); formats[name] == nil {
				err = &unknownKeyword{fmt.Sprintf("the format %q", name)}
			}
		case "items", "additionalProperties":
			err = readable(v)
		case "properties":
			members, _ := v.(object)
			for _, m := range members {
				err = errors.Join(err, readable(m))
			}
		case "anyOf":
			list, _ := v.([]any)
			for _, m := range list {
				err = errors.Join(err, readable(m))
			}
		default:
			err = &unknownKeyword{fmt.Sprintf("the keyword %q", key)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fits reports the first rule of a readable schema that v breaks.
func fits(at string, s, v any) error {
	if allowed, ok := s.(bool); ok {
		if !allowed {
			return fmt.Errorf("%s: nothing is allowed here", at)
		}
		return nil
	}
	schema, _ := s.(object)
	if !ofType(schema["type"], v) {
		return fmt.Errorf("%s: got %s, want %v", at, typeOf(v), schema["type"])
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(enum, func(e any) bool { return same(e, v) }) {
		return fmt.Errorf("%s: %v is not one of %v", at, v, enum)
	}
	if either, ok := schema["anyOf"].([]any); ok && !slices.ContainsFunc(either, func(s any) bool { return fits(at, s, v) == nil }) {
		return fmt.Errorf("%s: fits none of the %d schemas of anyOf", at, len(either))
	}
	switch v := v.(type) {
	case string:
		return stringFits(at, schema, v)
	case json.Number:
		return within(at, schema, "minimum", "maximum", v, "value "+v.String())
	case []any:
		return listFits(at, schema, v)
	case object:
		return objectFits(at, schema, v)
	}
	return nil
}

func stringFits(at string, schema object, v string) error {
	if err := within(at, schema, "minLength", "maxLength", count(utf8.RuneCountInString(v)), "length"); err != nil {
		return err
	}
	if pattern, ok := schema["pattern"].(string); ok {
		re, err := regexp.Compile(pattern)
		if err != nil || !re.MatchString(v) {
			return errors.Join(fmt.Errorf("%s: %q does not match pattern %q", at, v, pattern), err)
		}
	}
	if name, ok := schema["format"].(string); ok && !formats[name](v) {
		return fmt.Errorf("%s: %q is not a %s", at, v, name)
	}
	return nil
}

func listFits(at string, schema object, v []any) error {
	if err := within(at, schema, "minItems", "maxItems", count(len(v)), "number of items"); err != nil {
		return err
	}
	if items, ok := schema["items"]; ok {
		for i, e := range v {
			if err := fits(fmt.Sprintf("%s/%d", at, i), items, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func objectFits(at string, schema object, v object) error {
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := v[fmt.Sprint(name)]; !ok {
			return fmt.Errorf("%s: missing property %q", at, name)
		}
	}
	known, _ := schema["properties"].(object)
	for name, member := range v {
		s, ok := known[name]
		if !ok {
			if s, ok = schema["additionalProperties"]; !ok {
				continue
			} else if s == false {
				return fmt.Errorf("%s: additional property %q is not allowed", at, name)
			}
		}
		if err := fits(at+"/"+name, s, member); err != nil {
			return err
		}
	}
	return nil
}

// within compares with a lower and an upper bound.
func within(at string, schema object, low, high string, v json.Number, what string) error {
	for _, bound := range []struct {
		key  string
		sign int
	}{{low, -1}, {high, 1}} {
		if limit, ok := schema[bound.key].(json.Number); ok && rat(v).Cmp(rat(limit)) == bound.sign {
			return fmt.Errorf("%s: %s %s breaks %s %s", at, what, v, bound.key, limit)
		}
	}
	return nil
}

func count(n int) json.Number { return json.Number(fmt.Sprint(n)) }

// rat is a number as it is written, exactly.
func rat(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return new(big.Rat)
	}
	return r
}

// same compares two JSON values; 1 and 1.0 are one number.
func same(a, b any) bool {
	x, ok := a.(json.Number)
	y, both := b.(json.Number)
	if ok && both {
		return rat(x).Cmp(rat(y)) == 0
	}
	return reflect.DeepEqual(a, b)
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case json.Number:
		if rat(v).IsInt() {
			return "integer"
		}
		return "number"
	}
	return "object"
}

// ofType holds v to a type word or a list of them; no word allows everything.
func ofType(want, v any) bool {
	is := typeOf(v)
	match := func(w any) bool { return w == is || w == "number" && is == "integer" }
	switch want := want.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(want, match)
	}
	return match(want)
}
