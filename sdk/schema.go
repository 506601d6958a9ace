package sdk

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// schema is the part of JSON Schema 2020-12 that Go types turn into. Members
// are written in this order, so the same type gives the same bytes.
type schema struct {
	Type                 any             `json:"type,omitempty"` // a word, or two for nullable
	Description          string          `json:"description,omitempty"`
	Format               string          `json:"format,omitempty"`
	ContentEncoding      string          `json:"contentEncoding,omitempty"`
	Enum                 []any           `json:"enum,omitempty"`
	Default              json.RawMessage `json:"default,omitempty"`
	Minimum              json.Number     `json:"minimum,omitempty"`
	Maximum              json.Number     `json:"maximum,omitempty"`
	MinLength            json.Number     `json:"minLength,omitempty"`
	MaxLength            json.Number     `json:"maxLength,omitempty"`
	Pattern              string          `json:"pattern,omitempty"`
	MinItems             json.Number     `json:"minItems,omitempty"`
	MaxItems             json.Number     `json:"maxItems,omitempty"`
	Items                *schema         `json:"items,omitempty"`
	Properties           properties      `json:"properties,omitempty"`
	Required             []string        `json:"required,omitempty"`
	AdditionalProperties any             `json:"additionalProperties,omitempty"` // false or a schema
	AnyOf                []*schema       `json:"anyOf,omitempty"`
}

// properties keeps the order of the struct.
type properties []property

type property struct {
	name   string
	schema *schema
}

// MarshalJSON writes the properties as one object.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, prop := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(prop.name)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(prop.schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(body)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

var (
	rawMessage = reflect.TypeFor[json.RawMessage]()
	number     = reflect.TypeFor[json.Number]()
	timeType   = reflect.TypeFor[time.Time]()
	duration   = reflect.TypeFor[time.Duration]()
	marshaler  = reflect.TypeFor[json.Marshaler]()
	texter     = reflect.TypeFor[encoding.TextMarshaler]()
)

// marshals reports a type that encodes itself.
func marshals(t reflect.Type) bool {
	return t.Implements(marshaler) || t.Implements(texter) ||
		reflect.PointerTo(t).Implements(marshaler) || reflect.PointerTo(t).Implements(texter)
}

// deriver walks one type. open holds the structs being walked, to refuse
// recursion; defaults collects what the default tags say.
type deriver struct {
	open     []reflect.Type
	defaults []defaultValue
	repeated bool // inside a list, map or pointer, where no default can be set
}

func (d *deriver) derive(t reflect.Type) (*schema, error) {
	if s, err := d.special(t); s != nil || err != nil {
		return s, err
	}
	switch t.Kind() {
	case reflect.Bool:
		return &schema{Type: "boolean"}, nil
	case reflect.String:
		return &schema{Type: "string"}, nil
	case reflect.Float32, reflect.Float64:
		return &schema{Type: "number"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return integer(t), nil
	case reflect.Slice, reflect.Array:
		return d.list(t)
	case reflect.Map:
		return d.mapping(t)
	case reflect.Struct:
		return d.object(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return &schema{}, nil
		}
	}
	return nil, fmt.Errorf("type %s has no JSON Schema", t)
}

// special answers types whose JSON is not that of their kind.
func (d *deriver) special(t reflect.Type) (*schema, error) {
	switch {
	case t == rawMessage:
		return &schema{}, nil
	case t == number:
		return &schema{Type: "number"}, nil
	case t == timeType:
		return &schema{Type: "string", Format: "date-time"}, nil
	case t == duration:
		return nil, fmt.Errorf("time.Duration would be nanoseconds: use a number and name the unit, as in timeout_seconds")
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		return nil, nil
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
		return nil, fmt.Errorf("type %s encodes itself, so its schema is not known: use a string or json.RawMessage", t)
	case t.Implements(texter) || reflect.PointerTo(t).Implements(texter):
		return &schema{Type: "string"}, nil
	}
	return nil, nil
}

// integer states the range of the Go type where it is narrower than what JSON
// numbers hold exactly.
func integer(t reflect.Type) *schema {
	s := &schema{Type: "integer"}
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32:
		high := int64(1)<<(t.Bits()-1) - 1
		s.Minimum, s.Maximum = json.Number(fmt.Sprint(-high-1)), json.Number(fmt.Sprint(high))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		s.Minimum, s.Maximum = "0", json.Number(fmt.Sprint(uint64(1)<<t.Bits()-1))
	case reflect.Uint, reflect.Uint64:
		s.Minimum = "0"
	}
	return s
}

func (d *deriver) list(t reflect.Type) (*schema, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !marshals(t.Elem()) {
		return &schema{Type: "string", ContentEncoding: "base64"}, nil
	}
	items, err := d.inner(t.Elem())
	if err != nil {
		return nil, fmt.Errorf("element: %w", err)
	}
	s := &schema{Type: "array", Items: items}
	if t.Kind() == reflect.Array {
		s.MinItems = json.Number(fmt.Sprint(t.Len()))
		s.MaxItems = s.MinItems
	}
	return s, nil
}

func (d *deriver) mapping(t reflect.Type) (*schema, error) {
	if t.Key().Kind() != reflect.String || marshals(t.Key()) {
		return nil, fmt.Errorf("type %s: keys of a map must be strings", t)
	}
	values, err := d.inner(t.Elem())
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return &schema{Type: "object", AdditionalProperties: values}, nil
}

// inner derives what may occur any number of times. An element that is a
// pointer may be null.
func (d *deriver) inner(t reflect.Type) (*schema, error) {
	saved := d.repeated
	d.repeated = true
	defer func() { d.repeated = saved }()
	if t.Kind() != reflect.Pointer {
		return d.derive(t)
	}
	s, err := d.derive(t.Elem())
	if err != nil {
		return nil, err
	}
	return nullable(s), nil
}

// nullable adds null to what a schema allows.
func nullable(s *schema) *schema {
	switch word, ok := s.Type.(string); {
	case !ok: // anything is allowed already
		return s
	case len(s.Enum) > 0 || s.Properties != nil || s.Items != nil || s.AdditionalProperties != nil:
		d := s.Description
		s.Description = ""
		return &schema{Description: d, AnyOf: []*schema{s, {Type: "null"}}}
	default:
		s.Type = []string{word, "null"}
		return s
	}
}
