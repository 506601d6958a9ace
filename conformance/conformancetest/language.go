package conformancetest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Guest is the guest of all languages, as one toolchain made it.
type Guest struct {
	Name string // c, cpp, go, …: also its plugin's id, and what its two tools begin with
	Wasm []byte
}

// Languages are the guests of conformance/guests/languages: that in Go built here, the others as they are kept. One that
// is not what was built from the sources beside it ends the test.
func Languages(t testing.TB) []Guest {
	t.Helper()
	root := Root(t)
	kept := filepath.Join(root, "conformance", "testdata", "languages")
	list, err := os.ReadFile(filepath.Join(kept, "built.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []Guest
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			t.Fatalf("built.txt: %q is not a name, a digest, a size and a digest of sources", line)
		}
		wasm := keptGuest(t, kept, f[0])
		if size, err := strconv.Atoi(f[2]); err != nil || len(wasm) != size || digest(wasm) != f[1] {
			t.Fatalf("%s is another module than built.txt says: conformance/guests/languages/rebuild.sh keep", f[0])
		}
		if sources := languageSources(t, root, f[0]); sources != f[3] {
			t.Fatalf("%s was built from other sources than those here: conformance/guests/languages/rebuild.sh keep", f[0])
		}
		all = append(all, Guest{f[0], wasm})
	}
	dir := Build(t, filepath.Join(root, "conformance", "guests", "languages", "go"), "language-go")
	wasm, err := os.ReadFile(filepath.Join(dir, "go.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return append(all, Guest{"go", wasm})
}

// keptGuest reads one module, which is packed when it is large.
func keptGuest(t testing.TB, dir, name string) []byte {
	t.Helper()
	path := filepath.Join(dir, name+".wasm")
	wasm, err := os.ReadFile(path)
	if err == nil {
		return wasm
	}
	packed, err := os.ReadFile(path + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	from, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if wasm, err = io.ReadAll(from); err != nil {
		t.Fatal(err)
	}
	return wasm
}

// languageSources is what build.sh says of all that it made a guest from: the digest of what sha256sum prints.
func languageSources(t testing.TB, root, name string) string {
	t.Helper()
	lines := map[string]string{}
	add := func(as func(name string) string, patterns ...string) {
		for _, p := range patterns {
			files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p)))
			if err != nil || len(files) == 0 {
				t.Fatalf("no sources %s: %v", p, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				lines[as(filepath.Base(file))] = digest(text)
			}
		}
	}
	same := func(name string) string { return name }
	if name == "cpp" || name == "javascript" {
		add(same, "sdk/languages/c/portcullis.h")
	}
	add(same, "sdk/languages/"+name+"/*")
	add(func(name string) string { return "plugin" + filepath.Ext(name) }, "conformance/guests/languages/"+name+"/guest.*")
	var b strings.Builder
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s  %s\n", lines[name], name)
	}
	return digest([]byte(b.String()))
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
