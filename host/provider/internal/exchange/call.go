package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// errorBodyBytes is how much of an error answer is read; the rest is not needed
// to tell what went wrong.
const errorBodyBytes = 64 << 10

// tailBytes is how much of the end of a body [Call.Tail] remembers.
const tailBytes = 64

var (
	errReused   = errors.New("exchange: a call was used twice")
	errIdle     = errors.New("exchange: idle timeout")
	errRedirect = errors.New("exchange: redirect refused")
	errOverCap  = errors.New("exchange: body over its cap")
)

// Client returns a copy of base that follows no redirect and keeps no cookies:
// net/http strips Authorization on the way to another host but not a vendor's
// own key header, and a redirected POST is no longer the request we made.
func Client(base *http.Client) *http.Client {
	c := *base
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Jar = nil
	return &c
}

// Options describe one call.
type Options struct {
	Adapter provider.Adapter
	Caps    provider.Caps // zeros already replaced
	Idle    time.Duration // above zero
	Secret  string        // kept out of every error; may be empty
	Now     func() time.Time
}

// Call is one exchange. It belongs to one goroutine.
type Call struct {
	client *http.Client
	opts   Options

	started  bool
	ctx      context.Context // of this one exchange; its cause tells idleness from a stop
	status   int
	header   http.Header
	fault    *provider.Error
	broken   bool
	read     int
	line     int
	tail     []byte
	body     io.Closer
	finished func()
}

// New returns a call that will use client, which should come from [Client].
func New(client *http.Client, opts Options) *Call {
	return &Call{client: client, opts: opts, finished: func() {}}
}

// Do sends req. It answers the interface both vendor libraries ask for.
func (c *Call) Do(req *http.Request) (*http.Response, error) {
	if c.started {
		return nil, errReused
	}
	c.started = true
	ctx, cancel := context.WithCancelCause(req.Context())
	c.ctx = ctx
	timer := time.AfterFunc(c.opts.Idle, func() { cancel(errIdle) })
	c.finished = func() {
		timer.Stop()
		cancel(nil)
	}
	resp, err := c.client.Do(req.WithContext(ctx))
	if err != nil {
		c.finished()
		return nil, err
	}
	timer.Reset(c.opts.Idle)
	c.status, c.header = resp.StatusCode, resp.Header.Clone()
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		resp.Body.Close()
		c.finished()
		c.fault = c.redirected(resp)
		return nil, errRedirect
	}
	b := &body{call: c, rc: resp.Body, timer: timer}
	c.body = b
	resp.Body = b
	return resp, nil
}

// Close ends the exchange: connection, idle timer and context. The adapter calls
// it in every case, because a library may forget the body of an error answer.
// It may be called before there was an exchange, and twice.
func (c *Call) Close() {
	if c.body != nil {
		// The answer has been read or given up; an error in closing it changes nothing.
		_ = c.body.Close()
	}
	c.finished()
}

func (c *Call) redirected(resp *http.Response) *provider.Error {
	to := "elsewhere"
	if u, err := resp.Location(); err == nil {
		to = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	}
	return c.Error(provider.KindBadRequest, fmt.Sprintf(
		"the server redirects to %s: redirects are not followed, because the key would travel with them; set base_url to the final address", to))
}

// Tail returns the last bytes of the body read so far, at most 64.
func (c *Call) Tail() []byte { return c.tail }

// ContentType returns the answer's Content-Type header.
func (c *Call) ContentType() string { return c.header.Get("Content-Type") }

// body counts what is read of a response.
type body struct {
	call  *Call
	rc    io.ReadCloser
	timer *time.Timer
}

func (b *body) Read(p []byte) (int, error) {
	c := b.call
	if c.fault != nil {
		return 0, errOverCap
	}
	if c.status >= 400 {
		left := errorBodyBytes - c.read
		if left <= 0 {
			return 0, io.EOF
		}
		p = p[:min(len(p), left)]
	}
	n, err := b.rc.Read(p)
	if n > 0 {
		b.timer.Reset(c.opts.Idle)
		c.count(p[:n])
	}
	if c.fault != nil {
		return 0, errOverCap
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.broken = true
	}
	return n, err
}

func (c *Call) count(p []byte) {
	c.read += len(p)
	if c.read > c.opts.Caps.WireBytes {
		c.fault = c.Error(provider.KindTooLarge, fmt.Sprintf("the server sent more than %d bytes", c.opts.Caps.WireBytes))
		return
	}
	for rest := p; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			c.line += len(rest)
		} else {
			c.line += i
		}
		if c.line > c.opts.Caps.FrameBytes {
			c.fault = c.Error(provider.KindTooLarge, fmt.Sprintf("the server sent a line of more than %d bytes", c.opts.Caps.FrameBytes))
			return
		}
		if i < 0 {
			break
		}
		c.line, rest = 0, rest[i+1:]
	}
	c.tail = append(c.tail, p[max(0, len(p)-tailBytes):]...)
	c.tail = append(c.tail[:0], c.tail[max(0, len(c.tail)-tailBytes):]...)
}

func (b *body) Close() error {
	err := b.rc.Close()
	b.call.finished()
	return err
}
