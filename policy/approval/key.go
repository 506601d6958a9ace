package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"

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
	Policy       string // [PolicyFingerprint] of the policies
	Entry        Entry
	Granted      string // fingerprint of what the operator granted the tool's plugin
	Definition   string // digest of all else that the tool says of itself, and of where it comes from
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
		b.Core, b.Revision, b.Capabilities, b.Effective.String(), b.Entry.Tool, b.Entry.Risk.String(), b.Entry.Mode.String(), b.Definition, b.Policy, b.Granted,
	}, names...)
	return Fingerprint(digest(fields...))
}

// PolicyFingerprint is a digest over the rules of several files as they were written: another rule is another policy,
// also where it comes to the same mode for one tool.
func PolicyFingerprint(policies ...Policy) string {
	parts := make([]string, len(policies))
	for i, p := range policies {
		if p.of != nil {
			parts[i] = p.of.digest
		}
	}
	return digest(parts...)
}

// digest is over every rule of one file, each with its place in it.
func (r Rules) digest() string {
	parts := []string{r.File, r.Default.Mode}
	for kind, rules := range [][]Rule{r.Tools, r.Capabilities, r.Risks} {
		for _, one := range rules {
			parts = append(parts, strconv.Itoa(kind), one.Key, one.Mode)
		}
	}
	return digest(append(parts, r.Approvers...)...)
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
