package codec

import "unicode/utf8"

// str reads a JSON string whose quote is next. Without escapes the result is a
// part of the text, and nothing is copied.
func (d *decoder) str() (string, error) {
	s, from := d.s, d.at+1
	for i := from; i < len(s); i++ {
		c := s[i]
		if c != '"' && c != '\\' && c >= ' ' && c < utf8.RuneSelf {
			continue
		}
		d.at = i
		if c != '"' {
			return d.escaped(from)
		}
		d.at++
		return s[from:i], nil
	}
	d.at = len(s)
	return "", d.fail("the text ends in a string")
}

// char passes one character beyond ASCII.
func (d *decoder) char() error {
	r, n := utf8.DecodeRuneInString(d.s[d.at:])
	if r == utf8.RuneError && n == 1 {
		return d.fail("text that is not UTF-8")
	}
	d.at += n
	return nil
}

// escaped goes on from the first byte that is not plain, building what the
// string says.
func (d *decoder) escaped(from int) (string, error) {
	out := append(make([]byte, 0, d.at-from+32), d.s[from:d.at]...)
	for d.at < len(d.s) {
		c := d.s[d.at]
		switch {
		case c == '"':
			d.at++
			return string(out), nil
		case c == '\\':
			r, err := d.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		case c < ' ':
			return "", d.fail("a control character in a string")
		case c < utf8.RuneSelf:
			out = append(out, c)
			d.at++
		default:
			at := d.at
			if err := d.char(); err != nil {
				return "", err
			}
			out = append(out, d.s[at:d.at]...)
		}
	}
	return "", d.fail("the text ends in a string")
}

// escape reads one escape, or the two of a surrogate pair. Half a pair is
// refused.
func (d *decoder) escape() (rune, error) {
	if d.at+1 >= len(d.s) {
		return 0, d.fail("the text ends in a string")
	}
	c := d.s[d.at+1]
	switch c {
	case '"', '\\', '/':
		d.at += 2
		return rune(c), nil
	case 'b', 'f', 'n', 'r', 't':
		d.at += 2
		return control(c), nil
	case 'u':
	default:
		return 0, d.fail("an escape that JSON does not have")
	}
	r, ok := d.hex()
	if ok && (r < 0xD800 || r > 0xDFFF) {
		return r, nil
	}
	if ok && r < 0xDC00 && d.at+1 < len(d.s) && d.s[d.at] == '\\' && d.s[d.at+1] == 'u' {
		low, ok := d.hex()
		if ok && low >= 0xDC00 && low <= 0xDFFF {
			return (r-0xD800)<<10 + (low - 0xDC00) + 0x10000, nil
		}
	}
	return 0, d.fail("a \\u escape that is no character")
}

func control(c byte) rune {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	}
	return '\t'
}

// hex passes \uXXXX.
func (d *decoder) hex() (r rune, ok bool) {
	if len(d.s)-d.at < 6 {
		return 0, false
	}
	for _, c := range []byte(d.s[d.at+2 : d.at+6]) {
		switch {
		case digit(c):
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	d.at += 6
	return r, true
}

// AppendString writes s as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		dst = appendEscape(append(dst, s[from:i]...), c)
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
