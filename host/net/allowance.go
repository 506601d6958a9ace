package net

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// Allowances are the exact origins whose private addresses, loopback included, the operator's configuration opens.
// They open addresses only: rules and grants are asked as for any other origin. The zero Allowances open nothing.
type Allowances struct{ origins map[string]bool }

// AllowanceError reports text that names no origin that can be opened.
type AllowanceError struct {
	Text string
	Want string
}

// Error names the text and what to write.
func (e *AllowanceError) Error() string {
	return fmt.Sprintf("private origin %q: %s", e.Text, e.Want)
}

// ParseAllowances reads origins such as "http://127.0.0.1:8080" or "https://git.corp.example". Anything beyond
// scheme, host and port is an [*AllowanceError], and so is a metadata host.
func ParseAllowances(texts ...string) (Allowances, error) {
	a := Allowances{origins: make(map[string]bool, len(texts))}
	for _, text := range texts {
		t, v := egress.ParseURL(text)
		switch {
		case !v.Allowed:
			return Allowances{}, &AllowanceError{text, v.Sentence}
		case t.Path() != "/" || strings.ContainsAny(text, "?#") || strings.HasSuffix(text, "/"):
			return Allowances{}, &AllowanceError{text, "write scheme, host and port only, as in http://127.0.0.1:8080"}
		}
		if ip, literal := t.Address(); literal && Classify(ip) == egress.Metadata {
			return Allowances{}, &AllowanceError{text, "is a link-local or metadata address, which nothing opens"}
		}
		a.origins[t.Origin()] = true
	}
	return a, nil
}

// with returns the origins of both.
func (a Allowances) with(b Allowances) Allowances {
	both := Allowances{origins: make(map[string]bool, len(a.origins)+len(b.origins))}
	for _, from := range []Allowances{a, b} {
		for origin := range from.origins {
			both.origins[origin] = true
		}
	}
	return both
}

// opened are the ranges that are open for t.
func (a Allowances) opened(t egress.Target) []netip.Prefix {
	if a.origins[t.Origin()] {
		return private
	}
	return nil
}
