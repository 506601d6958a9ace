package redact

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped is a text with one layer of escapes taken off, and the way back to where each byte stood. A nil text means
// that there was nothing to take off.
type escaped struct {
	text    []byte
	escapes []escape // in order
	met     family
}

// escape is one escape: its bytes in the source and the bytes it stands for.
type escape struct{ dst, dstEnd, src, srcEnd int32 }

// start maps a position of the decoded text to the source: the beginning of the escape that it lies in.
func (e escaped) start(at int) int {
	i := e.before(at)
	if i < len(e.escapes) && int(e.escapes[i].dst) <= at && at < int(e.escapes[i].dstEnd) {
		return int(e.escapes[i].src)
	}
	return e.plain(i, at)
}

// end maps an exclusive end: behind the escape that the last byte lies in.
func (e escaped) end(at int) int {
	i := e.before(at - 1)
	if i < len(e.escapes) && int(e.escapes[i].dst) < at && at <= int(e.escapes[i].dstEnd) {
		return int(e.escapes[i].srcEnd)
	}
	return e.plain(i, at-1) + 1
}

// back maps spans of the decoded text to the source and appends them to out.
func (e escaped) back(spans, out []span) []span {
	for _, s := range spans {
		out = append(out, span{e.start(s.start), e.end(s.end), s.mark})
	}
	return out
}

// before is the index of the first escape that ends after at.
func (e escaped) before(at int) int {
	i, _ := slices.BinarySearchFunc(e.escapes, at, func(x escape, at int) int {
		if int(x.dstEnd) <= at {
			return -1
		}
		return 1
	})
	return i
}

func (e escaped) plain(i, at int) int {
	if i == 0 {
		return at
	}
	last := e.escapes[i-1]
	return at - int(last.dstEnd) + int(last.srcEnd)
}

// family is a set of ways to escape.
type family uint8

const (
	percent   family = 1 << iota // %41
	backslash                    // \n \x41 \u0041 \" of JSON, Go, C and shells
	entity                       // &amp; &#65;
	printable                    // =41, quoted-printable
	quotes                       // '\'' and '"'"', a quote inside a shell's quotes
	plus                         // "+" is a space, in forms

	common = percent | backslash | entity | printable | quotes
)

func introduces(c byte) family {
	switch c {
	case '%':
		return percent
	case '\\':
		return backslash
	case '&':
		return entity
	case '=':
		return printable
	case '\'':
		return quotes
	case '+':
		return plus
	}
	return 0
}

// introducers has [introduces] for each byte. It is never written.
var introducers = func() (table [256]family) {
	for c := range table {
		table[c] = introduces(byte(c))
	}
	return table
}()

// firstEscape is where the first byte stands that could introduce an escape of want, or the length of text. Most texts
// have none, and looking for a single byte is several times faster than looking at each.
func firstEscape(text []byte, want family) int {
	for _, c := range [...]byte{'%', '\\', '&', '=', '\'', '+'} {
		if introduces(c)&want == 0 {
			continue
		}
		if i := bytes.IndexByte(text, c); i >= 0 {
			text = text[:i]
		}
	}
	return len(text)
}

// unescape takes off one layer of the escapes of want, all at once, and says which it met. Taking several off
// together can spoil a text that is escaped in one way and looks escaped in another: see finder.layers.
func unescape(text []byte, want family) (e escaped) {
	var scratch [utf8.UTFMax]byte
	copied := 0
	for i := firstEscape(text, want); i < len(text); {
		kind := introducers[text[i]] & want
		if kind == 0 {
			i++
			continue
		}
		decoded, n := decodeAt(scratch[:0], text[i:])
		if n == 0 {
			i++
			continue
		}
		if e.text == nil {
			e.text = make([]byte, 0, len(text))
		}
		e.met |= kind
		e.text = append(e.text, text[copied:i]...)
		at := int32(len(e.text))
		e.text = append(e.text, decoded...)
		e.escapes = append(e.escapes, escape{at, int32(len(e.text)), int32(i), int32(i + n)})
		i += n
		copied = i
	}
	if e.text != nil {
		e.text = append(e.text, text[copied:]...)
	}
	return e
}

// decodeAt reads the escape that text begins with, appends what it stands for (at most one rune) to out, and returns
// how many bytes it takes, 0 for none.
func decodeAt(out, text []byte) ([]byte, int) {
	switch text[0] {
	case '%':
		return hexByte(out, text, 1)
	case '=':
		for _, fold := range [...]string{"=\n\t", "=\n", "=\r\n\t", "=\r\n"} { // Go indents the lines of a panic by a tab
			if bytes.HasPrefix(text, []byte(fold)) {
				return out, len(fold)
			}
		}
		return hexByte(out, text, 1)
	case '\'':
		if bytes.HasPrefix(text, []byte(`'\''`)) {
			return append(out, text[0]), 4
		}
		if bytes.HasPrefix(text, []byte(`'"'"'`)) {
			return append(out, text[0]), 5
		}
	case '+':
		return append(out, ' '), 1
	case '&':
		return entityAt(out, text)
	case '\\':
		if len(text) > 1 {
			return backslashAt(out, text)
		}
	}
	return out, 0
}

func hexByte(out, text []byte, at int) ([]byte, int) {
	if at+2 > len(text) || unhex(text[at]) < 0 || unhex(text[at+1]) < 0 {
		return out, 0
	}
	return append(out, byte(unhex(text[at])<<4|unhex(text[at+1]))), at + 2
}

func entityAt(out, text []byte) ([]byte, int) {
	end := bytes.IndexByte(text[:min(len(text), 12)], ';')
	if end < 3 {
		return out, 0
	}
	name := string(text[1:end])
	for _, known := range [...]struct {
		name string
		c    byte
	}{{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}} {
		if name == known.name {
			return append(out, known.c), end + 1
		}
	}
	if name[0] != '#' {
		return out, 0
	}
	digits, base := name[1:], 10
	if digits[0]|0x20 == 'x' {
		digits, base = digits[1:], 16
	}
	code, err := strconv.ParseUint(digits, base, 32)
	if err != nil || code > utf8.MaxRune {
		return out, 0
	}
	return utf8.AppendRune(out, rune(code)), end + 1
}

func backslashAt(out, text []byte) ([]byte, int) {
	switch c := text[1]; c {
	case 'n':
		return append(out, '\n'), 2
	case 'r':
		return append(out, '\r'), 2
	case 't':
		return append(out, '\t'), 2
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'a':
		return append(out, '\a'), 2
	case 'v':
		return append(out, '\v'), 2
	case '\n':
		return out, 2
	case 'x':
		return hexByte(out, text, 2)
	case 'u':
		return unicodeEscape(out, text, 4)
	case 'U':
		return unicodeEscape(out, text, 8)
	case '0', '1', '2', '3':
		if len(text) >= 4 && isOctal(text[2]) && isOctal(text[3]) {
			return append(out, (c-'0')<<6|(text[2]-'0')<<3|(text[3]-'0')), 4
		}
		return out, 0
	default:
		if c >= ' ' && c < 0x80 && !isAlnum(c) { // \" \/ \\ and what a shell escapes
			return append(out, text[1]), 2
		}
		return out, 0
	}
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }

// unicodeEscape reads \uXXXX (with its second half where it is a surrogate), \u{X} and \UXXXXXXXX.
func unicodeEscape(out, text []byte, digits int) ([]byte, int) {
	if digits == 4 && len(text) > 3 && text[2] == '{' {
		end := bytes.IndexByte(text[:min(len(text), 12)], '}')
		if end < 0 {
			return out, 0
		}
		code, err := strconv.ParseUint(string(text[3:end]), 16, 32)
		if err != nil || code > utf8.MaxRune {
			return out, 0
		}
		return utf8.AppendRune(out, rune(code)), end + 1
	}
	r, ok := hexRune(text, 2, digits)
	if !ok {
		return out, 0
	}
	if utf16.IsSurrogate(r) && len(text) > 7 && text[6] == '\\' && text[7] == 'u' {
		if low, ok := hexRune(text, 8, 4); ok {
			if joined := utf16.DecodeRune(r, low); joined != utf8.RuneError {
				return utf8.AppendRune(out, joined), 12
			}
		}
	}
	return utf8.AppendRune(out, r), 2 + digits
}

func hexRune(text []byte, at, digits int) (rune, bool) {
	if at+digits > len(text) {
		return 0, false
	}
	var v uint32
	for _, c := range text[at : at+digits] {
		d := unhex(c)
		if d < 0 {
			return 0, false
		}
		v = v<<4 | uint32(d)
	}
	return rune(v), v <= utf8.MaxRune
}

func unhex(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
