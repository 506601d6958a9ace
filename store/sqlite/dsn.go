package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// How long a statement waits for another process before it gives up. A migration is refused soon: what keeps the
// database open is another command, which has to be stopped.
const (
	busyMillis  = 5000
	seizeMillis = 500
)

// mode is how a connection is opened.
type mode int

const (
	readWrite mode = iota
	readOnly       // SQLite refuses writes; a live or crashed database may still need its -shm file
	immutable      // as readOnly, and no file beside the database is touched; only for one that nobody writes
	exclusive      // nobody else may have the database open, and foreign keys are not enforced: for migrations
)

// dsn names path with the pragmas that every connection has. Values are compile-time constants but for the path,
// which is escaped.
func dsn(path string, m mode) string {
	defensive := "_defensive=1"
	if m == exclusive {
		defensive = "_defensive=0" // a migration may change the text of a check, which then need not write every row anew
	}
	q := []string{"_txlock=immediate", "_dqs=0", defensive, "_error_rc=1"}
	pragma := func(name string, value any) { q = append(q, fmt.Sprintf("_pragma=%s(%v)", name, value)) }
	wait := busyMillis
	if m == exclusive {
		wait = seizeMillis
	}
	pragma("busy_timeout", wait)
	pragma("trusted_schema", "OFF")
	pragma("temp_store", "MEMORY")
	pragma("cache_size", -16384)
	if m == readOnly || m == immutable {
		q = append(q, "mode=ro")
	} else {
		pragma("synchronous", "FULL")
		pragma("recursive_triggers", "ON") // else REPLACE would delete past the triggers
		pragma("cell_size_check", "ON")
		// A checkpoint that fails inside a commit is not reported; the store runs its own and looks.
		pragma("wal_autocheckpoint", 0)
	}
	switch m {
	case immutable:
		q = append(q, "immutable=1")
	case exclusive:
		pragma("locking_mode", "EXCLUSIVE")
		pragma("foreign_keys", "OFF")
	default:
		pragma("foreign_keys", "ON")
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String() + "?" + strings.Join(q, "&")
}

// connect opens path with at most conns connections, which are kept. It touches the file first when one is used.
func connect(path string, m mode, conns int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, m))
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}
