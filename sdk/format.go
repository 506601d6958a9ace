package sdk

import (
	"reflect"
	"strconv"
)

// format is fmt.Sprintf for what goes into messages: text, errors, numbers and
// booleans, with flags, width and precision. Package fmt would add 0.4 MB to
// every guest. For the rest it says what to do instead.
func format(text string, args ...any) string {
	out := make([]byte, 0, len(text)+16*len(args))
	next := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out = append(out, text[i])
			continue
		}
		v := verb{width: -1, prec: -1}
		i = v.parse(text, i+1)
		if i >= len(text) {
			return string(append(out, "%!(NOVERB)"...))
		}
		v.c = text[i]
		v.plus = v.plus && v.c != 'v' // there it asks for names of fields
		switch {
		case v.c == '%':
			out = append(out, '%')
		case next >= len(args):
			out = append(append(append(out, "%!"...), v.c), "(MISSING)"...)
		default:
			out = v.append(out, args[next])
			next++
		}
	}
	if next < len(args) {
		out = append(out, "%!(EXTRA "+strconv.Itoa(len(args)-next)+")"...)
	}
	return string(out)
}

// verb is one directive.
type verb struct {
	c                       byte
	minus, plus, zero, wide bool // the flags - + 0 #
	width, prec             int
}

// parse reads flags, width and precision and gives the place of the letter.
func (v *verb) parse(s string, i int) int {
	for ; i < len(s); i++ {
		switch s[i] {
		case '-':
			v.minus = true
		case '+':
			v.plus = true
		case '0':
			v.zero = true
		case '#':
			v.wide = true
		default:
			v.width, i = count(s, i)
			if i < len(s) && s[i] == '.' {
				v.prec, i = count(s, i+1)
				v.prec = max(v.prec, 0)
			}
			return i
		}
	}
	return i
}

func count(s string, i int) (int, int) {
	n, from := 0, i
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9' && n < 1000; i++ {
		n = n*10 + int(s[i]-'0')
	}
	if i == from {
		return -1, i
	}
	return n, i
}

// append writes one argument.
func (v *verb) append(dst []byte, arg any) []byte {
	text, number, ok := v.show(arg)
	if !ok {
		return append(append(append(append(dst, "%!"...), v.c), "("...), typeName(arg)+": use fmt.Sprint)"...)
	}
	if !number && v.prec >= 0 && v.c != 'q' && v.c != 't' {
		text = firstRunes(text, v.prec)
	}
	pad := v.width - len([]rune(text))
	switch {
	case pad <= 0:
		return append(dst, text...)
	case v.minus:
		return fill(append(dst, text...), ' ', pad)
	case v.zero && number && text[len(text)-1] <= '9':
		sign := 0
		if text[0] == '-' || text[0] == '+' {
			sign = 1
		}
		return append(fill(append(dst, text[:sign]...), '0', pad), text[sign:]...)
	}
	return append(fill(dst, ' ', pad), text...)
}

func fill(dst []byte, c byte, n int) []byte {
	for range n {
		dst = append(dst, c)
	}
	return dst
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

func typeName(arg any) string {
	if arg == nil {
		return "nil"
	}
	return reflect.TypeOf(arg).String()
}

// show is the argument as its verb wants it; number says that zeros may pad it.
func (v *verb) show(arg any) (text string, number, ok bool) {
	switch a := arg.(type) {
	case nil:
		return "<nil>", false, v.c == 'v'
	case error:
		return v.text(method(a.Error))
	case interface{ String() string }:
		return v.text(method(a.String))
	case string:
		return v.text(a)
	case []byte:
		if v.c != 'v' && v.c != 'd' {
			return v.text(string(a))
		}
		return "", false, false
	}
	r := reflect.ValueOf(arg)
	if r.Kind() == reflect.Slice {
		return v.list(r)
	}
	return v.scalar(r)
}

// scalar shows a value of a kind that has no parts.
func (v *verb) scalar(r reflect.Value) (text string, number, ok bool) {
	switch r.Kind() {
	case reflect.String:
		return v.text(r.String())
	case reflect.Bool:
		return strconv.FormatBool(r.Bool()), false, v.c == 'v' || v.c == 't'
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.integer(r.Int() < 0, uint64(r.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.integer(false, r.Uint())
	case reflect.Float32:
		return v.float(r.Float(), 32)
	case reflect.Float64:
		return v.float(r.Float(), 64)
	}
	return "", false, false
}

// method calls a value's own method; a nil pointer that it does not expect
// shows as fmt would show it.
func method(f func() string) (text string) {
	defer func() {
		if recover() != nil {
			text = "<nil>"
		}
	}()
	return f()
}

func (v *verb) text(s string) (string, bool, bool) {
	switch {
	case v.c == 's' || v.c == 'v' && !v.wide:
		return s, false, true
	case v.c == 'q' && !v.plus && !v.wide:
		if v.prec >= 0 {
			s = firstRunes(s, v.prec)
		}
		return strconv.Quote(s), false, true
	case (v.c == 'x' || v.c == 'X') && !v.wide && v.prec < 0:
		digits := "0123456789abcdef"
		if v.c == 'X' {
			digits = "0123456789ABCDEF"
		}
		var out []byte
		for i := range len(s) {
			out = append(out, digits[s[i]>>4], digits[s[i]&15])
		}
		return string(out), false, true
	}
	return "", false, false
}

// list shows scalars of types without methods between brackets.
func (v *verb) list(all reflect.Value) (string, bool, bool) {
	if v.width >= 0 || v.prec >= 0 || all.Type().Elem().PkgPath() != "" {
		return "", false, false
	}
	out := "["
	for i := range all.Len() {
		text, _, ok := v.scalar(all.Index(i))
		if !ok {
			return "", false, false
		}
		if i > 0 {
			out += " "
		}
		out += text
	}
	return out + "]", false, true
}

func (v *verb) integer(minus bool, n uint64) (string, bool, bool) {
	if minus {
		n = -n
	}
	base, prefix := 10, ""
	switch {
	case v.prec >= 0 || v.wide && v.c != 'x':
		return "", false, false
	case v.c == 'd' || v.c == 'v':
	case v.c == 'x':
		base = 16
		if v.wide {
			prefix = "0x"
		}
	case v.c == 'o':
		base = 8
	case v.c == 'b':
		base = 2
	case v.c == 'c' && !minus && n <= 0x10FFFF:
		return string(rune(n)), false, true
	case v.c == 'q' && !minus && n <= 0x10FFFF:
		return strconv.QuoteRune(rune(n)), false, true
	default:
		return "", false, false
	}
	text := prefix + strconv.FormatUint(n, base)
	switch {
	case minus:
		text = "-" + text
	case v.plus:
		text = "+" + text
	}
	return text, prefix == "", true
}

func (v *verb) float(f float64, bits int) (string, bool, bool) {
	form, prec := v.c, v.prec
	switch {
	case v.wide:
		return "", false, false
	case v.c == 'v':
		form = 'g'
	case v.c == 'f' || v.c == 'e':
		if prec < 0 {
			prec = 6
		}
	case v.c != 'g':
		return "", false, false
	}
	text := strconv.FormatFloat(f, form, prec, bits)
	if v.plus && text[0] != '-' && text[0] != '+' {
		text = "+" + text
	}
	if !v.plus && text[0] == '+' {
		text = text[1:]
	}
	if text == "Inf" {
		text = "+Inf" // fmt shows the sign of an infinity always
	}
	return text, true, true
}
