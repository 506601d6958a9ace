package codec

import (
	"errors"
	"reflect"
)

// NextTag takes the first key:"value" pair off a struct tag; ok is false at the
// end. Of Go's escapes a value may have \" and \\ and \n and \t: strconv.Unquote
// would cost a guest 17 kB.
func NextTag(tag reflect.StructTag) (key, value string, rest reflect.StructTag, ok bool, err error) {
	s := string(tag)
	for s != "" && s[0] == ' ' {
		s = s[1:]
	}
	if s == "" {
		return "", "", "", false, nil
	}
	n := 0
	for n < len(s) && s[n] > ' ' && s[n] != ':' && s[n] != '"' {
		n++
	}
	bad := errors.New("tag `" + string(tag) + "` is not key:\"value\" pairs")
	if n == 0 || n+1 >= len(s) || s[n:n+2] != ":\"" {
		return "", "", "", false, bad
	}
	key, s = s[:n], s[n+2:]
	var text []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			return key, string(text), reflect.StructTag(s[i+1:]), true, nil
		case c == '\\':
			i++
			switch {
			case i < len(s) && s[i] == 'n':
				c = '\n'
			case i < len(s) && s[i] == 't':
				c = '\t'
			case i < len(s) && (s[i] == '"' || s[i] == '\\'):
				c = s[i]
			default:
				return "", "", "", false, bad
			}
		}
		text = append(text, c)
	}
	return "", "", "", false, bad
}

// Cut is what stands before and after the first byte sep: strings.Cut, which looks for any text, links three times as much.
func Cut(s string, sep byte) (before, after string, found bool) {
	for i := range len(s) {
		if s[i] == sep {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// isOneOf reports a byte of all.
func isOneOf(c byte, all string) bool {
	for i := range len(all) {
		if all[i] == c {
			return true
		}
	}
	return false
}

// member reads what the json key of a tag says.
func member(tag reflect.StructTag) (name string, o omit, skip bool, err error) {
	for {
		key, value, rest, ok, err := NextTag(tag)
		if err != nil || !ok {
			return "", 0, false, err
		}
		if key != "json" {
			tag = rest
			continue
		}
		if value == "-" {
			return "", 0, true, nil
		}
		name, options, more := Cut(value, ',')
		for more {
			var word string
			word, options, more = Cut(options, ',')
			switch word {
			case "":
			case "omitempty":
				o |= omitEmpty
			case "omitzero":
				o |= omitZero
			default:
				return "", 0, false, errors.New("json option " + word + " is not supported")
			}
		}
		return name, o, false, nil
	}
}
