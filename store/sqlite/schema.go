package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var embedded embed.FS

// released are the migrations that this program was built with.
func released() fs.FS {
	sub, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// applicationID marks our files ("Prtc"); migration 1 sets it.
const applicationID = 1349678179

// versionTable is where goose records what was applied.
const versionTable = "goose_db_version"

// latest is the highest migration of the set. Files are named <number>_<words>.sql, numbered from 1 without a gap.
func latest(migrations fs.FS) (int64, error) {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return 0, err
	}
	for i, name := range names {
		number, _, _ := strings.Cut(name, "_")
		if n, err := strconv.Atoi(number); err != nil || n != i+1 {
			return 0, fmt.Errorf("migration %s is not number %d", name, i+1)
		}
	}
	if len(names) == 0 {
		return 0, errors.New("there are no migrations")
	}
	return int64(len(names)), nil
}

// rowQuerier is a pool or a connection.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schema is what a database file says about itself.
type schema struct {
	empty   bool  // nothing was ever made in it
	ours    bool  // it carries our mark and a version
	version int64 // the highest migration applied
}

func readSchema(ctx context.Context, db rowQuerier) (schema, error) {
	var (
		got            schema
		mark           int64
		tables, counts int
	)
	if err := db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&mark); err != nil {
		return schema{}, err
	}
	err := db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE name = ?) FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`, versionTable).Scan(&tables, &counts)
	if err != nil {
		return schema{}, err
	}
	if counts > 0 {
		err := db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM `+versionTable+` WHERE is_applied = 1`).Scan(&got.version)
		if err != nil {
			return schema{}, err
		}
	}
	// Migration 1 sets the mark and its version together. A creation that was cut short before it may have left the
	// version table and nothing else.
	got.ours = mark == applicationID && got.version > 0
	got.empty = mark == 0 && got.version == 0 && tables == counts
	return got, nil
}

// ForeignError reports a file that is not a store of ours.
type ForeignError struct {
	Database string // absolute path
	Err      error  // why it cannot be read, or nil when it is another program's database
}

// Error says what to do instead.
func (e *ForeignError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("sqlite: %s is not a database: %v (name another file, or restore a backup over it)", e.Database, e.Err)
	}
	return fmt.Sprintf("sqlite: %s is another program's database: nothing was changed; name another file", e.Database)
}

// Unwrap returns the cause.
func (e *ForeignError) Unwrap() error { return e.Err }

// SchemaError reports a database whose schema this program cannot use as it is.
type SchemaError struct {
	Database string // absolute path
	Have     int64  // version of the database
	Want     int64  // version of this program
}

// Error names both versions and the way out.
func (e *SchemaError) Error() string {
	if e.Have > e.Want {
		return fmt.Sprintf("sqlite: %s has schema version %d and this program knows up to %d: use the newer program that made it, or restore the backup %s", e.Database, e.Have, e.Want, backupPath(e.Database, e.Want))
	}
	return fmt.Sprintf("sqlite: %s has schema version %d and this program needs %d: run a command that may write, which migrates it behind a backup", e.Database, e.Have, e.Want)
}

// judged is the answer to a schema: nil when it is the wanted one.
func (got schema) judged(path string, want int64) error {
	switch {
	case !got.ours && !got.empty:
		return &ForeignError{Database: path}
	case got.version != want:
		return &SchemaError{Database: path, Have: got.version, Want: want}
	}
	return nil
}

// old reports whether migrations can bring the database to the wanted version.
func (got schema) old(want int64) bool { return got.empty || got.ours && got.version < want }

// checkSchema is nil for a database of the wanted schema.
func checkSchema(ctx context.Context, db rowQuerier, path string, migrations fs.FS) error {
	want, err := latest(migrations)
	if err != nil {
		return fmt.Errorf("sqlite: read migrations: %w", err)
	}
	got, err := readSchema(ctx, db)
	if err != nil {
		return unreadable(path, err)
	}
	return got.judged(path, want)
}

// unreadable tells a file that is no database from a database that cannot be read now.
func unreadable(path string, err error) error {
	if code(err) == codeNotADB {
		return &ForeignError{Database: path, Err: err}
	}
	return fmt.Errorf("sqlite: read schema of %s: %w", path, err)
}
