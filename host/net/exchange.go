package net

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// MaxRedirects is how many redirects of one request are followed.
const MaxRedirects = 5

// exchange is one request on its way, as it stands at the current hop.
type exchange struct {
	method  string
	target  egress.Target
	header  http.Header
	body    []byte
	hop     int
	max     int64        // bytes of the response body
	unzip   bool         // gzip was offered by us, not by the plugin
	carried []spot       // what the host puts into the request at this hop
	crossed bool         // a redirect led to another origin
	bound   bool         // the host added a credential of its own: no redirect to another origin is followed
	sent    *atomic.Bool // a request of the chain that may change something was given to a connection
}

// Do makes one request for the plugin and follows its redirects; it is what the sandbox calls. A "no" is a fault in
// the reply: denied when policy refused, unavailable when the name or server did not answer, timeout, too_large,
// invalid, or io when the connection failed. Its sentence holds an origin at the most. An error means that the
// context was cancelled or that the decision could not be recorded. What was sent before is sent: see
// [PluginHTTP.Unanswered].
//
// The request is sent with the plugin's headers but those that are the host's to set (see [requestHeader]), and
// with the credentials that its manifest declares for the place it goes to; they are added after all else was judged. What
// the host knows as secret is taken out of the answer. The response body is at most req.MaxBytes, or
// [wire.MaxBodyBytes], before and after decompression.
func (p *PluginHTTP) Do(ctx context.Context, req wire.HTTPRequest, body []byte) (wire.HTTPReply, []byte, error) {
	var sent atomic.Bool
	reply, answer, err := p.chain(ctx, req, body, &sent)
	if sent.Load() && (err != nil || reply.Fault != nil) {
		p.unanswered.Store(true)
	}
	return reply, answer, err
}

// chain is Do. sent tells what it leaves open when it does not end with an answer.
func (p *PluginHTTP) chain(ctx context.Context, req wire.HTTPRequest, body []byte, sent *atomic.Bool) (wire.HTTPReply, []byte, error) {
	limit := ExchangeTimeout
	if asked := time.Duration(req.TimeoutMS) * time.Millisecond; req.TimeoutMS > 0 && req.TimeoutMS < wire.HardDeadlineMS {
		limit = asked
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()

	x := exchange{method: req.Method, body: body, max: wire.MaxBodyBytes, sent: sent}
	if req.MaxBytes > 0 && req.MaxBytes < x.max {
		x.max = req.MaxBytes
	}
	if p.leaks(req, body) { // before anything is read: no part of it may be on record
		x.method = ""
		return p.deny(ctx, x, nil, refuse(SecretInRequest, "it holds a secret of the host's, which a plugin may not send"))
	}
	var fault *wire.Fault
	if x.header, x.unzip, fault = requestHeader(req.Headers); fault != nil {
		return wire.HTTPReply{Fault: fault}, nil, nil
	}
	if p.call.Mask != nil { // an answer that is searched comes in an encoding that the host undoes
		x.header["Accept-Encoding"], x.unzip = []string{"gzip"}, true
	}
	if len(body) > wire.MaxBodyBytes {
		return faultf(wire.CodeTooLarge, "the request body has more than %d bytes", wire.MaxBodyBytes)
	}
	var v egress.Verdict
	if x.target, v = egress.ParseURL(p.standIn(req.URL)); !v.Allowed {
		return p.deny(ctx, x, nil, v)
	}
	for {
		if x, v = p.carry(x); !v.Allowed {
			return p.deny(ctx, x, nil, v)
		}
		resp, reply, err := p.send(ctx, x)
		if resp == nil {
			return reply, nil, err
		}
		location := resp.Header.Get("Location")
		if req.NoRedirect || location == "" || !redirects(resp.StatusCode) {
			p.answered(x.method, resp.StatusCode)
			return p.finish(ctx, x, resp)
		}
		discard(resp)
		switch {
		case safe(x.method):
		case toGet(resp.StatusCode, x.method):
			p.answered(x.method, resp.StatusCode)
		default:
			sent.Store(false) // it is to be done elsewhere, so it was not done here
		}
		if p.namesSecret(location) { // no part of which may be told or be on record
			x.hop, x.target = x.hop+1, egress.Target{}
			return p.deny(ctx, x, nil, refuse(SecretInRequest, "the host that it leads to has a secret of this one's in its name"))
		}
		next, v := x.follow(resp.StatusCode, location)
		if !v.Allowed {
			return p.deny(ctx, next, nil, v)
		}
		next.crossed = x.crossed || next.target.Origin() != x.target.Origin()
		x = next
	}
}

// leaks reports a value of the host's in what the plugin wrote.
func (p *PluginHTTP) leaks(req wire.HTTPRequest, body []byte) bool {
	if p.call.Holds == nil {
		return false
	}
	if p.call.Holds([]byte(req.URL)) || p.call.Holds([]byte(req.Method)) || p.call.Holds(body) {
		return true
	}
	for name, values := range req.Headers {
		for _, v := range values {
			if p.call.Holds([]byte(name + ": " + v)) {
				return true
			}
		}
	}
	return false
}

// namesSecret reports a value of the host's in the name of the host that a redirect leads to: as it came, since a name is told and
// compared in small letters.
func (p *PluginHTTP) namesSecret(location string) bool {
	u, err := url.Parse(location)
	return err == nil && p.call.Holds != nil && p.call.Holds([]byte(u.Host))
}

// send judges and makes the request of one hop. Without a response the reply holds the fault.
func (p *PluginHTTP) send(ctx context.Context, x exchange) (*http.Response, wire.HTTPReply, error) {
	fail := func(reply wire.HTTPReply, _ []byte, err error) (*http.Response, wire.HTTPReply, error) {
		return nil, reply, err
	}
	if v := p.judge(x.method, x.target); !v.Allowed {
		return fail(p.deny(ctx, x, nil, v))
	}
	lane, found, v, err := p.laneTo(ctx, x.target)
	if err != nil {
		return fail(p.broken(ctx, x, err))
	}
	if !v.Allowed {
		return fail(p.deny(ctx, x, found, v))
	}
	if len(x.carried) > 0 && !p.sealed(x.target, found) {
		return fail(p.deny(ctx, x, found, refuse(CredentialInsecure, "a credential is sent over https, or to a loopback address whose origin the operator opened")))
	}
	req, fit := x.message()
	if !fit.Allowed {
		return fail(p.deny(ctx, x, found, fit))
	}
	if err := p.record(ctx, x, found, v); err != nil {
		return nil, wire.HTTPReply{}, err
	}
	resp, err := lane.transport.RoundTrip(req.WithContext(x.watched(ctx)))
	if err != nil {
		return fail(p.broken(ctx, x, err))
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		discard(resp)
		return fail(faultf(wire.CodeFailed, "%s switched to another protocol, which was not asked for", x.target.Origin()))
	}
	return resp, wire.HTTPReply{}, nil
}

// watched is ctx for a request that may change something: from the moment that it has a connection, nobody but the server
// knows whether it did. What is written when is not asked: the transport writes on a goroutine of its own, which may go on
// when the request was given up.
func (x exchange) watched(ctx context.Context) context.Context {
	if safe(x.method) {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) }})
}

// safe reports a method that asks for no change. Source: RFC 9110 section 9.2.1.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// answered notes the answer to a request at its last hop. One of 400 to 499 says that the request was not done.
// Source: RFC 9110 section 15.5.
func (p *PluginHTTP) answered(method string, status int) {
	if !safe(method) && (status < 400 || status >= 500) {
		p.changed.Store(true)
	}
}

// record writes the audit record of one decision.
func (p *PluginHTTP) record(ctx context.Context, x exchange, found []netip.Addr, v egress.Verdict) error {
	err := p.call.Audit(ctx, Decision{
		Caller: "plugin " + p.call.Plugin, Method: shown(x.method), Origin: x.target.Origin(), Hop: x.hop,
		Addresses: found, Allowed: v.Allowed, Reason: v.Reason, Credentials: x.names(),
	})
	if err != nil {
		return fmt.Errorf("net: record egress of plugin %s: %w", p.call.Plugin, err)
	}
	return nil
}

// deny records a refusal and makes it the answer.
func (p *PluginHTTP) deny(ctx context.Context, x exchange, found []netip.Addr, v egress.Verdict) (wire.HTTPReply, []byte, error) {
	if err := p.record(ctx, x, found, v); err != nil {
		return wire.HTTPReply{}, nil, err
	}
	code := wire.CodeDenied
	switch v.Reason {
	case egress.DNSFailure, egress.DNSNoAddresses:
		code = wire.CodeUnavailable
	case TooManyRedirects:
		code = wire.CodeFailed
	}
	where := "the request"
	if x.hop > 0 {
		where = fmt.Sprintf("redirect %d", x.hop)
	}
	if !x.target.Zero() {
		where += " to " + x.target.Origin()
	}
	p.mu.Lock()
	p.refusal, p.remedy = v.Sentence, v.Remedy
	p.mu.Unlock()
	return faultf(code, "%s is refused (%s): %s", where, v.Reason, v.Sentence)
}

// broken says what failed without the words of the error, which may hold the whole URL.
func (p *PluginHTTP) broken(ctx context.Context, x exchange, err error) (wire.HTTPReply, []byte, error) {
	origin := x.target.Origin()
	var stopped *RefusedError
	var connect *connectError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &stopped):
		return p.deny(ctx, x, nil, refuse(stopped.Reason, stopped.Sentence))
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return faultf(wire.CodeTimeout, "no answer from %s in time", origin)
	case ctx.Err() != nil || p.life.Err() != nil: // Close ends both, in no order
		return wire.HTTPReply{}, nil, fmt.Errorf("net: request to %s: %w", origin, context.Canceled)
	case errors.As(err, &connect):
		return faultf(wire.CodeUnavailable, "could not connect to %s", origin)
	case errors.As(err, &cert):
		return faultf(wire.CodeIO, "the certificate of %s does not verify", origin)
	}
	return faultf(wire.CodeIO, "the connection to %s failed before a whole answer was read", origin)
}

// finish reads the answer.
func (p *PluginHTTP) finish(ctx context.Context, x exchange, resp *http.Response) (wire.HTTPReply, []byte, error) {
	defer resp.Body.Close()
	header, fault := responseHeader(resp.Header)
	if fault != nil {
		return wire.HTTPReply{Fault: fault}, nil, nil
	}
	body, unzipped, err := readBody(x, resp)
	switch {
	case errors.Is(err, errTooLarge):
		return faultf(wire.CodeTooLarge, "the answer of %s has more than %d bytes", x.target.Origin(), x.max)
	case errors.Is(err, errEncoding):
		return faultf(wire.CodeIO, "the answer of %s says it is gzip and is not", x.target.Origin())
	case err != nil:
		return p.broken(ctx, x, err)
	}
	if unzipped {
		delete(header, "Content-Encoding")
		delete(header, "Content-Length")
	}
	if p.call.Mask != nil && !unzipped && len(body) > 0 && encoded(resp.Header) {
		return unsearched(x.target)
	}
	header, body, ok := p.masked(header, body)
	shown, readable := p.shownURL(x.target)
	if !ok || !readable {
		return unsearched(x.target)
	}
	return wire.HTTPReply{Status: resp.StatusCode, Headers: header, URL: shown}, body, nil
}

func faultf(code wire.Code, format string, args ...any) (wire.HTTPReply, []byte, error) {
	return wire.HTTPReply{Fault: &wire.Fault{Code: code, Message: fmt.Sprintf(format, args...)}}, nil, nil
}

// shown is a method as it is on record: whole, or that it is none. Of a part of one that a guest made up, nobody could tell
// that it is a part of a secret.
func shown(method string) string {
	if len(method) > 16 {
		return "(none)"
	}
	return method
}
