package sdk

import (
	"context"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Request is one HTTP request.
type Request struct {
	Method string // "" is GET
	URL    string // absolute, http or https
	Header Header
	Body   []byte // at most 16 MiB
	// Timeout bounds the exchange on top of ctx; 0 is no extra bound.
	Timeout time.Duration
	// MaxBody refuses a longer response body with [TooLarge]; 0 is the
	// plugin's own limit.
	MaxBody int64
	// NoRedirect returns a 3xx response instead of following it.
	NoRedirect bool
}

// Response is the answer, read whole.
type Response struct {
	Status int // as in 200
	Header Header
	Body   []byte
	URL    string // the one that answered, after redirects
}

// Header is header lines by name. It converts to and from net/http's Header.
type Header map[string][]string

// Get is the first value of a header, ignoring case, or "".
func (h Header) Get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	for k, v := range h {
		if len(v) > 0 && strings.EqualFold(k, name) {
			return v[0]
		}
	}
	return ""
}

// Set makes value the only one of a header, whatever the case of the names
// there.
func (h Header) Set(name, value string) {
	for k := range h {
		if strings.EqualFold(k, name) {
			delete(h, k)
		}
	}
	h[name] = []string{value}
}

// Do performs one HTTP exchange, following redirects, each checked by the host.
// Every status is a response and no error. What is left of ctx bounds the time;
// it cannot be cancelled in between. Errors are a [*Fault]: [Denied] for a URL
// that policy, grant or egress does not allow, [TooLarge] for a longer body,
// [Timeout], [Unavailable], [IO]. Needs net.fetch.
func (h Host) Do(ctx context.Context, req *Request) (*Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	head := wire.HTTPRequest{
		Method: req.Method, URL: req.URL, Headers: req.Header,
		TimeoutMS: timeoutMS(ctx, req.Timeout), MaxBytes: req.MaxBody, NoRedirect: req.NoRedirect,
	}
	if head.Method == "" {
		head.Method = "GET"
	}
	var reply wire.HTTPReply
	body, err := ask(h.border().http, head, req.Body, &reply)
	if err := settled(err, reply.Fault); err != nil {
		return nil, err
	}
	return &Response{Status: reply.Status, Header: reply.Headers, Body: body, URL: reply.URL}, nil
}

// timeoutMS is the shorter of what the request says and what ctx has left,
// never rounded down to "no bound".
func timeoutMS(ctx context.Context, timeout time.Duration) int64 {
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); timeout <= 0 || left < timeout {
			timeout = left
		}
		return max(timeout.Milliseconds(), 1)
	}
	if timeout <= 0 {
		return 0
	}
	return max(timeout.Milliseconds(), 1)
}
