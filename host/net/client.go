package net

import (
	"context"
	"errors"
	"fmt"
	stdnet "net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// openForAll is what the operator would do when t leads to a private address.
func openForAll(t egress.Target) string {
	return "add " + t.Origin() + " to network.allow_private in config.yaml"
}

// way is what is special about one client.
type way struct {
	name  string
	judge func(egress.Target) egress.Verdict
	open  Allowances
	hint  func(egress.Target) string
}

// client makes an [http.Client] that goes w and no other way. Each request is judged by the one parser; each connection
// resolves and judges the name anew and goes to a judged address. No redirect is followed: it comes back as the answer it is.
// A copy of the client that follows redirects is refused by its transport. There are no cookies, no proxy, and no timeout but
// the request's context; an answer has at most 256 MiB. The audit has one record for each connection and one for each refusal.
// A client lives as long as the gate: make one for each way and keep it.
func (g *Gate) client(w way) *http.Client {
	c := &clientTransport{gate: g, way: w, to: map[string]*http.Transport{}}
	for _, scheme := range []string{"http", "https"} {
		t := g.transport(func(ctx context.Context, address string) (stdnet.Conn, error) { return c.dial(ctx, scheme, address) })
		t.ForceAttemptHTTP2 = true
		t.MaxIdleConns = maxIdle
		c.to[scheme] = t
	}
	g.mu.Lock()
	g.open = append(g.open, c)
	g.mu.Unlock()
	return &http.Client{
		Transport:     c,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// maxIdle is how many connections one client keeps for later.
const maxIdle = 16

// clientTransport judges every request and every connection of one client.
type clientTransport struct {
	gate *Gate
	way
	to map[string]*http.Transport // by scheme
}

// RoundTrip is [http.RoundTripper]'s.
func (c *clientTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	t, v := egress.ParseURL(req.URL.String())
	switch {
	case !v.Allowed:
	case req.Host != "" && req.Host != req.URL.Host:
		v = refuse(OtherOrigin, "the Host header names another server than the URL")
	default:
		if v = c.judge(t); v.Allowed && req.Response != nil {
			v = refuse(RedirectNotFollowed, "this client follows no redirect")
		}
	}
	if !v.Allowed {
		if req.Body != nil {
			req.Body.Close()
		}
		if err := c.record(req.Context(), req.Method, t, nil, v); err != nil {
			return nil, err
		}
		return nil, refused(t, v)
	}
	u, err := url.Parse(t.String())
	if err != nil {
		return nil, errors.New("net: a judged URL cannot be sent")
	}
	own := req.WithContext(req.Context()) // what is sent is what was judged, not another reading of it
	own.URL, own.Host = u, ""
	resp, err := c.to[t.Scheme()].RoundTrip(own)
	if err != nil {
		return nil, err
	}
	resp.Body = &boundedBody{capped{resp.Body, maxClientBody}, resp.Body}
	return resp, nil
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (c *clientTransport) CloseIdleConnections() {
	for _, t := range c.to {
		t.CloseIdleConnections()
	}
}

// dial resolves, judges, records and connects. Address is host and port as the transport read them from a URL that was
// judged; it is read by the same parser again.
func (c *clientTransport) dial(ctx context.Context, scheme, address string) (stdnet.Conn, error) {
	t, v := egress.ParseURL(scheme + "://" + address)
	if !v.Allowed {
		return nil, refused(t, v)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c.gate.mu.Lock()
	closed := c.gate.closed
	c.gate.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	found, v, err := c.gate.resolve(ctx, t, c.open)
	if err != nil {
		return nil, fmt.Errorf("net: resolve %s: %w", t.Host(), err)
	}
	if v.Reason == egress.PrivateAddress {
		v.Remedy = c.hint(t)
	}
	if err := c.record(ctx, "", t, found, v); err != nil {
		return nil, err
	}
	if !v.Allowed {
		return nil, refused(t, v)
	}
	conn, err := c.gate.connect(ctx, t, found, c.open)
	if err != nil {
		return nil, fmt.Errorf("net: connect to %s: %w", t.Origin(), err)
	}
	return conn, nil
}

func (c *clientTransport) record(ctx context.Context, method string, t egress.Target, found []netip.Addr, v egress.Verdict) error {
	d := Decision{Caller: c.name, Method: shown(method), Origin: t.Origin(), Addresses: found, Allowed: v.Allowed, Reason: v.Reason}
	if err := c.gate.audit(ctx, d); err != nil {
		return fmt.Errorf("net: record egress of %s: %w", c.name, err)
	}
	return nil
}
