package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// acceptOperator is [Store.accept] for what only the operator may do.
func (s *Store) acceptOperator(by principal.Scope) (reach, error) {
	if err := rule.AcceptOperator(by, s.id); err != nil {
		return reach{}, err
	}
	return s.accept(by)
}

// Uncertain lists indeterminate effects, those that ended last first; see [effect.Resolutions].
func (s *Store) Uncertain(ctx context.Context, by principal.Scope, open bool, skip, limit int) ([]effect.Record, error) {
	rc, err := s.acceptOperator(by)
	if err == nil {
		err = rule.Page(skip, limit, rule.MaxPage)
	}
	if err != nil {
		return nil, wrapf(err, "list uncertain effects")
	}
	query := `SELECT ` + effectColumns + ` WHERE e.status = 'indeterminate' AND ` + reached("e.session_id")
	if open {
		query += ` AND x.effect_id IS NULL`
	}
	rows, err := s.reader.rows(ctx, query+` ORDER BY e.finished_at DESC, e.seq DESC LIMIT ? OFFSET ?`, rc.all, rc.allowed, limit, skip)
	out, err := collect(rows, err, func(r *sql.Rows) (effect.Record, error) { return scanEffect(r) })
	return out, wrapf(err, "list uncertain effects")
}

// Effect reads one effect; see [effect.Resolutions].
func (s *Store) Effect(ctx context.Context, by principal.Scope, e id.Effect) (effect.Record, bool, error) {
	rc, err := s.acceptOperator(by)
	if err != nil {
		return effect.Record{}, false, wrapf(err, "read effect %s", e)
	}
	got, found, err := oneEffect(reading{ctx, s.reader}, rc, e)
	if err == nil && !found {
		err = s.denied(ctx, rc, rule.Lookup{What: lookupEffect, ID: string(e)})
	}
	return got, found, wrapf(err, "read effect %s", e)
}

func oneEffect(q querier, rc reach, e id.Effect) (effect.Record, bool, error) {
	got, err := scanEffect(q.row(`SELECT `+effectColumns+` WHERE e.id = ? AND `+reached("e.session_id"), string(e), rc.all, rc.allowed))
	if errors.Is(err, sql.ErrNoRows) {
		return effect.Record{}, false, nil
	}
	return got, err == nil, err
}

// ResolveEffect settles an indeterminate effect, once; see [effect.Resolutions].
func (s *Store) ResolveEffect(ctx context.Context, by principal.Scope, e id.Effect, as effect.Resolution, r event.Record) (got effect.Record, how effect.Settling, err error) {
	rc, err := s.acceptOperator(by)
	if err == nil {
		as.By, as.At = by.PrincipalID(), rule.Millis(as.At)
		err = rule.Resolution(as, r)
	}
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			got, how, err = s.resolve(t, rc, e, as, r)
			return err
		})
	}
	if err != nil {
		return effect.Record{}, "", wrapf(err, "resolve effect %s", e)
	}
	return got, how, nil
}

func (s *Store) resolve(t *tx, rc reach, e id.Effect, as effect.Resolution, r event.Record) (effect.Record, effect.Settling, error) {
	got, found, err := oneEffect(t, rc, e)
	if err != nil {
		return got, "", err
	}
	if !found {
		return got, effect.EffectNotFound, s.deny(t, rc, rule.Lookup{What: lookupEffect, ID: string(e)})
	}
	if how := rule.Settling(got); how != effect.Settled {
		return got, how, nil
	}
	got.Resolution = as
	n, err := t.exec(`INSERT INTO effect_resolutions (effect_id, verdict, reason, by_id, at)
		SELECT e.id, ?, ?, ?, ? FROM effects e WHERE e.id = ? AND e.status = 'indeterminate' AND `+reached("e.session_id"),
		string(as.Verdict), as.Reason, as.By, as.At.UnixMilli(), string(e), rc.all, rc.allowed)
	if err == nil && n != 1 {
		err = errors.New("the effect is not one to settle any more")
	}
	if err != nil {
		return got, "", err
	}
	return got, effect.Settled, s.audit(t, rule.Resolved(r, got))
}

// settleItself writes what the recovery of an effect that just became indeterminate settles by itself, with its record.
func (s *Store) settleItself(t *tx, e id.Effect, trace id.Trace) error {
	got, err := scanEffect(t.row(`SELECT `+effectColumns+` WHERE e.id = ?`, string(e)))
	if err != nil {
		return err
	}
	got.Resolution = rule.Settles(got)
	if got.Resolution.Verdict == "" {
		return nil
	}
	err = t.must(`INSERT INTO effect_resolutions (effect_id, verdict, reason, by_id, at) VALUES (?, ?, ?, '', ?)`,
		string(e), string(got.Resolution.Verdict), got.Resolution.Reason, got.Resolution.At.UnixMilli())
	if err != nil {
		return err
	}
	return s.audit(t, rule.SettledItself(got, s.ids.Event(), trace))
}
