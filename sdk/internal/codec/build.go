package codec

import (
	"errors"
	"reflect"
)

// Build makes the table of t. The error says which type or field cannot be
// encoded and what would be right.
func Build(t reflect.Type, x Extra) (*Plan, error) {
	b := builder{extra: x}
	return b.plan(t)
}

// builder walks one type. open holds the structs being walked, to refuse one
// that contains itself.
type builder struct {
	extra Extra
	open  []reflect.Type
}

func (b *builder) plan(t reflect.Type) (*Plan, error) {
	p := &Plan{size: t.Size(), Type: t}
	if c := b.extra.custom(t); c != nil {
		p.Kind, p.custom = Other, c
		return p, nil
	}
	switch {
	case IsRaw(t):
		p.Kind = RawText
		return p, nil
	case IsNumber(t):
		p.Kind = Number
		return p, nil
	case named(t, "time", "Duration"):
		return nil, errors.New("time.Duration would be nanoseconds: use a number and name the unit, as in timeout_seconds")
	case named(t, "time", "Time"):
		return nil, errors.New("type time.Time: add the option sdk.Times() to its tool, or use a string")
	case EncodesJSON(t):
		return nil, errors.New("type " + t.String() + " encodes itself, so its schema is not known: use a string or json.RawMessage")
	case EncodesText(t):
		return nil, errors.New("type " + t.String() + " encodes itself as text: add the option sdk.Text[" + t.String() + "]() to its tool, or use a string")
	}
	switch t.Kind() {
	case reflect.Bool:
		p.Kind = Bool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.Kind = Int
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.Kind = Uint
	case reflect.Float32, reflect.Float64:
		p.Kind = Float
	case reflect.String:
		p.Kind = String
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !EncodesJSON(t.Elem()) && !EncodesText(t.Elem()) {
			p.Kind = Bytes
			return p, nil
		}
		p.Kind = Slice
		return p, b.inner(p, t)
	case reflect.Array:
		p.Kind, p.Len = Array, t.Len()
		return p, b.inner(p, t)
	case reflect.Pointer:
		p.Kind = Pointer
		return p, b.inner(p, t)
	case reflect.Map:
		return p, b.mapping(p, t)
	case reflect.Struct:
		return p, b.object(p, t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			p.Kind = Any
			return p, nil
		}
		fallthrough
	default:
		return nil, errors.New("type " + t.String() + " has no JSON Schema")
	}
	return p, nil
}

func (b *builder) inner(p *Plan, t reflect.Type) (err error) {
	p.Elem, err = b.plan(t.Elem())
	return err
}

func (b *builder) mapping(p *Plan, t reflect.Type) error {
	if t.Key().Kind() != reflect.String || EncodesJSON(t.Key()) || EncodesText(t.Key()) {
		return errors.New("type " + t.String() + ": keys of a map must be strings")
	}
	if err := b.inner(p, t); err != nil {
		return err
	}
	p.Kind, p.table = Object, b.extra.table(t)
	if p.table == nil {
		return errors.New("type " + t.String() + " needs the option sdk.Maps[" + t.Key().String() + ", " + t.Elem().String() + "]() of its tool")
	}
	return nil
}

func (b *builder) object(p *Plan, t reflect.Type) error {
	p.Kind = Struct
	for _, o := range b.open {
		if o == t {
			return errors.New("type " + t.String() + " contains itself; a schema without references cannot say that: use json.RawMessage")
		}
	}
	b.open = append(b.open, t)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	return b.fields(p, t, 0)
}

// fields adds the members of one struct, those of embedded structs in place.
func (b *builder) fields(p *Plan, t reflect.Type, offset uintptr) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name, o, skip, err := member(f.Tag)
		if err != nil {
			return errors.New("field " + t.String() + "." + f.Name + ": " + err.Error())
		}
		embedded := f.Anonymous && name == ""
		if skip || !embedded && !f.IsExported() {
			continue
		}
		if embedded {
			if err := b.embedded(p, f, offset); err != nil {
				return err
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		for _, have := range p.Fields {
			if sameName(have.Name, name) {
				return errors.New("field " + t.String() + "." + f.Name + ": there are two members named " + name)
			}
		}
		plan, err := b.plan(f.Type)
		if err == nil && o&omitZero != 0 && hasIsZero(f.Type) && (plan.custom == nil || plan.custom.Zero == nil) {
			err = errors.New("omitzero on a type with a method IsZero is not supported: use omitempty or a pointer")
		}
		if err != nil {
			return errors.New("field " + t.String() + "." + f.Name + ": " + err.Error())
		}
		p.Fields = append(p.Fields, Field{
			Name: name, Tag: f.Tag, Offset: offset + f.Offset, Plan: plan,
			quoted: string(AppendString(nil, name)) + ":", omit: o,
		})
	}
	return nil
}

func (b *builder) embedded(p *Plan, f reflect.StructField, offset uintptr) error {
	if f.Type.Kind() != reflect.Struct || b.extra.Knows(f.Type) || EncodesJSON(f.Type) || EncodesText(f.Type) {
		return errors.New("embedded field " + f.Name + ": only a struct can be embedded without a json name")
	}
	for _, o := range b.open {
		if o == f.Type {
			return errors.New("embedded field " + f.Name + " contains itself")
		}
	}
	b.open = append(b.open, f.Type)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	return b.fields(p, f.Type, offset+f.Offset)
}

// sameName ignores the case of ASCII letters: two such names in one object would
// be one to a reader that ignores case, as encoding/json does.
func sameName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
