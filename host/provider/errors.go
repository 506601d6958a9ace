package provider

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// ErrorKind classifies a failure by what its caller can do about it.
type ErrorKind string

// The kinds of failure. See [ErrorKind.Retryable] for which may be repeated.
const (
	// KindRateLimited: too many requests for now (HTTP 429).
	KindRateLimited ErrorKind = "rate_limited"
	// KindOverloaded: the vendor failed or is too busy (HTTP 409, 5xx, 529).
	KindOverloaded ErrorKind = "overloaded"
	// KindContextOverflow: the request is larger than the model or the vendor takes.
	// Shrink the conversation, then ask again.
	KindContextOverflow ErrorKind = "context_overflow"
	// KindRefused: the vendor's policy refused the request itself. A model that
	// declines in an answer is not an error: see [FinishRefused].
	KindRefused ErrorKind = "refused"
	// KindAuth: the key is missing, wrong, without permission, or out of quota.
	KindAuth ErrorKind = "auth"
	// KindNetwork: no answer was received: name, dial, TLS, reset, silence.
	KindNetwork ErrorKind = "network"
	// KindBadRequest: the request or the configuration is wrong (other HTTP 4xx,
	// redirects, [Request.Validate]).
	KindBadRequest ErrorKind = "bad_request"
	// KindProtocol: an answer began and was not one: cut, malformed, unexpected.
	KindProtocol ErrorKind = "protocol"
	// KindTooLarge: the answer went over a cap of [Caps].
	KindTooLarge ErrorKind = "too_large"
	// KindCanceled: the caller's context ended.
	KindCanceled ErrorKind = "canceled"
	// KindScript: a script's expectation was not met or it has no step left.
	KindScript ErrorKind = "script"
)

// Retryable reports whether repeating the same request may help. It says
// nothing of whether it may be repeated: that also needs that the caller has
// been shown no output yet (see [Retrying]).
func (k ErrorKind) Retryable() bool {
	switch k {
	case KindRateLimited, KindOverloaded, KindNetwork, KindProtocol:
		return true
	default:
		return false
	}
}

// Error is every failure of a [Model].
type Error struct {
	Kind ErrorKind
	// Provider is the adapter's name; empty when the request never reached one.
	Provider string
	// Status is the HTTP status, 0 when there was none.
	Status int
	// RetryAfter is the pause the vendor asked for, 0 when it asked for none.
	RetryAfter time.Duration
	// RequestID is the vendor's name for the request.
	RequestID string
	// Sentence says what went wrong and what to do. It does not hold the key:
	// adapters pass vendor text through [Scrub]. What a vendor said is in it whole,
	// up to 64 KiB: hide what else is secret, then cut it.
	Sentence string
	// Cause is a context error or an error made by this module, never one from a
	// library: those may quote a request.
	Cause error
}

// Error returns the adapter, the kind, the facts known and the sentence.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("model")
	if e.Provider != "" {
		b.WriteString(" " + e.Provider)
	}
	fmt.Fprintf(&b, ": %s", e.Kind)
	var facts []string
	if e.Status != 0 {
		facts = append(facts, fmt.Sprintf("HTTP %d", e.Status))
	}
	if e.RequestID != "" {
		facts = append(facts, "request "+e.RequestID)
	}
	if e.RetryAfter > 0 {
		facts = append(facts, "retry after "+e.RetryAfter.String())
	}
	if len(facts) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(facts, ", "))
	}
	if e.Sentence != "" {
		b.WriteString(": " + e.Sentence)
	}
	return b.String()
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Cause }

// Retryable is [ErrorKind.Retryable] of the kind.
func (e *Error) Retryable() bool { return e.Kind.Retryable() }

// Scrub makes foreign text fit for an error: every occurrence of a secret
// becomes "[redacted]", and control characters but line ends and tabs become
// spaces. Secrets shorter than four bytes are ignored: replacing them would only
// shred the text. Nothing is cut and no white space is squeezed: whoever hides
// other secrets in it would not find what was changed, and does both afterwards.
func Scrub(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text))
}
