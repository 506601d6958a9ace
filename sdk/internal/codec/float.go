package codec

import (
	"math"
	"math/bits"
)

// Numbers are read here and not by strconv.parseFloat, whose error, which quotes, links 20 kB into a guest, and the rest
// as much. The value is the same: the nearest one, and the even one of two that are as near.

// parseFloat reads a JSON number as a float of 32 or 64 bits; false when it is outside of their range.
func parseFloat(text string, size int) (float64, bool) {
	n, exp, more := decimal(text)
	f, ok := float64(n), true
	switch {
	case n == 0:
	case !more && size == 64 && n < 1<<53 && exp <= 0 && exp >= -22:
		f /= tens(-exp) // of two numbers that float64 holds exactly, so that one division rounds as it must
	case !more && exp <= 0 && exp >= -19:
		f, ok = quotient(n, power(-exp), size)
	default:
		f, ok = exact(text, size)
	}
	if text[0] == '-' {
		f = -f
	}
	return f, ok
}

// decimal is a JSON number as n times ten to the power of exp; more says that it has digits that n has no room for.
func decimal(text string) (n uint64, exp int, more bool) {
	point := false
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '.':
			point = true
		case c|0x20 == 'e':
			return n, exp + exponent(text[i+1:]), more
		case !digit(c):
		case n >= 1e18 || more:
			more = true
		default:
			n = n*10 + uint64(c-'0')
			if point {
				exp--
			}
		}
	}
	return n, exp, more
}

// exponent reads what follows an e, up to what is beyond every float however many digits stand in front of it.
func exponent(text string) int {
	n, minus := 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '-':
			minus = true
		case digit(c) && n < 1e8:
			n = n*10 + int(c-'0')
		}
	}
	if minus {
		return -n
	}
	return n
}

func power(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// quotient is n, which is not 0, divided by d.
func quotient(n, d uint64, size int) (float64, bool) {
	// Both have their highest bit set, and then the first is halved so that the result fits.
	up, down := bits.LeadingZeros64(n), bits.LeadingZeros64(d)
	n, d = n<<up, d<<down
	q, rest := bits.Div64(n>>1, n<<63, d)
	exp := down - up - 63
	if q < 1<<63 {
		// One bit more of the quotient.
		q, exp = q<<1, exp-1
		if carry := rest>>63 != 0; carry || rest<<1 >= d {
			q, rest = q|1, rest<<1-d
		} else {
			rest <<= 1
		}
	}
	return rounded(q, exp, rest != 0, size)
}

// rounded is the float nearest to n times two to the power of exp and, when there is more, a little. The highest bit of n is set.
func rounded(n uint64, exp int, more bool, size int) (float64, bool) {
	drop, least, most := 11, -1074, math.MaxFloat64
	if size == 32 {
		drop, least, most = 40, -149, math.MaxFloat32
	}
	drop = max(drop, least-exp)
	exp += drop
	if drop > 64 {
		return 0, true
	}
	m, rest := n>>drop, n<<(64-drop)
	if rest > 1<<63 || rest == 1<<63 && (more || m&1 != 0) {
		m++
	}
	if exp > 1023 {
		return 0, false
	}
	scale := uint64(1) << max(exp+1074, 0)
	if exp >= -1022 {
		scale = uint64(exp+1023) << 52
	}
	f := float64(m) * math.Float64frombits(scale)
	return f, f <= most
}

// maxDigits is more than decide which of two floats is nearer (767).
const maxDigits = 800

// exact reads any number, digit by digit, as a fraction of two natural numbers.
func exact(text string, size int) (float64, bool) {
	var n, d natural
	count, exp, point, dropped := 0, 0, false, false
	for i := range len(text) {
		c := text[i]
		if c|0x20 == 'e' {
			exp += exponent(text[i+1:])
			break
		}
		switch {
		case c == '.':
			point = true
		case !digit(c):
		case count == maxDigits:
			dropped = dropped || c != '0'
			if !point {
				exp++
			}
		default:
			n = n.times(10, uint32(c-'0'))
			if len(n) > 0 {
				count++
			}
			if point {
				exp--
			}
		}
	}
	if dropped { // not what they are, but that they are there
		n, exp, count = n.times(10, 1), exp-1, count+1
	}
	switch {
	case len(n) == 0 || count+exp < -330:
		return 0, true
	case count+exp > 310:
		return 0, false
	}
	d = natural{1}
	for ; exp > 0; exp-- {
		n = n.times(10, 0)
	}
	for ; exp < 0; exp++ {
		d = d.times(10, 0)
	}
	// Now n/d is brought to 1 and less than 2, and its bits are taken one by one.
	exp = n.bits() - d.bits()
	d, n = d.shifted(exp), n.shifted(-exp)
	if n.less(d) {
		n, exp = n.shifted(1), exp-1
	}
	var q uint64
	for range 64 {
		q <<= 1
		if !n.less(d) {
			n.subtract(d)
			q |= 1
		}
		n = n.shifted(1)
	}
	return rounded(q, exp-63, n.bits() > 0, size)
}

// natural is a number of any size, the lowest 32 bits first. It may end in zeros.
type natural []uint32

// times is n*by+plus, in n's memory.
//
//go:noinline
func (n natural) times(by, plus uint32) natural {
	carry := uint64(plus)
	for i, digit := range n {
		carry += uint64(digit) * uint64(by)
		n[i] = uint32(carry)
		carry >>= 32
	}
	if carry > 0 {
		n = append(n, uint32(carry))
	}
	return n
}

// bits is how many there are from the highest that is set.
func (n natural) bits() int {
	for i := len(n) - 1; i >= 0; i-- {
		if n[i] != 0 {
			return 32*i + bits.Len32(n[i])
		}
	}
	return 0
}

// shifted is n times two to the power of by, or n for less than one.
//
//go:noinline
func (n natural) shifted(by int) natural {
	for ; by >= 32; by -= 32 {
		n = append(n, 0)
		copy(n[1:], n)
		n[0] = 0
	}
	if by <= 0 {
		return n
	}
	return n.times(1<<by, 0)
}

//go:noinline
func (n natural) less(than natural) bool {
	for i := max(len(n), len(than)) - 1; i >= 0; i-- {
		if a, b := n.at(i), than.at(i); a != b {
			return a < b
		}
	}
	return false
}

func (n natural) at(i int) uint32 {
	if i < len(n) {
		return n[i]
	}
	return 0
}

// subtract takes what is not more from n.
func (n natural) subtract(what natural) {
	borrow := uint64(0)
	for i := range n {
		d := uint64(n[i]) - uint64(what.at(i)) - borrow
		n[i], borrow = uint32(d), d>>63
	}
}
