package wasmbin

import "unicode/utf8"

// reader walks bytes of a module. Its first refusal sticks: after it every read
// gives zero, so that a caller checks once per item and no loop runs on.
type reader struct {
	buf  []byte
	pos  int
	base int // where buf begins in the file
	no   *Refusal
}

func (r *reader) fail(code Code, format string, args ...any) {
	if r.no == nil {
		r.no = refuse(code, r.base+r.pos, format, args...)
	}
}

func (r *reader) left() int { return len(r.buf) - r.pos }

func (r *reader) byte() byte {
	if r.no != nil {
		return 0
	}
	if r.pos >= len(r.buf) {
		r.fail(CodeTruncated, "it ends in the middle of a value")
		return 0
	}
	r.pos++
	return r.buf[r.pos-1]
}

// take returns the next n bytes of the file itself.
func (r *reader) take(n uint32) []byte {
	if r.no != nil {
		return nil
	}
	if uint64(n) > uint64(r.left()) {
		r.fail(CodeTruncated, "it says %d bytes follow, but only %d do", n, r.left())
		return nil
	}
	r.pos += int(n)
	return r.buf[r.pos-int(n) : r.pos : r.pos]
}

// u32 reads an unsigned LEB128 number of 32 bits.
func (r *reader) u32() uint32 {
	if r.no == nil && r.pos < len(r.buf) && r.buf[r.pos] < 0x80 { // most are one byte
		r.pos++
		return uint32(r.buf[r.pos-1])
	}
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.fail(CodeNumber, "it has a number of more than 32 bits")
	return 0
}

// signed reads a signed LEB128 number of 32, 33 or 64 bits. The bits of the
// last byte past the size must repeat the sign.
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if rest := bits - shift; rest < 7 {
			if top := int8(b<<1) >> rest; top != 0 && top != -1 {
				break
			}
		}
		if shift+7 < 64 {
			v = v << (57 - shift) >> (57 - shift)
		}
		return v
	}
	r.fail(CodeNumber, "it has a signed number of more than %d bits", bits)
	return 0
}

// count reads the length of a vector whose items take at least minItem bytes
// each. It refuses a length that the bytes cannot hold before it refuses one
// past the limit: nothing may be allocated by a number the file only claims.
func (r *reader) count(code Code, what string, minItem, limit int) int {
	n := r.u32()
	if r.no != nil {
		return 0
	}
	if uint64(n)*uint64(minItem) > uint64(r.left()) {
		r.fail(CodeCount, "it says it has %d %s, but only %d bytes follow", n, what, r.left())
		return 0
	}
	if uint64(n) > uint64(limit) {
		r.fail(code, "it has %d %s, and at most %d are allowed", n, what, limit)
		return 0
	}
	return int(n)
}

// name reads a UTF-8 name.
func (r *reader) name(limit int) string {
	n := r.u32()
	if r.no == nil && uint64(n) <= uint64(r.left()) && uint64(n) > uint64(limit) {
		r.fail(CodeName, "it has a name of %d bytes, and at most %d are allowed", n, limit)
	}
	b := r.take(n)
	if r.no == nil && !utf8.Valid(b) {
		r.fail(CodeName, "it has a name that is not valid UTF-8")
	}
	return string(b)
}

// index reads an index and holds it against the size of its space.
func (r *reader) index(what string, space int) uint32 {
	i := r.u32()
	if r.no == nil && uint64(i) >= uint64(space) {
		r.fail(CodeIndex, "it names %s %d of %d", what, i, space)
		return 0
	}
	return i
}

// flag reads a byte that must be one of a few.
func (r *reader) flag(what string, max byte) byte {
	b := r.byte()
	if r.no == nil && b > max {
		r.fail(CodeForm, "it has %s of the unknown form %d", what, b)
		return 0
	}
	return b
}
