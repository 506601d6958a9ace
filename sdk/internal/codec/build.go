package codec

import (
	"reflect"
	"strings"
)

// Build makes the table of t. The error is [Faults], all of them: it says which
// types and fields cannot be encoded and what would be right. The table is then
// good for nothing but to look for more faults.
func Build(t reflect.Type, x Extra) (*Plan, error) {
	b := builder{extra: x}
	p := b.plan(t)
	p.extra = x
	if len(b.faults) > 0 {
		return p, b.faults
	}
	return p, nil
}

// builder walks one type, on after a fault. open holds the structs being walked,
// to refuse one that contains itself.
type builder struct {
	extra  Extra
	open   []reflect.Type
	faults Faults
}

// fault keeps what is wrong with p.
func (b *builder) fault(p *Plan, what string) {
	p.Kind = 0
	b.faults = append(b.faults, what)
}

func (b *builder) plan(t reflect.Type) *Plan {
	p := &Plan{size: t.Size(), Type: t}
	switch c := b.extra.custom(t); {
	case c != nil:
		p.Kind, p.custom = Other, c
	case IsRaw(t):
		p.Kind = RawText
	case IsNumber(t):
		p.Kind = Number
	case named(t, "time", "Duration"):
		b.fault(p, "time.Duration would be nanoseconds: use a number and name the unit, as in timeout_seconds")
	case named(t, "time", "Time"):
		b.fault(p, "type time.Time: add the option sdk.Times() to its tool, or use a string")
	case EncodesJSON(t):
		b.fault(p, "type "+t.String()+" encodes itself, so its schema is not known: use a string or json.RawMessage")
	case EncodesText(t):
		b.fault(p, "type "+t.String()+" encodes itself as text: add the option sdk.Text["+source(t)+"]() to its tool, or use a string")
	default:
		b.byKind(p, t)
	}
	return p
}

func (b *builder) byKind(p *Plan, t reflect.Type) {
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
			return
		}
		p.Kind, p.Elem = Slice, b.plan(t.Elem())
	case reflect.Array:
		p.Kind, p.Len, p.Elem = Array, t.Len(), b.plan(t.Elem())
	case reflect.Pointer:
		p.Kind, p.Elem = Pointer, b.plan(t.Elem())
	case reflect.Map:
		b.mapping(p, t)
	case reflect.Struct:
		b.object(p, t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			p.Kind = Any
			return
		}
		fallthrough
	default:
		b.fault(p, "type "+t.String()+" has no JSON Schema")
	}
}

func (b *builder) mapping(p *Plan, t reflect.Type) {
	p.Kind, p.Elem, p.table = Object, b.plan(t.Elem()), b.extra.table(t)
	switch {
	case t.Key().Kind() != reflect.String || EncodesJSON(t.Key()) || EncodesText(t.Key()):
		b.fault(p, "type "+t.String()+": keys of a map must be strings")
	case p.Elem.Kind != 0 && p.table == nil:
		b.faults = append(b.faults, "type "+t.String()+" needs the option sdk.Maps["+source(t.Key())+", "+source(t.Elem())+"]() of its tool")
	}
}

// source is a type as the author of package main writes it.
func source(t reflect.Type) string {
	s := t.String()
	for i := 0; i+5 <= len(s); i++ {
		// not the end of a longer name: domain.P, or a path in brackets
		if s[i:i+5] == "main." && (i == 0 || strings.IndexByte("[]*( ,", s[i-1]) >= 0) {
			s = s[:i] + s[i+5:]
		}
	}
	return s
}
