package sdk

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

func (d *deriver) object(t reflect.Type) (*schema, error) {
	if slices.Contains(d.open, t) {
		return nil, fmt.Errorf("type %s contains itself; a schema without references cannot say that: use json.RawMessage", t)
	}
	d.open = append(d.open, t)
	defer func() { d.open = d.open[:len(d.open)-1] }()
	s := &schema{Type: "object", Properties: properties{}, AdditionalProperties: false}
	if err := d.fields(t, nil, s); err != nil {
		return nil, err
	}
	return s, nil
}

// fields adds the members of one struct, those of embedded structs in place.
// Two of a name are refused, where encoding/json would silently drop both.
func (d *deriver) fields(t reflect.Type, index []int, s *schema) error {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		tag, err := parseTags(f.Tag)
		if err != nil {
			return fmt.Errorf("field %s.%s: %w", t, f.Name, err)
		}
		if tag.skip {
			continue
		}
		if f.Anonymous && tag.name == "" {
			if err := d.embedded(f, at, s); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() {
			continue
		}
		if tag.name == "" {
			tag.name = f.Name
		}
		if slices.ContainsFunc(s.Properties, func(p property) bool { return strings.EqualFold(p.name, tag.name) }) {
			return fmt.Errorf("field %s.%s: there are two members named %s", t, f.Name, tag.name)
		}
		if err := d.member(f, at, tag, s); err != nil {
			return fmt.Errorf("field %s.%s: %w", t, f.Name, err)
		}
	}
	return nil
}

func (d *deriver) embedded(f reflect.StructField, index []int, s *schema) error {
	if f.Type.Kind() != reflect.Struct || f.Type == timeType || marshals(f.Type) {
		return fmt.Errorf("embedded field %s: only a struct can be embedded without a json name", f.Name)
	}
	if slices.Contains(d.open, f.Type) {
		return fmt.Errorf("embedded field %s contains itself", f.Name)
	}
	d.open = append(d.open, f.Type)
	defer func() { d.open = d.open[:len(d.open)-1] }()
	return d.fields(f.Type, index, s)
}

// member derives one field and applies its tags.
func (d *deriver) member(f reflect.StructField, index []int, tag tags, s *schema) error {
	t, pointer := f.Type, f.Type.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	child, err := d.field(t, index, pointer)
	if err != nil {
		return err
	}
	if err := tag.apply(child, t); err != nil {
		return err
	}
	if tag.hasDefault {
		if pointer || d.repeated {
			return fmt.Errorf("a default works on plain fields only, not behind a pointer, list or map")
		}
		d.defaults = append(d.defaults, defaultValue{index: index, json: child.Default})
	}
	if pointer && !tag.omit {
		child = nullable(child)
	}
	s.Properties = append(s.Properties, property{tag.name, child})
	if !pointer && !tag.omit && !tag.hasDefault {
		s.Required = append(s.Required, tag.name)
	}
	return nil
}

// field derives a field's type; defaults found below get the field's index in
// front, so that they can be set from the top.
func (d *deriver) field(t reflect.Type, index []int, pointer bool) (*schema, error) {
	if pointer {
		return d.inner(t)
	}
	before := len(d.defaults)
	s, err := d.derive(t)
	if err != nil {
		return nil, err
	}
	for i := before; i < len(d.defaults); i++ {
		d.defaults[i].index = append(slices.Clone(index), d.defaults[i].index...)
	}
	return s, nil
}
