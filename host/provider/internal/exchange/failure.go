package exchange

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// Failure describes err where the exchange itself knows why the call failed: a
// cap, a refused redirect, the caller's context, silence, no connection, a
// broken one. It returns nil when the vendor's answer must explain the error.
func (c *Call) Failure(ctx context.Context, err error) *provider.Error {
	var ours *provider.Error
	switch {
	case errors.As(err, &ours):
		return c.stamp(ours)
	case c.fault != nil:
		return c.fault
	case ctx.Err() != nil:
		return provider.Canceled(ctx, string(c.opts.Adapter))
	case c.ctx != nil && errors.Is(context.Cause(c.ctx), errIdle):
		return c.Error(provider.KindNetwork, fmt.Sprintf("the server sent nothing for %s", c.opts.Idle))
	case !c.started:
		return c.Error(provider.KindBadRequest, "the request cannot be made: "+err.Error())
	case c.status == 0 && denied(err):
		return c.Error(provider.KindBadRequest, "the host's own policy does not let it connect: "+plain(err))
	case c.status == 0:
		return c.Error(provider.KindNetwork, "the server could not be reached: "+plain(err))
	case c.broken:
		return c.Error(provider.KindProtocol, fmt.Sprintf("the connection broke after %d bytes of the answer", c.read))
	default:
		return nil
	}
}

// refusal is what an HTTP client's error implements to say that policy, not the
// network, stood in the way: asking again would change nothing.
type refusal interface {
	error
	Refused() bool
}

func denied(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.Refused()
}

// Error returns an error of this exchange: adapter, status and headers filled
// in, the sentence scrubbed.
func (c *Call) Error(kind provider.ErrorKind, sentence string) *provider.Error {
	return c.stamp(&provider.Error{Kind: kind, Sentence: provider.Scrub(sentence, c.opts.Secret)})
}

// Said quotes a vendor's own words after ours.
func Said(ours, vendor string) string {
	if strings.TrimSpace(vendor) == "" {
		return ours
	}
	return ours + "; the server said: " + vendor
}

// RequestID returns the vendor's name for the request, from whichever header
// carries it, or "".
func (c *Call) RequestID() string {
	for _, name := range []string{"request-id", "x-request-id"} {
		if id := provider.Scrub(c.header.Get(name), c.opts.Secret); id != "" {
			return id
		}
	}
	return ""
}

// Status returns the HTTP status, 0 before there was an answer.
func (c *Call) Status() int { return c.status }

func (c *Call) stamp(e *provider.Error) *provider.Error {
	out := *e
	out.Provider = string(c.opts.Adapter)
	out.Status = c.status
	out.RetryAfter = retryAfter(c.header, c.opts.Now)
	if out.RequestID == "" {
		out.RequestID = c.RequestID()
	}
	return &out
}

// KindOfStatus classifies an HTTP status where the vendor's body says no more.
func KindOfStatus(status int) provider.ErrorKind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return provider.KindAuth
	case status == http.StatusRequestTimeout:
		return provider.KindNetwork
	case status == http.StatusConflict, status >= 500:
		return provider.KindOverloaded
	case status == http.StatusRequestEntityTooLarge:
		return provider.KindContextOverflow
	case status == http.StatusTooManyRequests:
		return provider.KindRateLimited
	case status >= 400:
		return provider.KindBadRequest
	default:
		return provider.KindProtocol
	}
}

// Explain is what a failure of kind means and what to do about it.
func Explain(kind provider.ErrorKind) string {
	switch kind {
	case provider.KindAuth:
		return "the server does not accept this key: check the key, its permissions and the account's credit"
	case provider.KindRateLimited:
		return "too many requests for this account at the moment"
	case provider.KindOverloaded:
		return "the server failed or is overloaded"
	case provider.KindContextOverflow:
		return "the request is larger than the model takes: shorten the conversation or choose a model with a larger window"
	case provider.KindRefused:
		return "the server's policy refused this request"
	case provider.KindNetwork:
		return "the server gave up waiting for the request"
	case provider.KindBadRequest:
		return "the server refused the request: check the model id, base_url and options"
	default:
		return "the answer could not be read"
	}
}

// Key asks for the API key. A nil source means no key. Surrounding white space,
// which a key read from a file has, is removed.
func Key(ctx context.Context, adapter provider.Adapter, source func(context.Context) (string, error)) (string, error) {
	if source == nil {
		return "", nil
	}
	key, err := source(ctx)
	if ctx.Err() != nil {
		return "", provider.Canceled(ctx, string(adapter))
	}
	fail := func(sentence string, cause error) (string, error) {
		return "", &provider.Error{Kind: provider.KindAuth, Provider: string(adapter), Sentence: sentence, Cause: cause}
	}
	if err != nil {
		return fail("the API key could not be read: "+provider.Scrub(err.Error(), key), err)
	}
	key = strings.TrimSpace(key)
	if key == "" {
		return fail("the API key is empty: store one, or remove api_key if the server needs none", nil)
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return fail(fmt.Sprintf("the API key holds a space, line break or non-ASCII byte at position %d", i), nil)
		}
	}
	return key, nil
}

// plain strips net/http's wrapping: method and URL say nothing the reader needs.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

// maxRetryAfter keeps a nonsense header from overflowing a duration.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads Retry-After (RFC 9110 10.2.3: seconds or a date) and
// retry-after-ms, which both vendors send and which is finer.
func retryAfter(h http.Header, now func() time.Time) time.Duration {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	v := h.Get("Retry-After")
	if d, ok := number(v, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(at.Sub(now()), 0), maxRetryAfter)
	}
	return 0
}

func number(v string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(f) || f < 0 {
		return 0, false
	}
	return time.Duration(min(f*float64(unit), float64(maxRetryAfter))), true
}
