package console

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTypingRepeatsTheHomeAndTheProgram(t *testing.T) {
	y := Typing{Program: "./portcullis", Home: "/my $HOME/it's"}
	const as = `./portcullis --home '/my $HOME/it'\''s' `
	for in, want := range map[string]string{
		"portcullis init":                   as + "init",
		"`portcullis plugin list` shows":    "`" + as + "plugin list` shows",
		"first:\nportcullis a\n portcullis": "first:\n" + as + "a\n portcullis",
		"a portcullis made it":              "a portcullis made it",
		"`portcullis --help`":               "`portcullis --help`",
	} {
		if got := y.Remedy(in); got != want {
			t.Errorf("Remedy(%q) = %q, want %q", in, got, want)
		}
	}
	if got := y.Sentence("portcullis run needs WORDS"); got != "portcullis run needs WORDS" {
		t.Errorf("Sentence changed what is no command between backticks: %q", got)
	}
	if got := (Typing{}).Remedy("`portcullis init`"); got != "`portcullis init`" {
		t.Errorf("the standard program and home: %q", got)
	}
}

func TestTypedAs(t *testing.T) {
	bin, checkout := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	installed := filepath.Join(bin, "portcullis")
	if err := os.WriteFile(installed, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(checkout, "cli", "portcullis")
	if err := os.MkdirAll(main, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(main, "main.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"portcullis":                            "portcullis",
		installed:                               "portcullis",
		"./portcullis":                          "./portcullis",
		"/opt/my tools/portcullis":              "'/opt/my tools/portcullis'",
		"/tmp/go-build123/b001/exe/portcullis":  "go run ./cli/portcullis",
		"/h/.cache/go-build/ab/ab-d/portcullis": "go run ./cli/portcullis",
	} {
		if got := typedAs(in, checkout); got != want {
			t.Errorf("typedAs(%q) = %q, want %q", in, got, want)
		}
	}
	if got := typedAs("/tmp/go-build123/b001/exe/portcullis", bin); got != "portcullis" {
		t.Errorf("outside a checkout: %q", got)
	}
}
