package command

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/bundle"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
)

// shared is what all scripts have in common.
type shared struct {
	checkout string
	home     string            // a home as `portcullis init` makes it: each script gets its own copy
	faults   string            // a built plugin that goes wrong in every way
	ledger   string            // a built plugin that can say what became of a call
	env      map[string]string // caches that make building and compiling the same things again cheap
}

// share builds the bundled plugins as every other test does, then runs `portcullis init` in this process.
func share(t *testing.T) shared {
	t.Helper()
	s := shared{checkout: conformancetest.Root(t), home: filepath.Join(t.TempDir(), "home"), env: map[string]string{
		"GOCACHE": goEnv(t, "GOCACHE"), "GOMODCACHE": goEnv(t, "GOMODCACHE"), app.CacheVariable: conformancetest.CacheDir(t),
	}}
	names, err := bundle.Source{Checkout: s.checkout}.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		conformancetest.Plugin(t, name)
	}
	s.faults = conformancetest.Build(t, filepath.Join(s.checkout, "conformance", "guests", "faults"), "faults")
	s.ledger = conformancetest.Build(t, filepath.Join(s.checkout, "conformance", "guests", "ledger"), "ledger")
	for name, value := range s.env {
		t.Setenv(name, value)
	}
	var out, notes bytes.Buffer
	p := console.Process{In: strings.NewReader(""), Out: &out, Err: &notes, Env: os.Getenv, Dir: s.checkout}
	if code := Main(t.Context(), []string{"portcullis", "init", "--home", s.home, "--source", s.checkout}, p); code != console.ExitDone {
		t.Fatalf("init: exit code %d\n%s%s", code, out.String(), notes.String())
	}
	return s
}

// copyHome copies a home, modes included.
func copyHome(t fataler, from, to string) {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if d.IsDir() {
			return os.MkdirAll(target, info.Mode().Perm())
		}
		return copyOne(path, target, info.Mode().Perm())
	})
	if err != nil {
		t.Fatalf("copy the home: %v", err)
	}
}

// fataler is a test or a script.
type fataler interface {
	Fatalf(format string, args ...any)
}

func copyOne(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
