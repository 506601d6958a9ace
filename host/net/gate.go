package net

import (
	"context"
	"crypto/x509"
	stdnet "net"
	"net/netip"
	"sync"
	"time"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// Resolver answers all addresses of one name. [stdnet.Resolver] is one.
type Resolver interface {
	// LookupNetIP is asked with network "ip" and an absolute name ("api.example.com."), so that no search domain of
	// the machine is tried.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects to one address. [stdnet.Dialer] is one.
type Dialer interface {
	// DialContext is asked with network "tcp" and an address that was judged, as IP and port.
	DialContext(ctx context.Context, network, address string) (stdnet.Conn, error)
}

// Config is what a [Gate] is made of. The zero Config reaches public addresses.
type Config struct {
	// Resolver replaces the system's name servers, asked by Go's own resolver.
	Resolver Resolver
	// Dialer replaces TCP. The check on the socket is the built-in dialer's, so tests alone set this.
	Dialer Dialer
	// Private are the exact origins whose private addresses are open, for every user of the gate.
	Private Allowances
	// Audit records a decision before it is acted on; an error refuses the request. It may be called by several
	// goroutines at once and must not keep ctx. nil records nothing.
	Audit func(ctx context.Context, d Decision) error
	// Roots verify servers; nil means the system's.
	Roots *x509.CertPool
}

// Times of one exchange. The caller's context bounds all of them.
const (
	// ExchangeTimeout bounds one exchange of a plugin, redirects and body included.
	ExchangeTimeout = 60 * time.Second
	// dialTimeout bounds resolving and connecting to all addresses of one name together.
	dialTimeout = 15 * time.Second
	// handshakeTimeout bounds TLS.
	handshakeTimeout = 10 * time.Second
	// idleTimeout closes a connection that nobody uses.
	idleTimeout = 30 * time.Second
)

// maxHeaderBytes bounds the headers of one response, and of one request of a plugin.
const maxHeaderBytes = 32 << 10

// Gate is the one way out. It is safe for concurrent use.
type Gate struct {
	resolver Resolver
	dialer   Dialer // nil: TCP with the check on the socket
	private  Allowances
	audit    func(context.Context, Decision) error
	roots    *x509.CertPool

	mu     sync.Mutex // guards what follows
	closed bool
	open   []*clientTransport
}

// New makes a gate. It starts nothing and holds no connection by itself.
func New(c Config) *Gate {
	g := &Gate{resolver: c.Resolver, dialer: c.Dialer, private: c.Private, audit: c.Audit, roots: c.Roots}
	if g.resolver == nil {
		g.resolver = &stdnet.Resolver{PreferGo: true}
	}
	if g.audit == nil {
		g.audit = func(context.Context, Decision) error { return nil }
	}
	return g
}

// Close closes the idle connections of every client. Clients that are used after it connect no more. It may
// be called twice.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, t := range g.open {
		t.CloseIdleConnections()
	}
}

// Decision is what an audit record says of one request, or of one redirect of it: nothing of path, query, headers
// or body.
type Decision struct {
	Caller    string       // "plugin calc" or "provider anthropic"
	Method    string       // empty for a client's connection, which carries many requests
	Origin    string       // scheme://host:port; empty when the URL could not be read
	Hop       int          // 0 is the request itself, 1 its first redirect
	Addresses []netip.Addr // what the name resolved to, when it came that far
	Allowed   bool
	Reason    egress.Reason // stable code
	// Credentials are the names of the places that the host fills in this request, sorted; never a value.
	Credentials []string
}
