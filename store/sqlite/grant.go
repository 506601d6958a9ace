package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

const grantsOf = `SELECT capability FROM plugin_grants WHERE plugin = ? ORDER BY capability`

func oneText(r *sql.Rows) (text string, err error) {
	err = r.Scan(&text)
	return text, err
}

// PluginGrants returns what the operator lets the plugin do; see [effect.Grants]. A grant that no longer reads as one
// is an error: a plugin must not run on part of its grants.
func (s *Store) PluginGrants(ctx context.Context, plugin string) (capability.Snapshot, error) {
	rows, err := s.reader.rows(ctx, grantsOf, plugin)
	texts, err := collect(rows, err, oneText)
	if err != nil {
		return capability.Snapshot{}, wrapf(err, "read grants of %s", plugin)
	}
	snap, err := capability.ParseSnapshot(texts...)
	return snap, wrapf(err, "read grants of %s", plugin)
}

// GrantPlugin adds one grant; see [effect.Grants]. Only an operator may; a grant that is there already writes nothing.
func (s *Store) GrantPlugin(ctx context.Context, by principal.Scope, plugin string, g capability.Grant, r event.Record) (bool, error) {
	return s.setGrant(ctx, by, plugin, g, r, func(t *tx) (int64, error) {
		return t.exec(`INSERT INTO plugin_grants (plugin, capability, granted_by, granted_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, plugin, g.String(), by.PrincipalID(), t.now.UnixMilli())
	})
}

// RevokePlugin removes one grant; see [effect.Grants]. Only an operator may; a grant that is not there writes nothing.
func (s *Store) RevokePlugin(ctx context.Context, by principal.Scope, plugin string, g capability.Grant, r event.Record) (bool, error) {
	return s.setGrant(ctx, by, plugin, g, r, func(t *tx) (int64, error) {
		return t.exec(`DELETE FROM plugin_grants WHERE plugin = ? AND capability = ?`, plugin, g.String())
	})
}

func (s *Store) setGrant(ctx context.Context, by principal.Scope, plugin string, g capability.Grant, r event.Record, change func(*tx) (int64, error)) (bool, error) {
	if err := rule.AcceptOperator(by, s.id); err != nil {
		return false, err
	}
	err := rule.Audit(r)
	if plugin == "" || g.Zero() {
		err = errors.New("the plugin or the grant is missing")
	}
	var changed bool
	if err == nil {
		err = s.write(ctx, func(t *tx) error {
			n, err := change(t)
			if changed = n == 1; err != nil || !changed {
				return err
			}
			return s.audit(t, r)
		})
	}
	if err != nil {
		return false, wrapf(err, "change grants of %s", plugin)
	}
	return changed, nil
}
