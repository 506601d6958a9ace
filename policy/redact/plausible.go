package redact

import (
	"encoding/base64"
	"strings"
)

// strong reports a value that nobody would write by chance: long enough, and either letters with digits or very
// long, in one word.
func strong(v string) bool {
	if len(v) < MinRunes || strings.ContainsAny(v, " \t\r\n") {
		return false
	}
	return mixed([]byte(v)) || len(v) >= 24 && !strings.ContainsAny(v, "/.")
}

// credential reports what can stand behind an authorization scheme, as against the next word of a sentence.
func credential(v string) bool {
	return !placeholder(v) && !isCode(v) && (strong(v) || len(v) >= 16)
}

// basicPair reports the base64 of "user:password".
func basicPair(v string) bool {
	pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	return err == nil && strings.Contains(string(pair), ":") && plainASCII(pair)
}

// placeholder reports a value that stands for a secret in documentation, a schema or a masked log.
func placeholder(v string) bool {
	switch strings.ToLower(strings.Trim(v, "\"'")) {
	case "", "null", "nil", "none", "true", "false", "undefined", "string", "required", "optional", "number", "integer",
		"boolean", "object", "example", "password", "secret", "token", "changeme", "redacted", "hidden", "unset", "empty":
		return true
	}
	if strings.Trim(v, "*xX.-_ \u2022") == "" || monotonous(v) || strings.HasSuffix(v, "...") || strings.HasSuffix(v, "EXAMPLE") || published(v) {
		return true
	}
	if upper := strings.ToUpper(v); !strings.ContainsFunc(v, isDigitRune) && (v == upper && Sensitive(v) || strings.HasSuffix(upper, "HERE")) {
		return true // access_token=ACCESS_TOKEN
	}
	return strings.HasPrefix(v, "<redacted:") || strings.Contains(v, Sentinel) ||
		strings.HasPrefix(strings.ToLower(v), "your") || strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">")
}

// monotonous reports eight times the same byte in a row: random text of 64 letters has that once in 10^11 times, and what
// people fill examples with nearly always.
func monotonous(v string) bool {
	for i, same := 1, 1; i < len(v); i++ {
		if same++; v[i] != v[i-1] {
			same = 1
		}
		if same == 8 {
			return true
		}
	}
	return false
}

// isCode reports an expression that yields a secret rather than being one: a call, an interpolation, a dotted name,
// or a link, whose own secrets are found as a URL's.
func isCode(v string) bool {
	if v == "" || strings.ContainsAny(v, "({[") || strings.ContainsAny(v[:1], "$%&@*#") || strings.Contains(v, "://") {
		return true
	}
	dotted := strings.Contains(v, ".")
	for part := range strings.SplitSeq(v, ".") {
		if part == "" || len(part) > 24 || isDigit(part[0]) || strings.IndexFunc(part, func(r rune) bool {
			return r >= 0x80 || !isAlnum(byte(r)) && r != '_'
		}) >= 0 {
			return false
		}
	}
	return dotted
}
