package net

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdnet "net"
	"net/http"
	"net/netip"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// maxProviderBody bounds one answer of a provider, however long its stream lives.
const maxProviderBody = 256 << 20

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
	t, v := egress.ParseURL(base)
	if !v.Allowed {
		return nil, refused(t, v)
	}
	open := g.private.with(also)
	transport := g.transport(func(ctx context.Context) (stdnet.Conn, error) {
		return g.dialProvider(ctx, name, t, open)
	})
	transport.ForceAttemptHTTP2 = true
	g.mu.Lock()
	g.open = append(g.open, transport)
	g.mu.Unlock()
	return &http.Client{
		Transport:     &oneOrigin{t.Origin(), transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// dialProvider resolves, judges, records and connects.
func (g *Gate) dialProvider(ctx context.Context, name string, t egress.Target, open Allowances) (stdnet.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	var found []netip.Addr
	v := metadataName(t)
	if v.Allowed {
		var err error
		if found, v, err = g.resolve(ctx, t, open); err != nil {
			return nil, fmt.Errorf("net: resolve %s: %w", t.Host(), err)
		}
	}
	d := Decision{Caller: "provider " + name, Origin: t.Origin(), Addresses: found, Allowed: v.Allowed, Reason: v.Reason}
	if err := g.audit(ctx, d); err != nil {
		return nil, fmt.Errorf("net: record egress of provider %s: %w", name, err)
	}
	if !v.Allowed {
		return nil, refused(t, v)
	}
	conn, err := g.connect(ctx, t, found, open)
	if err != nil {
		return nil, fmt.Errorf("net: connect to %s: %w", t.Origin(), err)
	}
	return conn, nil
}

// metadataName asks a rule for exactly t's host, which cannot be made for a metadata service.
func metadataName(t egress.Target) egress.Verdict {
	own, err := egress.NewPolicy(egress.Rule{Host: t.Host(), Ports: []uint16{t.Port()}})
	if err != nil {
		return refuse(egress.MetadataHostname, t.Host()+" is a cloud metadata service, which nothing opens")
	}
	return own.Check(http.MethodGet, t)
}

// oneOrigin lets requests to one origin through.
type oneOrigin struct {
	origin string
	next   *http.Transport
}

// RoundTrip is [http.RoundTripper]'s.
func (o *oneOrigin) RoundTrip(req *http.Request) (*http.Response, error) {
	t, v := egress.ParseURL(req.URL.String())
	switch {
	case v.Allowed && t.Origin() != o.origin:
		v = refuse(OtherOrigin, "this client is for "+o.origin+" only")
	case v.Allowed && req.Host != "" && req.Host != req.URL.Host:
		v = refuse(OtherOrigin, "the Host header names another server than the URL")
	}
	if !v.Allowed {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, refused(t, v)
	}
	resp, err := o.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &boundedBody{capped{resp.Body, maxProviderBody}, resp.Body}
	return resp, nil
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (o *oneOrigin) CloseIdleConnections() { o.next.CloseIdleConnections() }

// boundedBody is a stream that ends with an error after too many bytes.
type boundedBody struct {
	capped
	io.Closer
}
