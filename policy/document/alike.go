package document

import (
	"bytes"
	"encoding/binary"
)

// Records of an array mostly have the same names in the same places, and only strings, numbers and words differ. An element
// is therefore first read by the tokens of the one before it: what stands between values is compared with what stood there
// in the text, eight bytes at once, and only the values are looked at for what they are. Where the text goes another way
// the element is read again like any other, so that the tokens are the same either way.

// maxAlike is the most tokens of an element that the next one is read by: what is read in vain is short.
const maxAlike = 1024

// credit is how many bytes of a text may be read in vain before no element is read by the one before it any more. An element
// that was not read in vain gives back half of its own.
func credit(raw []byte) int { return len(raw)/16 + 256 }

// alike reads the element that begins at pos by the tokens from the one at from on, which are the last ones and those of the
// element before it. It is -1, and nothing is changed, when the text goes another way.
func (p *parser) alike(pos, from int) int {
	at := len(p.tape)
	n := at - from
	if n > maxAlike {
		return -1
	}
	if n > cap(p.tape)-at {
		p.grow(pos, n)
	}
	values := p.values
	end, ok := p.follow(from, at, pos)
	if !ok {
		p.tape, p.values = p.tape[:at], values
		p.spare -= end - pos + 32
		return -1
	}
	p.tape = p.tape[:at+n]
	p.spare += (end - pos) / 2
	return end
}

// follow is alike, for which it writes the tokens from the one at at on. It returns how far it came.
func (p *parser) follow(from, at, pos int) (end int, ok bool) {
	raw, tape := p.raw, p.tape[:2*at-from]
	old, own := tape[from:at], tape[at:]
	own = own[:len(old)]
	ahead := int32(at - from)
	was := int(old[0].Start)  // the text of the element before was compared up to here
	shift := int32(pos - was) // of what stands before the next value
	same, inner, values := Alike, int32(0), int32(0)
	for k := range old {
		switch t := &old[k]; t.Kind {
		case Name:
			if !t.Plain { // its text stands in a table, by its index
				return pos, false
			}
			o := &own[k]
			o.Kind, o.Class, o.Plain, o.ASCII = Name, 0, true, t.ASCII
			o.Start, o.End, o.Next = t.Start+shift, t.End+shift, t.Next+ahead
		case Object, Array:
			// Where it ends is filled in later. Until then it says which container stands before it.
			o := &own[k]
			o.Kind, o.Class, o.Plain, o.ASCII = t.Kind, t.Class, false, false
			o.Start, o.End, o.Next = t.Start+shift, inner, t.Next+ahead
			inner = int32(k)
			values++
		default:
			gap := int(t.Start) - was
			if !equal(raw, was, pos, gap) {
				return pos, false
			}
			pos += gap
			size := int(t.End - t.Start)
			if t.ASCII && plain(raw, pos, size) {
				end = pos + size
				o := &own[k]
				o.Kind, o.Class, o.Plain, o.ASCII = String, 0, true, true
				o.Start, o.End, o.Next = int32(pos), int32(end), t.Next+ahead
				values++
				pos, was = end, int(t.End)
				shift = int32(pos - was)
				continue
			}
			p.tape = tape[:at+k]
			if end = p.leaf(pos); end < 0 {
				return pos, false
			}
			if own[k].Kind != t.Kind || own[k].Class != t.Class {
				same = 0
			}
			pos, was = end, int(t.End)
			shift = int32(pos - was)
		}
	}
	gap := int(old[0].End) - was
	if !equal(raw, was, pos, gap) {
		return pos, false
	}
	pos += gap
	for k := inner; k > 0; {
		before, last := own[k].End, old[k].Next-int32(from)-1
		if last == k { // there is nothing in it
			last = k
			own[k].End = own[k].Start + old[k].End - old[k].Start
		} else { // what stands inside and behind it has its end already
			own[k].End = own[last].End + old[k].End - old[last].End
		}
		if same == 0 { // so may be what an element inside is like
			own[k].Class = 0
		}
		k = before
	}
	own[0].End, own[0].Class = int32(pos), same
	p.values += values
	return pos, true
}

// equal reports that the n bytes at a and at b, which is behind a, are the same.
func equal(raw []byte, a, b, n int) bool {
	if n > 16 || b+16 > len(raw) {
		return b+n <= len(raw) && bytes.Equal(raw[a:a+n], raw[b:b+n])
	}
	x := binary.LittleEndian.Uint64(raw[a:]) ^ binary.LittleEndian.Uint64(raw[b:])
	if n <= 8 {
		return x<<(64-8*n) == 0
	}
	y := binary.LittleEndian.Uint64(raw[a+8:]) ^ binary.LittleEndian.Uint64(raw[b+8:])
	return x|y<<(128-8*n) == 0
}

// plain reports that the n bytes at pos are a string without escapes whose bytes are all visible ASCII or spaces. Strings of
// records often are as long as the one before; where the end is known, nothing waits for it to be found.
func plain(raw []byte, pos, n int) bool {
	end := pos + n - 1
	if end >= len(raw) || raw[pos] != '"' || raw[end] != '"' {
		return false
	}
	pos++
	if n -= 2; n < 8 {
		if pos+8 > len(raw) {
			return false
		}
		rest := uint64(1)<<(8*n) - 1
		return unusual(binary.LittleEndian.Uint64(raw[pos:])&rest|spaces&^rest)&high == 0
	}
	var found uint64
	for ; pos+8 < end; pos += 8 {
		found |= unusual(binary.LittleEndian.Uint64(raw[pos:]))
	}
	return (found|unusual(binary.LittleEndian.Uint64(raw[end-8:])))&high == 0
}

const (
	high   = 0x8080808080808080
	ones   = 0x0101010101010101
	spaces = ones * ' '
)

// unusual has the highest bit of some byte set when a byte of word is a quote, a backslash, a control character or over 0x7e.
// What is carried from one byte to the next comes from one over 0x7f only.
func unusual(word uint64) uint64 {
	const most = ones * 0x7f
	quote, slash := (word^ones*'"')+most, (word^ones*'\\')+most // the highest bits are 0 where there is one
	return ^(quote & slash & (word + ones*(0x80-' '))) | (word + ones) | word
}
