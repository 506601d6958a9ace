package codec

import (
	"reflect"
	"strconv"
	"unsafe"
)

// Writer writes one JSON object member by member, for messages whose members
// are known: no table, no reflection, and what is never called is not linked.
// Names are plain ASCII. The zero Writer is ready.
type Writer struct{ buf []byte }

// name begins a member.
func (o *Writer) name(name string) {
	if len(o.buf) == 0 {
		o.buf = append(make([]byte, 0, 128), '{')
	} else {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(append(append(o.buf, '"'), name...), '"', ':')
}

// Text adds a string.
func (o *Writer) Text(name, v string) {
	o.name(name)
	o.buf = AppendString(o.buf, v)
}

// Int adds a whole number.
func (o *Writer) Int(name string, v int64) {
	o.name(name)
	o.buf = strconv.AppendInt(o.buf, v, 10)
}

// IntUnlessZero adds a whole number, or nothing for 0.
func (o *Writer) IntUnlessZero(name string, v int64) {
	if v != 0 {
		o.Int(name, v)
	}
}

// TextUnlessEmpty adds a string, or nothing for "".
func (o *Writer) TextUnlessEmpty(name, v string) {
	if v != "" {
		o.Text(name, v)
	}
}

// JSON adds what is JSON already.
func (o *Writer) JSON(name string, v []byte) {
	o.name(name)
	o.buf = append(o.buf, v...)
}

// Bytes ends the object.
func (o *Writer) Bytes() []byte {
	if len(o.buf) == 0 {
		return []byte("{}")
	}
	return append(o.buf, '}')
}

// Reader reads the value of one member of a message; one of its methods is
// called, once. null leaves what a method would set as it is.
type Reader struct{ d decoder }

// Members reads text, exactly one JSON object. member is called with each name
// and reads the value; a name that comes twice is refused. The error is a
// sentence about the text.
func Members(text string, member func(name string, r *Reader) error) error {
	r := Reader{d: decoder{s: text}}
	if err := r.Members(member); err != nil {
		return err
	}
	return r.d.end()
}

// Members reads an object, as the function does.
func (r *Reader) Members(member func(name string, r *Reader) error) error {
	if r.Null() {
		return nil
	}
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	var few [8]string
	seen := few[:0]
	for {
		name, ok, err := r.d.member(len(seen) == 0)
		if !ok {
			return err
		}
		for _, have := range seen {
			if have == name {
				return r.d.twice(name)
			}
		}
		seen = append(seen, name)
		if err := member(name, r); err != nil {
			return within(name, err)
		}
	}
}

// List reads an array; element reads each value.
func (r *Reader) List(element func(r *Reader) error) error {
	if r.Null() {
		return nil
	}
	if err := r.open('[', "an array"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := r.d.more(']', first)
		if more {
			err = element(r)
		}
		if err != nil || !more {
			return err
		}
	}
}

func (r *Reader) open(bracket byte, want string) error {
	c, err := r.d.peek()
	if err == nil && c != bracket {
		err = r.d.mismatch(c, want)
	}
	if err == nil {
		err = r.d.open()
	}
	return err
}

// Text reads a string.
func (r *Reader) Text(to *string) error {
	if r.Null() {
		return nil
	}
	c, err := r.d.peek()
	if err == nil && c != '"' {
		err = r.d.mismatch(c, "a string")
	}
	if err == nil {
		*to, err = r.d.str()
	}
	return err
}

// Int reads a whole number.
func (r *Reader) Int(to *int64) error {
	if r.Null() {
		return nil
	}
	c, err := r.d.peek()
	if err != nil {
		return err
	}
	return r.d.number(&Plan{Kind: Int, size: 8, Type: reflect.TypeFor[int64]()}, unsafe.Pointer(to), c)
}

// Bool reads true or false.
func (r *Reader) Bool(to *bool) error {
	if r.Null() {
		return nil
	}
	c, err := r.d.peek()
	if err != nil {
		return err
	}
	return r.d.boolean(to, c)
}

// JSON passes any value and gives its text; names in it may come twice, for
// whoever reads it will see that.
func (r *Reader) JSON(to *string) error {
	if _, err := r.d.peek(); err != nil {
		return err
	}
	from := r.d.at
	err := r.d.skip(false)
	*to = r.d.s[from:r.d.at]
	return err
}

// Null passes null; false when something else is there.
func (r *Reader) Null() bool {
	c, err := r.d.peek()
	return err == nil && c == 'n' && r.d.word("null") == nil
}

// Unknown refuses a member.
func (r *Reader) Unknown(name string) error {
	return r.d.unknown(name)
}
