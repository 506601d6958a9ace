// Package checkout tells a test where its checkout is, and the public test data beside it: JSON test suites, naughty strings
// and the like.
//
// It owns one decision: what a test does without that data. Where it was promised, by CI=true or by PORTCULLIS_TESTDATA, its
// absence fails the test; in a clone that has none the test is skipped, with a sentence. It keeps nothing.
package checkout

import (
	"os"
	"path/filepath"
	"testing"
)

// Root is the nearest folder above the test's own that has a go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = up
	}
}

// Data is where a file or folder of the public test data is, by its names below the data's folder: that of
// PORTCULLIS_TESTDATA, or ../shared/data beside the checkout.
func Data(t testing.TB, names ...string) string {
	t.Helper()
	folder := os.Getenv("PORTCULLIS_TESTDATA")
	promised := folder != "" || os.Getenv("CI") == "true"
	if folder == "" {
		folder = filepath.Join(Root(t), "..", "shared", "data")
	}
	path := filepath.Join(append([]string{folder}, names...)...)
	switch _, err := os.Stat(path); {
	case err == nil:
		return path
	case promised || !os.IsNotExist(err):
		t.Fatalf("public test data is missing: %v", err)
	}
	t.Skip("the public test data is not here: set PORTCULLIS_TESTDATA to its folder")
	return ""
}

// ReadData is the content of one file of the public test data.
func ReadData(t testing.TB, names ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(Data(t, names...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
