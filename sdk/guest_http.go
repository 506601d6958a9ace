package sdk

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

type webSystem interface {
	HTTP(arg []byte) []byte
}

// Do sends the request with what is left of ctx as its timeout.
func (g *guest) Do(ctx context.Context, req *Request) (*Response, error) {
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
	body, err := ask(g.web.HTTP, head, req.Body, &reply)
	if err == nil {
		err = refused(reply.Fault)
	}
	if err != nil {
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
