package capability

import "strings"

// Grant allows one name, or every name below a prefix ("mcp.call:*", "net.fetch:api.example.com:*"). It is
// comparable and immutable. The zero Grant matches nothing.
type Grant struct {
	name Name // the name itself, or the prefix
	wild bool
}

// ParseGrant reads a grant. An error is a [*SyntaxError].
//
// A grant matches when it equals the name, or when it is prefix:* for a proper prefix of whole segments. So
// "net.fetch:*" is every host and port, "net.fetch:h" is the host on the scheme's own port, and "net.fetch:h:*" is
// every stated port of h. A bare "*" is no grant, and secret.bind takes no wildcard.
func ParseGrant(text string) (Grant, error) {
	prefix, wild := strings.CutSuffix(text, ":*")
	switch {
	case text == "*":
		return Grant{}, bad(text, "a bare * grants nothing: name each family, as in fs.read or net.fetch:*")
	case strings.Contains(prefix, "*"):
		return Grant{}, bad(text, "a * stands for whole segments at the end: write family:* or net.fetch:host:*")
	}
	n, err := Parse(prefix)
	if err != nil {
		return Grant{}, err
	}
	f, _ := lookup(n.family)
	switch {
	case n.Open() && !wild && f.arg == secret:
		return Grant{}, bad(text, "name the secret: write %s", n.Example())
	case n.Open() && !wild:
		return Grant{}, bad(text, "say which: write %s, or %s:* for all", n.Example(), n)
	case wild && f.arg == none:
		return Grant{}, bad(text, "%s takes no argument: write %s", n, n)
	case wild && f.arg == secret:
		return Grant{}, bad(text, "secrets are granted one by one: write secret.bind:NAME")
	case wild && f.arg == word && n.arg != "":
		return Grant{}, bad(text, "%s has nothing below it: write %s", n, n)
	case wild && f.arg == host && n.arg != "":
		if _, _, has := cutPort(n.arg); has {
			return Grant{}, bad(text, "a port has nothing below it: write %s", n)
		}
	}
	return Grant{n, wild}, nil
}

// Zero reports whether g is no grant.
func (g Grant) Zero() bool { return g.name.Zero() }

// Family is the family that the grant is in.
func (g Grant) Family() string { return g.name.family }

// Wild reports whether g is a prefix grant.
func (g Grant) Wild() bool { return g.wild }

// Matches reports whether g allows n. An open requirement is not a use and is never matched.
func (g Grant) Matches(n Name) bool {
	if g.Zero() || n.Zero() || n.Open() {
		return false
	}
	return g.covers(n)
}

func (g Grant) covers(n Name) bool {
	if !g.wild || g.name.family != n.family {
		return !g.wild && g.name == n
	}
	return g.name.arg == "" && n.arg != "" || strings.HasPrefix(n.arg, g.name.arg+":")
}

// Covers reports whether g allows at least everything that o allows.
func (g Grant) Covers(o Grant) bool {
	if g.Zero() || o.Zero() {
		return false
	}
	return g == o || g.wild && g.covers(o.name)
}

// String is the canonical spelling, which [ParseGrant] reads back.
func (g Grant) String() string {
	if g.wild {
		return g.name.String() + ":*"
	}
	return g.name.String()
}

// MarshalText writes the canonical spelling.
func (g Grant) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText is [ParseGrant].
func (g *Grant) UnmarshalText(text []byte) error {
	parsed, err := ParseGrant(string(text))
	if err == nil {
		*g = parsed
	}
	return err
}
