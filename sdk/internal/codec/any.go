package codec

import (
	"errors"
	"reflect"
	"strconv"
	"unsafe"
)

// number writes a json.Number; the empty one is 0, as encoding/json has it.
func (e *encoder) number(n string) error {
	if n == "" {
		n = "0"
	}
	if !ValidNumber(n) {
		return errors.New("a json.Number that is no number: " + n)
	}
	e.buf = append(e.buf, n...)
	return nil
}

// ValidNumber reports a JSON number.
func ValidNumber(s string) bool {
	if s == "" || s[0] != '-' && !digit(s[0]) {
		return false
	}
	d := decoder{s: s}
	_, err := d.num()
	return err == nil && d.at == len(s)
}

// raw writes JSON text without the white space in it; nothing is null.
func (e *encoder) raw(text []byte) error {
	if text == nil {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if !Valid(string(text)) {
		return errors.New("a json.RawMessage that is not JSON")
	}
	inside := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inside && c == '\\':
			e.byte(c)
			i++
			c = text[i]
		case c == '"':
			inside = !inside
		case !inside && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		e.byte(c)
	}
	return nil
}

// any writes what an interface holds: first what JSON values are read as, then
// other types as far as they can be reached without copying them.
func (e *encoder) any(v any) (err error) {
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case string:
		e.buf = AppendString(e.buf, v)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case float64:
		e.buf, err = AppendFloat(e.buf, v, 64)
	case int:
		e.buf = strconv.AppendInt(e.buf, int64(v), 10)
	case map[string]any:
		return e.anyMap(v)
	case map[string]string:
		if v == nil {
			return e.any(nil)
		}
		p := Plan{Kind: Object, Elem: &Plan{Kind: String}, table: Extra{}.table(reflect.TypeFor[map[string]string]())}
		return e.composite(&p, unsafe.Pointer(&v))
	default:
		return e.other(v)
	}
	return err
}

func (e *encoder) anyMap(m map[string]any) error {
	if m == nil {
		return e.any(nil)
	}
	p := Plan{Kind: Object, Elem: &Plan{Kind: Any}, table: Extra{}.table(reflect.TypeFor[map[string]any]())}
	return e.composite(&p, unsafe.Pointer(&m))
}

// other writes what an interface holds besides: a slice, a map or what a pointer
// points to, by the table of its type, and scalars of any name.
func (e *encoder) other(held any) error {
	v := reflect.ValueOf(held)
	t := v.Type()
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() && !IsRaw(t) {
			return e.any(nil)
		}
	}
	if v.Kind() == reflect.Pointer {
		p, err := Build(t.Elem(), e.extra)
		if err != nil {
			return err
		}
		return e.nested(p, unsafe.Pointer(v.Elem().UnsafeAddr()))
	}
	p, err := Build(t, e.extra)
	if err != nil {
		return err
	}
	switch p.Kind {
	case Bool:
		e.buf = strconv.AppendBool(e.buf, v.Bool())
	case Int:
		e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
	case Uint:
		e.buf = strconv.AppendUint(e.buf, v.Uint(), 10)
	case Float:
		e.buf, err = AppendFloat(e.buf, v.Float(), int(p.size)*8)
	case String:
		e.buf = AppendString(e.buf, v.String())
	case Number:
		return e.number(v.String())
	case RawText, Bytes:
		b := v.Bytes()
		return e.value(p, unsafe.Pointer(&b))
	case Slice:
		if v.Len() == 0 {
			e.buf = append(e.buf, "[]"...)
			return nil
		}
		return e.many(p.Elem, unsafe.Pointer(v.Index(0).UnsafeAddr()), v.Len())
	case Object:
		// A map is a pointer, which an interface keeps as its second word.
		// Value.UnsafePointer would link 100 kB.
		return e.composite(p, unsafe.Pointer(&(*[2]unsafe.Pointer)(unsafe.Pointer(&held))[1]))
	default:
		return errors.New("an interface that holds a " + t.String() + ": put a pointer to it there")
	}
	return err
}

// nested writes one value a level deeper, and many so many: an interface may
// hold itself.
func (e *encoder) nested(p *Plan, v unsafe.Pointer) error {
	wrap := Plan{Kind: Pointer, Elem: p}
	return e.composite(&wrap, unsafe.Pointer(&v))
}

func (e *encoder) many(p *Plan, first unsafe.Pointer, n int) error {
	list := unsafe.Slice((*byte)(first), n)
	wrap := Plan{Kind: Slice, Elem: p}
	return e.composite(&wrap, unsafe.Pointer(&list))
}
