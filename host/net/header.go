package net

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// hostHeader reports a request header that is the host's to set or that would speak for somebody else: the framing
// of the connection, proxies, and where the request is said to come from. Request-Range is what some servers still read as
// a Range. A plugin's own Authorization and Cookie are not among them: there is no cookie jar and no credential here that they could collide with.
func hostHeader(name string) bool {
	switch name {
	case "Host", "Content-Length", "Expect", "Date", "Request-Range", "Via", "Forwarded", "X-Real-Ip", "True-Client-Ip", "Client-Ip", "X-Client-Ip":
		return true
	}
	return hopHeader(name) || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "Sec-")
}

// hopHeader reports headers that belong to one connection. Source: RFC 9110 section 7.6.1.
func hopHeader(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}

// requestHeader turns a plugin's headers into those that are sent: [hostHeader] and what Connection lists are left
// out, a User-Agent is added, and gzip is offered when the plugin did not choose an encoding itself. A name or
// value that HTTP does not allow, or too many, is a fault.
func requestHeader(in map[string][]string) (out http.Header, unzip bool, fault *wire.Fault) {
	invalid := func(why string) (http.Header, bool, *wire.Fault) {
		return nil, false, &wire.Fault{Code: wire.CodeInvalid, Message: why}
	}
	named := map[string]bool{}
	out = http.Header{}
	lines, size := 0, 0
	for _, name := range sortedNames(in) {
		if !token(name) {
			return invalid("a header has a name that HTTP does not allow")
		}
		canonical := http.CanonicalHeaderKey(name)
		for _, value := range in[name] {
			if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				return invalid("the header " + canonical + " has control characters in its value")
			}
			if lines, size = lines+1, size+len(name)+len(value)+4; lines > wire.MaxHeaderCount || size > maxHeaderBytes {
				return nil, false, &wire.Fault{Code: wire.CodeTooLarge, Message: "the request has too many headers"}
			}
			if canonical == "Connection" {
				for part := range strings.SplitSeq(value, ",") {
					named[http.CanonicalHeaderKey(strings.TrimSpace(part))] = true
				}
			}
			if !hostHeader(canonical) {
				out[canonical] = append(out[canonical], value)
			}
		}
	}
	for name := range named {
		delete(out, name)
	}
	if len(out["User-Agent"]) == 0 {
		out["User-Agent"] = []string{"portcullis"}
	}
	if len(out["Accept-Encoding"]) == 0 {
		out["Accept-Encoding"], unzip = []string{"gzip"}, true
	}
	return out, unzip, nil
}

// maxReplyHeader bounds the response headers as the guest gets them, so that they fit a frame's header with room
// for a URL.
const maxReplyHeader = wire.MaxHeaderBytes - wire.MaxURL - 1024

// responseHeader copies what is not about the connection. Bytes that are not UTF-8 become U+FFFD.
func responseHeader(in http.Header) (map[string][]string, *wire.Fault) {
	out, lines := make(map[string][]string, len(in)), 0
	for name, values := range in {
		if hopHeader(name) {
			continue
		}
		for _, v := range values {
			lines++
			out[name] = append(out[name], strings.ToValidUTF8(v, "\ufffd"))
		}
	}
	text, err := json.Marshal(out)
	if err != nil || lines > wire.MaxHeaderCount || len(text) > maxReplyHeader {
		return nil, &wire.Fault{Code: wire.CodeTooLarge, Message: "the answer has too many headers"}
	}
	return out, nil
}

// token reports a name as RFC 9110 section 5.6.2 has it.
func token(s string) bool {
	return s != "" && strings.Trim(s, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

func sortedNames(in map[string][]string) []string {
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
