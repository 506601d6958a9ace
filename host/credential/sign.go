package credential

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// MinKey is the fewest bytes of a key that is signed with. A plugin sees code and text, so that it can try keys at
// leisure: a shorter one could be found.
const MinKey = 16

// Signer makes the codes of one call (RFC 2104). It is safe for concurrent use.
type Signer struct {
	declared []wire.Signing
	bound    effect.Bound
}

// NewSigner is for a call of a plugin that declares these signings, with the secrets that were bound for it.
func NewSigner(declared []wire.Signing, bound effect.Bound) *Signer { return &Signer{declared, bound} }

// Sign is the code of data under the signing of a name: denied for a name that is not declared, and for one whose secret
// was not bound for this call; failed when the value is no key of the declared kind, or could be guessed. It never
// returns an error.
func (s *Signer) Sign(_ context.Context, name string, data []byte) ([]byte, *wire.Fault, error) {
	no := func(code wire.Code, format string, args ...any) ([]byte, *wire.Fault, error) {
		return nil, &wire.Fault{Code: code, Message: fmt.Sprintf(format, args...)}, nil
	}
	for _, d := range s.declared {
		if d.Name != name {
			continue
		}
		value, ok := s.bound.Value(d.Secret)
		if !ok {
			return no(wire.CodeDenied, "signing %s needs secret.bind:%s, and the tool that was called does not list it: add sdk.Needs(\"secret.bind:%s\") to the tool", name, d.Secret, d.Secret)
		}
		key, ok := keyOf(d.Key, value)
		if !ok {
			return no(wire.CodeFailed, "the secret %s is not %s, which signing %s takes it for", d.Secret, d.Key, name)
		}
		if len(key) < MinKey {
			return no(wire.CodeFailed, "the secret %s is a key of fewer than %d bytes, which could be guessed from what it signed", d.Secret, MinKey)
		}
		algorithm, ok := algorithmOf(d.Algorithm)
		if !ok {
			return no(wire.CodeFailed, "this host does not know the algorithm of signing %s", name)
		}
		mac := hmac.New(algorithm, key)
		mac.Write(data)
		return mac.Sum(nil), nil, nil
	}
	return no(wire.CodeDenied, "the plugin declares no signing of this name")
}

func algorithmOf(word string) (func() hash.Hash, bool) {
	switch word {
	case wire.HMACSHA256:
		return sha256.New, true
	case wire.HMACSHA512:
		return sha512.New, true
	}
	return nil, false
}

// keyOf is the value as a key of the kind.
func keyOf(kind, value string) ([]byte, bool) {
	switch kind {
	case "", wire.KeyText:
		return []byte(value), true
	case wire.KeyHex:
		key, err := hex.DecodeString(value)
		return key, err == nil
	case wire.KeyBase64:
		value = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(strings.TrimPrefix(value, "whsec_"), "="))
		key, err := base64.RawStdEncoding.DecodeString(value)
		return key, err == nil
	}
	return nil, false
}
