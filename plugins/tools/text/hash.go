package main

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"

	"github.com/b3abf3ee/portcullis/sdk"
)

// HashIn is what to hash and how to write the digest.
type HashIn struct {
	Text      *string `json:"text,omitempty" desc:"Text, hashed as UTF-8. Give either this or base64." maxLength:"524288"`
	Base64    *string `json:"base64,omitempty" desc:"Bytes in standard base64." maxLength:"699052"`
	Algorithm string  `json:"algorithm,omitempty" desc:"sha1 and md5 are broken: only for checking checksums that others publish." enum:"sha256|sha512|sha1|md5" default:"sha256"`
	Encoding  string  `json:"encoding,omitempty" enum:"hex|base64" default:"hex"`
}

// HashOut is the digest.
type HashOut struct {
	Algorithm string `json:"algorithm"`
	Digest    string `json:"digest"`
	Bytes     int    `json:"bytes" desc:"How many bytes were hashed."`
}

// Hash computes a digest. Nothing in this plugin is secret, so there are no
// keyed digests: a secret does not belong into a tool's arguments.
func Hash(_ context.Context, in HashIn, _ sdk.Host) (HashOut, error) {
	data, err := in.data()
	if err != nil {
		return HashOut{}, err
	}
	var sum []byte
	switch in.Algorithm {
	case "sha256":
		s := sha256.Sum256(data)
		sum = s[:]
	case "sha512":
		s := sha512.Sum512(data)
		sum = s[:]
	case "sha1":
		s := sha1.Sum(data)
		sum = s[:]
	case "md5":
		s := md5.Sum(data)
		sum = s[:]
	default:
		return HashOut{}, sdk.Errorf(sdk.Invalid, "algorithm %q is not sha256, sha512, sha1 or md5", in.Algorithm)
	}
	out := HashOut{Algorithm: in.Algorithm, Bytes: len(data), Digest: hex.EncodeToString(sum)}
	if in.Encoding == "base64" {
		out.Digest = base64.StdEncoding.EncodeToString(sum)
	}
	return out, nil
}

func (in HashIn) data() ([]byte, error) {
	switch {
	case (in.Text == nil) == (in.Base64 == nil):
		return nil, sdk.Errorf(sdk.Invalid, "give what to hash either as text or as base64")
	case in.Text != nil:
		return []byte(*in.Text), fits("text", *in.Text)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(*in.Base64)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "base64: %v", err)
	}
	return data, fits("base64", string(data))
}
