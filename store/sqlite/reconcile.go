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

// Unsettled lists the uncertain effects of a turn whose tools can say what became of them; see [effect.Reconciliations].
func (s *Store) Unsettled(ctx context.Context, turn id.Turn) ([]effect.Unsettled, error) {
	var u effect.Unsettled
	err := s.reader.row(ctx, `SELECT t.request, t.core, t.revision, t.trace, t.authority, t.principal_id, t.session_id FROM turns t WHERE t.id = ?`,
		string(turn)).Scan(&u.Request, &u.Core, &u.Revision, &u.Trace, &u.Actor.Authority, &u.Actor.PrincipalID, &u.Session)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var owned principal.Facts
	certain := false
	if err == nil {
		owned, certain, err = owner(reading{ctx, s.reader}, u.Session)
	}
	if err != nil || !certain {
		return nil, wrapf(err, "list what is unsettled of %s", turn)
	}
	u.Actor = rule.Actor(u.Actor, owned)
	rows, err := s.reader.rows(ctx, `SELECT `+effectColumns+` WHERE e.turn_id = ? AND e.status = 'indeterminate' AND e.recovery = 'reconcile'
		AND x.effect_id IS NULL ORDER BY e.seq`, string(turn))
	out, err := collect(rows, err, func(r *sql.Rows) (effect.Unsettled, error) {
		one := u
		one.Record, err = scanEffect(r)
		return one, err
	})
	return out, wrapf(err, "list what is unsettled of %s", turn)
}

// Reconciled settles an uncertain effect as its tool said; see [effect.Reconciliations].
func (s *Store) Reconciled(ctx context.Context, e id.Effect, as effect.Resolution, r event.Record) (how effect.Settling, err error) {
	as.At = rule.Millis(as.At)
	if err = rule.Reconciliation(as, r); err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			how, err = s.reconcile(t, e, as, r)
			return err
		})
	}
	if err != nil {
		return "", wrapf(err, "reconcile effect %s", e)
	}
	return how, nil
}

func (s *Store) reconcile(t *tx, e id.Effect, as effect.Resolution, r event.Record) (effect.Settling, error) {
	got, err := scanEffect(t.row(`SELECT `+effectColumns+` WHERE e.id = ?`, string(e)))
	if errors.Is(err, sql.ErrNoRows) {
		return effect.EffectNotFound, nil
	}
	if err != nil {
		return "", err
	}
	if how := rule.Settling(got); how != effect.Settled {
		return how, nil
	}
	if err := rule.SpeaksFor(got, as); err != nil {
		return "", err
	}
	got.Resolution = as
	err = t.must(`INSERT INTO effect_resolutions (effect_id, verdict, reason, by_id, reference, at) VALUES (?, ?, ?, ?, ?, ?)`,
		string(e), string(as.Verdict), as.Reason, as.By, as.Reference, as.At.UnixMilli())
	if err != nil {
		return "", err
	}
	return effect.Settled, s.audit(t, rule.Resolved(r, got))
}
