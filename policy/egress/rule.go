package egress

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Rule allows some requests. Every field narrows; a field left empty means the default stated with it.
type Rule struct {
	// Host is an exact canonical host, "*.example.com" for every name below example.com but not itself, or "*" for
	// every name. A pattern never covers an IP address, a name of one label, or a name that is private by its form
	// (localhost, .local, .internal): those need a rule of their own.
	Host string
	// Ports are 1 to 65535; none means the scheme's own, 80 or 443. A listed port serves both schemes, except that
	// http never goes to 443 nor https to 80.
	Ports []uint16
	// Methods in capitals; none means GET and HEAD. CONNECT and TRACE are never allowed.
	Methods []string
	// PathPrefix begins with a slash and holds whole segments: "/v1" covers "/v1" and "/v1/x", not "/v10", and
	// "/v1/" does not cover "/v1". Empty means every path.
	PathPrefix string
}

// RuleError reports a rule that cannot be meant. Index counts from 0 in the rules as given.
type RuleError struct {
	Index int
	Field string
	Want  string
}

// Error names the rule, the field and what to write.
func (e *RuleError) Error() string {
	return fmt.Sprintf("egress rule %d: %s: %s", e.Index+1, e.Field, e.Want)
}

// methods that a rule may name: those of RFC 9110 and PATCH (RFC 5789), without CONNECT and TRACE.
func knownMethod(m string) bool {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return true
	}
	return false
}

func (r Rule) check(index int) error {
	var faults []error
	bad := func(field, want string) { faults = append(faults, &RuleError{index, field, want}) }
	if want := checkPattern(r.Host); want != "" {
		bad("host", want)
	}
	for i, p := range r.Ports {
		if p == 0 || slices.Contains(r.Ports[:i], p) {
			bad("ports", fmt.Sprintf("%d is zero or listed twice", p))
		}
	}
	for i, m := range r.Methods {
		if !knownMethod(m) || slices.Contains(r.Methods[:i], m) {
			bad("methods", fmt.Sprintf("%q is unknown or listed twice; known are GET HEAD POST PUT PATCH DELETE OPTIONS", m))
		}
	}
	switch p := r.PathPrefix; {
	case p == "":
	case p[0] != '/' || strings.ContainsAny(p, "?#%") || !checkBytes(p).Allowed || hasDotSegment(p) || strings.Contains(p, "//"):
		bad("path_prefix", "begins with a slash and has no query, no percent sign, no empty and no dot segment")
	}
	return errors.Join(faults...)
}

func checkPattern(host string) string {
	name, wild := strings.CutPrefix(host, "*.")
	switch {
	case host == "*":
		return ""
	case host == "":
		return "is missing: write a host, *.domain or *"
	case strings.Contains(name, "*"):
		return "a * stands alone or for the labels before a domain, as in *.example.com"
	case metadataHost(name):
		return "is a cloud metadata service, which no rule may open"
	}
	if err := checkHost(name); err != nil {
		return err.Error()
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if wild && (!strings.Contains(name, ".") || name[0] == '[' || '0' <= last[0] && last[0] <= '9') {
		return "a pattern needs a domain of two labels or more, as in *.example.com"
	}
	return ""
}

func (r Rule) matchesHost(t Target) bool {
	if r.Host == t.host {
		return true
	}
	if _, literal := t.Address(); literal || privateHost(t.host) {
		return false
	}
	suffix, wild := strings.CutPrefix(r.Host, "*")
	return wild && strings.HasSuffix(t.host, suffix) // "*" leaves "", "*.a.b" leaves ".a.b"
}

func (r Rule) matchesPort(t Target) bool {
	if len(r.Ports) == 0 {
		return t.port == defaultPort(t.scheme)
	}
	crossed := t.scheme == "http" && t.port == 443 || t.scheme == "https" && t.port == 80
	return slices.Contains(r.Ports, t.port) && !crossed
}

func (r Rule) matchesMethod(method string) bool {
	if len(r.Methods) == 0 {
		return method == "GET" || method == "HEAD"
	}
	return slices.Contains(r.Methods, method)
}

// String spells the rule for an explanation, as in "*.example.com ports 443 methods GET,POST path /v1".
func (r Rule) String() string {
	s := r.Host
	if len(r.Ports) > 0 {
		s += " ports " + strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Ports), " ", ","), "[]")
	}
	if len(r.Methods) > 0 {
		s += " methods " + strings.Join(r.Methods, ",")
	}
	if r.PathPrefix != "" {
		s += " path " + r.PathPrefix
	}
	return s
}

// metadataHost lists names that clouds answer with instance credentials.
func metadataHost(host string) bool {
	switch host {
	case "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal":
		return true
	}
	return false
}

// privateHost reports names that resolve inside a network by their form alone (RFC 6761, 6762, 8375, and names of
// one label).
func privateHost(host string) bool {
	if !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".home.arpa", ".localdomain", ".intranet", ".lan"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
