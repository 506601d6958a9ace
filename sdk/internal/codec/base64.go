package codec

import "errors"

// Base64 in the standard alphabet with padding. It is our own because
// encoding/base64 adds 22 kB to a guest.

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// appendBase64 writes a JSON string.
func appendBase64(dst, src []byte) []byte {
	dst = append(dst, '"')
	for len(src) > 0 {
		var three [3]byte
		n := copy(three[:], src)
		four := [4]byte{alphabet[three[0]>>2], alphabet[three[0]<<4&63|three[1]>>4], alphabet[three[1]<<2&63|three[2]>>6], alphabet[three[2]&63]}
		for i := n + 1; i < 4; i++ {
			four[i] = '='
		}
		dst = append(dst, four[:]...)
		src = src[n:]
	}
	return append(dst, '"')
}

// fromBase64 never returns nil without an error. Line breaks are passed over,
// as encoding/base64 does.
func fromBase64(s string) ([]byte, error) {
	out := make([]byte, 0, len(s)/4*3)
	var n uint
	have, pad := 0, 0
	for i := range len(s) {
		c := s[i]
		if c == '\r' || c == '\n' {
			continue
		}
		if c == '=' && have >= 2 && have+pad < 4 {
			pad++
			continue
		}
		six, ok := sixBits(c)
		if !ok || pad > 0 {
			return nil, errors.New("not base64 with padding")
		}
		n = n<<6 | six
		if have++; have == 4 {
			out = append(out, byte(n>>16), byte(n>>8), byte(n))
			n, have = 0, 0
		}
	}
	switch {
	case have+pad == 0:
		return out, nil
	case have == 2 && pad == 2:
		return append(out, byte(n>>4)), nil
	case have == 3 && pad == 1:
		return append(out, byte(n>>10), byte(n>>2)), nil
	}
	return nil, errors.New("not base64 with padding")
}

func sixBits(c byte) (uint, bool) {
	switch {
	case 'A' <= c && c <= 'Z':
		return uint(c - 'A'), true
	case 'a' <= c && c <= 'z':
		return uint(c-'a') + 26, true
	case digit(c):
		return uint(c-'0') + 52, true
	case c == '+':
		return 62, true
	case c == '/':
		return 63, true
	}
	return 0, false
}
