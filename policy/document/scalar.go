package document

import (
	"encoding/binary"
	"math/bits"
)

// span is how long the string is whose content text begins with, whether it has escapes, and whether it has none and
// no byte of 0x7f or more; -1 when it has a control character or no end. It looks at eight bytes at once: most strings
// are short, and half of a text is strings.
func span(text []byte) (n int, escaped, ascii bool) {
	const high, ones = 0x8080808080808080, 0x0101010101010101
	var large uint64
	for ; n+8 <= len(text); n += 8 {
		word := binary.LittleEndian.Uint64(text[n:])
		quote, slash := word^(ones*'"'), word^(ones*'\\')
		// Its lowest bit is the first quote, backslash or control character. A borrow goes upwards only, so that a byte
		// that is marked for nothing has one of them below it.
		ends := ((quote-ones)&^quote | (slash-ones)&^slash | (word-ones*' ')&^word) & high
		// 0x7f and one more is 0x80; a carry comes only from a byte that is high itself.
		wide := (word | (word + ones)) & high
		if ends == 0 {
			large |= wide
			continue
		}
		first := bits.TrailingZeros64(ends)
		large |= wide & (1<<first - 1)
		n += first / 8
		if text[n] == '"' {
			return n, false, large == 0
		}
		return closing(text, n)
	}
	for ; n < len(text) && text[n] >= ' '; n++ {
		switch c := text[n]; {
		case c == '"':
			return n, false, large == 0
		case c == '\\':
			return closing(text, n)
		case c >= 0x7f:
			large = 1
		}
	}
	return -1, false, false
}

// closing is span of a string that has something to look at byte by byte from n.
func closing(text []byte, n int) (end int, escaped, ascii bool) {
	for ; n < len(text) && text[n] >= ' '; n++ {
		switch text[n] {
		case '"':
			return n, true, false
		case '\\':
			n++
		}
	}
	return -1, false, false
}

// word reads one of the three names of JSON.
func (p *parser) word(pos int, word string, class Class) int {
	end := pos + len(word)
	if end > len(p.raw) || string(p.raw[pos:end]) != word {
		return -1
	}
	return p.scalar(pos, end, class)
}

func (p *parser) scalar(pos, end int, class Class) int {
	p.add(Scalar, pos, end).Class = class
	p.values++
	return end
}

// maxPlain is the length up to which a number without an exponent is read and written without loss: it has fifteen
// digits at most.
const maxPlain = 15

// maxOrdinary is the length up to which any double holds a number without an exponent, within rounding.
const maxOrdinary = 32

// number reads a number (RFC 8259 section 6).
func (p *parser) number(pos int) int {
	at, class := pos, Integer
	if p.raw[at] == '-' {
		at++
	}
	switch {
	case at < len(p.raw) && p.raw[at] == '0':
		at++
	default:
		digits := at
		if at = p.digits(at); at == digits {
			return -1
		}
	}
	if at < len(p.raw) && p.raw[at] == '.' {
		class = Fraction
		digits := at + 1
		if at = p.digits(digits); at == digits {
			return -1
		}
		// ECMAScript writes no zero at the end, and an exponent below 0.000001.
		p.foreign = p.foreign || p.raw[at-1] == '0' || at-digits >= 6 && string(p.raw[digits:digits+6]) == "000000"
	}
	if at < len(p.raw) && p.raw[at]|0x20 == 'e' {
		class = Fraction
		p.foreign, p.huge = true, true
		if at++; at < len(p.raw) && (p.raw[at] == '+' || p.raw[at] == '-') {
			at++
		}
		digits := at
		if at = p.digits(at); at == digits {
			return -1
		}
	}
	p.foreign = p.foreign || at-pos > maxPlain || string(p.raw[pos:at]) == "-0" // ECMAScript writes 0
	p.huge = p.huge || at-pos > maxOrdinary
	return p.scalar(pos, at, class)
}

// digits is the position behind the digits at at.
func (p *parser) digits(at int) int {
	for at < len(p.raw) && p.raw[at]-'0' <= 9 {
		at++
	}
	return at
}
