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
	e.text(n)
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

// ValidCount reports a whole number of at most nine digits.
func ValidCount(s string) bool {
	return len(s) <= 9 && digits(s, 0) == len(s) && ValidNumber(s)
}

// InRange reports a JSON number that a float64 has room for.
func InRange(number string) bool {
	_, ok := parseFloat(number, 64)
	return ok
}

// raw writes JSON text without the white space in it; nothing is null.
func (e *encoder) raw(text []byte) error {
	if text == nil {
		e.text("null")
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
		e.text("null")
	case string:
		e.buf = AppendString(e.buf, v)
	case bool:
		e.buf = appendBool(e.buf, v)
	case float64:
		e.buf, err = AppendFloat(e.buf, v, 64)
	case int:
		e.buf = strconv.AppendInt(e.buf, int64(v), 10)
	case map[string]any:
		return e.anyMap(v)
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
	t := reflect.TypeOf(held)
	// The second word of an interface points to the value, or is the value where
	// that is a pointer, as a map is. Package reflect would link 15 kB to say so.
	word := &(*[2]unsafe.Pointer)(unsafe.Pointer(&held))[1]
	v := *word
	switch t.Kind() {
	case reflect.Pointer, reflect.Map:
		v = unsafe.Pointer(word)
		fallthrough
	case reflect.Slice:
		if *(*unsafe.Pointer)(v) == nil {
			return e.any(nil)
		}
	}
	p, err := Build(t, e.extra)
	if err != nil {
		return err
	}
	switch p.Kind {
	case Struct, Array, Other:
		return errors.New("an interface that holds a " + t.String() + ": put a pointer to it there")
	}
	return e.value(p, v)
}
