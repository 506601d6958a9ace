package wire

// HTTPRequest is the header of a [ImportHTTP] argument; the request body
// follows it. The host applies URL policy to the URL and to every redirect.
type HTTPRequest struct {
	Method string `json:"method"`
	// URL is absolute, http or https, without user information.
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers,omitempty"`
	// TimeoutMS bounds the exchange; 0 leaves it to the call's deadline, which
	// bounds it in any case.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// MaxBytes refuses (too_large) a longer response body; 0 means the plugin's
	// own limit.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// NoRedirect returns a 3xx response instead of following it.
	NoRedirect bool `json:"no_redirect,omitempty"`
}

// HTTPReply is the header of the reply; the response body follows it. With a
// fault there is no response and no body.
type HTTPReply struct {
	Status  int                 `json:"status,omitempty"`
	Headers map[string][]string `json:"headers,omitempty"`
	// URL is the one that answered, after redirects.
	URL   string `json:"url,omitempty"`
	Fault *Fault `json:"fault,omitempty"`
}
