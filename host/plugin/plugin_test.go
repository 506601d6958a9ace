package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// home returns the plugins folder of a new home.
func home(t testing.TB) *Folder {
	t.Helper()
	return At(t.TempDir())
}

// author writes a plugin as `portcullis plugin build` would and returns its folder. body tells versions apart.
func author(t testing.TB, id, version, body string) string {
	t.Helper()
	dir := t.TempDir()
	wasm := append([]byte("\x00asm\x01\x00\x00\x00"), body...)
	sum := sha256.Sum256(wasm)
	m := manifest.New(wire.Description{
		ABI: wire.ABI, Kind: wire.KindTool, ID: id, Version: version, Summary: "A plugin for tests.", License: "MIT",
		Tools: []wire.Tool{{
			Name: "calc.eval", Description: "Evaluates.", InputSchema: json.RawMessage(`{"type":"object"}`),
			OutputSchema: json.RawMessage(`{"type":"object"}`), Risk: wire.RiskLow, Approval: wire.ApprovalAuto, Recovery: wire.RecoveryRead,
		}},
	}, manifest.Wasm{File: id + ".wasm", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(wasm))}, []string{wire.ExportInvoke}, nil)
	text, err := manifest.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Parse(text); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, manifest.FileName), text)
	put(t, filepath.Join(dir, id+".wasm"), wasm)
	return dir
}

func put(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func install(t testing.TB, f *Folder, dir string) Installed {
	t.Helper()
	in, err := f.Install(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func list(t testing.TB, f *Folder) []Entry {
	t.Helper()
	all, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// says fails unless err holds the text: these sentences are what a person is left with.
func says(t testing.TB, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error is %v, want %q in it", err, text)
		}
	}
}

func TestInstalledPluginOpensByItsDigest(t *testing.T) {
	f, dir := home(t), author(t, "calc", "1.0.0", "one")
	in := install(t, f, dir)
	text, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	if want := "sha256:" + hex.EncodeToString(sum[:]); in.Digest != want {
		t.Errorf("digest %s, want sha256sum of plugin.json, %s", in.Digest, want)
	}
	o, err := f.Open(t.Context(), "calc", "1.0.0", in.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(o.Wasm), "one") || o.Manifest.ID != "calc" || len(o.Manifest.Tools) != 1 {
		t.Errorf("opened %+v", o.Installed)
	}
	disk, err := os.ReadFile(o.WasmPath())
	if err != nil || string(disk) != string(o.Wasm) {
		t.Errorf("WasmPath holds other bytes: %v", err)
	}
}

func TestInstallTakesThePathOfAManifestToo(t *testing.T) {
	f, dir := home(t), author(t, "calc", "1.0.0", "one")
	if in := install(t, f, filepath.Join(dir, manifest.FileName)); in.ID != "calc" {
		t.Errorf("installed %+v", in)
	}
}

func TestInstallSetsModesWhateverTheUmask(t *testing.T) {
	f := home(t)
	in := install(t, f, author(t, "calc", "1.0.0", "one"))
	for path, want := range map[string]fs.FileMode{
		f.Path(): 0o700, filepath.Dir(in.Path): 0o700, in.Path: 0o700,
		in.WasmPath(): 0o600, filepath.Join(in.Path, manifest.FileName): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
}

func TestInstallAgainIsFineAndChangesNothing(t *testing.T) {
	f, dir := home(t), author(t, "calc", "1.0.0", "one")
	first := install(t, f, dir)
	before, err := os.Stat(first.WasmPath())
	if err != nil {
		t.Fatal(err)
	}
	second := install(t, f, dir)
	after, err := os.Stat(second.WasmPath())
	if err != nil {
		t.Fatal(err)
	}
	if first.Digest != second.Digest || !os.SameFile(before, after) {
		t.Error("the second install wrote the plugin again")
	}
}

func TestSameVersionWithAnotherContentIsRefused(t *testing.T) {
	f := home(t)
	in := install(t, f, author(t, "calc", "1.0.0", "one"))
	_, err := f.Install(t.Context(), author(t, "calc", "1.0.0", "two"))
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Installed != in.Digest || conflict.Given == in.Digest {
		t.Fatalf("Install = %v", err)
	}
	says(t, err, "raise the version", "`portcullis plugin install --replace DIR`")
	if _, err := f.Open(t.Context(), "calc", "1.0.0", in.Digest); err != nil {
		t.Errorf("the installed one was touched: %v", err)
	}
}

// The manifest's own words decide risk and capability: they are pinned as much as the code is.
func TestSameBinaryWithAnotherManifestIsRefused(t *testing.T) {
	f, dir := home(t), author(t, "calc", "1.0.0", "one")
	install(t, f, dir)
	path := filepath.Join(dir, manifest.FileName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, []byte(strings.Replace(string(text), `"risk": "low"`, `"risk": "high"`, 1)))
	_, err = f.Install(t.Context(), dir)
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("Install = %v", err)
	}
}

func TestOpenRefusesAnotherDigestThanPinned(t *testing.T) {
	f := home(t)
	in := install(t, f, author(t, "calc", "1.0.0", "one"))
	pin := "sha256:" + strings.Repeat("0", 64)
	_, err := f.Open(t.Context(), "calc", "1.0.0", pin)
	var other *DigestError
	if !errors.As(err, &other) || other.Have != in.Digest || other.Want != pin {
		t.Fatalf("Open = %v", err)
	}
	says(t, err, in.Digest, pin, "`portcullis plugin install DIR`", "`portcullis plugin list`")
}

func TestOpenSaysWhatIsInstalledInstead(t *testing.T) {
	f := home(t)
	for _, version := range []string{"1.10.0", "1.9.0"} {
		install(t, f, author(t, "calc", version, version))
	}
	_, err := f.Open(t.Context(), "calc", "2.0.0", "sha256:")
	var missing *MissingError
	if !errors.As(err, &missing) || !slices.Equal(missing.Have, []string{"1.9.0", "1.10.0"}) {
		t.Fatalf("Open = %v", err)
	}
	says(t, err, "installed: 1.9.0, 1.10.0", "`portcullis plugin install DIR`", "`portcullis plugin list`")
	_, err = f.Open(t.Context(), "other", "2.0.0", "sha256:")
	says(t, err, "plugin other 2.0.0 is not installed", "`portcullis plugin install DIR`")
}

func TestNamesThatLeadOutOfTheFolderAreNotInstalled(t *testing.T) {
	f := home(t)
	install(t, f, author(t, "calc", "1.0.0", "one"))
	for _, c := range [][2]string{{"..", "1.0.0"}, {"calc", ".."}, {"../plugins/calc", "1.0.0"}, {"calc", "../calc/1.0.0"}, {"", ""}, {"/calc", "1.0.0"}} {
		var missing *MissingError
		if _, err := f.Open(t.Context(), c[0], c[1], ""); !errors.As(err, &missing) {
			t.Errorf("Open(%q, %q) = %v", c[0], c[1], err)
		}
		if err := f.Remove(t.Context(), c[0], c[1]); !errors.As(err, &missing) {
			t.Errorf("Remove(%q, %q) = %v", c[0], c[1], err)
		}
	}
}

func TestFindPrefersTheNewestRelease(t *testing.T) {
	f := home(t)
	for _, version := range []string{"1.2.0", "1.10.0", "2.0.0-rc.1"} {
		install(t, f, author(t, "calc", version, version))
	}
	for ask, want := range map[string]string{"": "1.10.0", "1.2.0": "1.2.0", "2.0.0-rc.1": "2.0.0-rc.1"} {
		in, err := f.Find(t.Context(), "calc", ask)
		if err != nil || in.Version != want {
			t.Errorf("Find(%q) = %s, %v, want %s", ask, in.Version, err, want)
		}
	}
	var missing *MissingError
	if _, err := f.Find(t.Context(), "none", ""); !errors.As(err, &missing) {
		t.Errorf("Find of nothing = %v", err)
	}
}

func TestFindFallsBackToAPrerelease(t *testing.T) {
	f := home(t)
	for _, version := range []string{"2.0.0-rc.2", "2.0.0-rc.10"} {
		install(t, f, author(t, "calc", version, version))
	}
	if in, err := f.Find(t.Context(), "calc", ""); err != nil || in.Version != "2.0.0-rc.10" {
		t.Errorf("Find = %s, %v", in.Version, err)
	}
}

func TestRemoveTakesOneVersionAndTheLastOneTakesTheFolder(t *testing.T) {
	f := home(t)
	install(t, f, author(t, "calc", "1.0.0", "one"))
	install(t, f, author(t, "calc", "2.0.0", "two"))
	if err := f.Remove(t.Context(), "calc", "1.0.0"); err != nil {
		t.Fatal(err)
	}
	if all := list(t, f); len(all) != 1 || all[0].Version != "2.0.0" {
		t.Fatalf("left: %+v", all)
	}
	if err := f.Remove(t.Context(), "calc", "2.0.0"); err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(f.Path())
	if err != nil || len(found) != 0 {
		t.Errorf("left in the folder: %v, %v", found, err)
	}
	var missing *MissingError
	if err := f.Remove(t.Context(), "calc", "2.0.0"); !errors.As(err, &missing) {
		t.Errorf("Remove again = %v", err)
	}
}

func TestRemovedVersionCanBeInstalledWithAnotherContent(t *testing.T) {
	f := home(t)
	one := install(t, f, author(t, "calc", "1.0.0", "one"))
	if err := f.Remove(t.Context(), "calc", "1.0.0"); err != nil {
		t.Fatal(err)
	}
	if two := install(t, f, author(t, "calc", "1.0.0", "two")); two.Digest == one.Digest {
		t.Error("another content has the same digest")
	}
}

func TestAHomeWithoutPluginsListsNothing(t *testing.T) {
	f := home(t)
	if all := list(t, f); len(all) != 0 {
		t.Errorf("listed %v", all)
	}
	if _, err := os.Lstat(f.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("listing made the folder")
	}
	var missing *MissingError
	if err := f.Remove(t.Context(), "calc", "1.0.0"); !errors.As(err, &missing) {
		t.Errorf("Remove = %v", err)
	}
}

func TestCancelledInstallLeavesNothing(t *testing.T) {
	f, dir := home(t), author(t, "calc", "1.0.0", "one")
	ctx, cancel := context.WithCancel(t.Context())
	f.step = func(name string) error {
		if name == "sync "+WasmName {
			cancel()
		}
		return nil
	}
	_, err := f.Install(ctx, dir)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Install = %v", err)
	}
	if all := list(t, f); len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
}

func TestLeftoversAreShownAndThenSwept(t *testing.T) {
	f := home(t)
	install(t, f, author(t, "calc", "1.0.0", "one"))
	old, young := filepath.Join(f.Path(), ".new-old"), filepath.Join(f.Path(), ".gone-young")
	for _, dir := range []string{old, young} {
		if err := os.MkdirAll(filepath.Join(dir, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	longAgo := time.Now().Add(-2 * leftoverAge)
	if err := os.Chtimes(old, longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	all := list(t, f)
	if len(all) != 3 || all[0].Broken == nil || all[0].Broken.Reason != Unfinished || all[1].Broken.Reason != Unfinished {
		t.Fatalf("listed %+v", all)
	}
	install(t, f, author(t, "calc", "1.1.0", "two"))
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the old leftover is still there")
	}
	if _, err := os.Lstat(young); err != nil {
		t.Error("the young leftover, which may be another process at work, was swept")
	}
}

// Pinned reads no binary, and still refuses one that is missing or of another size.
func TestPinnedLooksAtTheBinaryWithoutReadingIt(t *testing.T) {
	f := home(t)
	in := install(t, f, author(t, "calc", "1.0.0", "a"))
	got, err := f.Pinned(t.Context(), in.ID, in.Version, in.Digest)
	if err != nil || got.Digest != in.Digest || got.Path != in.Path {
		t.Fatalf("%+v %v", got, err)
	}
	var wrong *DigestError
	if _, err := f.Pinned(t.Context(), in.ID, in.Version, "sha256:00"); !errors.As(err, &wrong) {
		t.Errorf("another digest: %v", err)
	}
	refused := func(want Reason) {
		t.Helper()
		var broken *BrokenError
		if _, err := f.Pinned(t.Context(), in.ID, in.Version, in.Digest); !errors.As(err, &broken) || broken.Reason != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := os.Truncate(in.WasmPath(), 3); err != nil {
		t.Fatal(err)
	}
	refused(WasmChanged)
	if err := os.Remove(in.WasmPath()); err != nil {
		t.Fatal(err)
	}
	refused(WasmMissing)
}
