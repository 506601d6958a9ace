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

// Caller is a part of the host that speaks HTTP for itself, such as the bridge to an MCP server, the discovery of an
// authorization server, or a callback to a webhook. Plugins have [Gate.Plugin] and model providers
// [Gate.ProviderClient]; all three stand behind the same policy.
type Caller struct {
	// Name is for the audit, as in "mcp docs".
	Name string
	// Rules are hosts, ports, methods and path prefixes that may be reached. The zero Policy reaches nothing.
	Rules egress.Policy
	// Private are the exact origins whose private addresses are open besides the gate's own. Plain http is for these
	// alone: whatever a caller sends may hold a credential.
	Private Allowances
	// Audit records this caller's decisions instead of [Config.Audit]. The same rules hold for it.
	Audit func(ctx context.Context, d Decision) error
}

// Client makes the client of a caller. Each request is judged by the one parser and by c's rules; each connection
// resolves and judges the name anew and goes to a judged address. A request that is not allowed is a [*RefusedError].
//
// No redirect is followed: it comes back as the answer it is, and a caller that means to go there makes a request of
// its own, with the credentials it means to show. A copy of the client that follows redirects is refused by its
// transport. There are no cookies, no proxy, and no timeout but the request's context; an answer has at most 256 MiB.
//
// The audit has one record for each connection and one for each refusal. A client lives as long as the gate: make one for
// each caller and keep it.
func (g *Gate) Client(c Caller) *http.Client {
	open := g.private.with(c.Private)
	w := way{name: c.Name, open: open, audit: c.Audit, hint: openForAll}
	w.judge = func(method string, t egress.Target) egress.Verdict {
		if v := c.Rules.Check(method, t); !v.Allowed {
			return v
		}
		if t.Scheme() == "http" && open.opened(t) == nil {
			return refuse(InsecureURL, "only https is spoken to "+t.Host()+", which is not among the opened origins")
		}
		return egress.Verdict{Allowed: true, Reason: egress.Allowed}
	}
	return g.client(w)
}

// openForAll is what the operator would do when t leads to a private address.
func openForAll(t egress.Target) string {
	return "add " + t.Origin() + " to network.allow_private in config.yaml"
}

// way is what is special about one client.
type way struct {
	name  string
	judge func(method string, t egress.Target) egress.Verdict
	open  Allowances
	audit func(context.Context, Decision) error
	hint  func(egress.Target) string
}

// client makes an [http.Client] that goes w and no other way.
func (g *Gate) client(w way) *http.Client {
	if w.audit == nil {
		w.audit = g.audit
	}
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
		if v = c.judge(req.Method, t); v.Allowed && req.Response != nil {
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
	if err := c.audit(ctx, d); err != nil {
		return fmt.Errorf("net: record egress of %s: %w", c.name, err)
	}
	return nil
}
