package plugin

import (
	"slices"
	"testing"
)

// The order is the example of Semantic Versioning 2.0.0 section 11, with neighbours.
func TestVersionsAreOrderedByPrecedence(t *testing.T) {
	want := []string{
		"latest", "0.9.9", "1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
		"1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.9.0", "1.10.0", "2.0.0", "18446744073709551617.0.0",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareVersions)
	if !slices.Equal(got, want) {
		t.Errorf("sorted %q\nwant   %q", got, want)
	}
	if compareVersions("1.0.0+a", "1.0.0+b") != 0 {
		t.Error("build metadata has a part in precedence")
	}
}
