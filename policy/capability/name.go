package capability

import (
	"net/netip"
	"strconv"
	"strings"
)

// MaxName is the most bytes a name or grant may have: room for net.fetch with the longest host and a port, so that
// whatever host is valid can be named with every port it may be asked on.
const MaxName = 272

// maxHost is the most bytes of a host name. Source: RFC 1035 section 2.3.4, without the root.
const maxHost = 253

// Name is one use of an ability. It is comparable, immutable, and holds its one canonical spelling. A name whose
// family takes an argument but has none (for example "net.fetch") is a requirement, "some host": it is met by
// [Snapshot.Meets] and never allowed by [Snapshot.Allows]. The zero Name is no capability.
type Name struct{ family, arg string }

// Parse reads a name. An error is a [*SyntaxError].
// Source: DESIGN section 5, `segment(:segment)*` over the known families.
func Parse(text string) (Name, error) {
	if len(text) > MaxName {
		return Name{}, bad(text, "is longer than %d bytes", MaxName)
	}
	if strings.Contains(text, "*") {
		return Name{}, bad(text, "a wildcard is a grant, not a capability: name the one that is needed")
	}
	name, arg, has := strings.Cut(text, ":")
	f, known := lookup(name)
	switch {
	case !known:
		return Name{}, unknown(text, name)
	case !has:
		return Name{family: name}, nil
	case f.arg == none:
		return Name{}, bad(text, "%s takes no argument: write %s", name, name)
	}
	if want := f.refuse(arg); want != "" {
		return Name{}, bad(text, "%s", want)
	}
	return Name{name, arg}, nil
}

// Family is the part before the first colon, empty for the zero Name.
func (n Name) Family() string { return n.family }

// Argument is the part after the first colon, or empty.
func (n Name) Argument() string { return n.arg }

// Zero reports whether n is no capability.
func (n Name) Zero() bool { return n.family == "" }

// Open reports whether n is a requirement without the argument that its family takes.
func (n Name) Open() bool {
	f, known := lookup(n.family)
	return known && f.arg != none && n.arg == ""
}

// Example is n as a person would type it for a grant: an open requirement shows what is missing, as in
// "net.fetch:HOST".
func (n Name) Example() string {
	if f, _ := lookup(n.family); n.Open() {
		return n.family + ":" + f.want
	}
	return n.String()
}

// String is the canonical spelling, which [Parse] reads back.
func (n Name) String() string {
	if n.arg == "" {
		return n.family
	}
	return n.family + ":" + n.arg
}

// MarshalText writes the canonical spelling.
func (n Name) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText is [Parse].
func (n *Name) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*n = parsed
	}
	return err
}

// refuse says what to write instead of arg, or nothing when arg is right.
func (f family) refuse(arg string) string {
	switch {
	case arg == "":
		return "nothing follows the colon: write " + f.name + ":" + f.want
	case f.arg == host && strings.Contains(arg, "://"):
		return "write the host alone: " + f.name + ":" + hostOfURL(arg)
	case f.arg == host:
		return refuseHostPort(arg)
	case f.arg == secret && (!letters(arg, isNameByte) || isDigit(arg[0]) || len(arg) > 128):
		return "a secret's name has letters, digits and _, and begins with no digit"
	case f.arg == word && (!letters(arg, isWordByte) || !isNameByte(arg[0]) || arg[0] == '_' || len(arg) > 64):
		return "the argument has 1 to 64 letters, digits, dots, - and _, and begins with a letter or digit"
	}
	return ""
}

// hostOfURL is what a person who typed a URL where a host belongs most likely meant, else an example. The scheme's own
// port goes with the scheme.
func hostOfURL(text string) string {
	scheme, rest, _ := strings.Cut(strings.ToLower(text), "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if h, port, _ := cutPort(rest); scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		rest = h
	}
	if refuseHostPort(rest) != "" {
		return "example.com"
	}
	return rest
}

func refuseHostPort(arg string) string {
	h, port, has := cutPort(arg)
	if want := refuseHost(h); want != "" || !has {
		return want
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' {
		return "a port is 1 to 65535 without leading zeros"
	}
	return ""
}

// cutPort cuts at the colon that begins the port; the colons of an IPv6 address stand in brackets.
func cutPort(arg string) (hostname, port string, has bool) {
	end := strings.LastIndexByte(arg, ']') + 1
	if colon := strings.IndexByte(arg[end:], ':'); colon >= 0 {
		return arg[:end+colon], arg[end+colon+1:], true
	}
	return arg, "", false
}

// refuseHost holds hosts to the spelling that package egress compares with: one host has one name here.
func refuseHost(h string) string {
	if inner, v6 := strings.CutPrefix(h, "["); v6 {
		inner, closed := strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		if !closed || err != nil || !ip.Is6() || ip.Is4In6() || ip.Zone() != "" || ip.String() != inner {
			return "an IPv6 host stands in brackets in its shortest form, without a zone, as in [2001:db8::1]"
		}
		return ""
	}
	if len(h) > maxHost {
		return "is longer than 253 bytes, and no host is"
	}
	labels := strings.Split(h, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || !letters(l, isHostByte) || l[0] == '-' || l[len(l)-1] == '-' {
			return "a host is lower-case labels of a-z, 0-9 and - with single dots, as in api.example.com"
		}
	}
	if isDigit(labels[len(labels)-1][0]) {
		if ip, err := netip.ParseAddr(h); err != nil || ip.String() != h {
			return "a host that ends in a number is an IPv4 address of four decimal numbers, as in 192.0.2.1"
		}
	}
	return ""
}

func letters(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return s != ""
}

func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isHostByte(c byte) bool { return 'a' <= c && c <= 'z' || isDigit(c) || c == '-' }
func isNameByte(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || isDigit(c) || c == '_' }
func isWordByte(c byte) bool { return isNameByte(c) || c == '.' || c == '-' }
