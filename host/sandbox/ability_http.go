package sandbox

import (
	"context"
	"net/http"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// fetch hands one request to the port, within the call's budget. The URL, the
// address, redirects and credentials are the port's to judge; counts, bytes and
// time are held here whatever the port does.
func (s *Session) fetch(ctx context.Context, req wire.HTTPRequest, body []byte) (any, []byte, *wire.Fault) {
	left := min(s.limits.HTTPBytes-s.stats.HTTPBytes, wire.MaxBodyBytes)
	switch {
	case s.opt.HTTP == nil:
		return nil, nil, faultf(wire.CodeUnavailable, "this host reaches no network")
	case len(req.URL) > wire.MaxURL || len(req.Headers) > wire.MaxHeaderCount:
		return nil, nil, faultf(wire.CodeTooLarge, "the request has a URL over %d bytes or more than %d headers", wire.MaxURL, wire.MaxHeaderCount)
	case req.TimeoutMS < 0 || req.MaxBytes < 0:
		return nil, nil, faultf(wire.CodeInvalid, "timeout_ms and max_bytes cannot be negative")
	case s.stats.HTTPCalls >= s.limits.HTTPCalls:
		return nil, nil, faultf(wire.CodeTooLarge, "this call has made its %d HTTP requests", s.limits.HTTPCalls)
	case left <= 0:
		return nil, nil, faultf(wire.CodeTooLarge, "this call has read its %d bytes of HTTP responses", s.limits.HTTPBytes)
	}
	s.stats.HTTPCalls++
	if req.MaxBytes == 0 || req.MaxBytes > left {
		req.MaxBytes = left
	}
	inner := ctx
	if ms := req.TimeoutMS; ms > 0 && ms < wire.HardDeadlineMS {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
	}
	reply, answer, err := s.opt.HTTP.Do(inner, req, body)
	s.stats.HTTPBytes += int64(len(answer))
	late := inner.Err() != nil
	if whole := err == nil && reply.Fault == nil; whole && (late || int64(len(answer)) > req.MaxBytes) {
		s.dropped = s.dropped || changes(req.Method)
	}
	switch {
	case late:
		return nil, nil, faultf(wire.CodeTimeout, "no answer in time")
	case err != nil:
		return nil, nil, faultf(wire.CodeIO, "the request could not be made")
	case reply.Fault != nil:
		return nil, nil, bounded(reply.Fault)
	case int64(len(answer)) > req.MaxBytes:
		return nil, nil, faultf(wire.CodeTooLarge, "the response has more than %d bytes", req.MaxBytes)
	}
	return reply, answer, nil
}

// unanswered reports that a request which may have changed something went out, and
// that the guest was not given its answer.
func (s *Session) unanswered() bool {
	return s.dropped || s.opt.HTTP != nil && s.opt.HTTP.Unanswered()
}

// changed reports that a request which may have changed something was answered.
func (s *Session) changed() bool { return s.opt.HTTP != nil && s.opt.HTTP.Changed() }

// changes reports a method that may change something. Source: RFC 9110 section
// 9.2.1.
func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// bounded makes a port's fault one that the contract allows.
func bounded(f *wire.Fault) *wire.Fault {
	code := f.Code
	if !code.Known() {
		code = wire.CodeFailed
	}
	return faultf(code, "%s", f.Message)
}
