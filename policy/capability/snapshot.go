package capability

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Snapshot is an immutable set of grants. Copies share nothing that can change. The zero Snapshot allows nothing
// and equals a snapshot of no grants.
type Snapshot struct{ grants []Grant } // sorted by spelling, no duplicates, never written after New

// NewSnapshot freezes a set of grants. Order and duplicates do not matter; zero grants are dropped.
func NewSnapshot(grants ...Grant) Snapshot {
	own := slices.DeleteFunc(slices.Clone(grants), Grant.Zero)
	slices.SortFunc(own, func(a, b Grant) int { return strings.Compare(a.String(), b.String()) })
	return Snapshot{slices.Compact(own)}
}

// ParseSnapshot is [NewSnapshot] of parsed texts. An error is the first text's [*SyntaxError], with the zero
// Snapshot: a list with one bad entry grants nothing.
func ParseSnapshot(texts ...string) (Snapshot, error) {
	grants := make([]Grant, 0, len(texts))
	for _, text := range texts {
		g, err := ParseGrant(text)
		if err != nil {
			return Snapshot{}, err
		}
		grants = append(grants, g)
	}
	return NewSnapshot(grants...), nil
}

// Allows reports whether some grant matches the use n. An open requirement is never allowed: see [Snapshot.Meets].
func (s Snapshot) Allows(n Name) bool {
	return slices.ContainsFunc(s.grants, func(g Grant) bool { return g.Matches(n) })
}

// AllowsFamily reports whether some grant is in family, as "net.fetch" asks for some net.fetch:<host>. It opens
// the door to a host function; which argument may be used is asked with [Snapshot.Allows] when the call is made.
func (s Snapshot) AllowsFamily(family string) bool {
	return slices.ContainsFunc(s.grants, func(g Grant) bool { return g.Family() == family })
}

// Meets reports whether the requirement n is met: [Snapshot.Allows] for a complete name, [Snapshot.AllowsFamily]
// for an open one. It is what load time and the catalog ask.
func (s Snapshot) Meets(n Name) bool {
	if n.Open() {
		return s.AllowsFamily(n.Family())
	}
	return s.Allows(n)
}

// Missing returns the requirements that s does not meet, in the given order, once each.
func (s Snapshot) Missing(needs ...Name) []Name {
	var missing []Name
	for _, n := range needs {
		if !s.Meets(n) && !slices.Contains(missing, n) {
			missing = append(missing, n)
		}
	}
	return missing
}

// Grants returns the grants sorted by spelling, as a fresh slice.
func (s Snapshot) Grants() []Grant { return slices.Clone(s.grants) }

// Strings returns the spellings of the grants, sorted.
func (s Snapshot) Strings() []string {
	texts := make([]string, len(s.grants))
	for i, g := range s.grants {
		texts[i] = g.String()
	}
	return texts
}

// Equal reports the same grants.
func (s Snapshot) Equal(o Snapshot) bool { return slices.Equal(s.grants, o.grants) }

// Fingerprint is the sha256, in hex, of the sorted spellings with a newline after each. Equal sets have equal
// fingerprints on every machine.
func (s Snapshot) Fingerprint() string {
	h := sha256.New()
	for _, g := range s.grants {
		h.Write([]byte(g.String() + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Intersect allows exactly the uses that both allow. Because a prefix grant is either inside another grant or
// apart from it, keeping the narrower of each nested pair is the whole intersection.
func (s Snapshot) Intersect(o Snapshot) Snapshot {
	var both []Grant
	for _, a := range s.grants {
		for _, b := range o.grants {
			switch {
			case a.Covers(b):
				both = append(both, b)
			case b.Covers(a):
				both = append(both, a)
			}
		}
	}
	return NewSnapshot(both...)
}

// Still is those grants of s that o has too, by their spelling. It is not [Snapshot.Intersect]: who asks which grant names a
// place must not find one that only o has, though s covers it.
func (s Snapshot) Still(o Snapshot) Snapshot {
	var left []Grant
	for _, g := range s.grants {
		if slices.Contains(o.grants, g) {
			left = append(left, g)
		}
	}
	return Snapshot{left}
}
