package codec

import "errors"

// Base64 in the standard alphabet with padding. It is our own because
// encoding/base64 adds 22 kB to a guest.

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func appendBase64(dst, src []byte) []byte {
	for len(src) >= 3 {
		n := uint(src[0])<<16 | uint(src[1])<<8 | uint(src[2])
		dst = append(dst, alphabet[n>>18], alphabet[n>>12&63], alphabet[n>>6&63], alphabet[n&63])
		src = src[3:]
	}
	switch len(src) {
	case 1:
		n := uint(src[0]) << 16
		dst = append(dst, alphabet[n>>18], alphabet[n>>12&63], '=', '=')
	case 2:
		n := uint(src[0])<<16 | uint(src[1])<<8
		dst = append(dst, alphabet[n>>18], alphabet[n>>12&63], alphabet[n>>6&63], '=')
	}
	return dst
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
