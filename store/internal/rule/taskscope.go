package rule

import "strings"

// ScopesAround are a and every write scope that a lies in, a first. A scope holds what its text goes on to behind a slash, as a
// folder holds what is in it.
func ScopesAround(a string) (all []string) {
	for a != "" {
		all = append(all, a)
		a = a[:max(strings.LastIndexByte(a, '/'), 0)]
	}
	return all
}

// ScopesBelow bounds the write scopes that lie in a: they are after from and before to.
func ScopesBelow(a string) (from, to string) { return a + "/", a + "0" } // the next byte behind a slash

// ScopesClash reports whether what writes to a and what writes to b may write to the same. An empty scope is nothing.
func ScopesClash(a, b string) bool {
	return a != "" && b != "" && (a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/"))
}
