package codec

// Valid reports whether text is one JSON value as [Plan.Decode] would read it.
func Valid(text string) bool {
	d := decoder{s: text}
	return d.skip(true) == nil && d.end() == nil
}

// skip passes one value. names also refuses two members of a name, which a
// value that is read later finds by itself.
func (d *decoder) skip(names bool) error {
	c, err := d.peek()
	if err != nil {
		return err
	}
	switch {
	case c == '"':
		_, err = d.str()
		return err
	case c == '-' || digit(c):
		_, err = d.num()
		return err
	case c == 't':
		return d.word("true")
	case c == 'f':
		return d.word("false")
	case c == 'n':
		return d.word("null")
	case c == '[':
		return d.skipArray(names)
	case c == '{':
		return d.skipObject(names)
	}
	return d.fail("not a JSON value")
}

func (d *decoder) skipArray(names bool) error {
	if err := d.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := d.more(']', first)
		if more {
			err = d.skip(names)
		}
		if err != nil || !more {
			return err
		}
	}
}

func (d *decoder) skipObject(names bool) error {
	if err := d.open(); err != nil {
		return err
	}
	var seen map[string]any
	if names {
		seen = map[string]any{}
	}
	for first := true; ; first = false {
		name, ok, err := d.member(first)
		if !ok {
			return err
		}
		if names {
			if _, twice := seen[name]; twice {
				return d.twice(name)
			}
			seen[name] = nil
		}
		if err := d.skip(names); err != nil {
			return err
		}
	}
}

// any reads a value as encoding/json reads one into an empty interface.
func (d *decoder) any() (any, error) {
	c, err := d.peek()
	switch {
	case err != nil:
		return nil, err
	case c == '"':
		return d.str()
	case c == 't':
		return true, d.word("true")
	case c == 'f':
		return false, d.word("false")
	case c == 'n':
		return nil, d.word("null")
	case c == '[':
		return d.anyArray()
	case c == '{':
		return d.anyObject()
	case c == '-' || digit(c):
		return d.float()
	}
	return nil, d.fail("not a JSON value")
}

func (d *decoder) anyArray() (any, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	list := []any{}
	for {
		more, err := d.more(']', len(list) == 0)
		if !more {
			return list, err
		}
		v, err := d.any()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

func (d *decoder) anyObject() (any, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	object := map[string]any{}
	for {
		name, ok, err := d.member(len(object) == 0)
		if !ok {
			return object, err
		}
		if _, twice := object[name]; twice {
			return nil, d.twice(name)
		}
		v, err := d.any()
		if err != nil {
			return nil, within(name, err)
		}
		object[name] = v
	}
}
