package codec

import (
	"reflect"
	"strings"
	"testing"
)

// spelt says what String says, as a type of package main would.
type spelt struct {
	reflect.Type
	as string
}

func (s spelt) String() string { return s.as }

func TestTypesAreWrittenAsTheirAuthorWritesThem(t *testing.T) {
	for as, want := range map[string]string{
		"main.P":                      "P",
		"[]main.P":                    "[]P",
		"*main.P":                     "*P",
		"[4]main.P":                   "[4]P",
		"map[main.K][]*main.P":        "map[K][]*P",
		"main.Pair[main.K,main.P]":    "Pair[K,P]",
		"domain.P":                    "domain.P",
		"netip.Addr":                  "netip.Addr",
		"main.G[example.com/main.P]":  "G[example.com/main.P]",
		"other.G[a.example/domain.P]": "other.G[a.example/domain.P]",
		"main":                        "main",
	} {
		if got := source(spelt{as: as}); got != want {
			t.Errorf("%s is written %s, want %s", as, got, want)
		}
	}
}

func TestFaultsAreToldOnceAndNotWithoutEnd(t *testing.T) {
	var f Faults
	for i := range 25 {
		f = append(f, strings.Repeat("x", i), strings.Repeat("x", i))
	}
	told := f.Told()
	if len(told) != maxFaults+1 || told[19] != strings.Repeat("x", 19) || told[20] != "and 5 more" {
		t.Errorf("told %d: %q", len(told), told)
	}
	if f = f[:4]; f.Error() != "; x" {
		t.Errorf("two are told as %q", f.Error())
	}
}
