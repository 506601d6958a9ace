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
	if strings.Trim(v, "*xX.-_ \u2022") == "" {
		return true
	}
	return strings.HasPrefix(v, "<redacted:") || strings.Contains(v, Sentinel) ||
		strings.HasPrefix(strings.ToLower(v), "your") || strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">")
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
