package document

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// spelling is what the escapes of a string are.
type spelling byte

const (
	short spelling = iota // such as RFC 8785 writes: \" \\ \b \f \n \r \t
	other                 // some are longer than they need be, or may be
	lone                  // some stand for half of a surrogate pair
	bad                   // some are none of JSON's
)

// decode undoes the escapes of the content of a JSON string. A lone surrogate becomes U+FFFD.
func decode(s []byte) (out []byte, as spelling) {
	out = make([]byte, 0, len(s))
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			return append(out, s...), as
		}
		out = append(out, s[:n]...)
		s = s[n:]
		switch c := s[1]; c {
		case '"', '\\':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case '/':
			out, as = append(out, c), max(as, other)
		case 'u':
			r, ok := unit(s)
			if !ok {
				return nil, bad
			}
			as = max(as, other)
			if s = s[6:]; utf16.IsSurrogate(r) {
				low, _ := unit(s)
				if joined := utf16.DecodeRune(r, low); joined != utf8.RuneError {
					r, s = joined, s[6:]
				} else {
					as = lone
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		default:
			return nil, bad
		}
		s = s[2:]
	}
	return out, as
}

// unit is the code unit of the escape \uXXXX that s begins with; false without one.
func unit(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(v), err == nil
}
