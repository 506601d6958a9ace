package manifest

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// maxField bounds where and what a credential is written, in bytes.
const maxField = 256

func (c *checker) credentials() {
	all := c.m.Credentials
	c.count("credentials", len(all), MaxCredentials)
	names := make([]string, len(all))
	for i, k := range all {
		path := fmt.Sprintf("credentials[%d]", i)
		names[i] = k.Name
		before := len(c.faults)
		c.keyed(path, k.Name, k.Secret, k.Reason)
		c.place(path, k)
		c.destination(path, k)
		if len(c.faults) > before {
			continue
		}
		for j, other := range all[:min(i, MaxCredentials)] {
			if sameSpot(k, other) {
				c.add(path, "goes where credentials[%d] goes: one request would need both", j)
			}
		}
	}
	c.unique("credentials", names)
}

// keyed checks what credentials and signing have alike.
func (c *checker) keyed(path, name, secret, reason string) {
	if !wire.ValidSettingName(name) {
		c.add(path+".name", "%q is not a name such as api_token", name)
	}
	use := wire.CapSecretBind + ":" + secret
	switch {
	case !wire.ValidSecretName(secret):
		c.add(path+".secret", "%q is not the name of a secret such as API_TOKEN", secret)
	case !c.m.Asks(use):
		c.add(path+".secret", "%s is not among the plugin's own capabilities", use)
	case len(c.m.Tools) > 0 && !slices.ContainsFunc(c.m.Tools, func(t wire.Tool) bool { return slices.Contains(t.Capabilities, use) }):
		c.add(path+".secret", "no tool lists %s among its capabilities, so no call would ever get it", use)
	}
	c.text(path+".reason", reason)
}

// place checks where in a request the secret goes.
func (c *checker) place(path string, k wire.Credential) {
	c.word(path+".in", k.In, wire.CredentialPlaces())
	switch k.In {
	case wire.InHeader:
		if !headerName(k.Field) {
			c.add(path+".field", "%q is not a header that a credential can be in", k.Field)
		}
	case wire.InQuery:
		if !fieldName(k.Field) {
			c.add(path+".field", "%q is not the name of a query parameter: letters, digits, . _ ~ and -", k.Field)
		}
	case wire.InBody:
		if !fieldName(k.Field) && !pointer(k.Field) {
			c.add(path+".field", "%q is neither a JSON pointer such as /auth/token nor the name of a form's field", k.Field)
		}
	case wire.InBasic, wire.InPath:
		if k.Field != "" {
			c.add(path+".field", "%q has no meaning for %s", k.Field, k.In)
		}
	}
	c.template(path+".template", k)
}

func (c *checker) template(path string, k wire.Credential) {
	t, mark := k.Template, k.Placeholder()
	around := strings.Replace(t, mark, "", 1)
	switch {
	case (k.In == wire.InPath || k.In == wire.InBody) && t != "":
		c.add(path, "has no meaning for %s: the plugin writes %s itself", k.In, mark)
	case t == "" && k.In == wire.InBasic:
		c.add(path, "is missing: write user:%s, or %s: when the secret is the user", mark, mark)
	case t == "":
	case len(t) > maxField || !printableASCII(t):
		c.add(path, "is not up to %d printable ASCII characters", maxField)
	case strings.Count(t, mark) != 1 || strings.ContainsAny(around, "{}"):
		c.add(path, "must hold %s once and no other brace", mark)
	case k.In == wire.InBasic && strings.Count(around, ":") != 1:
		c.add(path, "must be a user and a password with one : between them")
	}
}

// destination checks the origin and that the plugin may reach it at all.
func (c *checker) destination(path string, k wire.Credential) {
	scheme, host, port, ok := splitOrigin(k.Origin)
	switch {
	case !ok:
		c.add(path+".origin", "%q is not scheme, host and port such as https://api.example.com", k.Origin)
		return
	case scheme == "http" && !loopbackHost(host):
		c.add(path+".origin", "%q is not https: a secret is sent in the clear to a loopback host at most", k.Origin)
		return
	}
	if k.PathPrefix != "" && !pathPrefix(k.PathPrefix) {
		c.add(path+".path_prefix", "%q is not a path that begins with / and has no .. in it", k.PathPrefix)
	}
	if slices.ContainsFunc(c.faults, func(f Fault) bool { return strings.HasPrefix(f.Path, "egress") }) {
		return // said already
	}
	if !slices.ContainsFunc(c.m.Egress, func(e wire.Egress) bool { return leadsTo(e, scheme, host, port) }) {
		c.add(path+".origin", "no entry of egress leads to %s", k.Origin)
	}
}

func (c *checker) signing() {
	c.count("signing", len(c.m.Signing), MaxSigning)
	names := make([]string, len(c.m.Signing))
	for i, s := range c.m.Signing {
		path := fmt.Sprintf("signing[%d]", i)
		names[i] = s.Name
		c.keyed(path, s.Name, s.Secret, s.Reason)
		c.word(path+".algorithm", s.Algorithm, wire.SigningAlgorithms())
		if s.Key != "" {
			c.word(path+".key", s.Key, wire.SigningKeys())
		}
	}
	c.unique("signing", names)
	if len(names) == 0 && slices.Contains(c.m.Imports, wire.JoinImport(wire.ModuleHost, wire.ImportSign)) {
		c.add("signing", "is empty, but the plugin imports %s: say what it signs", wire.ImportSign)
	}
}

// sameSpot reports two credentials that one request could need in one spot.
func sameSpot(a, b wire.Credential) bool {
	if a.Origin != b.Origin || !nested(a.PathPrefix, b.PathPrefix) {
		return false
	}
	spot := func(k wire.Credential) string {
		switch k.In {
		case wire.InHeader:
			return "header " + strings.ToLower(k.Field)
		case wire.InBasic:
			return "header authorization"
		case wire.InPath:
			return "path " + k.Secret
		case wire.InQuery:
			return "query " + strings.ToLower(k.Field)
		}
		return k.In + " " + k.Field
	}
	return spot(a) == spot(b)
}

// nested reports that one prefix covers the other.
func nested(a, b string) bool {
	a, b = strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/")
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// splitOrigin reads scheme://host[:port] in its one spelling: lower case, no
// port that is the scheme's own, nothing after it.
func splitOrigin(s string) (scheme, host string, port int, ok bool) {
	scheme, rest, found := strings.Cut(s, "://")
	if !found || scheme != "https" && scheme != "http" {
		return "", "", 0, false
	}
	own := 443
	if scheme == "http" {
		own = 80
	}
	host, port = rest, own
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		n, err := strconv.Atoi(rest[i+1:])
		if err != nil || n < 1 || n > 65535 || n == own || strconv.Itoa(n) != rest[i+1:] {
			return "", "", 0, false
		}
		host, port = rest[:i], n
	}
	return scheme, host, port, loopbackHost(host) || !strings.Contains(host, "*") && hostPattern(host)
}

func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || host == "[::1]" || err == nil && ip.Is4() && ip.IsLoopback()
}

// leadsTo reports an entry that covers the origin.
func leadsTo(e wire.Egress, scheme, host string, port int) bool {
	below, wild := strings.CutPrefix(e.Host, "*.")
	named := e.Host == host || e.Host == "*" || wild && strings.HasSuffix(host, "."+below)
	standard := scheme == "https" && port == 443 || scheme == "http" && port == 80
	return named && (e.Port == port || e.Port == 0 && (standard || e.Host == "*"))
}

// headerName allows the headers that say who asks, and refuses those that say
// what is asked, where, or how the message is framed.
func headerName(s string) bool {
	const token = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	if s == "" || len(s) > maxField || strings.Trim(s, token) != "" {
		return false
	}
	lower := strings.ToLower(s)
	for _, family := range []string{"proxy-", "sec-", "x-forwarded-", "content-", "accept", "if-"} {
		if strings.HasPrefix(lower, family) {
			return false
		}
	}
	return !slices.Contains([]string{
		"host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "expect", "date", "via",
		"forwarded", "x-real-ip", "true-client-ip", "client-ip", "x-client-ip", "user-agent", "range",
	}, lower)
}

func fieldName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-") == ""
}

// pointer reports a JSON pointer to something inside (RFC 6901 section 3).
func pointer(s string) bool {
	if len(s) < 2 || len(s) > maxField || s[0] != '/' || !printableASCII(s) {
		return false
	}
	for _, after := range strings.Split(s, "~")[1:] {
		if after == "" || after[0] != '0' && after[0] != '1' {
			return false
		}
	}
	return true
}

func printableASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
