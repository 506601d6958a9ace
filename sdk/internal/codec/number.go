package codec

import (
	"errors"
	"math"
	"strconv"
	"unsafe"
)

func digit(c byte) bool { return '0' <= c && c <= '9' }

// num passes a number; whole says that it has neither fraction nor exponent.
func (d *decoder) num() (whole bool, err error) {
	s, i := d.s, d.at
	if s[i] == '-' {
		i++
	}
	from := i
	i = digits(s, i)
	ok := i > from && (s[from] != '0' || i == from+1)
	whole = true
	if ok && i < len(s) && s[i] == '.' {
		whole, from = false, i+1
		i = digits(s, from)
		ok = i > from
	}
	if ok && i < len(s) && s[i]|0x20 == 'e' {
		whole, from = false, i+1
		if from < len(s) && (s[from] == '+' || s[from] == '-') {
			from++
		}
		i = digits(s, from)
		ok = i > from
	}
	d.at = i
	if !ok {
		return false, d.fail("not a number")
	}
	return whole, nil
}

// digits is the place after the digits from i on.
func digits(s string, i int) int {
	for i < len(s) && digit(s[i]) {
		i++
	}
	return i
}

// tens are the powers of ten that a float64 may be multiplied by or divided by
// once without losing anything but the one rounding that it should have.
func tens(n int) float64 {
	f := 1.0
	for range n {
		f *= 10
	}
	return f
}

// parseFloat reads a JSON number. Up to fifteen digits without an exponent are a
// whole number and a power of ten that float64 holds exactly, so one division
// rounds as it must; the rest is left to strconv.
func parseFloat(text string) (float64, error) {
	var n uint64
	count, point := 0, -1
	i := 0
	if text[0] == '-' {
		i = 1
	}
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case digit(c):
			n = n*10 + uint64(c-'0')
			count++
		case c == '.':
			point = count
		default:
			return strconv.ParseFloat(text, 64)
		}
		if count > 15 {
			return strconv.ParseFloat(text, 64)
		}
	}
	f := float64(n)
	if point >= 0 {
		f /= tens(count - point)
	}
	if text[0] == '-' {
		f = -f
	}
	return f, nil
}

func (d *decoder) float() (any, error) {
	at := d.at
	if _, err := d.num(); err != nil {
		return nil, err
	}
	f, err := parseFloat(d.s[at:d.at])
	if err != nil {
		return nil, &Error{At: at, What: d.s[at:d.at] + " is outside the range of float64"}
	}
	return f, nil
}

// magnitude is the value of digits; false past 64 bits. It is not
// strconv.ParseUint because that error alone, with its quoting, is 30 kB.
func magnitude(digits string) (uint64, bool) {
	var n uint64
	for i := range len(digits) {
		c := uint64(digits[i] - '0')
		if n > (math.MaxUint64-c)/10 {
			return 0, false
		}
		n = n*10 + c
	}
	return n, true
}

func setInt(p unsafe.Pointer, size uintptr, text string) bool {
	minus := text[0] == '-'
	if minus {
		text = text[1:]
	}
	u, ok := magnitude(text)
	limit := uint64(1) << (size*8 - 1)
	if !ok || u > limit || u == limit && !minus {
		return false
	}
	n := int64(u)
	if minus {
		n = -n
	}
	switch size {
	case 1:
		*(*int8)(p) = int8(n)
	case 2:
		*(*int16)(p) = int16(n)
	case 4:
		*(*int32)(p) = int32(n)
	default:
		*(*int64)(p) = n
	}
	return true
}

func setUint(p unsafe.Pointer, size uintptr, text string) bool {
	u, ok := uint64(0), false
	if text[0] != '-' {
		u, ok = magnitude(text)
	}
	if !ok || size < 8 && u>>(size*8) != 0 {
		return false
	}
	switch size {
	case 1:
		*(*uint8)(p) = uint8(u)
	case 2:
		*(*uint16)(p) = uint16(u)
	case 4:
		*(*uint32)(p) = uint32(u)
	default:
		*(*uint64)(p) = u
	}
	return true
}

func intAt(p unsafe.Pointer, size uintptr) int64 {
	switch size {
	case 1:
		return int64(*(*int8)(p))
	case 2:
		return int64(*(*int16)(p))
	case 4:
		return int64(*(*int32)(p))
	}
	return *(*int64)(p)
}

func uintAt(p unsafe.Pointer, size uintptr) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

// AppendFloat writes f as encoding/json does: the shortest digits, with an
// exponent only below 1e-6 and from 1e21. bits is 32 or 64.
func AppendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return dst, errors.New("a number that JSON does not have: " + strconv.FormatFloat(f, 'g', -1, bits))
	}
	if out, ok := appendShort(dst, f); ok && bits == 64 {
		return out, nil
	}
	abs, format := math.Abs(f), byte('f')
	if abs != 0 && (bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
		bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	// e-09 is written e-9
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst, nil
}

// appendShort writes numbers of few digits, which most are: n/10^k for the
// smallest k that gives f. Two numbers of at most fifteen digits are never the
// same float64, so these are the shortest digits that there are.
func appendShort(dst []byte, f float64) ([]byte, bool) {
	abs := math.Abs(f)
	if abs >= 1e12 || abs < 1e-3 {
		return dst, false
	}
	scale := 1.0
	for k := range 4 {
		n := uint64(abs*scale + 0.5)
		if n < 1e15 && float64(n)/scale == abs {
			if f < 0 {
				dst = append(dst, '-')
			}
			return appendPoint(dst, n, k), true
		}
		scale *= 10
	}
	return dst, false
}

// appendPoint writes n with the last k digits after the point.
func appendPoint(dst []byte, n uint64, k int) []byte {
	if k == 0 {
		return strconv.AppendUint(dst, n, 10)
	}
	unit := uint64(tens(k))
	dst = append(strconv.AppendUint(dst, n/unit, 10), '.')
	for n %= unit; k > 0; k-- {
		unit /= 10
		dst = append(dst, byte('0'+n/unit))
		n %= unit
	}
	return dst
}
