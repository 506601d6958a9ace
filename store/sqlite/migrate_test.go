package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// Test-only migrations: three good versions of a small store, and ways to fail.
const (
	one = `-- +goose Up
PRAGMA application_id = 1349678179;
CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, extra ANY) STRICT;
INSERT INTO notes (text, extra) VALUES ('one', 1.5), ('two', NULL), ('three', x'00ff');
`
	two = `-- +goose Up
ALTER TABLE notes ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
UPDATE notes SET size = length(text);
`
	three = `-- +goose Up
CREATE TABLE tags (note INTEGER NOT NULL REFERENCES notes (id), tag TEXT NOT NULL) STRICT;
INSERT INTO tags SELECT id, 'old' FROM notes;
`
	broken   = "-- +goose Up\nCREATE TABLE more (id INTEGER) STRICT;\nINSERT INTO nowhere VALUES (1);\n"
	dangling = "-- +goose Up\nCREATE TABLE tags (note INTEGER NOT NULL REFERENCES notes (id)) STRICT;\nINSERT INTO tags VALUES (99);\n"
)

func set(texts ...string) fs.FS {
	files := fstest.MapFS{}
	for i, text := range texts {
		files[fmt.Sprintf("%05d_step.sql", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// old makes a database of version 1 in use by nobody.
func old(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's a home", "portcullis.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := own(path); err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), path, set(one), nil); err != nil {
		t.Fatal(err)
	}
	ask(t, path, `PRAGMA journal_mode = WAL`) // as every database in use has it
	return path
}

// ask runs a query over the database by itself and returns its first column.
func ask(t *testing.T, path, query string) string {
	t.Helper()
	db, err := connect(path, readWrite, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	got, err := collect(rows, err, func(r *sql.Rows) (text string, err error) {
		err = r.Scan(&text)
		return text, err
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(got, " ")
}

// says is the fingerprint of a database file.
func says(t *testing.T, path string) (sum string) {
	t.Helper()
	db, err := connect(path, readWrite, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got, err := fingerprint(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", got)
}

// beside lists what stands in the database's folder.
func beside(t *testing.T, path string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestUpgradeKeepsRowsAndLeavesABackup(t *testing.T) {
	path := old(t)
	before := says(t, path)
	if err := migrate(t.Context(), path, set(one, two, three), nil); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, path, `SELECT text || size FROM notes ORDER BY id`); got != "one3 two3 three5" {
		t.Errorf("rows %q", got)
	}
	if got := ask(t, path, `SELECT count(*) || tag FROM tags`); got != "3old" {
		t.Errorf("tags %q", got)
	}
	if got := ask(t, path, `PRAGMA journal_mode`); got != "wal" {
		t.Errorf("journal mode %q", got)
	}
	bak := path + ".v1.bak"
	if says(t, bak) != before {
		t.Error("the backup is not what the database was")
	}
	if info, err := os.Stat(bak); err != nil || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		t.Errorf("backup %v, %v", info, err)
	}
	if got := beside(t, path); got != "portcullis.db portcullis.db.v1.bak" {
		t.Errorf("left behind: %s", got)
	}
	after := says(t, path)
	if err := migrate(t.Context(), path, set(one, two, three), nil); err != nil || says(t, path) != after {
		t.Errorf("migrating again: %v", err)
	}
}

func TestFailedUpgradeChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		set   fs.FS
		doing string
	}{
		"the second step fails":     {set(one, two, broken), "apply"},
		"the first step fails":      {set(one, broken, three), "apply"},
		"a reference dangles":       {set(one, dangling), "apply"},
		"the result has no version": {set(one, "-- +goose Up\nDROP TABLE goose_db_version;\n"), "apply"},
		"the mark is gone":          {set(one, "-- +goose Up\nPRAGMA application_id = 7;\n"), "apply"},
	} {
		path := old(t)
		before := says(t, path)
		err := migrate(t.Context(), path, c.set, nil)
		var failed *MigrationError
		if !errors.As(err, &failed) || !strings.HasPrefix(failed.Doing, c.doing) || failed.From != 1 || failed.Database != path || failed.Backup != path+".v1.bak" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range []string{path, failed.Backup, failed.Restore(), "schema version 1"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not say %q: %v", name, want, err)
			}
		}
		if says(t, path) != before {
			t.Errorf("%s: the database changed", name)
		}
		if got := beside(t, path); got != "portcullis.db portcullis.db.v1.bak" {
			t.Errorf("%s: left behind: %s", name, got)
		}
		if err := migrate(t.Context(), path, set(one), nil); err != nil {
			t.Errorf("%s: the program that made it: %v", name, err)
		}
		if err := migrate(t.Context(), path, set(one, two, three), nil); err != nil || ask(t, path, `SELECT count(*) FROM tags`) != "3" {
			t.Errorf("%s: the next try: %v", name, err)
		}
	}
}

func TestRestoreCommandRestores(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("the command below is for a shell")
		return
	}
	path := old(t)
	before := says(t, path)
	var failed *MigrationError
	if err := migrate(t.Context(), path, set(one, broken), nil); !errors.As(err, &failed) {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal"} {
		if err := os.WriteFile(name, []byte("damage"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", failed.Restore()).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", failed.Restore(), err, out)
	}
	if says(t, path) != before {
		t.Error("the command did not restore the database")
	}
	if got, want := restoreCommand("windows", `C:\a b\p.db`, `C:\a b\p.db.v1.bak`), `del /q "C:\a b\p.db-wal" "C:\a b\p.db-shm" 2>nul & copy /y "C:\a b\p.db.v1.bak" "C:\a b\p.db"`; got != want {
		t.Errorf("on Windows: %s", got)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := old(t)
	if err := migrate(t.Context(), path, set(one, two, three), nil); err != nil {
		t.Fatal(err)
	}
	before := says(t, path)
	err := migrate(t.Context(), path, set(one, two), nil)
	var schema *SchemaError
	if !errors.As(err, &schema) || schema.Have != 3 || schema.Want != 2 || !strings.Contains(err.Error(), "version 3") || !strings.Contains(err.Error(), "up to 2") {
		t.Errorf("newer: %v", err)
	}
	if says(t, path) != before {
		t.Error("the refused database changed")
	}
	db, err := connect(path, readOnly, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := checkSchema(t.Context(), db, path, set(one, two, three, two)); !errors.As(err, &schema) || schema.Have != 3 || schema.Want != 4 {
		t.Errorf("an old database opened for reading: %v", err)
	}
}

func TestStaleBackupStopsTheUpgrade(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path, bak string){
		"the database went on": func(t *testing.T, path, _ string) {
			ask(t, path, `INSERT INTO notes (text) VALUES ('later') RETURNING id`)
		},
		"one value differs":  func(t *testing.T, _, bak string) { ask(t, bak, `UPDATE notes SET extra = 1 WHERE id = 1 RETURNING id`) },
		"the schema differs": func(t *testing.T, _, bak string) { ask(t, bak, `CREATE INDEX i ON notes (text)`) },
		"not a database": func(t *testing.T, _, bak string) {
			if err := os.WriteFile(bak, []byte(strings.Repeat("no database", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"cut short": func(t *testing.T, _, bak string) {
			if err := os.Truncate(bak, 5000); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, _, bak string) {
			if err := os.Truncate(bak, 0); err != nil {
				t.Fatal(err)
			}
		},
	} {
		path := old(t)
		bak := path + ".v1.bak"
		if err := Backup(t.Context(), path, bak); err != nil {
			t.Fatal(err)
		}
		spoil(t, path, bak)
		before, kept := says(t, path), readFile(t, bak)
		err := migrate(t.Context(), path, set(one, two), nil)
		var stale *StaleBackupError
		if !errors.As(err, &stale) || stale.Database != path || stale.Backup != bak || !strings.Contains(err.Error(), bak) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if says(t, path) != before || readFile(t, bak) != kept {
			t.Errorf("%s: the database or the backup changed", name)
		}
		if err := os.Rename(bak, bak+".old"); err != nil { // as the message says
			t.Fatal(err)
		}
		if err := migrate(t.Context(), path, set(one, two), nil); err != nil || says(t, bak) != before {
			t.Errorf("%s: after moving it away: %v", name, err)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestEqualBackupIsUsedAgain(t *testing.T) {
	path := old(t)
	bak := path + ".v1.bak"
	if err := migrate(t.Context(), path, set(one, broken), nil); err == nil {
		t.Fatal("a broken migration went through")
	}
	ask(t, bak, `VACUUM`) // other pages, the same content
	before := readFile(t, bak)
	if err := migrate(t.Context(), path, set(one, two), nil); err != nil {
		t.Fatal(err)
	}
	if readFile(t, bak) != before {
		t.Error("the backup was written anew")
	}
}

func TestOtherFilesAreRefusedUnchanged(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"text":                       func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("hello\n", 500)), 0o600) },
		"another program's database": func(path string) error { return run(path, `CREATE TABLE theirs (id INTEGER)`) },
		"another program's mark":     func(path string) error { return run(path, `PRAGMA application_id = 42`) },
		"ours without its versions": func(path string) error {
			return run(path, `PRAGMA application_id = 1349678179; CREATE TABLE goose_db_version (version_id INTEGER, is_applied INTEGER); CREATE TABLE x (id INTEGER)`)
		},
	} {
		path := filepath.Join(t.TempDir(), "portcullis.db")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		before := readFile(t, path)
		err := migrate(t.Context(), path, set(one), nil)
		var foreign *ForeignError
		if !errors.As(err, &foreign) || foreign.Database != path {
			t.Errorf("%s: %v", name, err)
		}
		if readFile(t, path) != before {
			t.Errorf("%s: the file changed", name)
		}
	}
}

func run(path, query string) error {
	db, err := connect(path, readWrite, 1)
	if err != nil {
		return err
	}
	_, err = db.Exec(query)
	return errors.Join(err, db.Close())
}

func TestDatabaseInUseIsNotMigrated(t *testing.T) {
	path := old(t)
	db, err := connect(path, readOnly, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := readSchema(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	var inUse *InUseError
	if err := migrate(t.Context(), path, set(one, two), nil); !errors.As(err, &inUse) || inUse.Database != path {
		t.Errorf("in use: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), path, set(one, two), nil); err != nil {
		t.Errorf("free again: %v", err)
	}
}

func TestDamagedDatabaseIsNotMigrated(t *testing.T) {
	path := old(t)
	fill(t, path)
	damage(t, path)
	before := readFile(t, path)
	err := migrate(t.Context(), path, set(one, two), nil)
	var (
		failed  *MigrationError
		damaged *DamagedError
	)
	if !errors.As(err, &failed) || !errors.As(err, &damaged) || failed.Doing != "check the database" {
		t.Errorf("damaged: %v", err)
	}
	if readFile(t, path) != before || strings.Contains(beside(t, path), ".bak") {
		t.Errorf("the database changed, or its damage was backed up: %s", beside(t, path))
	}
}

// fill puts some hundred pages of rows into the database.
func fill(t *testing.T, path string) {
	t.Helper()
	err := run(path, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
		INSERT INTO notes (text) SELECT i || hex(randomblob(100)) FROM n`)
	if err != nil {
		t.Fatal(err)
	}
}

// damage overwrites the middle of a page that holds rows.
func damage(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", 600)), info.Size()-4096-200); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReleasedMigrationsAreNumbered(t *testing.T) {
	n, err := latest(released())
	if err != nil || n < 1 {
		t.Errorf("released: %d, %v", n, err)
	}
	for name, files := range map[string]fstest.MapFS{
		"none":  {},
		"a gap": {"00001_a.sql": {}, "00003_b.sql": {}},
		"twice": {"00001_a.sql": {}, "00001_b.sql": {}},
		"words": {"first.sql": {}},
	} {
		if n, err := latest(files); err == nil {
			t.Errorf("%s: %d", name, n)
		}
	}
}

func TestMigrateMakesADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	for range 2 {
		if err := Migrate(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	if got := beside(t, path); got != "portcullis.db" {
		t.Errorf("left behind: %s", got)
	}
	report, err := Check(t.Context(), path)
	if err != nil || !report.Sound() {
		t.Errorf("report %+v, %v", report, err)
	}
}
