package sqlite

import (
	"context"
	"database/sql"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Children lists the turns of a turn's child agents, in the order they began; see [turn.History].
func (s *Store) Children(ctx context.Context, by principal.Scope, parent id.Turn, limit int) ([]turn.Child, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Limit(limit, rule.MaxPage)
	}
	if err != nil {
		return nil, wrapf(err, "list the children of %s", parent)
	}
	rows, err := s.reader.rows(ctx, `SELECT `+turnColumns+`, t.principal_id FROM session_owners w
		CROSS JOIN turns t ON t.session_id = w.session_id AND t.authority = w.authority AND t.principal_id = w.principal_id
		WHERE w.parent_turn = ? AND w.parent_turn <> '' AND `+reached("w.session_id")+` ORDER BY t.seq LIMIT ?`,
		string(parent), rc.all, rc.allowed, limit)
	out, err := collect(rows, err, func(r *sql.Rows) (c turn.Child, err error) {
		c.Record, err = scanTurn(also{r, &c.Principal})
		return c, err
	})
	return out, wrapf(err, "list the children of %s", parent)
}

// also is a row with one more column behind those that a scan knows.
type also struct {
	of   scanner
	more any
}

// Scan reads the row.
func (a also) Scan(dest ...any) error { return a.of.Scan(append(dest, a.more)...) }
