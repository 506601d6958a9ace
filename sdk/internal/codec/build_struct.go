package codec

import "reflect"

func (b *builder) object(p *Plan, t reflect.Type) {
	p.Kind = Struct
	for _, o := range b.open {
		if o == t {
			b.fault(p, "type "+t.String()+" contains itself; a schema without references cannot say that: use json.RawMessage")
			return
		}
	}
	b.fields(p, t, 0)
}

// fields adds the members of one struct, those of embedded structs in place.
func (b *builder) fields(p *Plan, t reflect.Type, offset uintptr) {
	b.open = append(b.open, t)
	for i := range t.NumField() {
		b.field(p, t, t.Field(i), offset)
	}
	b.open = b.open[:len(b.open)-1]
}

func (b *builder) field(p *Plan, t reflect.Type, f reflect.StructField, offset uintptr) {
	name, o, skip, err := member(f.Tag)
	embedded := f.Anonymous && name == ""
	if err == nil && (skip || !embedded && !f.IsExported()) {
		return
	}
	if name == "" {
		name = f.Name
	}
	field := Field{
		Name: name, Tag: f.Tag, Offset: offset + f.Offset,
		quoted: string(AppendString(nil, name)) + ":", omit: o, in: t, name: f.Name,
	}
	from := len(b.faults)
	switch {
	case err != nil:
		b.faults = append(b.faults, err.Error())
	case embedded && b.embeds(f.Type):
		b.fields(p, f.Type, offset+f.Offset)
		return
	case embedded:
		b.faults = append(b.faults, "only a struct can be embedded without a json name, and not in itself")
	case p.hasField(name):
		b.faults = append(b.faults, "there are two members named "+name)
	}
	if !embedded {
		field.Plan = b.plan(f.Type)
		if c := field.Plan.custom; o&omitZero != 0 && hasIsZero(f.Type) && field.Plan.Kind != 0 && (c == nil || c.Zero == nil) {
			b.faults = append(b.faults, "omitzero on a type with a method IsZero is not supported: use omitempty or a pointer")
		}
		p.Fields = append(p.Fields, field)
	}
	if len(b.faults) > from {
		b.faults.Within(from, field.Where())
	}
}

// embeds reports a struct whose fields can stand in place of the struct.
func (b *builder) embeds(t reflect.Type) bool {
	for _, o := range b.open {
		if o == t {
			return false
		}
	}
	return t.Kind() == reflect.Struct && !b.extra.Knows(t) && !EncodesJSON(t) && !EncodesText(t)
}

func (p *Plan) hasField(name string) bool {
	for i := range p.Fields {
		if sameName(p.Fields[i].Name, name) {
			return true
		}
	}
	return false
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
