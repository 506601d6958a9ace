package egress

import (
	"strings"
	"unicode/utf8"
)

// hasDotSegment also sees "..;x", which servers that cut path parameters read as "..", and dots with white space around
// them, which some servers and file systems drop.
func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		name, _, _ := strings.Cut(segment, ";")
		if name = strings.TrimSpace(name); name == "." || name == ".." {
			return true
		}
	}
	return false
}

// decodings is how often a path is decoded before it counts as hostile. Two layers (a proxy and a server) exist in
// practice.
const decodings = 4

// hidesPath reports whether decoding path, once or more often, gives another path than it seems: slashes,
// backslashes, control characters or dot segments that were encoded, characters that a normalising server turns into
// one of these, or bytes that are not UTF-8 (overlong forms). A prefix is only worth something when this is false.
func hidesPath(path string) bool {
	for range decodings {
		next := unescape(path)
		if next == path {
			return false
		}
		if strings.Count(next, "/") != strings.Count(path, "/") || strings.ContainsFunc(next, ambiguous) ||
			hasDotSegment(next) || !utf8.ValidString(next) {
			return true
		}
		path = next
	}
	return true
}

// ambiguous reports characters that end, split or join segments for some servers: controls, the backslash, and what
// becomes a slash, a backslash or dots in Unicode's compatibility form (NFKC) or in a best-fit code page.
func ambiguous(c rune) bool {
	return c < ' ' || c == 0x7f || strings.ContainsRune("\\\u2024\u2025\u2026\u2044\u2215\u2216\u29f5\u29f8\ufe52\ufe68\uff0e\uff0f\uff3c", c)
}

// unescape decodes every percent escape and leaves a percent sign that begins none, as a lenient server would.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0 {
			b.WriteByte(byte(unhex(s[i+1])<<4 | unhex(s[i+2])))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// under reports whether path is prefix or lies below it. Segments are whole: "/v1" is not a prefix of "/v10".
func under(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || strings.HasSuffix(prefix, "/") || rest[0] == '/')
}
