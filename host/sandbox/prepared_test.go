package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// What read and metered make of one module is pinned: when this fails, raise prepareVersion and pin the new digest, or
// an older program's modules will run under the new program's rules.
func TestPrepareVersionNamesThisOutput(t *testing.T) {
	const version, want = "6", "35c842cbd1338da6ff7c0b9998c91182e379d285be9cbea7955cf63830d9f036"
	ready, err := prepare(fixture(t, "init_order.wasm"), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(ready.code)
	if got := hex.EncodeToString(sum[:]); got != want || prepareVersion != version {
		t.Fatalf("version %s makes %s, pinned are %s and %s", prepareVersion, got, version, want)
	}
}
