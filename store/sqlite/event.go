package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
	"github.com/b3abf3ee/portcullis/store/sqlite/internal/column"
)

// Record appends one audit record in a transaction of its own; see [authority.Audit].
func (s *Store) Record(ctx context.Context, r event.Record) error {
	err := rule.Audit(r)
	if err == nil {
		err = s.write(ctx, func(t *tx) error { return s.audit(t, r) })
	}
	return wrapf(err, "append audit record %s", r.ID)
}

// Events lists audit records, newest first; see [turn.History]. The whole audit is an operator's, also what it says of
// sessions that have no owner.
func (s *Store) Events(ctx context.Context, by principal.Scope, q turn.EventQuery) ([]event.Record, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Page(q.Skip, q.Limit, rule.MaxEvents)
	}
	if err != nil {
		return nil, wrapf(err, "list audit records")
	}
	few, err := s.fewEffects(ctx, rc, q)
	if err != nil {
		return nil, wrapf(err, "list audit records")
	}
	out, err := pages(rc, q.Skip, q.Limit, func(session string, skip, limit int) ([]event.Record, error) {
		query, args := eventQuery(q, session, rc, few)
		rows, err := s.reader.rows(ctx, query, append(args, limit, skip)...)
		return collect(rows, err, scanEvent)
	}, func(a, b event.Record) int { return b.At.Compare(a.At) })
	if err == nil && len(out) == 0 {
		err = s.emptyEvents(ctx, rc, q)
	}
	return out, wrapf(err, "list audit records")
}

// everyTurns are the kinds of which every turn has records. Their newest are found soon among all records; the index of
// kinds has the others, and a query shows by [rare] that it asks for one of those.
func everyTurns() []event.Kind {
	return []event.Kind{event.TurnStarted, event.TurnFinished, event.EffectStarted, event.EffectFinished}
}

const rare = `e.kind <> 'turn.started' AND e.kind <> 'turn.finished' AND e.kind <> 'effect.started' AND e.kind <> 'effect.finished'`

// fewEffects is whether a listing of all records is of effects, of which there are few: then they are looked up by their turns,
// as among all records they may be far between.
func (s *Store) fewEffects(ctx context.Context, rc reach, q turn.EventQuery) (bool, error) {
	if !rc.all || q.Session != "" || q.Turn != "" || q.Kind != event.EffectStarted && q.Kind != event.EffectFinished {
		return false, nil
	}
	var n int
	err := s.reader.row(ctx, `SELECT count(*) FROM (SELECT 1 FROM effects LIMIT ?) few`, maxFew+1).Scan(&n)
	return n <= maxFew, err
}

const maxFew = 500

// eventQuery builds one of the few statements that the filters make. Each begins at an index whose order is the
// listing's, but for that of few effects.
func eventQuery(q turn.EventQuery, session string, rc reach, few bool) (string, []any) {
	var (
		where []string
		args  []any
		from  = `events e`
	)
	if few {
		from, args = `(SELECT DISTINCT turn_id FROM effects LIMIT ?) few CROSS JOIN events e ON e.turn_id = few.turn_id`, append(args, 2*maxFew) // some may come between
	}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if !rc.all {
		add(reached("e.session_id"), rc.all, rc.allowed)
		add(`e.session_id = ?`, session)
	}
	if q.Session != "" {
		add(`e.session_id = ?`, string(q.Session))
	}
	if q.Turn != "" {
		add(`e.turn_id = ?`, string(q.Turn))
	}
	if q.Kind != "" {
		add(`e.kind = ?`, string(q.Kind))
		if session == "" && q.Session == "" && q.Turn == "" && !slices.Contains(everyTurns(), q.Kind) {
			add(rare)
		}
	}
	if q.Without != "" {
		add(`e.kind <> ?`, string(q.Without))
	}
	since := int64(0)
	if !q.Since.IsZero() {
		since = q.Since.UnixMilli()
	}
	add(`e.at >= ?`, since)
	return `SELECT e.id, e.at, e.kind, e.principal_id, e.session_id, e.turn_id, e.effect_id, e.trace, e.fields FROM ` + from + `
		WHERE ` + strings.Join(where, ` AND `) + ` ORDER BY e.at DESC, e.seq DESC LIMIT ? OFFSET ?`, args
}

// emptyEvents audits a listing that names a session or turn out of reach.
func (s *Store) emptyEvents(ctx context.Context, rc reach, q turn.EventQuery) (err error) {
	switch {
	case q.Turn != "":
		_, err = s.reachesTurn(ctx, rc, q.Turn)
	case q.Session != "":
		_, err = s.reaches(ctx, rc, rule.Lookup{What: lookupSession, ID: string(q.Session)}, string(q.Session))
	}
	return err
}

func scanEvent(rows *sql.Rows) (event.Record, error) {
	var (
		r      event.Record
		at     int64
		fields string
	)
	err := rows.Scan(&r.ID, &at, &r.Kind, &r.Principal, &r.Session, &r.Turn, &r.Effect, &r.Trace, &fields)
	if err != nil {
		return event.Record{}, err
	}
	r.At = time.UnixMilli(at).UTC()
	r.Fields, err = column.DecodeFields(fields)
	return r, err
}
