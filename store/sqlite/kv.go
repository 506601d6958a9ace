package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Get reads one value that a plugin keeps for a principal, with its version; see [sandbox.KV].
func (s *Store) Get(ctx context.Context, scope sandbox.KVScope, key string) (value []byte, version int64, err error) {
	if err := rule.Key(scope, key); err != nil {
		return nil, 0, wrapf(err, "get a value of %s", scope.Plugin)
	}
	err = s.reader.row(ctx, `SELECT value, version FROM kv WHERE plugin = ? AND principal = ? AND key = ?`,
		scope.Plugin, scope.Principal, key).Scan(&value, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, nil
	}
	return value, version, wrapf(err, "get a value of %s", scope.Plugin)
}

// Set writes one value when its condition holds and the scope's bounds allow it; see [sandbox.KV].
func (s *Store) Set(ctx context.Context, scope sandbox.KVScope, key string, value []byte, ifVersion *int64) (version int64, ok bool, err error) {
	err = errors.Join(rule.Key(scope, key), rule.Value(value))
	if err == nil {
		err = s.write(ctx, func(t *tx) error {
			if err := t.writes(scope); err != nil {
				return err
			}
			var had int64
			version, had, err = t.version(scope, key)
			if ok = ifVersion == nil || *ifVersion == version; err != nil || !ok {
				return err
			}
			retired, err := t.room(scope, version == 0, int64(len(value))-had)
			if err != nil {
				return err
			}
			if version == 0 {
				version = retired
			}
			version++
			return t.must(`INSERT INTO kv (plugin, principal, key, version, size, value) VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT (plugin, principal, key) DO UPDATE SET version = excluded.version, size = excluded.size,
					value = excluded.value`,
				scope.Plugin, scope.Principal, key, version, len(value), append([]byte{}, value...))
		})
	}
	if err != nil {
		return 0, false, wrapf(err, "set a value of %s", scope.Plugin)
	}
	if !ok {
		version = 0
	}
	return version, ok, nil
}

// writes refuses a write of a turn that is over. A running turn has the one lease of its session, and no other turn ever gets
// its id.
func (t *tx) writes(scope sandbox.KVScope) error {
	var live bool
	err := t.row(`SELECT EXISTS (SELECT 1 FROM turns t JOIN leases l ON l.session_id = t.session_id AND l.turn_id = t.id
		WHERE t.id = ? AND l.expires_at > ?)`, string(scope.Turn), t.now.UnixMilli()).Scan(&live)
	if err == nil && !live {
		err = &sandbox.KVOverError{Turn: scope.Turn}
	}
	return err
}

// version reads the version and size of one key; both are 0 when it is not there.
func (t *tx) version(scope sandbox.KVScope, key string) (version, size int64, err error) {
	err = t.row(`SELECT version, size FROM kv WHERE plugin = ? AND principal = ? AND key = ?`,
		scope.Plugin, scope.Principal, key).Scan(&version, &size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return version, size, err
}

// room refuses a write that takes the scope past a bound. It returns the highest version that was deleted in the scope.
func (t *tx) room(scope sandbox.KVScope, added bool, growth int64) (retired int64, err error) {
	var keys, bytes int64
	err = t.row(`SELECT keys, bytes, retired FROM kv_usage WHERE plugin = ? AND principal = ?`, scope.Plugin, scope.Principal).
		Scan(&keys, &bytes, &retired)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if added {
		keys++
	}
	return retired, rule.Room(keys, bytes+growth)
}

// Delete removes one key when its condition holds; see [sandbox.KV].
func (s *Store) Delete(ctx context.Context, scope sandbox.KVScope, key string, ifVersion *int64) (ok bool, err error) {
	err = rule.Key(scope, key)
	if err == nil {
		err = s.write(ctx, func(t *tx) error {
			if err := t.writes(scope); err != nil {
				return err
			}
			version, _, err := t.version(scope, key)
			if ok = ifVersion == nil || *ifVersion == version; err != nil || !ok || version == 0 {
				return err
			}
			return t.must(`DELETE FROM kv WHERE plugin = ? AND principal = ? AND key = ?`, scope.Plugin, scope.Principal, key)
		})
	}
	if err != nil {
		return false, wrapf(err, "delete a value of %s", scope.Plugin)
	}
	return ok, nil
}

// List returns keys with a prefix in byte order; see [sandbox.KV]. It begins at the first key that can have the prefix
// and ends at the first that cannot.
func (s *Store) List(ctx context.Context, scope sandbox.KVScope, prefix, after string, limit int) (entries []wire.KVEntry, more bool, err error) {
	err = errors.Join(rule.Scope(scope), rule.Limit(limit, wire.MaxListEntries))
	if err != nil {
		return nil, false, wrapf(err, "list keys of %s", scope.Plugin)
	}
	query, args := `SELECT key, version, size FROM kv WHERE plugin = ? AND principal = ? AND key >= ? AND key > ?`,
		[]any{scope.Plugin, scope.Principal, prefix, after}
	if end := rule.PrefixEnd(prefix); end != "" {
		query, args = query+` AND key < ?`, append(args, end)
	}
	rows, err := s.reader.rows(ctx, query+` ORDER BY key LIMIT ?`, append(args, limit+1)...)
	entries, err = collect(rows, err, func(r *sql.Rows) (e wire.KVEntry, err error) {
		err = r.Scan(&e.Key, &e.Version, &e.Size)
		return e, err
	})
	if more = len(entries) > limit; more {
		entries = entries[:limit]
	}
	return entries, more, wrapf(err, "list keys of %s", scope.Plugin)
}
