package codec

import (
	"errors"
	"reflect"
	"strconv"
	"unsafe"
)

// Append writes the value at v, which must be of the plan's type, as JSON. A
// nil slice or map is written empty, since the schema says array or object and
// not null. The error is a sentence; dst is then half written.
func (p *Plan) Append(dst []byte, v unsafe.Pointer) ([]byte, error) {
	e := encoder{buf: dst, extra: p.extra}
	err := e.value(p, v)
	return e.buf, err
}

type encoder struct {
	buf   []byte
	depth int
	extra Extra // for what an any holds
}

//go:noinline
func (e *encoder) byte(c byte) { e.buf = append(e.buf, c) }

func (e *encoder) value(p *Plan, v unsafe.Pointer) (err error) {
	switch p.Kind {
	case Bool:
		e.buf = strconv.AppendBool(e.buf, *(*bool)(v))
	case Int:
		e.buf = strconv.AppendInt(e.buf, intAt(v, p.size), 10)
	case Uint:
		e.buf = strconv.AppendUint(e.buf, uintAt(v, p.size), 10)
	case Float:
		if p.size == 4 {
			e.buf, err = AppendFloat(e.buf, float64(*(*float32)(v)), 32)
		} else {
			e.buf, err = AppendFloat(e.buf, *(*float64)(v), 64)
		}
	case String:
		e.buf = AppendString(e.buf, *(*string)(v))
	case Number:
		return e.number(*(*string)(v))
	case Bytes:
		e.byte('"')
		e.buf = appendBase64(e.buf, *(*[]byte)(v))
		e.byte('"')
	case RawText:
		return e.raw(*(*[]byte)(v))
	case Any:
		return e.any(*(*any)(v))
	case Other:
		e.buf, err = p.custom.Append(e.buf, v)
	default:
		return e.composite(p, v)
	}
	return err
}

// composite writes what has values inside.
func (e *encoder) composite(p *Plan, v unsafe.Pointer) error {
	if e.depth++; e.depth > MaxDepth {
		return errors.New("nested too deep")
	}
	var err error
	switch p.Kind {
	case Pointer:
		if to := *(*unsafe.Pointer)(v); to != nil {
			err = e.value(p.Elem, to)
		} else {
			e.buf = append(e.buf, "null"...)
		}
	case Slice:
		list := *(*[]byte)(v) // the length counts elements, of whatever size
		err = e.elements(p.Elem, unsafe.Pointer(unsafe.SliceData(list)), len(list))
	case Array:
		err = e.elements(p.Elem, v, p.Len)
	case Object:
		err = e.mapping(p, v)
	default:
		err = e.object(p, v)
	}
	e.depth--
	return err
}

func (e *encoder) elements(p *Plan, first unsafe.Pointer, n int) error {
	e.byte('[')
	for i := range n {
		if i > 0 {
			e.byte(',')
		}
		if err := e.value(p, unsafe.Add(first, uintptr(i)*p.size)); err != nil {
			return err
		}
	}
	e.byte(']')
	return nil
}

func (e *encoder) mapping(p *Plan, v unsafe.Pointer) error {
	e.byte('{')
	keys := p.table.keys(v)
	sort(keys)
	for i, key := range keys {
		if i > 0 {
			e.byte(',')
		}
		e.buf = append(AppendString(e.buf, key), ':')
		if err := e.value(p.Elem, p.table.get(v, key)); err != nil {
			return errors.New(key + ": " + err.Error())
		}
	}
	e.byte('}')
	return nil
}

func (e *encoder) object(p *Plan, v unsafe.Pointer) error {
	e.byte('{')
	comma := false
	for i := range p.Fields {
		f := &p.Fields[i]
		at := unsafe.Add(v, f.Offset)
		if f.omit != 0 && f.left(at) {
			continue
		}
		if comma {
			e.byte(',')
		}
		comma = true
		e.buf = append(e.buf, f.quoted...)
		if err := e.value(f.Plan, at); err != nil {
			return errors.New(f.Name + ": " + err.Error())
		}
	}
	e.byte('}')
	return nil
}

// left reports whether a member is left out.
func (f *Field) left(v unsafe.Pointer) bool {
	p := f.Plan
	if f.omit&omitEmpty != 0 && p.empty(v) {
		return true
	}
	return f.omit&omitZero != 0 && p.zero(v)
}

// zero is what omitzero leaves out: the zero value, as far as JSON shows it.
func (p *Plan) zero(v unsafe.Pointer) bool {
	switch {
	case p.custom != nil && p.custom.Zero != nil:
		return p.custom.Zero(v)
	case p.Kind == Slice || p.Kind == Bytes || p.Kind == RawText || p.Kind == Object:
		return *(*unsafe.Pointer)(v) == nil
	case p.Kind == Float && p.size == 8:
		return *(*uint64)(v) == 0
	case p.Kind == Float:
		return *(*uint32)(v) == 0
	case p.Kind == Array:
		for i := range p.Len {
			if !p.Elem.zero(unsafe.Add(v, uintptr(i)*p.Elem.size)) {
				return false
			}
		}
		return true
	case p.Kind == Struct:
		for i := range p.Fields {
			if !p.Fields[i].Plan.zero(unsafe.Add(v, p.Fields[i].Offset)) {
				return false
			}
		}
		return true
	}
	return p.empty(v)
}

// empty is what omitempty leaves out: by the kind of Go type, whatever it is in
// JSON.
func (p *Plan) empty(v unsafe.Pointer) bool {
	switch k := p.Type.Kind(); k {
	case reflect.Bool:
		return !*(*bool)(v)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintAt(v, p.size) == 0
	case reflect.Float32:
		return *(*float32)(v) == 0
	case reflect.Float64:
		return *(*float64)(v) == 0
	case reflect.String:
		return *(*string)(v) == ""
	case reflect.Slice:
		return len(*(*[]byte)(v)) == 0
	case reflect.Array:
		return p.Type.Len() == 0
	case reflect.Map:
		return *(*unsafe.Pointer)(v) == nil || len(p.table.keys(v)) == 0
	case reflect.Pointer:
		return *(*unsafe.Pointer)(v) == nil
	case reflect.Interface:
		return *(*any)(v) == nil
	}
	return false
}
