package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFaults bounds how many faults a check lists.
const maxFaults = 100

// Report is what [Check] found. The database is sound when Faults is empty and Schema equals Known.
type Report struct {
	Database string // absolute path
	Bytes    int64  // size of the database file, without its log
	Store    string // store id
	Schema   int64  // version of the database
	Known    int64  // version of this program
	SQLite   string // version of the engine
	InUse    bool   // a log stands beside it: some process has it open, or one died with it
	Pages    int64
	Free     int64            // pages that hold nothing
	Rows     map[string]int64 // of each table of ours
	Faults   []string         // of structure and references, at most 100
}

// Sound reports whether nothing is wrong and this program can use the database.
func (r Report) Sound() bool { return len(r.Faults) == 0 && r.Schema == r.Known }

// Check reads the whole database at path, also while it is in use, and says what it found. It writes nothing. A file
// that is not there or not ours is an error; one that is damaged is a report with faults.
func Check(ctx context.Context, path string) (Report, error) {
	return check(ctx, path, released())
}

func check(ctx context.Context, path string, migrations fs.FS) (Report, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Report{}, fmt.Errorf("sqlite: check %s: %w", path, err)
	}
	if err := exists(abs); err != nil {
		return Report{}, fmt.Errorf("sqlite: check: %w", err)
	}
	r := Report{Database: abs, Rows: map[string]int64{}}
	if r.Known, err = latest(migrations); err != nil {
		return Report{}, fmt.Errorf("sqlite: check %s: %w", abs, err)
	}
	// Without a log nobody has it open and none was left by a crash: then no file need be made to read it. Should
	// somebody open it meanwhile, what was read may be torn, so it is read again.
	still := immutable
	if logged(abs) {
		still = readOnly
	}
	got, err := r.read(ctx, still)
	if still == immutable && logged(abs) {
		got, err = r.read(ctx, readOnly)
	}
	var foreign *ForeignError
	if errors.As(err, &foreign) {
		return Report{}, err
	}
	return got, wrapf(err, "check %s", abs)
}

func logged(path string) bool {
	_, err := os.Lstat(path + "-wal")
	return err == nil
}

func (r Report) read(ctx context.Context, m mode) (Report, error) {
	r.Rows = map[string]int64{}
	info, err := os.Stat(r.Database)
	if err != nil {
		return Report{}, err
	}
	r.Bytes = info.Size()
	db, err := connect(r.Database, m, 1)
	if err != nil {
		return Report{}, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return Report{}, unreadable(r.Database, err)
	}
	defer conn.Close()
	got, err := readSchema(ctx, conn)
	if err != nil {
		return Report{}, unreadable(r.Database, err)
	}
	if !got.ours {
		return Report{}, &ForeignError{Database: r.Database}
	}
	r.Schema, r.InUse = got.version, m == readOnly
	err = errors.Join(r.facts(ctx, conn), r.count(ctx, conn))
	return r, err
}

func (r *Report) facts(ctx context.Context, conn *sql.Conn) error {
	for query, into := range map[string]any{
		`SELECT sqlite_version()`: &r.SQLite,
		`PRAGMA page_count`:       &r.Pages,
		`PRAGMA freelist_count`:   &r.Free,
		`SELECT coalesce((SELECT value FROM meta WHERE key = 'store_id'), '')`: &r.Store,
	} {
		if err := conn.QueryRowContext(ctx, query).Scan(into); err != nil {
			return err
		}
	}
	var err error
	r.Faults, err = integrity(ctx, conn)
	return err
}

func (r *Report) count(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, `SELECT name FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> ? ORDER BY name`, versionTable)
	names, err := collect(rows, err, func(rows *sql.Rows) (name string, err error) {
		err = rows.Scan(&name)
		return name, err
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		var n int64
		err := conn.QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`).Scan(&n)
		if code(err) == codeCorrupt {
			r.Faults = append(r.Faults, fmt.Sprintf("table %s cannot be counted: %v", name, err))
			continue
		}
		if err != nil {
			return err
		}
		r.Rows[name] = n
	}
	return nil
}

// integrity lists what is wrong with the structure and the references of a database.
func integrity(ctx context.Context, conn *sql.Conn) ([]string, error) {
	rows, err := conn.QueryContext(ctx, fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFaults))
	faults, err := collect(rows, err, func(r *sql.Rows) (fault string, err error) {
		err = r.Scan(&fault)
		return fault, err
	})
	if err != nil {
		if c := code(err); c == codeCorrupt {
			return []string{err.Error()}, nil // too damaged to go on is a finding, not a failure of the check
		}
		return nil, err
	}
	if len(faults) == 1 && faults[0] == "ok" {
		faults = nil
	}
	rows, err = conn.QueryContext(ctx, `SELECT "table", rowid, parent FROM pragma_foreign_key_check LIMIT ?`, maxFaults)
	dangling, err := collect(rows, err, func(r *sql.Rows) (string, error) {
		var table, parent string
		var row sql.NullInt64
		err := r.Scan(&table, &row, &parent)
		return fmt.Sprintf("row %d of %s refers to a row of %s that is not there", row.Int64, table, parent), err
	})
	if err != nil {
		if c := code(err); c == codeCorrupt {
			return append(faults, err.Error()), nil
		}
		return nil, err
	}
	return append(faults, dangling...), nil
}

// exists tells a missing database in words that say what to do.
func exists(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no database %s: `portcullis init` makes one (%w)", path, fs.ErrNotExist)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}
