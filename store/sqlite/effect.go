package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// EffectStarted stores the intent to run an effect of a running turn; see [effect.Journal].
func (s *Store) EffectStarted(ctx context.Context, e effect.Started, r event.Record) (how effect.Start, err error) {
	err = rule.Started(e, r)
	if err == nil {
		err = s.write(ctx, func(t *tx) error {
			if err := s.owes(e.Turn); err != nil {
				return err
			}
			over, running, err := t.begins(e)
			if err != nil || over {
				how = effect.SessionEnded
				return err
			}
			if stands, err := t.stands(e); err != nil || !stands {
				how = effect.GrantRevoked
				return err
			}
			began, err := t.useApproval(e)
			if how = began; err != nil || how != effect.Begun {
				return err
			}
			if !running {
				return fmt.Errorf("turn %s of session %s does not run, or its claim is over", e.Turn, e.Session)
			}
			err = t.must(`INSERT INTO effects (id, session_id, turn_id, call_id, tool, plugin, recovery, digest,
					arguments, approval_id, status, reason, durable, duration_ms, started_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', '', 0, ?)`,
				string(e.Effect), string(e.Session), string(e.Turn), e.CallID, e.Tool, e.Plugin, e.Recovery, e.Digest, string(e.Arguments),
				string(e.Approval), e.At.UnixMilli())
			if err != nil {
				return err
			}
			return s.audit(t, rule.OfEffect(r, e.Session, e.Turn, e.Effect))
		})
	}
	if err != nil {
		return "", wrapf(err, "start effect %s", e.Effect)
	}
	return how, nil
}

// begins is whether the session of an effect was ended, and whether its turn runs under a claim that is not over: the end of
// such a turn is decided already. That is no part of the INSERT, for whose SELECT SQLite makes a table each time.
func (t *tx) begins(e effect.Started) (over, running bool, err error) {
	err = t.row(`SELECT EXISTS (SELECT 1 FROM session_ends e WHERE e.session_id = ?1),
		EXISTS (SELECT 1 FROM leases l WHERE l.session_id = ?1 AND l.turn_id = ?2 AND l.expires_at > ?3)`,
		string(e.Session), string(e.Turn), t.now.UnixMilli()).
		Scan(&over, &running)
	return over, running, err
}

// stands holds the grants that e names to those that its plugin has now.
func (t *tx) stands(e effect.Started) (bool, error) {
	if len(e.Grants) == 0 {
		return true, nil
	}
	rows, err := t.rows(grantsOf, rule.PluginOf(e.Plugin))
	have, err := collect(rows, err, oneText)
	return rule.Stands(e, have), err
}

// useApproval holds the approval that e names to the rules and marks it used.
func (t *tx) useApproval(e effect.Started) (effect.Start, error) {
	if e.Approval == "" {
		return effect.Begun, nil
	}
	q, err := scanQuestion(t.row(`SELECT `+questionColumns+` FROM approvals a WHERE a.id = ?`, string(e.Approval)))
	found := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	how := rule.Begin(q, found, e, e.At.UnixMilli())
	if how != effect.Begun || !q.Used.IsZero() {
		return how, nil
	}
	return how, t.must(`UPDATE approvals SET used_at = ? WHERE id = ? AND state = 'allowed' AND used_at IS NULL AND revoked_at IS NULL
		AND (reach = 'session' OR effect_id = ? AND digest = ? AND expires_at > ?)`,
		e.At.UnixMilli(), string(e.Approval), string(e.Effect), e.Digest, e.At.UnixMilli())
}

// EffectFinished stores the end of a started effect, or the whole of one that never started; see [effect.Journal].
func (s *Store) EffectFinished(ctx context.Context, f effect.Finished, r event.Record) error {
	err := rule.Finished(f, r)
	if err == nil {
		err = s.write(ctx, func(t *tx) error {
			if err := t.finishEffect(f); err != nil {
				return err
			}
			if err := s.audit(t, rule.OfEffect(r, f.Session, f.Turn, f.Effect)); err != nil || f.Status != effect.Indeterminate {
				return err
			}
			return s.settleItself(t, f.Effect, r.Trace)
		})
	}
	return wrapf(err, "finish effect %s", f.Effect)
}

func (t *tx) finishEffect(f effect.Finished) error {
	if f.Started {
		n, err := t.exec(`UPDATE effects SET status = ?, reason = ?, durable = ?, duration_ms = ?, finished_at = ?
			WHERE id = ? AND turn_id = ? AND session_id = ? AND finished_at IS NULL`,
			string(f.Status), f.Reason, string(f.Durable), f.Duration.Milliseconds(), f.At.UnixMilli(),
			string(f.Effect), string(f.Turn), string(f.Session))
		if err == nil && n == 0 {
			err = fmt.Errorf("turn %s has no such effect under way", f.Turn)
		}
		return err
	}
	n, err := t.exec(`INSERT INTO effects (id, session_id, turn_id, call_id, tool, plugin, recovery, digest, arguments,
			approval_id, status, reason, durable, duration_ms, finished_at)
		SELECT ?, t.session_id, t.id, ?, ?, ?, '', '', '', '', ?, ?, ?, ?, ?
		FROM turns t WHERE t.id = ? AND t.session_id = ? AND t.state = 'running'`,
		string(f.Effect), f.CallID, f.Tool, f.Plugin, string(f.Status), f.Reason, string(f.Durable),
		f.Duration.Milliseconds(), f.At.UnixMilli(), string(f.Turn), string(f.Session))
	if err == nil && n == 0 {
		err = fmt.Errorf("turn %s of session %s is not running", f.Turn, f.Session)
	}
	return err
}

// closeEffects makes every effect that is open under a turn indeterminate, with its record, and counts them.
func (s *Store) closeEffects(t *tx, end turn.Terminal, trace id.Trace, why string) (int, error) {
	rows, err := t.rows(`UPDATE effects SET status = 'indeterminate', reason = ?, finished_at = ?
		WHERE turn_id = ? AND finished_at IS NULL RETURNING id, tool`, why, end.At.UnixMilli(), string(end.Turn))
	type open struct {
		id   id.Effect
		tool string
	}
	closed, err := collect(rows, err, func(r *sql.Rows) (o open, err error) {
		err = r.Scan(&o.id, &o.tool)
		return o, err
	})
	if err != nil {
		return 0, err
	}
	for _, o := range closed {
		err := s.audit(t, event.Record{
			ID: s.ids.Event(), At: end.At, Kind: event.EffectFinished, Session: end.Session, Turn: end.Turn,
			Effect: o.id, Trace: trace,
			Fields: []event.Field{
				event.F("tool", o.tool), event.F("status", string(effect.Indeterminate)), event.F("reason", why),
			},
		})
		if err == nil {
			err = s.settleItself(t, o.id, trace)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(closed), nil
}

// Effects lists the effects of one turn in the order they were asked for; see [turn.History].
func (s *Store) Effects(ctx context.Context, by principal.Scope, turnID id.Turn) ([]effect.Record, error) {
	r, err := s.accept(by)
	if err != nil {
		return nil, err
	}
	if found, err := s.reachesTurn(ctx, r, turnID); err != nil || !found {
		return nil, wrapf(err, "list effects of %s", turnID)
	}
	rows, err := s.reader.rows(ctx, `SELECT `+effectColumns+` WHERE e.turn_id = ? AND `+reached("e.session_id")+` ORDER BY e.seq`,
		string(turnID), r.all, r.allowed)
	out, err := collect(rows, err, func(r *sql.Rows) (effect.Record, error) { return scanEffect(r) })
	return out, wrapf(err, "list effects of %s", turnID)
}

// effectColumns are an effect with what is settled about it.
const effectColumns = `e.id, e.turn_id, e.session_id, e.call_id, e.tool, e.plugin, e.recovery, e.digest, e.arguments, e.approval_id,
	e.status, e.reason, e.durable, e.duration_ms, e.started_at, e.finished_at, x.verdict, x.reason, x.by_id, x.reference, x.at
	FROM effects e LEFT JOIN effect_resolutions x ON x.effect_id = e.id`

func scanEffect(r scanner) (effect.Record, error) {
	var (
		e                   effect.Record
		arguments, durable  string
		millis              int64
		started, finished   sql.NullInt64
		verdict, reason, by sql.NullString
		reference           sql.NullString
		settled             sql.NullInt64
	)
	err := r.Scan(&e.ID, &e.Turn, &e.Session, &e.CallID, &e.Tool, &e.Plugin, &e.Recovery, &e.Digest, &arguments, &e.Approval,
		&e.Status, &e.Reason, &durable, &millis, &started, &finished, &verdict, &reason, &by, &reference, &settled)
	e.Arguments, e.Durable = raw(arguments), raw(durable)
	e.Started, e.StartedAt, e.FinishedAt = started.Valid, when(started), when(finished)
	e.Duration = time.Duration(millis) * time.Millisecond
	e.Resolution = effect.Resolution{
		Verdict: effect.Verdict(verdict.String), Reason: reason.String, By: by.String, Reference: reference.String, At: when(settled),
	}
	return e, err
}
