package codec

import (
	"reflect"
	"strconv"
	"unsafe"
)

// Decode reads text, exactly one JSON value, into the value at v, which must be
// of the plan's type and zero or hold defaults. Strings in the result share
// text's memory. The error is a sentence about the input; v is then half read.
func (p *Plan) Decode(text string, v unsafe.Pointer) error {
	d := decoder{s: text}
	if err := d.value(p, v); err != nil {
		return err
	}
	return d.end()
}

// value reads one value. null makes a pointer, slice, map or any nil and leaves
// everything else as it is.
func (d *decoder) value(p *Plan, v unsafe.Pointer) error {
	c, err := d.peek()
	if err != nil {
		return err
	}
	if c == 'n' && p.Kind != RawText {
		return d.null(p, v)
	}
	switch p.Kind {
	case Bool:
		return d.boolean((*bool)(v), c)
	case Int, Uint, Float, Number:
		return d.number(p, v, c)
	case String, Bytes, Other:
		return d.text(p, v, c)
	case RawText:
		from := d.at
		if err := d.skip(true); err != nil {
			return err
		}
		*(*[]byte)(v) = []byte(d.s[from:d.at])
		return nil
	case Any:
		*(*any)(v), err = d.any()
		return err
	case Pointer:
		to := reflect.New(p.Elem.Type).Elem()
		at := unsafe.Pointer(to.UnsafeAddr())
		*(*unsafe.Pointer)(v) = at
		return d.value(p.Elem, at)
	case Slice:
		return d.slice(p, v, c)
	case Array:
		return d.array(p, v, c)
	case Object:
		return d.mapping(p, v, c)
	}
	return d.object(p, v, c)
}

func (d *decoder) null(p *Plan, v unsafe.Pointer) error {
	if err := d.word("null"); err != nil {
		return err
	}
	switch p.Kind {
	case Pointer, Object:
		*(*unsafe.Pointer)(v) = nil
	case Slice, Bytes:
		*(*[]byte)(v) = nil
	case Any:
		*(*any)(v) = nil
	}
	return nil
}

func (d *decoder) boolean(v *bool, c byte) error {
	switch c {
	case 't':
		*v = true
		return d.word("true")
	case 'f':
		*v = false
		return d.word("false")
	}
	return d.mismatch(c, "true or false")
}

// text reads a JSON string into what keeps one.
func (d *decoder) text(p *Plan, v unsafe.Pointer, c byte) error {
	if c != '"' {
		return d.mismatch(c, "a string")
	}
	at := d.at
	s, err := d.str()
	if err != nil {
		return err
	}
	switch p.Kind {
	case String:
		*(*string)(v) = s
		return nil
	case Other:
		err = p.custom.Text(v, s)
	default:
		*(*[]byte)(v), err = fromBase64(s)
	}
	if err != nil {
		return &Error{At: at, What: err.Error()}
	}
	return nil
}

func (d *decoder) number(p *Plan, v unsafe.Pointer, c byte) error {
	if c != '-' && !digit(c) {
		return d.mismatch(c, "a number")
	}
	at := d.at
	whole, err := d.num()
	if err != nil {
		return err
	}
	text := d.s[at:d.at]
	ok := true
	switch {
	case p.Kind == Number:
		*(*string)(v) = text
	case p.Kind == Float && p.size == 8:
		*(*float64)(v), err = parseFloat(text)
	case p.Kind == Float:
		var f float64
		f, err = strconv.ParseFloat(text, 32)
		*(*float32)(v) = float32(f)
	case !whole:
		return &Error{At: at, What: text + " is not a whole number"}
	case p.Kind == Int:
		ok = setInt(v, p.size, text)
	default:
		ok = setUint(v, p.size, text)
	}
	if err != nil || !ok {
		return &Error{At: at, What: text + " is outside the range of " + p.Type.Kind().String()}
	}
	return nil
}

// slice reads an array of any length. Its memory comes from reflect in growing
// pieces, zeroed and of the type that the collector has to know.
func (d *decoder) slice(p *Plan, v unsafe.Pointer, c byte) error {
	if c != '[' {
		return d.mismatch(c, "an array")
	}
	if err := d.open(); err != nil {
		return err
	}
	*(*[]byte)(v) = []byte{} // [] is empty and not nil
	list := reflect.NewAt(p.Type, v).Elem()
	for n, room := 0, 0; ; n++ {
		more, err := d.more(']', n == 0)
		if !more {
			list.SetLen(n)
			return err
		}
		if n == room {
			list.Grow(max(n, 4))
			room = list.Cap()
			list.SetLen(room)
		}
		first := unsafe.Pointer(unsafe.SliceData(*(*[]byte)(v)))
		if err := d.value(p.Elem, unsafe.Add(first, uintptr(n)*p.Elem.size)); err != nil {
			return err
		}
	}
}

// array reads exactly as many elements as there are.
func (d *decoder) array(p *Plan, v unsafe.Pointer, c byte) error {
	if c != '[' {
		return d.mismatch(c, "an array")
	}
	if err := d.open(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		more, err := d.more(']', n == 0)
		if err == nil && more != (n < p.Len) {
			err = d.fail("an array that does not have " + strconv.Itoa(p.Len) + " elements")
		}
		if err != nil || !more {
			return err
		}
		if err := d.value(p.Elem, unsafe.Add(v, uintptr(n)*p.Elem.size)); err != nil {
			return err
		}
	}
}

func (d *decoder) mapping(p *Plan, v unsafe.Pointer, c byte) error {
	if c != '{' {
		return d.mismatch(c, "an object")
	}
	if err := d.open(); err != nil {
		return err
	}
	p.table.make(v)
	for first := true; ; first = false {
		name, ok, err := d.member(first)
		if !ok {
			return err
		}
		if p.table.get(v, name) != nil {
			return d.twice(name)
		}
		elem := unsafe.Pointer(reflect.New(p.Elem.Type).Elem().UnsafeAddr())
		if err := d.value(p.Elem, elem); err != nil {
			return within(name, err)
		}
		p.table.set(v, name, elem)
	}
}

// object reads a struct. The field after the last one is tried first, name,
// quotes and colon at once: whoever writes the members in order pays one
// comparison a member.
func (d *decoder) object(p *Plan, v unsafe.Pointer, c byte) error {
	if c != '{' {
		return d.mismatch(c, "an object")
	}
	if err := d.open(); err != nil {
		return err
	}
	var few [2]uint64
	seen := few[:]
	if len(p.Fields) > 128 {
		seen = make([]uint64, (len(p.Fields)+63)/64)
	}
	next := 0
	for first := true; ; first = false {
		more, err := d.more('}', first)
		if !more {
			return err
		}
		if next >= len(p.Fields) || !d.passes(p.Fields[next].quoted) {
			if next, err = d.field(p); err != nil {
				return err
			}
		}
		f := &p.Fields[next]
		if seen[next/64]&(1<<(next%64)) != 0 {
			return d.twice(f.Name)
		}
		seen[next/64] |= 1 << (next % 64)
		next++
		if err := d.value(f.Plan, unsafe.Add(v, f.Offset)); err != nil {
			return within(f.Name, err)
		}
	}
}

// passes goes past text that is next, byte for byte.
func (d *decoder) passes(text string) bool {
	end := d.at + len(text)
	if end > len(d.s) || d.s[d.at:end] != text {
		return false
	}
	d.at = end
	return true
}

// field passes a name and finds its field.
func (d *decoder) field(p *Plan) (int, error) {
	name, err := d.name()
	if err != nil {
		return 0, err
	}
	for i := range p.Fields {
		if p.Fields[i].Name == name {
			return i, nil
		}
	}
	return 0, d.unknown(name)
}
