package net

import (
	"errors"
	"io"
	"net/http"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// maxClientBody bounds one answer to a provider or another part of the host, however long its stream lives.
const maxClientBody = 256 << 20

// errClosed is what a client gets after [Gate.Close].
var errClosed = errors.New("net: the gate is closed")

// ProviderClient makes a client that reaches one origin, the one of base, for a model provider called name (for the
// audit). Any other origin, and any redirect to one, is a [*RefusedError]; no redirect is followed at all. Private
// addresses are open when the gate's allowances or also name exactly that origin, which the operator's
// configuration does with allow_private.
//
// The client has no timeout of its own: a stream lives as long as its context. Every connection resolves and judges
// the name again, because a client lives as long as the host. It keeps no cookies and sends no credential but what
// the request carries. A base that is not a URL is a [*RefusedError].
func (g *Gate) ProviderClient(name, base string, also Allowances) (*http.Client, error) {
	own, v := egress.ParseURL(base)
	if !v.Allowed {
		return nil, refused(own, v)
	}
	w := way{name: "provider " + name, open: g.private.with(also)}
	w.judge = func(t egress.Target) egress.Verdict {
		if t.Origin() != own.Origin() {
			return refuse(OtherOrigin, "this client is for "+own.Origin()+" only")
		}
		return metadataName(t)
	}
	w.hint = func(egress.Target) string {
		return "add allow_private: true below providers." + name + " in config.yaml"
	}
	return g.client(w), nil
}

// metadataName asks a rule for exactly t's host, which cannot be made for a metadata service.
func metadataName(t egress.Target) egress.Verdict {
	own, err := egress.NewPolicy(egress.Rule{Host: t.Host(), Ports: []uint16{t.Port()}})
	if err != nil {
		return refuse(egress.MetadataHostname, t.Host()+" is a cloud metadata service, which nothing opens")
	}
	return own.Check(http.MethodGet, t)
}

// boundedBody is a stream that ends with an error after too many bytes.
type boundedBody struct {
	capped
	io.Closer
}
