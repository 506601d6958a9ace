package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
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

func anything(*binary) *LoadError { return nil }

// What is kept on disk is what was made, facts and code.
func TestAPreparedModuleIsFoundAgainByAnotherEngine(t *testing.T) {
	wasm, dir := fixture(t, "tool.wasm"), t.TempDir()
	digest := digestOf(wasm)
	first := &Engine{cacheDir: dir}
	made, err := first.prepare(digest, wasm, anything)
	if err != nil {
		t.Fatal(err)
	}
	found, ok := (&Engine{cacheDir: dir}).kept(digest)
	if !ok || !bytes.Equal(found.code, made.code) || !reflect.DeepEqual(found.declares, made.declares) {
		t.Fatalf("found %v, %+v, want %+v", ok, found.declares, made.declares)
	}
	info, err := os.Stat(first.preparedPath(digest))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info.Mode(), err)
	}
}

// A file that was cut or changed is made anew, and never run.
func TestADamagedPreparedModuleIsMadeAnew(t *testing.T) {
	wasm, dir := fixture(t, "tool.wasm"), t.TempDir()
	digest, e := digestOf(wasm), &Engine{cacheDir: dir}
	made, err := e.prepare(digest, wasm, anything)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(e.preparedPath(digest))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	for name, damage := range map[string][]byte{"empty": {}, "cut": whole[:len(whole)/2], "flipped": flipped, "head": whole[:70]} {
		if err := os.WriteFile(e.preparedPath(digest), damage, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := e.kept(digest); ok {
			t.Errorf("%s: was taken", name)
		}
		again, err := e.prepare(digest, wasm, anything)
		if err != nil || !bytes.Equal(again.code, made.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The kept form is asked for what the module may, not only the fresh one: grants change and the file does not.
func TestAKeptModuleIsHeldAgainstItsPluginToo(t *testing.T) {
	wasm, e := fixture(t, "tool.wasm"), &Engine{cacheDir: t.TempDir()}
	digest := digestOf(wasm)
	if _, err := e.prepare(digest, wasm, anything); err != nil {
		t.Fatal(err)
	}
	no := func(*binary) *LoadError { return refuse("x", CodeNotGranted, "no") }
	if _, err := e.prepare(digest, wasm, no); err == nil {
		t.Fatal("a kept module was let through")
	}
}

// What read and metered make of one module is pinned: when this fails, raise prepareVersion and pin the new digest, or
// an older program's modules will run under the new program's rules.
func TestPrepareVersionNamesThisOutput(t *testing.T) {
	const version, want = "3", "7f1ec7c4979722cb6e3382d87b0c643580761fd8e8eb68785d4a34d2a72a75d8"
	ready, err := (&Engine{}).prepare("", fixture(t, "init_order.wasm"), anything)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(ready.code)
	if got := hex.EncodeToString(sum[:]); got != want || prepareVersion != version {
		t.Fatalf("version %s makes %s, pinned are %s and %s", prepareVersion, got, version, want)
	}
}

// Whatever is decoded was encoded whole: a mutated file is refused or equal.
func FuzzDecodePrepared(f *testing.F) {
	ready, err := (&Engine{}).prepare("", fixture(f, "tool.wasm"), anything)
	if err != nil {
		f.Fatal(err)
	}
	whole, err := encodePrepared(ready)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:80])
	f.Fuzz(func(t *testing.T, data []byte) {
		p, ok := decodePrepared(data)
		if !ok {
			return
		}
		again, err := encodePrepared(p)
		if err != nil {
			t.Fatal(err)
		}
		if back, ok := decodePrepared(again); !ok || !bytes.Equal(back.code, p.code) {
			t.Fatal("what was accepted does not survive being written again")
		}
	})
}
