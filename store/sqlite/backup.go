package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// partialOf is where the copy that will be to is written.
func partialOf(to string) string { return to + ".partial" }

// copyTo writes conn's database to a new file: privately, checked and flushed, and only then under its name.
func copyTo(ctx context.Context, conn *sql.Conn, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "back up to", Path: to, Err: fs.ErrExist}
	}
	partial := partialOf(to)
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
	// SQLite goes on when it could not sync the folder of a journal, and leaves that beside a copy that is whole.
	return errors.Join(err, discard(partial))
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
	// A run that was killed between giving the copy its name and taking the old one away left both.
	return errors.Join(flush(bak), discard(partialOf(bak)))
}
