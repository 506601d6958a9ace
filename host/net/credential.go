package net

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Credential is a place that a manifest declares, with the value that was bound for this call.
type Credential struct {
	Place wire.Credential
	Value func() string
}

// spot is a Credential as one call uses it.
type spot struct {
	wire.Credential
	value  func() string
	origin string        // as [egress.Target.Origin] spells it
	paths  egress.Policy // that the place is for
	mark   string        // for InPath: stands in a URL for the placeholder, which no URL may hold
}

// spots reads the places of a call. An error means that the manifest is not valid, which installing it would have
// refused.
func spots(all []Credential) ([]spot, error) {
	out := make([]spot, 0, len(all))
	for _, c := range all {
		t, v := egress.ParseURL(c.Place.Origin)
		if !v.Allowed {
			return nil, fmt.Errorf("net: credential %s: %s", c.Place.Name, v.Sentence)
		}
		if c.Place.In == wire.InHeader && hostHeader(http.CanonicalHeaderKey(c.Place.Field)) {
			return nil, fmt.Errorf("net: credential %s: the header %s is the host's own", c.Place.Name, c.Place.Field)
		}
		paths, err := egress.NewPolicy(egress.Rule{Host: t.Host(), Ports: []uint16{t.Port()}, PathPrefix: c.Place.PathPrefix})
		if err != nil {
			return nil, fmt.Errorf("net: credential %s: %w", c.Place.Name, err)
		}
		out = append(out, spot{c.Place, c.Value, t.Origin(), paths, "_portcullis_" + c.Place.Secret + "_"})
	}
	return out, nil
}

// isFor reports the destination that the place was declared for: the very origin, and a path below its prefix.
func (s spot) isFor(t egress.Target) bool {
	return t.Origin() == s.origin && s.paths.Check(http.MethodGet, t).Allowed
}

// standIn replaces the placeholders of a plugin's URL by text that a URL may hold, so that it can be read and judged.
// What it stands in for is put there when the request is sent.
func (p *PluginHTTP) standIn(raw string) string {
	for _, s := range p.spots {
		if s.In == wire.InPath && !strings.Contains(raw, s.mark) {
			raw = strings.Replace(raw, s.Placeholder(), s.mark, 1)
		}
	}
	return raw
}

// standOut is a URL for the plugin: with its placeholders as it wrote them.
func (p *PluginHTTP) standOut(raw string) string {
	for _, s := range p.spots {
		if s.In == wire.InPath {
			raw = strings.ReplaceAll(raw, s.mark, s.Placeholder())
		}
	}
	return raw
}

// carry chooses what is put into the request at this hop. A chain that has left its origin carries nothing any more:
// where it came to is a server's choice. Refused: a plugin that fills a place itself, a placeholder where no place is, and
// parts of an answer, whose border could run through a value.
func (p *PluginHTTP) carry(x exchange) (exchange, egress.Verdict) {
	x.carried = nil
	for _, s := range p.spots {
		stands := s.In == wire.InPath && strings.Contains(x.target.Path()+"?"+x.target.Query(), s.mark)
		if x.crossed || !s.isFor(x.target) {
			if stands {
				return x, refuse(PlaceholderMisplaced, s.Placeholder()+" stands in a URL that no credential of the plugin is declared for")
			}
			continue
		}
		uses, v := s.uses(x, stands)
		if !v.Allowed {
			return x, v
		}
		if uses {
			x.carried = append(x.carried, s)
		}
	}
	if len(x.carried) == 0 {
		return x, egress.Verdict{Allowed: true, Reason: egress.Allowed}
	}
	x.bound = true
	if len(x.header["Range"]) > 0 {
		return x, refuse(RangeWithCredential, "a request with a credential takes no Range header: an answer in parts could give the value away in parts")
	}
	return x, egress.Verdict{Allowed: true, Reason: egress.Allowed}
}

// uses reports whether the request takes the value in this place.
func (s spot) uses(x exchange, stands bool) (bool, egress.Verdict) {
	yes := egress.Verdict{Allowed: true, Reason: egress.Allowed}
	switch s.In {
	case wire.InHeader, wire.InBasic:
		name := s.header()
		if len(x.header[name]) > 0 {
			return false, refuse(CredentialClobbered, "the host sets the header "+name+" here: leave it out")
		}
		return true, yes
	case wire.InQuery:
		for _, have := range pairs(x.target.Query()) {
			if !strings.EqualFold(have.name, s.Field) {
				continue
			}
			if x.hop > 0 && have.value == s.Fill(s.value()) {
				return false, yes // the server took it along
			}
			return false, refuse(CredentialClobbered, "the host adds the parameter "+s.Field+" here: leave it out")
		}
		return true, yes
	case wire.InPath:
		if stands && strings.Contains(x.target.Query(), s.mark) {
			return false, refuse(PlaceholderMisplaced, s.Placeholder()+" stands in a query, and its place is in the path")
		}
		return stands, yes
	}
	at, fault := s.inBody(x)
	if fault != "" {
		return false, refuse(PlaceholderMisplaced, fault)
	}
	return at != nil, yes
}

// header is the name of the header that the place is in.
func (s spot) header() string {
	if s.In == wire.InBasic {
		return "Authorization"
	}
	return http.CanonicalHeaderKey(s.Field)
}

// names are the names of what is carried, for the audit.
func (x exchange) names() []string {
	var names []string
	for _, s := range x.carried {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}
