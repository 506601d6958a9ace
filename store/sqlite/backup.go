package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// backupPath is where the backup before leaving schema version v goes.
func backupPath(path string, v int64) string { return fmt.Sprintf("%s.v%d.bak", path, v) }

// Backup writes a checked copy of the database at path to dst, which must not exist. The database may be in use; the
// copy is of one moment. dst is private to its owner and on disk when Backup returns nil; otherwise it is not there.
func Backup(ctx context.Context, path, dst string) error {
	err := func() error {
		from, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		to, err := filepath.Abs(dst)
		if err != nil {
			return err
		}
		if err := exists(from); err != nil {
			return err
		}
		db, err := connect(from, readOnly, 1)
		if err != nil {
			return err
		}
		defer db.Close()
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return copyTo(ctx, conn, to)
	}()
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("sqlite: back up %s: %s exists and is not replaced: name another file (%w)", path, dst, fs.ErrExist)
	}
	return wrapf(err, "back up %s to %s", path, dst)
}

// copyTo writes conn's database to a new file: privately, checked and flushed, and only then under its name.
func copyTo(ctx context.Context, conn *sql.Conn, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "back up to", Path: to, Err: fs.ErrExist}
	}
	partial := to + ".partial"
	if err := discard(partial); err != nil {
		return err
	}
	if err := own(partial); err != nil {
		return err
	}
	err := func() error {
		if _, err := conn.ExecContext(ctx, `VACUUM INTO ?`, partial); err != nil {
			return err
		}
		if err := verifyFile(ctx, partial); err != nil {
			return err
		}
		if err := flush(partial); err != nil {
			return err
		}
		return place(partial, to)
	}()
	if err != nil {
		return errors.Join(err, discard(partial))
	}
	return nil
}

// verifyFile is [verify] over a file that nobody writes.
func verifyFile(ctx context.Context, path string) error {
	return withFile(ctx, path, func(conn *sql.Conn) error { return verify(ctx, conn) })
}

func withFile(ctx context.Context, path string, do func(*sql.Conn) error) error {
	db, err := connect(path, immutable, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close())
}

// ensureBackup makes the backup, or accepts one that is there and says what the database says.
func ensureBackup(ctx context.Context, conn *sql.Conn, path, bak string) error {
	if _, err := os.Lstat(bak); errors.Is(err, fs.ErrNotExist) {
		return copyTo(ctx, conn, bak)
	}
	var theirs [sha256.Size]byte
	err := withFile(ctx, bak, func(c *sql.Conn) (err error) {
		if err := verify(ctx, c); err != nil {
			return err
		}
		theirs, err = fingerprint(ctx, c)
		return err
	})
	if err != nil {
		return &StaleBackupError{Database: path, Backup: bak, Err: err}
	}
	ours, err := fingerprint(ctx, conn)
	if err != nil {
		return err
	}
	if ours != theirs {
		return &StaleBackupError{Database: path, Backup: bak}
	}
	return flush(bak)
}

// fingerprint digests what a database says: every schema object and every row, not how they are laid out in pages.
func fingerprint(ctx context.Context, conn *sql.Conn) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	tables, err := objects(ctx, conn, h)
	if err != nil {
		return sum, err
	}
	for _, name := range tables {
		if err := digestTable(ctx, conn, h, name); err != nil {
			return sum, fmt.Errorf("table %s: %w", name, err)
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// objects digests the schema and lists its tables.
func objects(ctx context.Context, conn *sql.Conn, h hash.Hash) ([]string, error) {
	rows, err := conn.QueryContext(ctx, `SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name`)
	type object struct{ kind, name, sql string }
	all, err := collect(rows, err, func(r *sql.Rows) (o object, err error) {
		err = r.Scan(&o.kind, &o.name, &o.sql)
		return o, err
	})
	var tables []string
	for _, o := range all {
		digest(h, o.kind)
		digest(h, o.name)
		digest(h, o.sql)
		if o.kind == "table" {
			tables = append(tables, o.name)
		}
	}
	return tables, err
}

func digestTable(ctx context.Context, conn *sql.Conn, h hash.Hash, name string) error {
	quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	var columns int
	if err := conn.QueryRowContext(ctx, `SELECT count(*) FROM pragma_table_xinfo(?)`, name).Scan(&columns); err != nil {
		return err
	}
	order := make([]string, columns)
	for i := range order {
		order[i] = fmt.Sprint(i + 1)
	}
	// By all columns and not by rowid, which a copy may number anew.
	rows, err := conn.QueryContext(ctx, `SELECT * FROM `+quoted+` ORDER BY `+strings.Join(order, ", "))
	if err != nil {
		return err
	}
	defer rows.Close()
	digest(h, name)
	cells := make([]any, columns)
	into := make([]any, columns)
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for _, cell := range cells {
			digest(h, cell)
		}
	}
	return rows.Err()
}

// digest adds one value with its type and length, so that no two rows read alike.
func digest(h hash.Hash, v any) {
	var kind byte
	var body []byte
	switch v := v.(type) {
	case nil:
		kind = 'n'
	case int64:
		kind, body = 'i', binary.BigEndian.AppendUint64(nil, uint64(v))
	case float64:
		kind, body = 'f', binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
	case string:
		kind, body = 't', []byte(v)
	case []byte:
		kind, body = 'b', v
	default:
		kind, body = 'x', []byte(fmt.Sprint(v)) // a declared type that the driver turns into a Go value, such as a time
	}
	head := binary.BigEndian.AppendUint64([]byte{kind}, uint64(len(body)))
	h.Write(head)
	h.Write(body)
}
