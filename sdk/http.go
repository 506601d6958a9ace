package sdk

import (
	"strings"
	"time"
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
