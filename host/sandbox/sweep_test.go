package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func age(t *testing.T, path string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// What was used longest ago goes when the folder is full, whole; what was just
// written stays.
func TestTheCacheKeepsToItsSize(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir()})
	var records []record
	for rc := byte(1); rc <= 4; rc++ {
		loadRun(t, e, answering(rc))
		r, code := entryOf(t, e, answering(rc))
		records = append(records, r)
		age(t, filepath.Join(e.kept.dir, r.module), time.Duration(10-rc)*time.Minute)
		if rc == 4 {
			info, err := os.Stat(code)
			if err != nil {
				t.Fatal(err)
			}
			one, _ := measure(filepath.Join(e.kept.dir, r.module))
			e.kept.max = 2*(info.Size()+r.wasm.Bytes+one.bytes) + 100
		}
	}
	age(t, filepath.Join(e.kept.dir, records[0].module), time.Minute) // the first was used again
	e.kept.sweep(records[3].module, time.Now())
	for i, stays := range []bool{true, false, false, true} {
		for _, path := range []string{records[i].module, records[i].folder} {
			if got := exists(filepath.Join(e.kept.dir, path)); got != stays {
				t.Errorf("entry %d: %s is there: %v, want %v", i+1, path, got, stays)
			}
		}
	}
	e.kept.max = 1
	e.kept.sweep(records[3].module, time.Now())
	if exists(filepath.Join(e.kept.dir, records[0].module)) || !exists(filepath.Join(e.kept.dir, records[3].module)) {
		t.Error("what was just written must be the one to stay")
	}
}

// Litter of killed processes and what other versions left and nobody used is
// removed; what another process may be writing, and what is not ours, is not.
func TestTheSweepRemovesLeftoversOnly(t *testing.T) {
	root := t.TempDir()
	e := openEngine(t, Config{CacheDir: root})
	loadRun(t, e, answering(1))
	r, _ := entryOf(t, e, answering(1))
	place := func(old time.Duration, path ...string) string {
		p := filepath.Join(append([]string{root}, path...)...)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, p, []byte("x"))
		age(t, p, old)
		return p
	}
	half := place(0, engineVersion, filepath.Base(e.kept.dir), digestOf([]byte("a"))+".1", meteredName)
	litter := place(0, engineVersion, filepath.Base(e.kept.dir), digestOf([]byte("b"))+".1", meteredName)
	age(t, filepath.Dir(litter), 2*litterAge)
	want := map[string]bool{
		filepath.Join(e.kept.dir, r.module): true,
		filepath.Join(e.kept.dir, r.folder): true,
		half:                                true,
		litter:                              false,
		place(2*litterAge, e.kept.dir[len(root):], ".new-1"):          false,
		place(0, e.kept.dir[len(root):], ".new-2"):                    true,
		place(2*leftoverAge, engineVersion, "prepared-1", "a"):        false,
		place(0, engineVersion, "prepared-1", "b"):                    true,
		place(2*leftoverAge, "wazero-v1.0.0", "modules-1-1-dev", "c"): false,
		place(2*leftoverAge, "notes", "d", "e"):                       true,
		place(2*leftoverAge, "wazero.txt"):                            true,
	}
	e.kept.sweep(r.module, time.Now())
	for path, stays := range want {
		if got := exists(path); got != stays {
			t.Errorf("%s is there: %v, want %v", path, got, stays)
		}
	}
}

// An entry that is used is not the one that was used longest ago.
func TestUseIsWrittenDown(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir()})
	loadRun(t, e, answering(1))
	r, _ := entryOf(t, e, answering(1))
	path := filepath.Join(e.kept.dir, r.module)
	age(t, path, 2*touchEvery)
	if _, ok := e.kept.find(r.module); !ok {
		t.Fatal("not found")
	}
	info, err := os.Stat(path)
	if err != nil || time.Since(info.ModTime()) > touchEvery {
		t.Errorf("%v, %v", info.ModTime(), err)
	}
}
