package sdk

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
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
	var reply wire.HTTPReply
	body, err := ask(h.border().http, httpHead(ctx, req), req.Body, func(name string, r *codec.Reader) error {
		switch name {
		case "status":
			var status int64
			err := r.Int(&status)
			reply.Status = int(status)
			return err
		case "headers":
			reply.Headers = map[string][]string{}
			return readHeaders(r, reply.Headers)
		case "url":
			return r.Text(&reply.URL)
		}
		return r.Unknown(name)
	})
	if err != nil {
		return nil, err
	}
	return &Response{Status: reply.Status, Header: reply.Headers, Body: body, URL: reply.URL}, nil
}

func httpHead(ctx context.Context, req *Request) codec.Writer {
	method := req.Method
	if method == "" {
		method = "GET"
	}
	var o codec.Writer
	o.Text("method", method)
	o.Text("url", req.URL)
	if len(req.Header) > 0 {
		o.JSON("headers", headers(req.Header))
	}
	o.IntUnlessZero("timeout_ms", timeoutMS(ctx, req.Timeout))
	o.IntUnlessZero("max_bytes", req.MaxBody)
	if req.NoRedirect {
		o.JSON("no_redirect", []byte("true"))
	}
	return o
}

// headers writes header lines in the order of their names.
func headers(h Header) []byte {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(codec.AppendString(out, name), ':', '[')
		for i, v := range h[name] {
			if i > 0 {
				out = append(out, ',')
			}
			out = codec.AppendString(out, v)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

func readHeaders(r *codec.Reader, to map[string][]string) error {
	return r.Members(func(name string, r *codec.Reader) error {
		lines := []string{}
		err := r.List(func(r *codec.Reader) error {
			var line string
			err := r.Text(&line)
			lines = append(lines, line)
			return err
		})
		to[name] = lines
		return err
	})
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
