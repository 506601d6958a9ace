package codec

import (
	"errors"
	"reflect"
	"strings"
)

// NextTag takes the first key:"value" pair off a struct tag; ok is false at the
// end. Of Go's escapes a value may have \" and \\ and \n and \t: strconv.Unquote
// would cost a guest 17 kB.
func NextTag(tag reflect.StructTag) (key, value string, rest reflect.StructTag, ok bool, err error) {
	s := strings.TrimLeft(string(tag), " ")
	if s == "" {
		return "", "", "", false, nil
	}
	bad := errors.New("tag `" + string(tag) + "` is not key:\"value\" pairs")
	key, s, found := strings.Cut(s, ":\"")
	if !found || key == "" || strings.ContainsAny(key, " \"") {
		return "", "", "", false, bad
	}
	var text []byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return key, string(text), reflect.StructTag(s[i+1:]), true, nil
		case c == '\\' && i+1 < len(s):
			i++
			e := strings.IndexByte(`"\nt`, s[i])
			if e < 0 {
				return "", "", "", false, bad
			}
			text = append(text, "\"\\\n\t"[e])
		default:
			text = append(text, c)
		}
	}
	return "", "", "", false, bad
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
		name, options, _ := strings.Cut(value, ",")
		for word := range strings.SplitSeq(options, ",") {
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
