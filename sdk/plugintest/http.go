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

// maxRedirects is the host's own bound.
const maxRedirects = 5

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
		if next.Fragment = ""; u.Scheme == "https" && next.Scheme == "http" {
			return no(sdk.Denied, "the redirect gives up https")
		}
		if resp.StatusCode == http.StatusSeeOther && r.Method != http.MethodHead || resp.StatusCode < http.StatusSeeOther && r.Method == http.MethodPost {
			r.Method, body = http.MethodGet, nil
		}
		if origin(next) != origin(u) {
			switch crossed = true; {
			case carried:
				return no(sdk.Denied, "the redirect leads to another origin, and the request carries a credential")
			case len(body) > 0:
				return no(sdk.Denied, "the redirect would send the body to another origin")
			}
			r.Headers = commonHeaders(r.Headers)
		}
		r.URL = next.String()
	}
	return no(sdk.Failed, "more than 5 redirects")
}

// commonHeaders are those that the host shows to another origin.
func commonHeaders(in map[string][]string) map[string][]string {
	out := map[string][]string{}
	for name, values := range in {
		switch http.CanonicalHeaderKey(name) {
		case "Accept", "Accept-Encoding", "Accept-Language", "User-Agent", "Cache-Control", "Range":
			out[name] = values
		}
	}
	return out
}

// origin is scheme, host and port.
func origin(u *url.URL) string {
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + portOf(u)
}

func portOf(u *url.URL) string {
	if u.Port() == "" {
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Port()
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

// listed checks a request against the manifest's egress, as the host does when it has granted the place by name.
func (w *world) listed(method string, u *url.URL) bool {
	return slices.ContainsFunc(w.desc.Egress, func(e wire.Egress) bool {
		methods := e.Methods
		if len(methods) == 0 {
			methods = []string{http.MethodGet, http.MethodHead}
		}
		path := u.EscapedPath()
		if path == "" {
			path = "/"
		}
		return hostMatches(e.Host, u.Hostname()) && portMatches(e, u) && slices.Contains(methods, method) && pathMatches(e.PathPrefix, path)
	})
}

func portMatches(e wire.Egress, u *url.URL) bool {
	port, standard := portOf(u), portOf(&url.URL{Scheme: u.Scheme})
	switch {
	case e.Port == 0:
		return port == standard || e.Host == "*" // a grant names the port then
	case u.Scheme == "http" && port == "443" || u.Scheme == "https" && port == "80":
		return false
	}
	return port == strconv.Itoa(e.Port)
}

// pathMatches takes whole segments, and nothing that a server could decode into other ones.
func pathMatches(prefix, path string) bool {
	if prefix == "" {
		return true
	}
	plain, err := url.PathUnescape(path)
	if err != nil || strings.Count(plain, "/") != strings.Count(path, "/") || strings.Contains(plain, "\\") {
		return false
	}
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || strings.HasSuffix(prefix, "/") || rest[0] == '/')
}

func hostMatches(pattern, host string) bool {
	host = strings.ToLower(host)
	if below, ok := strings.CutPrefix(pattern, "*."); ok {
		return strings.HasSuffix(host, "."+below)
	}
	return pattern == "*" || pattern == host
}
