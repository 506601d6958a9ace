package plugin

import (
	"cmp"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// compareVersions orders by precedence of Semantic Versioning 2.0.0 section 11. Text that is no version comes first.
func compareVersions(a, b string) int {
	if va, vb := wire.ValidVersion(a), wire.ValidVersion(b); !va || !vb {
		return cmp.Compare(b2i(va), b2i(vb))
	}
	coreA, preA := precedence(a)
	coreB, preB := precedence(b)
	for i := range coreA {
		if c := compareNumbers(coreA[i], coreB[i]); c != 0 {
			return c
		}
	}
	if preA == "" || preB == "" { // a release comes after its pre-releases
		return cmp.Compare(b2i(preA == ""), b2i(preB == ""))
	}
	restA, restB := strings.Split(preA, "."), strings.Split(preB, ".")
	for i := range min(len(restA), len(restB)) {
		if c := compareIdentifiers(restA[i], restB[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(restA), len(restB))
}

// precedence splits a valid version; build metadata has no part in it.
func precedence(v string) (core []string, pre string) {
	v, _, _ = strings.Cut(v, "+")
	v, pre, _ = strings.Cut(v, "-")
	return strings.Split(v, "."), pre
}

func compareIdentifiers(a, b string) int {
	numA, numB := digits(a), digits(b)
	switch {
	case numA && numB:
		return compareNumbers(a, b)
	case numA != numB: // numbers come before words
		return cmp.Compare(b2i(numB), b2i(numA))
	}
	return cmp.Compare(a, b)
}

// compareNumbers compares digits without leading zeros of any length.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
