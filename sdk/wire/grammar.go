package wire

import "strings"

// The grammars are written out by hand: package regexp would add a tenth of a
// megabyte to every guest.

// ValidToolName reports whether s is a tool name: two or more words joined by
// dots, ^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$, at most [MaxToolName] bytes.
func ValidToolName(s string) bool {
	word, rest, dot := strings.Cut(s, ".")
	if len(s) > MaxToolName || !dot || !wordOf(word, isLower, isLowerDigit) {
		return false
	}
	for dot {
		word, rest, dot = strings.Cut(rest, ".")
		if !wordOf(word, isLower, func(c byte) bool { return isLowerDigit(c) || c == '_' }) {
			return false
		}
	}
	return true
}

// ValidPluginID reports whether s matches ^[a-z][a-z0-9-]{0,39}$.
func ValidPluginID(s string) bool {
	return len(s) <= 40 && wordOf(s, isLower, func(c byte) bool { return isLowerDigit(c) || c == '-' })
}

// ValidSettingName reports whether s matches ^[a-z][a-z0-9_]{0,39}$.
func ValidSettingName(s string) bool {
	return len(s) <= 40 && wordOf(s, isLower, func(c byte) bool { return isLowerDigit(c) || c == '_' })
}

// ValidVersion reports whether s is a semantic version 2.0.0 (semver.org) of at
// most 64 bytes: major.minor.patch[-pre][+build].
func ValidVersion(s string) bool {
	if len(s) > 64 {
		return false
	}
	s, build, hasBuild := strings.Cut(s, "+")
	core, pre, hasPre := strings.Cut(s, "-")
	major, rest, _ := strings.Cut(core, ".")
	minor, patch, dots := strings.Cut(rest, ".")
	return dots && isNumber(major) && isNumber(minor) && isNumber(patch) &&
		(!hasPre || versionTail(pre, true)) && (!hasBuild || versionTail(build, false))
}

// versionTail checks dot-separated identifiers; before the plus a number has no
// leading zero.
func versionTail(s string, pre bool) bool {
	for more := true; more; {
		var id string
		id, s, more = strings.Cut(s, ".")
		if !wordOf(id, isVersionChar, isVersionChar) {
			return false
		}
		if pre && wordOf(id, isDigit, isDigit) && !isNumber(id) {
			return false
		}
	}
	return true
}

// isNumber reports decimal digits without a leading zero.
func isNumber(s string) bool {
	return wordOf(s, isDigit, isDigit) && (s[0] != '0' || len(s) == 1)
}

// ValidCapability reports whether s is a capability that a plugin may ask for:
// a name the host knows, with an argument where the name takes one. Wildcards
// are the operator's, in grants; "net.fetch" alone asks for the hosts that the
// manifest lists under egress.
func ValidCapability(s string) bool {
	if len(s) > 256 {
		return false
	}
	name, arg, has := strings.Cut(s, ":")
	switch name {
	case CapFSRead, CapFSWrite, CapKV, "process.exec", "session.read", "task.control", "schedule.manage":
		return !has
	case CapNetFetch:
		return !has || validHostPort(arg)
	case CapSecretBind, "mcp.connect", "mcp.call", "tool.call", "channel.receive", "channel.deliver", "agents.spawn":
		return has && wordOf(arg, isSegment, isSegment)
	}
	return false
}

// validHostPort checks host[:port] as two segments.
func validHostPort(s string) bool {
	host, port, has := strings.Cut(s, ":")
	return wordOf(host, isSegment, isSegment) && (!has || isNumber(port) && len(port) <= 5)
}

// Covers reports whether asking for have includes need: they are equal, or have
// is a whole-segment prefix, as "net.fetch" is of "net.fetch:api.example.com".
func Covers(have, need string) bool {
	return have == need || strings.HasPrefix(need, have) && need[len(have)] == ':'
}

// Satisfies reports whether asking for have gives what an import needs: the
// same name, with or without an argument. See [Import.Needs].
func Satisfies(have, importNeeds string) bool { return Covers(importNeeds, have) }

// wordOf reports a non-empty string whose first byte is first and whose others
// are more.
func wordOf(s string, first, more func(byte) bool) bool {
	if s == "" || !first(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !more(s[i]) {
			return false
		}
	}
	return true
}

func isLower(c byte) bool      { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool      { return '0' <= c && c <= '9' }
func isLowerDigit(c byte) bool { return isLower(c) || isDigit(c) }
func isUpper(c byte) bool      { return 'A' <= c && c <= 'Z' }

func isVersionChar(c byte) bool { return isLowerDigit(c) || isUpper(c) || c == '-' }
func isSegment(c byte) bool     { return isVersionChar(c) || c == '.' || c == '_' }
