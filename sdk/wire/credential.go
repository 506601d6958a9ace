package wire

import "strings"

// Credential is one place where the host puts a secret into requests of the
// plugin. The plugin never sees the value: it is added after policy has judged
// the request, just before it is sent, and to this destination alone.
//
// "{NAME}", with the name of the secret, stands for the value: in Template, and
// for InPath and InBody in what the plugin sends.
type Credential struct {
	Name   string `json:"name"`   // of the place, see [ValidSettingName]
	Secret string `json:"secret"` // the plugin asks for secret.bind:<Secret>
	In     string `json:"in"`     // see [CredentialPlaces]
	// Field is where: a header's or a query parameter's name, or in a body a
	// JSON pointer ("/auth/token", RFC 6901) or the name of a form's field.
	// Empty for InPath and InBasic.
	Field string `json:"field,omitempty"`
	// Template is what is written, with {NAME} in it once, as in
	// "Bearer {NAME}"; empty means the value alone. For InBasic it is
	// user:password. InPath and InBody have none.
	Template string `json:"template,omitempty"`
	// Origin is scheme, host and port, the scheme's own port left out:
	// "https://api.example.com". Only a loopback host may be plain http, and then
	// the operator has to open that very origin.
	Origin string `json:"origin"`
	// PathPrefix narrows the origin to paths of whole segments below it, as in
	// [Egress]; empty means every path.
	PathPrefix string `json:"path_prefix,omitempty"`
	Reason     string `json:"reason"`
}

// Places of a [Credential].
const (
	InHeader = "header" // the host sets the header
	InQuery  = "query"  // the host adds the parameter
	InBasic  = "basic"  // the host sets Authorization: Basic
	InPath   = "path"   // the plugin writes {NAME} into the URL's path
	InBody   = "body"   // the plugin writes {NAME} as the whole value of Field
)

// CredentialPlaces lists the words of [Credential.In].
func CredentialPlaces() []string { return []string{InHeader, InQuery, InBasic, InPath, InBody} }

// Placeholder is what stands for the value.
func (c Credential) Placeholder() string { return "{" + c.Secret + "}" }

// Fill writes the value into the template.
func (c Credential) Fill(value string) string {
	if c.Template == "" {
		return value
	}
	return strings.Replace(c.Template, c.Placeholder(), value, 1)
}

// Signing is one use of a secret as the key of a message authentication code.
// The plugin hands [ImportSign] bytes and gets the code; it never sees the key.
type Signing struct {
	Name      string `json:"name"`      // what the plugin asks with, see [ValidSettingName]
	Secret    string `json:"secret"`    // the plugin asks for secret.bind:<Secret>
	Algorithm string `json:"algorithm"` // see [SigningAlgorithms]
	// Key is how the secret's value is the key: see [SigningKeys]; empty means
	// KeyText.
	Key    string `json:"key,omitempty"`
	Reason string `json:"reason"`
}

// Algorithms of [Signing]. There is no SHA-1: no platform needs it, and those
// that still send it send SHA-256 as well.
const (
	HMACSHA256 = "hmac-sha256"
	HMACSHA512 = "hmac-sha512"
)

// SigningAlgorithms lists the words of [Signing.Algorithm].
func SigningAlgorithms() []string { return []string{HMACSHA256, HMACSHA512} }

// Keys of [Signing].
const (
	KeyText   = "text"   // the bytes of the value as it is
	KeyBase64 = "base64" // decoded, either alphabet, padded or not; "whsec_" before it is cut
	KeyHex    = "hex"    // decoded
)

// SigningKeys lists the words of [Signing.Key].
func SigningKeys() []string { return []string{KeyText, KeyBase64, KeyHex} }

// SignRequest is the header of a [ImportSign] argument; the bytes to sign, at
// most [MaxSignBytes], follow it.
type SignRequest struct {
	Name string `json:"name"` // of a [Signing] of the manifest
}

// SignReply is the header of the reply; the code follows it, 32 or 64 bytes.
type SignReply struct {
	Fault *Fault `json:"fault,omitempty"`
}

// ValidSecretName reports whether s names a secret: letters, digits and _, no
// digit first, at most 64 bytes.
func ValidSecretName(s string) bool {
	letter := func(c byte) bool { return isLower(c) || isUpper(c) || c == '_' }
	return len(s) <= 64 && wordOf(s, letter, func(c byte) bool { return letter(c) || isDigit(c) })
}
