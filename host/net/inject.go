package net

import (
	"bytes"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// sealed reports that what is sent to t is seen by nobody else: it goes over TLS, or does not leave the machine and the
// operator opened this very origin.
func (p *PluginHTTP) sealed(t egress.Target, to []netip.Addr) bool {
	if t.Scheme() == "https" {
		return true
	}
	for _, ip := range to {
		if !ip.Unmap().IsLoopback() {
			return false
		}
	}
	return len(to) > 0 && p.gate.private.opened(t) != nil
}

// message is the request as it is sent: x, which was judged, with the values of what it carries. Neither x nor anything
// that is kept of it holds one.
func (x exchange) message() (*http.Request, egress.Verdict) {
	header, body, target := maps.Clone(x.header), x.body, x.target.String()
	var added []string
	for _, s := range x.carried {
		value := s.value()
		if !placeable(s, value) {
			return nil, refuse(CredentialUnfit, "the value of "+s.Secret+" has characters that cannot stand where "+s.Name+" puts it")
		}
		switch s.In {
		case wire.InHeader:
			header[s.header()] = []string{s.Fill(value)}
		case wire.InBasic:
			header[s.header()] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(s.Fill(value)))}
		case wire.InQuery:
			added = append(added, url.QueryEscape(s.Field)+"="+url.QueryEscape(s.Fill(value)))
		case wire.InPath:
			target = strings.ReplaceAll(target, s.mark, value)
		case wire.InBody:
			at, fault := s.inBody(exchange{header: x.header, body: body})
			if fault != "" || at == nil {
				return nil, refuse(PlaceholderMisplaced, fault)
			}
			body = at.fill(body, value)
		}
	}
	if len(added) > 0 {
		sign := "?"
		if strings.Contains(target, "?") {
			sign = "&"
		}
		target += sign + strings.Join(added, "&")
	}
	if v := x.unchanged(target); !v.Allowed {
		return nil, v
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, refuse(egress.InvalidURL, "it cannot be sent as it was judged") // err holds the URL
	}
	req := &http.Request{
		Method: x.method, URL: u, Header: header, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	if len(body) == 0 {
		req.Body, req.GetBody = nil, nil
	}
	return req, egress.Verdict{Allowed: true, Reason: egress.Allowed}
}

// unchanged holds a URL with values in it against the one that was judged: the same origin, and no other segments.
func (x exchange) unchanged(target string) egress.Verdict {
	t, v := egress.ParseURL(target)
	if v.Allowed && (t.Origin() != x.target.Origin() || strings.Count(t.Path(), "/") != strings.Count(x.target.Path(), "/")) {
		return refuse(CredentialUnfit, "a value would change where the request goes")
	}
	return v
}

// placeable reports a value that stands in its place as itself: printable in a header, and in a path nothing that would
// have to be escaped, because what servers read an escape as is not known.
func placeable(s spot, value string) bool {
	const unescaped = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,=:@"
	switch s.In {
	case wire.InHeader:
		return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) && strings.TrimSpace(value) == value
	case wire.InPath:
		return strings.Trim(value, unescaped) == ""
	}
	return true
}

// masked takes the values that the host knows out of an answer, so that a server that repeats what it was sent does not
// hand it to the plugin. false: the answer cannot be searched.
func (p *PluginHTTP) masked(header map[string][]string, body []byte) (map[string][]string, []byte, bool) {
	if p.call.Mask == nil {
		return header, body, true
	}
	out := make(map[string][]string, len(header))
	for name, values := range header {
		if clean, ok := p.call.Mask([]byte(name)); !ok || string(clean) != name {
			continue // a name with a value in it is no name any more
		}
		for _, v := range values {
			clean, ok := p.call.Mask([]byte(v))
			if !ok {
				return nil, nil, false
			}
			out[name] = append(out[name], string(clean))
		}
	}
	clean, ok := p.call.Mask(body)
	if !ok {
		return nil, nil, false
	}
	if len(clean) != len(body) || !bytes.Equal(clean, body) {
		delete(out, "Content-Length")
	}
	return out, clean, true
}

// shownURL is the URL that answered, for the plugin.
func (p *PluginHTTP) shownURL(t egress.Target) (string, bool) {
	raw := p.standOut(t.String())
	if p.call.Mask == nil {
		return raw, true
	}
	clean, ok := p.call.Mask([]byte(raw))
	return string(clean), ok
}

// encoded reports a body that is still in an encoding, so that a value in it would not be seen.
func encoded(h http.Header) bool {
	for _, v := range h.Values("Content-Encoding") {
		if v = strings.TrimSpace(v); v != "" && !strings.EqualFold(v, "identity") {
			return true
		}
	}
	return false
}

// unsearched is the answer to a body that cannot be searched.
func unsearched(t egress.Target) (wire.HTTPReply, []byte, error) {
	return faultf(wire.CodeFailed, "the answer of %s cannot be searched for secrets, so it is not passed on", t.Origin())
}
