package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Left reads what earlier turns of a session left; see [prompt.Journal].
func (s *Store) Left(ctx context.Context, by principal.Scope, session id.Session, turn id.Turn, limit int) (left prompt.Left, err error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Limit(limit, prompt.MaxLeft)
	}
	if err != nil {
		return prompt.Left{}, wrapf(err, "read what turns of %s left", session)
	}
	var (
		reason string
		begun  int64
		any    bool
	)
	ctx = brief(ctx)
	err = s.reader.row(ctx, `SELECT t.reason, t.started_at, EXISTS (SELECT 1 FROM effects e WHERE e.session_id = t.session_id AND e.status = 'indeterminate')
		FROM turns t WHERE t.session_id = ?
		AND t.seq < (SELECT u.seq FROM turns u WHERE u.id = ? AND u.session_id = ?) AND `+reached("t.session_id")+` ORDER BY t.seq DESC LIMIT 1`,
		string(session), string(turn), string(session), rc.all, rc.allowed).Scan(&reason, &begun, &any)
	if errors.Is(err, sql.ErrNoRows) {
		return prompt.Left{}, nil // the first turn, or out of reach
	}
	if err != nil {
		return prompt.Left{}, wrapf(err, "read what turns of %s left", session)
	}
	if left.CutOff = rule.CutOff(reason); !any { // as a rule: every turn asks
		return left, nil
	}
	rows, err := s.reader.rows(ctx, `SELECT `+effectColumns+` WHERE e.session_id = ? AND e.status = 'indeterminate' AND e.turn_id <> ?
		AND (x.effect_id IS NULL OR x.verdict <> 'nothing_to_do' AND x.at >= ?) AND `+reached("e.session_id")+` ORDER BY e.seq DESC LIMIT ?`,
		string(session), string(turn), begun, rc.all, rc.allowed, limit+1)
	left.Effects, err = collect(rows, err, func(r *sql.Rows) (prompt.Unseen, error) {
		e, err := scanEffect(r)
		return rule.Unseen(e), err
	})
	if left.More = len(left.Effects) > limit; left.More {
		left.Effects = left.Effects[:limit]
	}
	return left, wrapf(err, "read what turns of %s left", session)
}
