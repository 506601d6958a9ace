package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Fingerprint is a sha256, in hex, over everything that an allowance depends on.
type Fingerprint string

// Basis is what an allowance was given under. Any change of it is a new fingerprint, so that a remembered
// allowance is not found again.
type Basis struct {
	Core         string // core id
	Revision     string // content digest of the core
	Capabilities string // fingerprint of the capability snapshot
	Effective    Mode   // what the policies came to for the entry
	Entry        Entry
}

// Fingerprint is a digest over every field of b, each with its length before it so that no two bases read alike.
// The order of the entry's capabilities does not matter.
func (b Basis) Fingerprint() Fingerprint {
	names := make([]string, len(b.Entry.Capabilities))
	for i, n := range b.Entry.Capabilities {
		names[i] = n.String()
	}
	slices.Sort(names)
	fields := append([]string{
		b.Core, b.Revision, b.Capabilities, b.Effective.String(), b.Entry.Tool, b.Entry.Risk.String(), b.Entry.Mode.String(),
	}, names...)
	return Fingerprint(digest(fields...))
}

// Key is what a remembered allowance is found by. It is comparable. All five parts must be equal: what one person
// allowed in one session for one rule under one policy allows nothing else.
// Source: Host Runtime Contracts, PrincipalScope: at least (principal, session, policy fingerprint, rule key).
type Key struct {
	Principal   string
	Session     string
	Core        string
	Fingerprint Fingerprint
	Rule        string
}

// NewKey makes the key of an allowance by scope in session; false when scope may not act in the session or a part
// is missing, in which case nothing may be remembered. rule is an [Entry.RuleKey].
func NewKey(scope principal.Scope, session string, b Basis, rule string) (Key, bool) {
	if !scope.Allows(session) || b.Core == "" || rule == "" {
		return Key{}, false
	}
	return Key{scope.PrincipalID(), session, b.Core, b.Fingerprint(), rule}, true
}

// Short is 16 hex digits of k's digest: what audit records show in place of the key.
func (k Key) Short() string {
	return digest(k.Principal, k.Session, k.Core, string(k.Fingerprint), k.Rule)[:16]
}

func digest(fields ...string) string {
	h := sha256.New()
	for _, f := range fields {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		h.Write([]byte(f))
	}
	return hex.EncodeToString(h.Sum(nil))
}
