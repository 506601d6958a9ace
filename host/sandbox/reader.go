package sandbox

import (
	"fmt"
	"unicode/utf8"
)

// reader walks the bytes of one section. Its first error sticks: after it every
// read gives zero, so that a caller checks once per item and loops cannot run
// on. base is where buf starts in the file, for messages.
type reader struct {
	buf  []byte
	pos  int
	base int
	err  error
}

// fail keeps the first error, with the byte at which it happened.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s (byte %d)", fmt.Sprintf(format, args...), r.base+r.pos)
	}
}

func (r *reader) left() int { return len(r.buf) - r.pos }

func (r *reader) byte() byte {
	if r.err == nil && r.left() < 1 {
		r.fail("it ends in the middle of a value")
	}
	if r.err != nil {
		return 0
	}
	r.pos++
	return r.buf[r.pos-1]
}

// take returns the next n bytes, sharing memory with the file.
func (r *reader) take(n uint32) []byte {
	if r.err == nil && uint64(n) > uint64(r.left()) {
		r.fail("it says %d bytes follow, but only %d do", n, r.left())
	}
	if r.err != nil {
		return nil
	}
	r.pos += int(n)
	return r.buf[r.pos-int(n) : r.pos]
}

// leb reads a LEB128 number of at most bits bits and refuses forms that are
// longer than the encoding allows. The caller of a signed number only skips it,
// so its unused bits are not looked at; the engine validates them.
func (r *reader) leb(bits int, signed bool) uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		if shift+7 > bits {
			if used := bits - shift; b&0x80 != 0 || !signed && b>>used != 0 {
				r.fail("a number has more than %d bits", bits)
				return 0
			}
		}
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return v
		}
	}
}

func (r *reader) u32() uint32 { return uint32(r.leb(32, false)) }

// count reads the length of a vector whose items take at least minItem bytes,
// and refuses it when the section cannot hold that many or when it passes max:
// nothing may be allocated by a number the file only claims.
func (r *reader) count(what string, minItem, max int) int {
	n := r.u32()
	if r.err != nil {
		return 0
	}
	if uint64(n)*uint64(minItem) > uint64(r.left()) {
		r.fail("it says it has %d %s, but only %d bytes follow", n, what, r.left())
		return 0
	}
	if uint64(n) > uint64(max) {
		r.fail("it has %d %s, and at most %d are allowed", n, what, max)
		return 0
	}
	return int(n)
}

// name reads a UTF-8 name of at most maxName bytes.
func (r *reader) name() string {
	n := r.u32()
	if r.err == nil && n > maxName {
		r.fail("a name has %d bytes, and at most %d are allowed", n, maxName)
	}
	b := r.take(n)
	if r.err == nil && !utf8.Valid(b) {
		r.fail("a name is not valid UTF-8")
	}
	if r.err != nil {
		return ""
	}
	return string(b)
}
