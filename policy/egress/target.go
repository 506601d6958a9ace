package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/capability"
)

// Target is one parsed URL that a request may be sent to. It is immutable and comparable: two targets are equal
// when they are the same request line to the same origin. The zero Target is nowhere and no rule matches it.
type Target struct {
	scheme string // "http" or "https"
	host   string // canonical, IPv6 in brackets
	port   uint16
	path   string // begins with "/", still percent-encoded
	query  string // empty, or "?" and what follows, still percent-encoded
}

// Zero reports whether t is nowhere.
func (t Target) Zero() bool { return t.scheme == "" }

// Scheme is "http" or "https".
func (t Target) Scheme() string { return t.scheme }

// Host is the canonical host: lower-case name, IPv4 address, or IPv6 address in brackets.
func (t Target) Host() string { return t.host }

// Port is the port, the scheme's own when the URL named none.
func (t Target) Port() uint16 { return t.port }

// Path is the percent-encoded path, at least "/".
func (t Target) Path() string { return t.path }

// Query is the percent-encoded query without its question mark.
func (t Target) Query() string { return strings.TrimPrefix(t.query, "?") }

// Address is the host as an IP address; false when it is a name that must be resolved.
func (t Target) Address() (netip.Addr, bool) {
	ip, err := netip.ParseAddr(strings.Trim(t.host, "[]"))
	return ip, err == nil
}

// Origin is scheme, host and port, the most that an audit record says about where a request went. Credentials
// never follow a redirect to another origin.
func (t Target) Origin() string {
	if t.Zero() {
		return ""
	}
	return t.scheme + "://" + t.host + ":" + strconv.Itoa(int(t.port))
}

// String is the canonical URL; [ParseURL] reads it back as the same Target. The scheme's own port is left out.
func (t Target) String() string {
	if t.Zero() {
		return ""
	}
	s := t.scheme + "://" + t.host
	if t.port != defaultPort(t.scheme) {
		s += ":" + strconv.Itoa(int(t.port))
	}
	return s + t.path + t.query
}

// Capabilities are the names of which one must be granted for a request to t: net.fetch:<host:port> always, and
// net.fetch:<host> when the port is the scheme's own. The zero Target has none.
func (t Target) Capabilities() []capability.Name {
	if t.Zero() {
		return nil
	}
	texts := []string{"net.fetch:" + t.host, "net.fetch:" + t.host + ":" + strconv.Itoa(int(t.port))}
	if t.port != defaultPort(t.scheme) {
		texts = texts[1:]
	}
	var names []capability.Name
	for _, text := range texts {
		if n, err := capability.Parse(text); err == nil { // always: the host was read by the same grammar, which leaves room for a port
			names = append(names, n)
		}
	}
	return names
}

// Resolve reads a redirect's Location, which may be relative, as seen from t.
func (t Target) Resolve(location string) (Target, Verdict) {
	if v := checkBytes(location); !v.Allowed {
		return Target{}, v
	}
	base, err := url.Parse(t.String())
	if err != nil || t.Zero() {
		return Target{}, refuse(InvalidURL, "there is no address that the redirect could be relative to")
	}
	ref, err := url.Parse(location)
	if err != nil {
		return Target{}, refuse(InvalidURL, "the redirect is not a URL")
	}
	return ParseURL(base.ResolveReference(ref).String())
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}
