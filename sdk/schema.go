package sdk

import (
	"reflect"
	"strconv"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
)

// schema is the part of JSON Schema 2020-12 that Go types turn into. What is a
// JSON value in it is kept as JSON text, "" when it is left out.
type schema struct {
	types           []string // one, two for nullable, none for anything
	description     string
	format          string
	contentEncoding string
	enum            []string
	deflt           string
	minimum         string
	maximum         string
	minLength       string
	maxLength       string
	pattern         string
	minItems        string
	maxItems        string
	items           *schema
	properties      []property // in the order of the struct
	required        []string
	closed          bool    // no members but the properties
	values          *schema // of a map
	anyOf           []*schema
}

type property struct {
	name   string
	schema *schema
}

// is reports a schema of exactly this type.
func (s *schema) is(word string) bool { return len(s.types) == 1 && s.types[0] == word }

// deriver turns the table of a type into a schema, so that the two cannot differ.
// defaults collects what the default tags say, faults what is wrong with tags.
type deriver struct {
	defaults []defaultValue
	faults   codec.Faults
	repeated bool // inside a list, map or pointer, where no default can be set
}

// derive gives the schema of p; offset is where it lies in the whole.
func (d *deriver) derive(p *codec.Plan, offset uintptr) *schema {
	switch p.Kind {
	case codec.Bool:
		return typed("boolean")
	case codec.Float, codec.Number:
		return typed("number")
	case codec.Int, codec.Uint:
		return integer(p.Type)
	case codec.Bytes:
		return &schema{types: []string{"string"}, contentEncoding: "base64"}
	case codec.Other:
		return &schema{types: []string{"string"}, format: p.Format()}
	case codec.Slice, codec.Array:
		return d.list(p)
	case codec.Object:
		return &schema{types: []string{"object"}, values: d.inner(p.Elem)}
	case codec.Struct:
		return d.object(p, offset)
	case codec.Pointer:
		return d.inner(p)
	case codec.String:
		return typed("string")
	}
	return &schema{} // anything; or a fault that was told
}

func typed(word string) *schema { return &schema{types: []string{word}} }

// integer states the range of the Go type where it is narrower than what JSON
// numbers hold exactly.
func integer(t reflect.Type) *schema {
	s := typed("integer")
	bits := t.Size() * 8
	switch unsigned := t.Kind() >= reflect.Uint; {
	case unsigned && bits < 64:
		s.minimum, s.maximum = "0", strconv.FormatInt(1<<bits-1, 10)
	case unsigned:
		s.minimum = "0"
	case bits < 64:
		high := int64(1)<<(bits-1) - 1
		s.minimum, s.maximum = strconv.FormatInt(-high-1, 10), strconv.FormatInt(high, 10)
	}
	return s
}

func (d *deriver) list(p *codec.Plan) *schema {
	s := &schema{types: []string{"array"}, items: d.inner(p.Elem)}
	if p.Kind == codec.Array {
		s.minItems = strconv.Itoa(p.Len)
		s.maxItems = s.minItems
	}
	return s
}

// inner derives what may occur any number of times. An element that is a
// pointer may be null.
func (d *deriver) inner(p *codec.Plan) *schema {
	saved := d.repeated
	d.repeated = true
	defer func() { d.repeated = saved }()
	if p.Kind != codec.Pointer {
		return d.derive(p, 0)
	}
	return nullable(d.derive(p.Elem, 0))
}

func (d *deriver) object(p *codec.Plan, offset uintptr) *schema {
	s := &schema{types: []string{"object"}, closed: true}
	for i := range p.Fields {
		from := len(d.faults)
		d.member(&p.Fields[i], offset, s)
		if len(d.faults) > from {
			d.faults.Within(from, p.Fields[i].Where())
		}
	}
	return s
}

// member derives one field and applies its tags.
func (d *deriver) member(f *codec.Field, offset uintptr, s *schema) {
	tag, faults := parseTags(f.Tag)
	p, pointer := f.Plan, f.Plan.Kind == codec.Pointer
	var child *schema
	if pointer {
		p = p.Elem
		child = d.inner(p)
	} else {
		child = d.derive(p, offset+f.Offset)
	}
	d.faults = append(append(d.faults, faults...), tag.apply(child, p)...)
	if tag.hasDefault {
		if pointer || d.repeated {
			d.faults = append(d.faults, "a default works on plain fields only, not behind a pointer, list or map")
		}
		d.defaults = append(d.defaults, defaultValue{offset: offset + f.Offset, plan: p, json: child.deflt})
	}
	if pointer && !f.Optional() {
		child = nullable(child)
	}
	s.properties = append(s.properties, property{f.Name, child})
	if !pointer && !f.Optional() && !tag.hasDefault {
		s.required = append(s.required, f.Name)
	}
}

// nullable adds null to what a schema allows.
func nullable(s *schema) *schema {
	switch {
	case len(s.types) != 1: // anything is allowed already
		return s
	case len(s.enum) > 0 || s.properties != nil || s.items != nil || s.closed || s.values != nil:
		text := s.description
		s.description = ""
		return &schema{description: text, anyOf: []*schema{s, typed("null")}}
	}
	s.types = append(s.types, "null")
	return s
}
