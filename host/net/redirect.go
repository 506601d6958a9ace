package net

import (
	"net/http"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// redirects reports a status whose Location a client may follow by itself. 300 and 305 are for people and the past.
// Source: RFC 9110 section 15.4.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow is the exchange at the next hop; it is not judged yet. Next to a refusal its target is where the redirect
// would have led, if that could be read.
//
// 303 turns every method but HEAD into GET. 301 and 302 turn POST into GET, as every client does and RFC 9110
// allows; other methods stay. 307 and 308 change nothing. With the method the body goes and its headers.
//
// To another origin (scheme, host or port) goes neither a body nor a header that may hold a credential, and nothing at
// all when the host itself added a credential to the request. What stayed behind does not come back on the way home.
func (x exchange) follow(status int, location string) (exchange, egress.Verdict) {
	from := x.target
	x.hop++
	next, v := from.Resolve(location)
	x.target = next
	switch {
	case !v.Allowed:
		return x, v
	case x.hop > MaxRedirects:
		return x, refuse(TooManyRedirects, "this is one redirect too many")
	case from.Scheme() == "https" && next.Scheme() == "http":
		return x, refuse(InsecureRedirect, "the redirect gives up https")
	}
	crosses := next.Origin() != from.Origin()
	toGet := toGet(status, x.method)
	switch {
	case crosses && x.bound:
		return x, refuse(CredentialRedirect, "the request carries a credential for "+from.Origin()+", which is shown to nobody else")
	case crosses && !toGet && len(x.body) > 0:
		return x, refuse(BodyRedirect, "the body was written for "+from.Origin()+", and the redirect would send it elsewhere")
	}
	header := http.Header{}
	for name, values := range x.header {
		switch {
		case toGet && aboutBody(name):
		case crosses && !crossesOrigins(name):
		default:
			header[name] = values
		}
	}
	x.header = header
	if toGet {
		x.method, x.body = http.MethodGet, nil
	}
	return x, v
}

// toGet reports a redirect that makes a GET of the method.
func toGet(status int, method string) bool {
	return status == http.StatusSeeOther && method != http.MethodHead ||
		(status == http.StatusMovedPermanently || status == http.StatusFound) && method == http.MethodPost
}

// aboutBody reports headers that describe a body which is gone.
func aboutBody(name string) bool {
	switch name {
	case "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Range", "Content-Md5",
		"Content-Digest", "Repr-Digest", "Digest":
		return true
	}
	return false
}

// crossesOrigins is the list of headers that may be shown to another server than they were written for. It is a
// list of what may, because nobody knows the name of every header that holds a key.
func crossesOrigins(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Accept-Language", "User-Agent", "Cache-Control", "Range":
		return true
	}
	return false
}
