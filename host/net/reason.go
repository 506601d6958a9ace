package net

import (
	"github.com/b3abf3ee/portcullis/policy/egress"
)

// Reasons that this package adds to those of policy/egress. Codes never change once released.
const (
	// NotGranted: the operator has not granted this place to the plugin.
	NotGranted egress.Reason = "not_granted"
	// NotInCore: the core does not have the capability, or its egress rules leave the place out.
	NotInCore egress.Reason = "not_in_core"
	// OtherOrigin: a client was asked for another origin than its own, or a Host header for another than the URL's.
	OtherOrigin egress.Reason = "other_origin"
	// RedirectNotFollowed: somebody else's redirect rule was put on a client that follows none.
	RedirectNotFollowed egress.Reason = "redirect_not_followed"
	// CredentialClobbered: the plugin filled a place that the host puts a credential into.
	CredentialClobbered egress.Reason = "credential_clobbered"
	// CredentialInsecure: the credential would be sent in the clear.
	CredentialInsecure egress.Reason = "credential_insecure"
	// CredentialUnfit: the value cannot stand in its place.
	CredentialUnfit egress.Reason = "credential_unfit"
	// PlaceholderMisplaced: a placeholder stands where no credential is declared.
	PlaceholderMisplaced egress.Reason = "placeholder_misplaced"
	// RangeWithCredential: part of an answer was asked for with a credential.
	RangeWithCredential egress.Reason = "range_with_credential"
	// InsecureRedirect: a redirect leads from https to http.
	InsecureRedirect egress.Reason = "insecure_redirect"
	// CredentialRedirect: a request to which the host added a credential is redirected to another origin.
	CredentialRedirect egress.Reason = "credential_redirect"
	// BodyRedirect: a redirect would send a body to another origin.
	BodyRedirect egress.Reason = "body_redirect"
	// SecretInRequest: the plugin wrote a value of the host's into the request, which it came by in some other way than
	// by being given it to send.
	SecretInRequest egress.Reason = "secret_in_request"
	// TooManyRedirects: the chain is longer than [MaxRedirects].
	TooManyRedirects egress.Reason = "too_many_redirects"
)

// RefusedError says that policy refused to connect. It holds an origin, a code and sentences for people; nothing
// of path, query or header.
type RefusedError struct {
	Origin   string // empty when the URL could not be read
	Reason   egress.Reason
	Sentence string
	Remedy   string // what the operator would type or edit; may be empty
}

// Error is the origin, the sentence, the code and the remedy: who speaks for the host itself tells the operator.
func (e *RefusedError) Error() string {
	s := e.Sentence + " (" + string(e.Reason) + ")"
	if e.Origin != "" {
		s = e.Origin + ": " + s
	}
	if e.Remedy != "" {
		s += ": to open it, " + e.Remedy
	}
	return "net: refused: " + s
}

// Refused tells a model adapter, which must not import this package, that the request was never sent and that sending
// it again would be refused again.
func (e *RefusedError) Refused() bool { return true }

func refused(t egress.Target, v egress.Verdict) *RefusedError {
	return &RefusedError{t.Origin(), v.Reason, v.Sentence, v.Remedy}
}

func refuse(r egress.Reason, sentence string) egress.Verdict {
	return egress.Verdict{Reason: r, Sentence: sentence}
}
