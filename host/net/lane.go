package net

import (
	"context"
	"net/http"
	"net/netip"

	stdnet "net"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// lane is the way from one plugin call to one origin. Its addresses were resolved and judged once, and for as long
// as the call lives its connections go there: a name server that changes its mind is not asked again.
type lane struct {
	addresses []netip.Addr
	transport *http.Transport
}

// connectError says that no judged address took the connection.
type connectError struct{ cause error }

// Error is for the log of a debugger; no caller shows it.
func (e *connectError) Error() string { return "net: connect: " + e.cause.Error() }

// Unwrap gives the dialer's error, which may be a [*RefusedError] from the socket.
func (e *connectError) Unwrap() error { return e.cause }

// laneTo returns the lane to t's origin, made on first use. The verdict and the addresses behind it are for the
// audit; the lane is nil when it is a refusal.
func (p *PluginHTTP) laneTo(ctx context.Context, t egress.Target) (*lane, []netip.Addr, egress.Verdict, error) {
	p.mu.Lock()
	l := p.lanes[t.Origin()]
	p.mu.Unlock()
	if l != nil {
		return l, l.addresses, egress.Verdict{Allowed: true, Reason: egress.Allowed}, nil
	}
	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	open := p.opened(t)
	found, v, err := p.gate.resolve(dialCtx, t, open)
	if err != nil && ctx.Err() == nil { // the name servers, not the caller, ran out of time
		v, err = refuse(egress.DNSFailure, "the name could not be resolved in time"), nil
	}
	if v.Reason == egress.PrivateAddress {
		v.Remedy = p.howToOpen(t)
	}
	if err != nil || !v.Allowed {
		return nil, found, v, err
	}
	l = &lane{addresses: found}
	l.transport = p.gate.transport(func(ctx context.Context, _ string) (stdnet.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		defer context.AfterFunc(p.life, cancel)()
		conn, err := p.gate.connect(ctx, t, found, open)
		if err != nil {
			return nil, &connectError{err}
		}
		return conn, nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.lanes[t.Origin()]; first != nil { // another request was quicker: one lane, one set of addresses
		return first, first.addresses, v, nil
	}
	p.lanes[t.Origin()] = l
	return l, found, v, nil
}
