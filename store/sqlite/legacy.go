package sqlite

import (
	"context"
	"database/sql"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Legacy shows the operator one session without a certain owner; see [turn.History]. The look is on record before
// anything of it is shown.
func (s *Store) Legacy(ctx context.Context, by principal.Scope, q turn.LegacyQuery) (turn.Legacy, bool, error) {
	if err := rule.AcceptOperator(by, s.id); err != nil {
		return turn.Legacy{}, false, err
	}
	if err := rule.LegacyQuery(q); err != nil {
		return turn.Legacy{}, false, wrapf(err, "look at a session to repair")
	}
	var (
		got   turn.Legacy
		found bool
	)
	err := s.write(ctx, func(t *tx) (err error) {
		got, found, err = t.legacy(rule.LegacyLookup(q))
		if err != nil {
			return err
		}
		r := event.Record{ID: s.ids.Event(), At: t.now, Principal: by.PrincipalID()}
		return s.audit(t, rule.Accessed(r, q, got.Session.ID, rule.Reason(got.Why)))
	})
	if err != nil {
		return turn.Legacy{}, false, wrapf(err, "look at a session to repair")
	}
	return got, found, nil
}

// legacy reads a session that is there and has no certain owner.
func (t *tx) legacy(l rule.Lookup) (turn.Legacy, bool, error) {
	session, exists, err := t.sessionOf(l)
	if err != nil || !exists {
		return turn.Legacy{}, false, err
	}
	owned, err := t.ownership(session)
	if err != nil || owned == rule.Owned {
		return turn.Legacy{}, false, err
	}
	got := turn.Legacy{Why: string(rule.Why(true, owned, false))}
	got.Session, err = scanSession(t.row(`SELECT s.id, s.core, s.title, s.turns, s.created_at, s.last_turn_at,
			coalesce(w.authority, ''), coalesce(w.principal_id, ''), coalesce(w.channel, ''),
			coalesce(w.conversation_key, ''), coalesce(w.parent_session, ''), coalesce(w.parent_turn, ''),
			(SELECT e.at FROM session_ends e WHERE e.session_id = s.id)
		FROM sessions s LEFT JOIN session_owners w ON w.session_id = s.id WHERE s.id = ?`, session))
	if err != nil {
		return turn.Legacy{}, false, err
	}
	rows, err := t.rows(`SELECT `+turnColumns+` FROM turns t WHERE t.session_id = ? ORDER BY t.seq DESC LIMIT ?`,
		session, turn.MaxLegacyTurns)
	got.Turns, err = collect(rows, err, func(r *sql.Rows) (turn.Record, error) { return scanTurn(r) })
	return got, err == nil, err
}
