package plugintest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

const maxRedirects = 10

// exchange answers one request and the redirects after it.
func (w *world) exchange(r wire.HTTPRequest, body []byte) (wire.HTTPReply, []byte) {
	no := func(code sdk.Code, message string) (wire.HTTPReply, []byte) {
		return wire.HTTPReply{Fault: &sdk.Fault{Code: code, Message: message}}, nil
	}
	crossed := false
	for range maxRedirects + 1 {
		sent, out, carried, fault := w.place(r, body, crossed)
		if fault != nil {
			return wire.HTTPReply{Fault: fault}, nil
		}
		u, err := url.Parse(sent.URL)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			return no(sdk.Invalid, r.URL+" is not an absolute http or https URL")
		}
		if !w.listed(r.Method, u) {
			return no(sdk.Denied, r.Method+" "+r.URL+" is not in the plugin's egress")
		}
		if w.http == nil {
			return no(sdk.Unavailable, "this test has no network: use Plugin.HTTP")
		}
		if _, err := http.NewRequest(r.Method, r.URL, nil); err != nil {
			return no(sdk.Invalid, err.Error())
		}
		resp := w.once(sent, u, out)
		next, err := resp.Location()
		if r.NoRedirect || resp.StatusCode < 300 || resp.StatusCode > 399 || err != nil {
			return w.finish(r, resp)
		}
		if next.Scheme != u.Scheme || next.Host != u.Host {
			if crossed = true; carried {
				return no(sdk.Denied, "the redirect leads to another origin, and the request carries a credential")
			}
		}
		r.URL = next.String()
		if resp.StatusCode < 307 {
			r.Method, body = http.MethodGet, nil
		}
	}
	return no(sdk.Failed, "more than 10 redirects")
}

func (w *world) once(r wire.HTTPRequest, u *url.URL, body []byte) *http.Response {
	req := httptest.NewRequest(r.Method, u.String(), bytes.NewReader(body))
	for k, v := range r.Headers {
		req.Header[http.CanonicalHeaderKey(k)] = slices.Clone(v)
	}
	rec := httptest.NewRecorder()
	w.http.ServeHTTP(rec, req)
	resp := rec.Result()
	resp.Request = req
	return resp
}

func (w *world) finish(r wire.HTTPRequest, resp *http.Response) (wire.HTTPReply, []byte) {
	var out bytes.Buffer
	limit := int64(wire.MaxBodyBytes)
	if r.MaxBytes > 0 {
		limit = min(limit, r.MaxBytes)
	}
	if _, err := out.ReadFrom(resp.Body); err != nil {
		return wire.HTTPReply{Fault: &sdk.Fault{Code: sdk.IO, Message: err.Error()}}, nil
	}
	if int64(out.Len()) > limit {
		return wire.HTTPReply{Fault: &sdk.Fault{Code: sdk.TooLarge, Message: "the response has more than " + strconv.FormatInt(limit, 10) + " bytes"}}, nil
	}
	header := map[string][]string{}
	for name, values := range resp.Header {
		for _, v := range values {
			header[name] = append(header[name], w.masked(v))
		}
	}
	return wire.HTTPReply{Status: resp.StatusCode, Headers: header, URL: w.masked(r.URL)}, []byte(w.masked(out.String()))
}

// listed checks a request against the manifest's egress.
func (w *world) listed(method string, u *url.URL) bool {
	return slices.ContainsFunc(w.desc.Egress, func(e wire.Egress) bool {
		methods := e.Methods
		if len(methods) == 0 {
			methods = []string{http.MethodGet, http.MethodHead}
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return hostMatches(e.Host, u.Hostname()) &&
			(e.Port == 0 && u.Port() == "" || port == strconv.Itoa(e.Port)) &&
			slices.Contains(methods, method) &&
			strings.HasPrefix(u.Path, e.PathPrefix)
	})
}

func hostMatches(pattern, host string) bool {
	host = strings.ToLower(host)
	if below, ok := strings.CutPrefix(pattern, "*."); ok {
		return strings.HasSuffix(host, "."+below)
	}
	return pattern == "*" || pattern == host
}
