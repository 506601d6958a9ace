package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	driver "modernc.org/sqlite"
)

// readers is the size of the read pool.
const readers = 4

// Config says which database to open and how.
type Config struct {
	Path     string           // the database file; its folder must exist
	Clock    func() time.Time // required
	IDs      *id.Source       // required
	ReadOnly bool             // every write is [ErrReadOnly], nothing is migrated, and denied lookups are not audited

	migrations fs.FS // tests: other migrations than the released ones
}

// Store is one open database. It is safe for concurrent use, also beside other processes on the same file.
type Store struct {
	path     string
	id       id.Store
	clock    func() time.Time
	ids      *id.Source
	readOnly bool

	reads  *sql.DB
	reader *prepared
	owners owners // of the sessions that had turns

	queue   queue         // the writes that wait
	gate    chan struct{} // holds one token: the writer's turn, which guards everything below
	writes  *sql.DB
	conn    *sql.Conn // the one connection of writes, pinned: the pool must not swap it inside a transaction
	writer  *prepared
	commits int // since the last checkpoint
	logged  int // bytes, since the last checkpoint
	failure error
	owed    map[id.Turn]debt // why what a turn gave to be written behind is not there
	closed  bool
}

// Open opens the database, makes it when it is not there and migrates it when it is old; see [Migrate] for the
// errors of that. The file and everything beside it is private to its owner.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", cfg.Path, err)
	}
	if cfg.Clock == nil || cfg.IDs == nil {
		return nil, fmt.Errorf("sqlite: open %s: a clock and a source of ids are required", path)
	}
	if cfg.migrations == nil {
		cfg.migrations = released()
	}
	// fdatasync flushes the log as durably as fsync and takes about half as long. Where there is none, fsync stays.
	if _, err := driver.Fdatasync(true); err != nil && !errors.Is(err, driver.ErrFdatasyncUnavailable) {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	s := &Store{
		path: path, clock: cfg.Clock, ids: cfg.IDs, readOnly: cfg.ReadOnly, gate: make(chan struct{}, 1), owed: map[id.Turn]debt{},
	}
	if cfg.ReadOnly {
		err = s.openToRead(ctx, cfg.migrations)
	} else {
		err = s.openToWrite(ctx, cfg.migrations)
	}
	if err != nil {
		return nil, errors.Join(err, s.shut())
	}
	return s, nil
}

func (s *Store) openToRead(ctx context.Context, migrations fs.FS) error {
	if err := exists(s.path); err != nil {
		return err
	}
	if err := s.openReads(); err != nil {
		return err
	}
	if err := checkSchema(ctx, s.reads, s.path, migrations); err != nil {
		return err
	}
	return s.identify(ctx, s.reads)
}

func (s *Store) openToWrite(ctx context.Context, migrations fs.FS) error {
	if err := own(s.path); err != nil {
		return fmt.Errorf("sqlite: open %s: %w", s.path, err)
	}
	if err := migrate(ctx, s.path, migrations, nil); err != nil {
		return err
	}
	db, err := connect(s.path, readWrite, 1)
	if err != nil {
		return err
	}
	s.writes = db
	if s.conn, err = db.Conn(ctx); err != nil {
		return fmt.Errorf("sqlite: open %s: %w", s.path, err)
	}
	s.writer = &prepared{on: s.conn}
	if err := s.logAhead(ctx); err != nil {
		return err
	}
	err = s.write(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO meta (key, value) VALUES ('store_id', ?) ON CONFLICT DO NOTHING`, string(s.ids.Store()))
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlite: open %s: %w", s.path, err)
	}
	if err := s.identify(ctx, s.conn); err != nil {
		return err
	}
	return s.openReads()
}

func (s *Store) openReads() error {
	db, err := connect(s.path, readOnly, readers)
	if err != nil {
		return err
	}
	s.reads, s.reader = db, &prepared{on: db}
	return nil
}

// logAhead puts the database into WAL mode once; it is a property of the file, and setting it again would need the
// file to itself.
func (s *Store) logAhead(ctx context.Context) error {
	var now string
	err := s.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&now)
	if err == nil && now != "wal" {
		err = s.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&now)
	}
	if err != nil {
		return fmt.Errorf("sqlite: open %s: set journal mode: %w", s.path, err)
	}
	if now != "wal" {
		return fmt.Errorf("sqlite: open %s: the file system allows no write-ahead log (journal mode is %s): move the home to a local disk", s.path, now)
	}
	return nil
}

func (s *Store) identify(ctx context.Context, from rowQuerier) error {
	err := from.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'store_id'`).Scan(&s.id)
	if err != nil {
		return fmt.Errorf("sqlite: open %s: read the store id: %w", s.path, err)
	}
	return nil
}

// StoreID is the identity of this database for its whole life, backups included.
func (s *Store) StoreID() id.Store { return s.id }

// Path is the absolute path of the database file.
func (s *Store) Path() string { return s.path }

// Close waits for the write in progress, moves the log into the database and closes the file. Later calls of any
// method are [ErrClosed] or an error of the closed pool. Close may be called again.
func (s *Store) Close() error {
	s.gate <- struct{}{}
	defer s.leave()
	if s.closed {
		return nil
	}
	for s.flushNext() { // what was taken to be written behind
	}
	s.closed = true
	s.owners.forget()
	return s.shut()
}

func (s *Store) shut() error {
	var errs []error
	for _, p := range []*prepared{s.reader, s.writer} {
		if p != nil {
			errs = append(errs, p.close())
		}
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	for _, db := range []*sql.DB{s.reads, s.writes} {
		if db != nil {
			errs = append(errs, db.Close()) // the last connection checkpoints and removes the log
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sqlite: close %s: %w", s.path, err)
	}
	return nil
}
