package codec

import "strconv"

// parseFloat reads a JSON number as a float of 32 or 64 bits; false when it is
// outside of their range. Up to fifteen digits without an exponent are a whole
// number and a power of ten that float64 holds exactly, so one division rounds
// as it must; the rest is left to strconv.
func parseFloat(text string, size int) (float64, bool) {
	if f, ok := short(text); ok && size == 64 {
		return f, true
	}
	f, err := strconv.ParseFloat(text, size)
	return f, err == nil
}

func short(text string) (f float64, ok bool) {
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
			return 0, false
		}
		if count > 15 {
			return 0, false
		}
	}
	f = float64(n)
	if point >= 0 {
		f /= tens(count - point)
	}
	if text[0] == '-' {
		f = -f
	}
	return f, true
}
