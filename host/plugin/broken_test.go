package plugin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// Each way an installed folder can break: it is listed with its reason, refused when opened, and can be removed.
func TestBrokenFoldersAreListedWithTheirReason(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, dir string)
		want Reason
	}{
		"binary changed": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, WasmName)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)-1] ^= 1
			put(t, path, data)
		}, WasmChanged},
		"binary longer": {func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, WasmName), []byte("\x00asm\x01\x00\x00\x00one+"))
		}, WasmChanged},
		"binary gone":      {func(t *testing.T, dir string) { drop(t, filepath.Join(dir, WasmName)) }, WasmMissing},
		"binary a link":    {func(t *testing.T, dir string) { relink(t, filepath.Join(dir, WasmName)) }, WasmMissing},
		"manifest gone":    {func(t *testing.T, dir string) { drop(t, filepath.Join(dir, manifest.FileName)) }, ManifestMissing},
		"manifest a link":  {func(t *testing.T, dir string) { relink(t, filepath.Join(dir, manifest.FileName)) }, ManifestMissing},
		"manifest no JSON": {func(t *testing.T, dir string) { put(t, filepath.Join(dir, manifest.FileName), []byte("{")) }, ManifestInvalid},
		"manifest huge": {func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, manifest.FileName), make([]byte, manifest.MaxBytes+1))
		}, ManifestInvalid},
		"manifest of another": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, manifest.FileName)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, path, []byte(strings.Replace(string(data), "1.0.0", "1.0.1", 1)))
		}, WrongPlace},
		"another file": {func(t *testing.T, dir string) { put(t, filepath.Join(dir, "run.sh"), nil) }, StrayFile},
		"folder a link": {func(t *testing.T, dir string) {
			away := dir + "-away"
			if err := os.Rename(dir, filepath.Join(t.TempDir(), "x")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(away, dir); err != nil {
				t.Fatal(err)
			}
		}, NotAFolder},
	} {
		t.Run(name, func(t *testing.T) {
			f := home(t)
			in := install(t, f, author(t, "calc", "1.0.0", "one"))
			c.harm(t, in.Path)

			all := list(t, f)
			if len(all) != 1 || all[0].Installed != nil || all[0].Broken == nil || all[0].Broken.Reason != c.want {
				t.Fatalf("listed %+v, want %s", all, c.want)
			}
			_, err := f.Open(t.Context(), "calc", "1.0.0", in.Digest)
			var broken *BrokenError
			if !errors.As(err, &broken) || broken.Reason != c.want {
				t.Fatalf("Open = %v, want %s", err, c.want)
			}
			if c.want != NotAFolder {
				says(t, err, "`portcullis plugin remove calc@1.0.0`", "`portcullis plugin install DIR`")
			}
			if _, err := f.Find(t.Context(), "calc", ""); !errors.As(err, &broken) {
				t.Errorf("Find = %v", err)
			}
			if _, err := f.Install(t.Context(), author(t, "calc", "1.0.0", "one")); !errors.As(err, &broken) {
				t.Errorf("Install over a broken one = %v", err)
			}
			if err := f.Remove(t.Context(), "calc", "1.0.0"); err != nil {
				t.Errorf("Remove = %v", err)
			}
			if all := list(t, f); len(all) != 0 {
				t.Errorf("left after Remove: %+v", all)
			}
		})
	}
}

func drop(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// relink moves the file away and leaves a link to it: the content is right, the file is not ours.
func relink(t *testing.T, path string) {
	t.Helper()
	away := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, path); err != nil {
		t.Fatal(err)
	}
}

func TestStrangersInTheFolderAreListed(t *testing.T) {
	f := home(t)
	install(t, f, author(t, "calc", "1.0.0", "one"))
	for _, dir := range []string{"Upper", "calc/latest"} {
		if err := os.MkdirAll(filepath.Join(f.Path(), dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(f.Path(), "notes"), nil)
	var got []string
	for _, e := range list(t, f) {
		if e.Broken != nil {
			got = append(got, e.ID+"/"+e.Version+" "+string(e.Broken.Reason))
			says(t, e.Broken, "move it away")
		}
	}
	if want := []string{"Upper/ not_a_plugin", "calc/latest not_a_plugin", "notes/ not_a_folder"}; !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	if _, err := f.Open(t.Context(), "notes", "1.0.0", ""); err == nil {
		t.Error("a file was opened as a plugin")
	}
}

func TestALinkInPlaceOfThePluginsFolderIsRefused(t *testing.T) {
	f := home(t)
	if err := os.Symlink(t.TempDir(), f.Path()); err != nil {
		t.Fatal(err)
	}
	var refused *SourceError
	if _, err := f.List(t.Context()); !errors.As(err, &refused) {
		t.Errorf("List = %v", err)
	}
	if _, err := f.Install(t.Context(), author(t, "calc", "1.0.0", "one")); !errors.As(err, &refused) {
		t.Errorf("Install = %v", err)
	}
}

func TestSourcesThatAreNotAPluginAreRefused(t *testing.T) {
	f := home(t)
	for name, c := range map[string]struct {
		harm       func(t *testing.T, dir string) string
		code, text string
	}{
		"not there": {func(t *testing.T, dir string) string { return dir + "/none" }, "not_found", "give the folder"},
		"a binary":  {func(t *testing.T, dir string) string { return dir + "/calc.wasm" }, "not_a_folder", "portcullis plugin build"},
		"no manifest": {func(t *testing.T, dir string) string {
			drop(t, dir+"/"+manifest.FileName)
			return dir
		}, "manifest_missing", "portcullis plugin build"},
		"bad manifest": {func(t *testing.T, dir string) string {
			put(t, dir+"/"+manifest.FileName, []byte(`{"manifest_version":1,"extra":true}`))
			return dir
		}, "manifest_invalid", "extra"},
		"huge manifest": {func(t *testing.T, dir string) string {
			put(t, dir+"/"+manifest.FileName, make([]byte, manifest.MaxBytes+1))
			return dir
		}, "manifest_invalid", "too large"},
		"manifest a link": {func(t *testing.T, dir string) string {
			relink(t, dir+"/"+manifest.FileName)
			return dir
		}, "manifest_invalid", "links are not followed"},
		"no binary": {func(t *testing.T, dir string) string {
			drop(t, dir+"/calc.wasm")
			return dir
		}, "wasm_missing", "portcullis plugin build"},
		"binary a link": {func(t *testing.T, dir string) string {
			relink(t, dir+"/calc.wasm")
			return dir
		}, "wasm_missing", "links are not followed"},
		"binary longer": {func(t *testing.T, dir string) string {
			put(t, dir+"/calc.wasm", []byte("\x00asm\x01\x00\x00\x00one+"))
			return dir
		}, "wasm_changed", "build both again"},
		"binary changed": {func(t *testing.T, dir string) string {
			put(t, dir+"/calc.wasm", []byte("\x00asm\x01\x00\x00\x00onf"))
			return dir
		}, "wasm_changed", "build both again"},
	} {
		t.Run(name, func(t *testing.T) {
			from := c.harm(t, author(t, "calc", "1.0.0", "one"))
			_, err := f.Install(t.Context(), from)
			var refused *SourceError
			if !errors.As(err, &refused) || refused.Code != c.code {
				t.Fatalf("Install = %v, want %s", err, c.code)
			}
			says(t, err, c.text)
			if _, err := os.Lstat(f.Path()); !errors.Is(err, fs.ErrNotExist) {
				t.Error("a refused source made the plugins folder")
			}
		})
	}
}

// Every change on disk is made to fail once: nothing may be visible afterwards, and a second try must succeed.
func TestInstallIsAllOrNothingAtEveryStep(t *testing.T) {
	var steps []string
	f := home(t)
	f.step = func(name string) error { steps = append(steps, name); return nil }
	dir := author(t, "calc", "1.0.0", "one")
	install(t, f, dir)
	if len(steps) < 10 {
		t.Fatalf("only these steps are guarded: %q", steps)
	}
	for at, name := range steps {
		t.Run(name, func(t *testing.T) {
			f, full, n := home(t), errors.New("no space left on device"), 0
			f.step = func(string) error {
				n++
				if n == at+1 {
					return full
				}
				return nil
			}
			if _, err := f.Install(t.Context(), dir); !errors.Is(err, full) {
				t.Fatalf("Install = %v", err)
			}
			if all := list(t, f); len(all) != 0 {
				t.Errorf("listed after the failure: %+v", all)
			}
			if found, err := os.ReadDir(f.Path()); err == nil && len(found) != 0 {
				t.Errorf("left on disk: %v", found)
			}
			install(t, f, dir)
		})
	}
}

// A process may be killed before any change on disk of a replacement, and after the last: whoever starts next finds one of the two.
func TestAReplacementThatIsCutOffLeavesOneOfTheTwo(t *testing.T) {
	f := home(t)
	next := At(filepath.Dir(f.Path()))
	was := install(t, f, author(t, "calc", "1.0.0", "one"))
	seen := map[string]bool{}
	f.step = func(name string) error {
		in, err := next.Find(t.Context(), "calc", "1.0.0")
		if err != nil {
			t.Errorf("killed before it could %s: %v", name, err)
		}
		seen[in.Digest] = true
		return nil
	}
	in, _, err := f.Replace(t.Context(), author(t, "calc", "1.0.0", "two"))
	if err != nil || !seen[was.Digest] || !seen[in.Digest] || len(seen) != 2 {
		t.Errorf("%v, %v", seen, err)
	}
}

// Where the system cannot exchange two folders a replacement takes two moves.
func TestAReplacementNeedsNoExchange(t *testing.T) {
	f := home(t)
	was := install(t, f, author(t, "calc", "1.0.0", "one"))
	f.exchange = func(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
	in, old, err := f.Replace(t.Context(), author(t, "calc", "1.0.0", "two"))
	if err != nil || old.Digest != was.Digest || in.Digest == was.Digest {
		t.Fatalf("%+v, %+v, %v", in, old, err)
	}
	if found, err := os.ReadDir(f.Path()); err != nil || len(found) != 1 {
		t.Errorf("left on disk: %v, %v", found, err)
	}
}

// Every change on disk of a replacement is made to fail once: the old version must stand as it was, and nothing beside it.
func TestReplaceKeepsTheOldOneUntilTheNewOneIsThere(t *testing.T) {
	first, second := author(t, "calc", "1.0.0", "one"), author(t, "calc", "1.0.0", "two")
	var steps []string
	f := home(t)
	before, old, err := f.Replace(t.Context(), first)
	if err != nil || old != (Former{}) {
		t.Fatalf("Replace of nothing = %+v, %v", old, err)
	}
	was := before.Digest
	f.step = func(name string) error { steps = append(steps, name); return nil }
	in, old, err := f.Replace(t.Context(), second)
	if err != nil || old.Digest != was || in.Digest == was {
		t.Fatalf("Replace = %+v, %+v, %v", in, old, err)
	}
	if again, old, err := f.Replace(t.Context(), second); err != nil || old != (Former{}) || again.Digest != in.Digest {
		t.Errorf("Replace again = %+v, %+v, %v", again, old, err)
	}
	if found, err := os.ReadDir(f.Path()); err != nil || len(found) != 1 {
		t.Errorf("left on disk: %v, %v", found, err)
	}
	if len(steps) < 10 {
		t.Fatalf("only these steps are guarded: %q", steps)
	}
	alone := func(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
	for at, name := range append(steps, "rename out of place", "rename into place") {
		t.Run(name, func(t *testing.T) {
			f, full, n := home(t), errors.New("no space left on device"), 0
			install(t, f, first)
			if at >= len(steps) { // where the system has no exchange
				f.exchange = alone
				at = slices.Index(steps, "change places") + 1 + at - len(steps)
			}
			f.step = func(string) error {
				if n++; n == at+1 {
					return full
				}
				return nil
			}
			if _, _, err := f.Replace(t.Context(), second); !errors.Is(err, full) {
				t.Fatalf("Replace = %v", err)
			}
			if _, err := f.Open(t.Context(), "calc", "1.0.0", was); err != nil {
				t.Errorf("the old one after the failure: %v", err)
			}
			if found, err := os.ReadDir(f.Path()); err != nil || len(found) != 1 {
				t.Errorf("left on disk: %v, %v", found, err)
			}
		})
	}
}

func TestReplaceTakesThePlaceOfABrokenOne(t *testing.T) {
	f, dir := home(t), author(t, "calc", "1.0.0", "one")
	in := install(t, f, dir)
	put(t, in.WasmPath(), []byte("changed"))
	if _, old, err := f.Replace(t.Context(), dir); err != nil || old != (Former{Broken: WasmChanged}) {
		t.Fatalf("Replace = %+v, %v", old, err)
	}
	if _, err := f.Open(t.Context(), "calc", "1.0.0", in.Digest); err != nil {
		t.Error(err)
	}
}

func TestRemoveIsOutOfSightOrNotAtAll(t *testing.T) {
	var steps []string
	f := home(t)
	dir := author(t, "calc", "1.0.0", "one")
	install(t, f, dir)
	f.step = func(name string) error { steps = append(steps, name); return nil }
	if err := f.Remove(t.Context(), "calc", "1.0.0"); err != nil {
		t.Fatal(err)
	}
	for at, name := range steps {
		t.Run(name, func(t *testing.T) {
			f, broken, n := home(t), errors.New("input/output error"), 0
			in := install(t, f, dir)
			f.step = func(string) error {
				n++
				if n == at+1 {
					return broken
				}
				return nil
			}
			if err := f.Remove(t.Context(), "calc", "1.0.0"); !errors.Is(err, broken) {
				t.Fatalf("Remove = %v", err)
			}
			_, err := f.Open(t.Context(), "calc", "1.0.0", in.Digest)
			var missing *MissingError
			if whole, gone := err == nil, errors.As(err, &missing); whole == gone {
				t.Errorf("half removed: %v", err)
			}
		})
	}
}

func TestInstallersAtTheSameTimeAgreeOnOne(t *testing.T) {
	f := home(t)
	dirs := []string{author(t, "calc", "1.0.0", "one"), author(t, "calc", "1.0.0", "two")}
	results := make([]error, 16)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { _, results[i] = f.Install(t.Context(), dirs[i%2]) })
	}
	wg.Wait()
	var won [2]int
	for i, err := range results {
		var conflict *ConflictError
		switch {
		case err == nil:
			won[i%2]++
		case !errors.As(err, &conflict):
			t.Errorf("installer %d: %v", i, err)
		}
	}
	if !(won == [2]int{8, 0} || won == [2]int{0, 8}) {
		t.Errorf("both contents were installed: %v", won)
	}
	if all := list(t, f); len(all) != 1 || all[0].Installed == nil {
		t.Errorf("listed %+v", all)
	}
	if found, err := os.ReadDir(f.Path()); err != nil || len(found) != 1 {
		t.Errorf("left on disk: %v, %v", found, err)
	}
}
