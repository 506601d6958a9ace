// Package httpx gives a plugin net/http over [sdk.Host.Do], for libraries that
// take an http.RoundTripper or an *http.Client.
//
// It owns the translation of one request and one response, and no policy: what
// may be reached is the host's to decide, for each request, redirects included.
// It refuses a request that would leave the host out of sight of its URL (a Host
// header of another name) and a body over wire's limit, before anything is sent.
// Nothing is kept between requests.
//
// It costs. A guest with package sdk alone is about 2.6 MB; naming any type of
// net/http makes that about 4.9 MB, and an http.Client, which links Go's own
// transport and TLS although neither is ever used, about 9.7 MB and several
// seconds of first compile. A plugin that only sends requests should use
// sdk.Host.Do.
package httpx

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/b3abf3ee/portcullis/sdk"
)

// maxBody is what a request body may have, in bytes: a frame's body.
const maxBody = sdk.MaxBody

// Transport is an [http.RoundTripper] whose every exchange goes through h. It is
// valid as long as h is: during one call. Redirects are not followed here; an
// http.Client follows them itself, and the host checks each as a new request.
//
// Errors of the host come back wrapped, so that errors.Is(err, sdk.Denied) works
// on what an http.Client returns. The request's context bounds the exchange.
func Transport(h sdk.Host) http.RoundTripper { return transport{h} }

type transport struct{ host sdk.Host }

// RoundTrip performs one exchange. The response body is in memory already.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	if r.Host != "" && r.Host != r.URL.Host {
		return nil, fmt.Errorf("httpx: %w", sdk.Errorf(sdk.Invalid, "request to %s names %s as its Host: the host is the URL's", r.URL.Host, r.Host))
	}
	resp, err := t.host.Do(r.Context(), &sdk.Request{
		Method: r.Method, URL: r.URL.String(), Header: sdk.Header(r.Header), Body: body, NoRedirect: true,
	})
	if err != nil {
		return nil, fmt.Errorf("httpx: %s %s: %w", r.Method, r.URL.Redacted(), err)
	}
	header := make(http.Header, len(resp.Header))
	for k, v := range resp.Header {
		header[http.CanonicalHeaderKey(k)] = append(header[http.CanonicalHeaderKey(k)], v...)
	}
	return &http.Response{
		Status:     strconv.Itoa(resp.Status) + " " + http.StatusText(resp.Status),
		StatusCode: resp.Status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(resp.Body)),
		ContentLength: int64(len(resp.Body)),
		Request:       r,
	}, nil
}

// readBody reads and closes the request's body, as a RoundTripper must also on
// errors.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if closeErr := r.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("httpx: read the request body: %w", err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("httpx: %w", sdk.Errorf(sdk.TooLarge, "the request body has more than %d bytes", maxBody))
	}
	return body, nil
}
