package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A guard that was moved or reworded must be found again in the table, not in a run of it.
func TestTheTableIsCurrent(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range table() {
		if seen[g.name] || g.name == "" || strings.ContainsAny(g.name, " /") {
			t.Errorf("%q is no name of its own", g.name)
		}
		seen[g.name] = true
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(g.file)))
		if err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		if broken, err := g.broken(string(text)); err != nil || broken == string(text) {
			t.Errorf("%s: taking it out changes nothing (%v)", g.name, err)
		}
		name, _, _ := strings.Cut(g.test, "/")
		if !hasTest(t, filepath.Join("..", "..", filepath.FromSlash(g.pkg)), name) {
			t.Errorf("%s: there is no %s in %s", g.name, name, g.pkg)
		}
	}
	if len(seen) < 24 {
		t.Errorf("%d guards, at least 24 are due", len(seen))
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("func "+name+"(t *testing.T)")) {
			return true
		}
	}
	return false
}

// What counts as noticing: a failure of the named test, or its end by the clock or by the memory it ran into.
func TestOnlyTheNamedTestNotices(t *testing.T) {
	for out, want := range map[string]bool{
		"=== RUN   TestX\n--- FAIL: TestX (0.1s)\n":                          true,
		"=== RUN   TestX\n=== RUN   TestX/a\n    --- FAIL: TestX/a (0.1s)\n": false,
		"=== RUN   TestX\npanic: test timed out after 40s\nrunning tests:\n": true,
		"=== RUN   TestX\nfatal error: runtime: out of memory\n":             true,
		"panic: in an initialiser\n":                                         false,
		"=== RUN   TestXY\n--- FAIL: TestXY (0.1s)\n":                        false,
		"testing: warning: no tests to run\nPASS\n":                          false,
	} {
		if noticed([]byte(out), "TestX", false) != want {
			t.Errorf("%q", out)
		}
	}
	if !noticed([]byte("=== RUN   TestX\n"), "TestX", true) || noticed(nil, "TestX", true) {
		t.Error("a test that hung has noticed, and one that never began has not")
	}
}

func TestPartsAreTheWhole(t *testing.T) {
	all := table()
	seen := map[string]int{}
	for _, part := range []string{"0/6", "7/6", "2/6", "3/6", "4/6", "5/6"} {
		mine, err := nth(all, part)
		if err != nil || len(mine) < len(all)/6 {
			t.Errorf("%s: %d guards, %v", part, len(mine), err)
		}
		for _, g := range mine {
			seen[g.name]++
		}
	}
	for _, g := range all {
		if seen[g.name] != 1 {
			t.Errorf("%s is in %d parts", g.name, seen[g.name])
		}
	}
	for _, bad := range []string{"", "1", "1/0", "a/b", "-1/2"} {
		if _, err := nth(all, bad); err == nil {
			t.Errorf("%q is a part", bad)
		}
	}
}

// Rapid writes the sequence of a test that fails into the package's testdata, which an overlay does not move: whoever takes
// a guard out tells it not to.
func TestWhatFailsOnPurposeWritesNothingDown(t *testing.T) {
	p := &proof{root: t.TempDir()}
	bin := filepath.Join(p.root, "asked")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\necho nofailfile=$RAPID_NOFAILFILE\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, _, err := p.test(t.Context(), bin, ".", "TestX", testTime); err != nil || string(out) != "nofailfile=1\n" {
		t.Errorf("a test is run with %q, %v", out, err)
	}
}
