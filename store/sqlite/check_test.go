package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/turn"
)

// files is what stands in a folder: names and whole contents. The -shm file is scratch memory of whoever reads.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "-shm") {
			all[e.Name()] = readFile(t, filepath.Join(dir, e.Name()))
		}
	}
	return all
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, body := range a {
		if b[name] != body {
			return false
		}
	}
	return true
}

func TestCheckReportsAndWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	s, _ := open(t, path)
	for range 3 {
		if err := s.Record(t.Context(), record(s)); err != nil {
			t.Fatal(err)
		}
	}
	newest, err := latest(released())
	if err != nil {
		t.Fatal(err)
	}
	look := func(when string, inUse bool) {
		t.Helper()
		before := files(t, filepath.Dir(path))
		r, err := Check(t.Context(), path)
		if err != nil || !r.Sound() || r.Database != path || r.Store != string(s.StoreID()) || r.Schema != newest || r.Known != newest ||
			r.InUse != inUse || r.Rows["events"] != 3 || r.Rows["turns"] != 0 || r.Bytes == 0 || r.Pages == 0 || r.SQLite == "" {
			t.Errorf("%s: %+v, %v", when, r, err)
		}
		if !same(before, files(t, filepath.Dir(path))) {
			t.Errorf("%s: the check wrote something", when)
		}
	}
	look("in use", true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed", false)
	if names := beside(t, path); names != "portcullis.db" {
		t.Errorf("left behind: %s", names)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	path := old(t)
	fill(t, path)
	if r, err := check(t.Context(), path, set(one, two)); err != nil || len(r.Faults) != 0 || r.Sound() || r.Schema != 1 || r.Known != 2 {
		t.Errorf("an old database: %+v, %v", r, err)
	}
	if r, err := check(t.Context(), path, set(one)); err != nil || !r.Sound() {
		t.Errorf("the whole database: %+v, %v", r, err)
	}
	damage(t, path)
	if r, err := check(t.Context(), path, set(one)); err != nil || len(r.Faults) == 0 || r.Sound() {
		t.Errorf("the damaged database: %+v, %v", r, err)
	}
	if r, err := Check(t.Context(), path+".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no database: %+v, %v", r, err)
	}
	if _, err := os.Stat(path + ".none"); err == nil {
		t.Error("the check made a database")
	}
	other := filepath.Join(t.TempDir(), "other.db")
	if err := run(other, `CREATE TABLE theirs (id INTEGER)`); err != nil {
		t.Fatal(err)
	}
	var foreign *ForeignError
	if r, err := Check(t.Context(), other); !errors.As(err, &foreign) {
		t.Errorf("another program's database: %+v, %v", r, err)
	}
}

func TestCheckFindsDanglingReferences(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	s, _ := open(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := run(path, `PRAGMA foreign_keys = OFF; INSERT INTO session_owners VALUES ('ses_none', 'operator', 'p', '', '', '', '', 0)`); err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), path)
	if err != nil || len(r.Faults) != 1 || !strings.Contains(r.Faults[0], "sessions") {
		t.Errorf("report %+v, %v", r, err)
	}
}

func TestBackupIsOfOneMomentAndReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	path, dst := filepath.Join(dir, "portcullis.db"), filepath.Join(dir, "copy.db")
	s, _ := open(t, path)
	if err := s.Record(t.Context(), record(s)); err != nil {
		t.Fatal(err)
	}
	if err := Backup(t.Context(), path, dst); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), record(s)); err != nil {
		t.Fatal(err)
	}
	kept := readFile(t, dst)
	if err := Backup(t.Context(), path, dst); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), dst) {
		t.Errorf("over a file that is there: %v", err)
	}
	if readFile(t, dst) != kept {
		t.Error("the backup was replaced")
	}
	if err := Backup(t.Context(), path+".none", filepath.Join(dir, "none.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if err := Backup(t.Context(), path, filepath.Join(dir, "no folder", "copy.db")); err == nil {
		t.Error("into a folder that is not there")
	}
	copied, _ := open(t, dst)
	if copied.StoreID() != s.StoreID() || count(t, copied) != 1 || count(t, s) != 2 {
		t.Errorf("the copy is %s with %d records", copied.StoreID(), count(t, copied))
	}
	if got, err := copied.Events(t.Context(), operatorOf(t, copied), turn.EventQuery{Limit: 10}); len(got) != 1 || err != nil {
		t.Errorf("%d records, %v", len(got), err)
	}
	if names := strings.Fields(beside(t, path)); slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "partial") }) {
		t.Errorf("left behind: %v", names)
	}
}

func TestBackupOfADamagedDatabaseIsNotMade(t *testing.T) {
	path := old(t)
	fill(t, path)
	damage(t, path)
	dst := path + ".copy"
	if err := Backup(t.Context(), path, dst); err == nil {
		t.Error("a damaged database was backed up as sound")
	}
	if names := beside(t, path); strings.Contains(names, "copy") {
		t.Errorf("left behind: %s", names)
	}
}
