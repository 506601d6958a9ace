package redact

import "strings"

// wrapAfter is how long a line of base64 must be for the next line to belong to it. Mail wraps at 76, PEM at 64; a
// low bound would join ordinary words over line ends.
const wrapAfter = 16

// sextet is the value of a base64 character in either alphabet, or -1.
func sextet(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 26
	case isDigit(c):
		return int(c-'0') + 52
	case c == '+' || c == '-':
		return 62
	case c == '/' || c == '_':
		return 63
	}
	return -1
}

// run is the digits of one run and where each stood in the text.
type run struct {
	digits []byte
	at     []int32
}

func (r *run) add(v, at int) { r.digits, r.at = append(r.digits, byte(v)), append(r.at, int32(at)) }

// Classes of bytes, for the loops that go over every byte.
const (
	inBase64 uint8 = 1 << iota
	inHex
	ofBase64 // in a run of base64, line ends among them
	ofHex    // in a run of hex, with what stands between digits
)

// class has them for each byte. It is never written.
var class = classes()

func classes() (table [256]uint8) {
	for c := range table {
		if sextet(byte(c)) >= 0 {
			table[c] |= inBase64 | ofBase64
		}
		if unhex(byte(c)) >= 0 {
			table[c] |= inHex | ofHex
		}
		if strings.IndexByte("\r\n\t", byte(c)) >= 0 {
			table[c] |= ofBase64
		}
		if strings.IndexByte("xX:-,+ \r\n\t", byte(c)) >= 0 {
			table[c] |= ofHex
		}
	}
	return table
}

// runs looks into every run of base64 characters and of hex digits that is long enough to hold a value.
func (f *finder) runs(text []byte, levels int, out []span) []span {
	sextets, nibbles := (f.shortest*8+5)/6, 2*f.shortest
	line := min(sextets, wrapAfter) // what a run has before it can go on in another line
	for i := nextStretch(text, 0, line, inBase64); i >= 0; {
		end := f.skipBase64(text, i)
		if end-i >= sextets {
			out = f.base64(text, i, end, levels, out)
		}
		i = nextStretch(text, end, line, inBase64)
	}
	for i := nextStretch(text, 0, nibbles, ofHex); i >= 0; {
		if class[text[i]]&inHex == 0 { // the run begins with a digit
			i = nextStretch(text, i+1, nibbles, ofHex)
			continue
		}
		end := f.skipHex(text, i)
		if end-i >= nibbles {
			out = f.hex(text, i, end, levels, out)
		}
		i = nextStretch(text, end+1, nibbles, ofHex)
	}
	return out
}

// base64 decodes one run, in both alphabets, padded or not, on one line or wrapped. Where a run begins says nothing
// about where its groups of four do (a path or a name may stand before it), so each of the four groupings is read.
func (f *finder) base64(text []byte, from, to, levels int, out []span) []span {
	r := run{make([]byte, 0, to-from), make([]int32, 0, to-from)}
	for i := from; i < to; i++ {
		if v := sextet(text[i]); v >= 0 {
			r.add(v, i)
		}
	}
	data := make([]byte, len(r.digits)*6/8)
	for shift := range min(4, len(r.digits)) {
		group := r.digits[shift:]
		data = data[:len(group)*6/8]
		for j := range data {
			bit := j * 8
			pair := int(group[bit/6])<<6 | int(group[bit/6+1])
			data[j] = byte(pair >> (4 - bit%6))
		}
		for _, s := range f.decoded(data, levels) {
			last := shift + (s.end*8-1)/6
			end := int(r.at[last]) + 1
			for last == len(r.digits)-1 && end < len(text) && text[end] == '=' {
				end++
			}
			out = append(out, span{int(r.at[shift+s.start*8/6]), end, s.mark})
		}
	}
	return out
}

// skipBase64 is the position behind the run that begins at i.
func (f *finder) skipBase64(text []byte, i int) int {
	for line := i; ; {
		for i < len(text) && class[text[i]]&inBase64 != 0 {
			i++
		}
		next := wrapped(text, i)
		if i-line < wrapAfter || next == i || next == len(text) || class[text[next]]&inBase64 == 0 {
			return i
		}
		i, line = next, next
	}
}

// wrapped is the position behind a line end and the white space before the next line, or i when there is none at i.
func wrapped(text []byte, i int) int {
	j := i
	if j < len(text) && text[j] == '\r' {
		j++
	}
	if j >= len(text) || text[j] != '\n' {
		return i
	}
	for j++; j < len(text) && (text[j] == ' ' || text[j] == '\t'); j++ {
	}
	return j
}

// hex decodes one run of hex digits. Both pairings are read, as a digit may stand before the first byte.
func (f *finder) hex(text []byte, from, to, levels int, out []span) []span {
	r := run{make([]byte, 0, to-from), make([]int32, 0, to-from)}
	for i := from; i < to; i++ {
		if v := unhex(text[i]); v >= 0 && !hexPrefix(text, i) {
			r.add(v, i)
		}
	}
	data := make([]byte, len(r.digits)/2)
	for shift := range min(2, len(r.digits)) {
		group := r.digits[shift:]
		data = data[:len(group)/2]
		for j := range data {
			data[j] = group[2*j]<<4 | group[2*j+1]
		}
		for _, s := range f.decoded(data, levels) {
			out = append(out, span{int(r.at[shift+2*s.start]), int(r.at[shift+2*s.end-1]) + 1, s.mark})
		}
	}
	return out
}

// skipHex is the position behind the run that begins at i: hex digits, alone or in pairs with colons, dashes,
// commas, spaces, line ends or 0x between them, up to four such bytes as in "61, 0x62".
func (f *finder) skipHex(text []byte, i int) int {
	end := i
	for gap := 0; i < len(text) && gap <= 4; i++ {
		switch {
		case class[text[i]]&inHex != 0 && !hexPrefix(text, i):
			gap = 0
			end = i + 1
		case hexPrefix(text, i), isHexGap(text, i):
			gap++
		default:
			return end
		}
	}
	return end
}

func hexPrefix(text []byte, i int) bool {
	return text[i] == '0' && i+1 < len(text) && text[i+1]|0x20 == 'x'
}

func isHexGap(text []byte, i int) bool {
	switch text[i] {
	case ':', '-', ',', ' ', '+', '\n', '\r', '\t': // a form writes a space as a plus
		return true
	case 'x', 'X':
		return i > 0 && text[i-1] == '0'
	}
	return false
}

// mayRun reports a stretch that could be a run of [finder.runs] without indentation. Arguments of effects seldom have
// one, and reading all of them for it would take longer than the rest of the look for masks.
func (f *finder) mayRun(text []byte) bool {
	return nextStretch(text, 0, (f.shortest*8+5)/6, ofBase64) >= 0 || nextStretch(text, 0, 2*f.shortest, ofHex) >= 0
}

// nextStretch is where the next n bytes in a row begin that are of a class, at from or later, or -1. It looks at the last of them
// first, so that it reads few bytes of a text that has none.
func nextStretch(text []byte, from, n int, of uint8) int {
	for i := from; i+n <= len(text); {
		at := i + n - 1
		for at >= i && class[text[at]]&of != 0 {
			at--
		}
		if at < i {
			return i
		}
		i = at + 1
	}
	return -1
}
