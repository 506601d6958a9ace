package egress

import (
	"errors"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/capability"
)

// MaxURL is the most bytes a URL may have.
const MaxURL = 8192

// ParseURL reads an absolute http or https URL. The verdict is allowed exactly when the Target is not zero; it says
// nothing about rules yet.
//
// Scheme and host are lower-cased, the scheme's own port is filled in, an empty path becomes "/", and a fragment is
// dropped. Nothing else is changed: what has more than one reading is refused rather than normalised, so that no
// other parser can see another host or path than the one that was judged. Names outside ASCII are refused; write
// the A-label ("xn--...").
// Source: RFC 3986 sections 3 and 6.2; WHATWG URL for the IPv4 forms that are refused.
func ParseURL(raw string) (Target, Verdict) {
	if v := checkBytes(raw); !v.Allowed {
		return Target{}, v
	}
	raw, _, _ = strings.Cut(raw, "#")
	scheme, rest, ok := strings.Cut(raw, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case !ok:
		return Target{}, refuse(InvalidURL, "write an absolute URL, as in https://api.example.com/v1")
	case scheme != "http" && scheme != "https":
		return Target{}, refuse(UnsupportedScheme, "only http and https URLs can be fetched")
	case !strings.HasPrefix(rest, "//"):
		return Target{}, refuse(MissingHostname, "two slashes and a host must follow the scheme")
	}
	rest = rest[2:]
	end := len(rest)
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		end = i
	}
	t := Target{scheme: scheme, path: rest[end:]}
	if i := strings.IndexByte(t.path, '?'); i >= 0 {
		t.path, t.query = t.path[:i], t.path[i:]
	}
	if t.path == "" {
		t.path = "/"
	}
	var v Verdict
	if t.host, t.port, v = parseAuthority(rest[:end], defaultPort(scheme)); !v.Allowed {
		return Target{}, v
	}
	if hasDotSegment(t.path) {
		return Target{}, refuse(NonCanonicalPath, "the path has a . or .. segment: write the path it stands for")
	}
	return t, allow()
}

// checkBytes refuses what no URL may hold, before anything is split.
func checkBytes(raw string) Verdict {
	if len(raw) > MaxURL {
		return refuse(InvalidURL, "the URL is longer than "+strconv.Itoa(MaxURL)+" bytes")
	}
	for i := range len(raw) {
		switch c := raw[i]; {
		case c <= ' ' || c == 0x7f:
			return refuse(InvalidURL, "the URL holds a space or control character: percent-encode it")
		case c == '\\':
			return refuse(InvalidURL, "the URL holds a backslash, which some programs read as a slash")
		case c >= 0x80:
			return refuse(InvalidURL, "the URL holds characters outside ASCII: percent-encode them, and write a host as its xn-- name")
		case strings.IndexByte("\"<>^`{|}", c) >= 0:
			return refuse(InvalidURL, "the URL holds one of \" < > ^ ` { | }: percent-encode it")
		case c == '%' && (i+2 >= len(raw) || unhex(raw[i+1]) < 0 || unhex(raw[i+2]) < 0):
			return refuse(InvalidURL, "the URL holds a percent sign without two hex digits: write %25")
		}
	}
	return allow()
}

func parseAuthority(a string, port uint16) (string, uint16, Verdict) {
	if strings.Contains(a, "@") {
		return "", 0, refuse(Userinfo, "the URL holds a user or password: the host adds credentials itself")
	}
	host, digits, hasPort := a, "", false
	if i := strings.LastIndexByte(a, ':'); i > strings.LastIndexByte(a, ']') {
		host, digits, hasPort = a[:i], a[i+1:], true
	}
	if host == "" {
		return "", 0, refuse(MissingHostname, "the URL names no host")
	}
	if hasPort {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || n == 0 || digits[0] == '0' || digits[0] == '+' {
			return "", 0, refuse(InvalidPort, "a port is 1 to 65535 without leading zeros")
		}
		port = uint16(n)
	}
	host = strings.ToLower(host)
	if err := checkHost(host); err != nil {
		return "", 0, refuse(InvalidHostname, err.Error())
	}
	return host, port, allow()
}

// checkHost holds hosts to the grammar of capabilities, so that a rule, a grant and a URL name a host alike.
func checkHost(host string) error {
	n, err := capability.Parse("net.fetch:" + host)
	var syntax *capability.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return errors.New(syntax.Want)
	case err != nil || n.Argument() != host || strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']'):
		return errors.New("a host has no port of its own")
	}
	return nil
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
