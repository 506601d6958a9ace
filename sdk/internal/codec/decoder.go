package codec

import "strconv"

// Error is what is wrong with a text that was read.
type Error struct {
	// Path is the members on the way to the value, joined by dots, "" at the top.
	Path string
	// At is the offset in bytes.
	At int
	// What is the fault in words.
	What string
}

// Error names the member, the fault and the place.
func (e *Error) Error() string {
	where := " at byte " + strconv.Itoa(e.At)
	if e.Path == "" {
		return e.What + where
	}
	return e.Path + ": " + e.What + where
}

// within adds a member to the path of an error.
func within(name string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok {
		if e.Path != "" {
			name += "."
		}
		e.Path = name + e.Path
	}
	return err
}

// decoder is a place in a text.
type decoder struct {
	s     string
	at    int
	depth int
}

// fail is not inlined: it would be a third of the decoder.
//
//go:noinline
func (d *decoder) fail(what string) error { return &Error{At: d.at, What: what} }

//go:noinline
func (d *decoder) twice(name string) error {
	return d.fail("duplicate field " + strconv.Quote(name))
}

//go:noinline
func (d *decoder) unknown(name string) error {
	return d.fail("unknown field " + strconv.Quote(name))
}

// mismatch says what is there instead of what is wanted.
func (d *decoder) mismatch(c byte, want string) error {
	got := ""
	switch {
	case c == '"':
		got = "a string"
	case c == '{':
		got = "an object"
	case c == '[':
		got = "an array"
	case c == 't' || c == 'f':
		got = "true or false"
	case c == '-' || digit(c):
		got = "a number"
	default:
		return d.fail("not a JSON value")
	}
	return d.fail(got + " where " + want + " is wanted")
}

// peek passes white space and shows the byte after it.
func (d *decoder) peek() (byte, error) {
	if d.at < len(d.s) && d.s[d.at] > ' ' {
		return d.s[d.at], nil
	}
	return d.pass()
}

func (d *decoder) pass() (byte, error) {
	for ; d.at < len(d.s); d.at++ {
		switch c := d.s[d.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c, nil
		}
	}
	return 0, d.fail("the text ends too early")
}

// end refuses anything but white space.
func (d *decoder) end() error {
	if _, err := d.peek(); err == nil {
		return d.fail("something follows the value")
	}
	return nil
}

func (d *decoder) word(w string) error {
	if len(d.s)-d.at < len(w) || d.s[d.at:d.at+len(w)] != w {
		return d.fail("not a JSON value")
	}
	d.at += len(w)
	return nil
}

// open passes the bracket of an array or the brace of an object.
func (d *decoder) open() error {
	if d.depth++; d.depth > MaxDepth {
		return d.fail("nested too deep")
	}
	d.at++
	return nil
}

// more goes to the next of the values between commas and reports whether there is
// one; the closing byte is passed. first says that none was read yet.
func (d *decoder) more(end byte, first bool) (bool, error) {
	c, err := d.peek()
	switch {
	case err != nil:
		return false, err
	case c == end:
		d.at++
		d.depth--
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, d.fail("no comma between two values")
	}
	d.at++
	return true, nil
}

// member goes to the next member of an object and passes its name and colon.
func (d *decoder) member(first bool) (name string, ok bool, err error) {
	if ok, err = d.more('}', first); !ok {
		return "", false, err
	}
	name, err = d.name()
	return name, err == nil, err
}

// name passes the name of a member and its colon.
func (d *decoder) name() (name string, err error) {
	c, err := d.peek()
	if err == nil && c != '"' {
		err = d.fail("no name of a member")
	}
	if err == nil {
		name, err = d.str()
	}
	if err == nil {
		c, err = d.peek()
	}
	if err == nil && c != ':' {
		err = d.fail("no colon after a name")
	}
	d.at++
	return name, err
}
