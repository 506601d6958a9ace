package net

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// A name of one label stands in the machine's hosts file if anywhere, and is asked for as it stands there; every other
// name is absolute, so that a search domain makes no other name of it.
func TestNamesAreAskedAsTheyStand(t *testing.T) {
	for url, want := range map[string]string{
		"http://localhost:8080/": "localhost", "https://api.example.com/": "api.example.com.",
	} {
		w := newWorld(t)
		target, v := egress.ParseURL(url)
		if !v.Allowed {
			t.Fatalf("%s: %s", url, v.Sentence)
		}
		_, _, _ = New(Config{Resolver: w}).lookup(t.Context(), target)
		if !slices.Equal(w.asked, []string{want}) {
			t.Errorf("%s: asked for %q", url, w.asked)
		}
	}
	target, _ := egress.ParseURL("http://localhost:8080/")
	found, v, err := New(Config{}).lookup(t.Context(), target)
	loopback := slices.ContainsFunc(found, netip.Addr.IsLoopback)
	if err != nil || !v.Allowed || !loopback {
		t.Errorf("localhost on this machine: %v, %s, %v", found, v.Sentence, err)
	}
}
