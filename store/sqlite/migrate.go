package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"
)

// Migrate brings the database at path to this program's schema, making it when it is not there. [Open] does it too.
//
// An old database is changed in this order, and nobody else may have it open meanwhile:
//
//	1 check   integrity of the database itself; a damaged one is not migrated
//	2 backup  to <path>.v<N>.bak, checked and flushed; an existing one is used if it says the same, else all stops
//	3 apply   each migration in its own transaction, to a copy
//	4 verify  integrity and foreign keys of the copy
//	5 commit  the copy's pages into the database, in one transaction of SQLite
//
// Up to step 5 the database is only read, and step 5 happens wholly or not at all, also when the process is killed.
// A failure is a [*MigrationError] with both paths and the command that restores; a backup that says something else
// is a [*StaleBackupError]; a schema newer than this program is a [*SchemaError]; another program's file is a
// [*ForeignError]; a database that is open elsewhere is an [*InUseError].
func Migrate(ctx context.Context, path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("sqlite: migrate %s: %w", path, err)
	}
	if err := own(abs); err != nil {
		return fmt.Errorf("sqlite: migrate %s: %w", abs, err)
	}
	return migrate(ctx, abs, released(), nil)
}

// migration is one run of [Migrate].
type migration struct {
	path       string
	migrations fs.FS
	want       int64
	at         func(step string) // tests: called before each step
}

func migrate(ctx context.Context, path string, migrations fs.FS, at func(string)) error {
	want, err := latest(migrations)
	if err != nil {
		return fmt.Errorf("sqlite: read migrations: %w", err)
	}
	if at == nil {
		at = func(string) {}
	}
	m := migration{path: path, migrations: migrations, want: want, at: at}
	got, err := m.look(ctx)
	if err != nil {
		return err
	}
	if err := got.judged(path, want); err == nil {
		return m.tidy()
	} else if !got.old(want) {
		return err
	}
	db, err := connect(path, exclusive, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return unreadable(path, err)
	}
	defer conn.Close()
	if err := seize(ctx, conn); err != nil {
		return inUse(path, err)
	}
	// Somebody may have migrated it while the lock was free.
	if got, err = readSchema(ctx, conn); err != nil {
		return unreadable(path, err)
	}
	if !got.old(want) {
		return got.judged(path, want)
	}
	if got.empty {
		return errors.Join(conn.Close(), m.create(ctx, db))
	}
	return m.upgrade(ctx, conn, got.version)
}

// look reads the schema without the lock: mostly there is nothing to do.
func (m migration) look(ctx context.Context) (schema, error) {
	db, err := connect(m.path, readWrite, 1)
	if err != nil {
		return schema{}, err
	}
	defer db.Close()
	got, err := readSchema(ctx, db)
	if err != nil {
		return schema{}, unreadable(m.path, err)
	}
	return got, nil
}

// seize takes the file for this connection alone until it is closed.
func seize(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	return err
}

// create makes the schema in an empty file. Each migration is a transaction, and the file holds nothing to lose.
func (m migration) create(ctx context.Context, db *sql.DB) error {
	if err := m.apply(ctx, db); err != nil {
		return fmt.Errorf("sqlite: create %s: %w", m.path, err)
	}
	return nil
}

// upgrade is steps 1 to 5 over a connection that has the file to itself.
func (m migration) upgrade(ctx context.Context, conn *sql.Conn, from int64) error {
	bak := backupPath(m.path, from)
	failed := func(doing string, err error) error {
		return &MigrationError{Database: m.path, Backup: bak, From: from, To: m.want, Doing: doing, Err: err}
	}
	m.at("check")
	if err := verify(ctx, conn); err != nil {
		return failed("check the database", err)
	}
	m.at("backup")
	if err := ensureBackup(ctx, conn, m.path, bak); err != nil {
		var stale *StaleBackupError
		if errors.As(err, &stale) {
			return err
		}
		return failed("make the backup", err)
	}
	m.at("apply")
	work := m.working()
	if err := m.applyToCopy(ctx, bak, work); err != nil {
		return errors.Join(failed("apply the migrations", err), discard(work))
	}
	m.at("commit")
	if err := replace(conn, work); err != nil {
		return errors.Join(failed("commit the migrated copy", err), discard(work))
	}
	m.at("done")
	if err := verify(ctx, conn); err != nil {
		return failed("verify the migrated database", err)
	}
	return m.tidy()
}

// tidy removes the working copy, also one that an earlier run was killed over after its commit.
func (m migration) tidy() error {
	work := m.working()
	if _, err := os.Lstat(work); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := discard(work); err != nil {
		return fmt.Errorf("sqlite: migrate %s: remove the working copy: %w", m.path, err)
	}
	return nil
}

// working is the copy that migrations are applied to.
func (m migration) working() string { return m.path + ".migrating" }

func (m migration) applyToCopy(ctx context.Context, bak, work string) error {
	if err := discard(work); err != nil { // of a run that was killed
		return err
	}
	if err := duplicate(bak, work); err != nil {
		return err
	}
	db, err := connect(work, exclusive, 1)
	if err != nil {
		return err
	}
	if err := m.apply(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	m.at("verify")
	conn, err := db.Conn(ctx)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return errors.Join(verify(ctx, conn), conn.Close(), db.Close())
}

// apply runs the migrations that db lacks, each in its own transaction, and checks that the last one arrived.
func (m migration) apply(ctx context.Context, db *sql.DB) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, db, m.migrations,
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	got, err := readSchema(ctx, db)
	if err == nil {
		err = got.judged(m.path, m.want)
	}
	return err
}

// replace writes the pages of the database at from over conn's own, in one transaction.
func replace(conn *sql.Conn, from string) error {
	return conn.Raw(func(c any) error {
		target, ok := c.(interface {
			NewRestore(srcURI string) (*driver.Backup, error)
		})
		if !ok {
			return fmt.Errorf("%T cannot restore", c)
		}
		copying, err := target.NewRestore(dsn(from, immutable))
		if err != nil {
			return err
		}
		more, err := copying.Step(-1)
		if err == nil && more {
			err = errors.New("the copy was not taken in one step")
		}
		return errors.Join(err, copying.Finish())
	})
}

// verify reads the whole database: its structure and its references.
func verify(ctx context.Context, conn *sql.Conn) error {
	faults, err := integrity(ctx, conn)
	if err == nil && len(faults) != 0 {
		err = &DamagedError{Faults: faults}
	}
	return err
}
