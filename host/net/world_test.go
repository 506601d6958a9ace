package net

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	stdnet "net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Every test of this package runs with a proxy in the environment. No such machine exists in the world below, so a
// transport that looks at the environment fails all of them.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		os.Setenv(name, "http://user:pass@proxy.example:3128")
	}
	goleak.VerifyTestMain(m)
}

// world is an Internet in memory: a name server, addresses, servers behind them, and a book of who was asked and
// what was dialled. Nothing leaves the process.
type world struct {
	t testing.TB

	mu      sync.Mutex
	names   map[string][]answer // by absolute name; each question takes the next, the last one stays
	asked   []string
	servers map[netip.AddrPort]*door
	dialed  []netip.AddrPort
	lenient netip.Addr // valid: every other name leads there
	server  Resolver   // not nil: asked instead of names

	ca    *x509.Certificate
	caKey *ecdsa.PrivateKey
}

// answer is what the name server says once.
type answer struct {
	ips []netip.Addr
	err error
}

func newWorld(t testing.TB) *world {
	return &world{t: t, names: map[string][]answer{}, servers: map[netip.AddrPort]*door{}}
}

// name adds one answer for a name.
func (w *world) name(host string, ips ...string) {
	a := answer{}
	for _, text := range ips {
		a.ips = append(a.ips, netip.MustParseAddr(text))
	}
	w.names[host+"."] = append(w.names[host+"."], a)
}

// LookupNetIP is [Resolver]'s.
func (w *world) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, host)
	if w.server != nil {
		return w.server.LookupNetIP(ctx, network, host)
	}
	if network != "ip" {
		return nil, errors.New("asked for " + network)
	}
	host = strings.TrimSuffix(host, ".") + "." // a name of one label is asked as it is
	all := w.names[host]
	if len(all) == 0 && w.lenient.IsValid() {
		return []netip.Addr{w.lenient}, nil
	}
	if len(all) == 0 {
		return nil, &stdnet.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(all) > 1 {
		w.names[host] = all[1:]
	}
	return all[0].ips, all[0].err
}

// DialContext is [Dialer]'s.
func (w *world) DialContext(ctx context.Context, network, address string) (stdnet.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp" {
		w.t.Errorf("dialled %s %q: %v", network, address, err)
		return nil, errors.New("not an address")
	}
	w.mu.Lock()
	w.dialed = append(w.dialed, at)
	d := w.servers[at]
	w.mu.Unlock()
	if d == nil {
		return nil, &stdnet.OpError{Op: "dial", Net: network, Err: errors.New("connection refused by " + address)}
	}
	return d.enter(ctx)
}

// dials returns and forgets what was dialled.
func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, at := range w.dialed {
		out = append(out, at.String())
	}
	w.dialed = nil
	return out
}

func (w *world) questions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked)
}

// door is a listener of pipes.
type door struct {
	calls chan stdnet.Conn
	gone  chan struct{}
	once  sync.Once
}

func (d *door) enter(ctx context.Context) (stdnet.Conn, error) {
	ours, theirs := stdnet.Pipe()
	select {
	case d.calls <- theirs:
		return ours, nil
	case <-ctx.Done():
	case <-d.gone:
	}
	ours.Close()
	theirs.Close()
	return nil, errors.New("nobody opened")
}

func (d *door) Accept() (stdnet.Conn, error) {
	select {
	case c := <-d.calls:
		return c, nil
	case <-d.gone:
		return nil, stdnet.ErrClosed
	}
}

func (d *door) Close() error {
	d.once.Do(func() { close(d.gone) })
	return nil
}

func (d *door) Addr() stdnet.Addr { return &stdnet.TCPAddr{} }

// serve opens a plain HTTP server at an address.
func (w *world) serve(at string, h http.HandlerFunc) { w.open(at, h, nil) }

// serveTLS opens an HTTPS server with a certificate for the names, signed by the world's own authority.
func (w *world) serveTLS(at string, h http.HandlerFunc, names ...string) {
	w.open(at, h, &tls.Config{Certificates: []tls.Certificate{w.certificate(names...)}, NextProtos: []string{"h2", "http/1.1"}})
}

func (w *world) open(at string, h http.Handler, secure *tls.Config) {
	w.t.Helper()
	d := &door{calls: make(chan stdnet.Conn), gone: make(chan struct{})}
	w.mu.Lock()
	w.servers[netip.MustParseAddrPort(at)] = d
	w.mu.Unlock()
	server := &http.Server{Handler: h, TLSConfig: secure, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if secure != nil {
			server.ServeTLS(d, "", "")
			return
		}
		server.Serve(d)
	}()
	w.t.Cleanup(func() {
		server.Close()
		<-done
	})
}

func (w *world) certificate(names ...string) tls.Certificate {
	w.t.Helper()
	if w.ca == nil {
		w.caKey = key(w.t)
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &w.caKey.PublicKey, w.caKey)
		if err != nil {
			w.t.Fatal(err)
		}
		if w.ca, err = x509.ParseCertificate(der); err != nil {
			w.t.Fatal(err)
		}
	}
	own := key(w.t)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour)}
	for _, name := range names {
		if ip, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, w.ca, &own.PublicKey, w.caKey)
	if err != nil {
		w.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own}
}

func key(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// book collects audit records.
type book struct {
	mu      sync.Mutex
	entries []Decision
	fail    error
}

func (b *book) write(_ context.Context, d Decision) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, d)
	return b.fail
}

func (b *book) all() []Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.entries)
}

// gate makes a gate into the world that opens the given private origins.
func (w *world) gate(b *book, open ...string) *Gate {
	w.t.Helper()
	allowed, err := ParseAllowances(open...)
	if err != nil {
		w.t.Fatal(err)
	}
	c := Config{Resolver: w, Dialer: w, Private: allowed}
	if b != nil {
		c.Audit = b.write
	}
	if w.ca != nil {
		c.Roots = x509.NewCertPool()
		c.Roots.AddCert(w.ca)
	}
	g := New(c)
	w.t.Cleanup(g.Close)
	return g
}

func snapshot(t testing.TB, grants ...string) capability.Snapshot {
	t.Helper()
	s, err := capability.ParseSnapshot(grants...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// anywhere is a call that every layer lets go wherever the address policy does.
func anywhere(t testing.TB) PluginCall {
	return PluginCall{
		Plugin: "web", Core: "assistant",
		Egress: []wire.Egress{{Host: "*", Methods: []string{"GET", "HEAD", "POST", "PUT", "DELETE"}, Reason: "test"}},
		Grants: snapshot(t, "net.fetch:*"), Capabilities: snapshot(t, "net.fetch:*"),
	}
}

// plugin makes the HTTP of a call and closes it with the test.
func plugin(t testing.TB, g *Gate, c PluginCall) *PluginHTTP {
	t.Helper()
	p, err := g.Plugin(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// get makes a plain GET; the test fails on an error, which is never a server's or a policy's answer.
func get(t testing.TB, p *PluginHTTP, url string) (wire.HTTPReply, string) {
	t.Helper()
	return do(t, p, wire.HTTPRequest{Method: "GET", URL: url}, "")
}

func do(t testing.TB, p *PluginHTTP, req wire.HTTPRequest, body string) (wire.HTTPReply, string) {
	t.Helper()
	reply, answer, err := p.Do(t.Context(), req, []byte(body))
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	if reply.Fault != nil && (reply.Status != 0 || len(answer) != 0 || reply.Fault.Check() != nil || reply.Fault.Message == "") {
		t.Errorf("%s: fault with an answer beside it, or outside the contract: %+v", req.URL, reply)
	}
	return reply, string(answer)
}

// faulty fails unless the reply is a fault with this code whose message holds the reason.
func faulty(t testing.TB, reply wire.HTTPReply, code wire.Code, texts ...string) {
	t.Helper()
	if reply.Fault == nil || reply.Fault.Code != code {
		t.Errorf("reply %+v (fault %v), want the fault %s %q", reply, reply.Fault, code, texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(reply.Fault.Message, text) {
			t.Errorf("fault %q, want %q in it", reply.Fault.Message, text)
		}
	}
}

// reasons lists the codes of an audit.
func reasons(all []Decision) []egress.Reason {
	var out []egress.Reason
	for _, d := range all {
		out = append(out, d.Reason)
	}
	return out
}

// say is a server with one answer.
func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

// silence is a name server that never answers.
type silence struct{}

// LookupNetIP is [Resolver]'s.
func (silence) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
