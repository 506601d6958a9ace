package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	decide "github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
	"github.com/b3abf3ee/portcullis/store/sqlite/internal/column"
)

// Ask stores a pending question of a running turn; see [approval.Journal].
func (s *Store) Ask(ctx context.Context, q approval.Question, r event.Record) error {
	err := rule.Question(q, r)
	if err == nil {
		err = s.write(ctx, func(t *tx) error {
			needs, err := column.EncodeNames(q.Needs)
			if err != nil {
				return err
			}
			approvers, err := column.EncodeNames(q.Approvers)
			if err != nil {
				return err
			}
			err = t.must(`INSERT INTO approvals (id, session_id, turn_id, effect_id, principal_id, core, tool, plugin, risk,
					needs, why, arguments, digest, rule_key, cacheable, asked_at, expires_at, plan, approvers,
					state, reach, decided_by, reason)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', '', '', '')`,
				string(q.ID), string(q.Session), string(q.Turn), string(q.Effect), q.Principal, q.Core, q.Tool, q.Plugin,
				q.Risk.String(), needs, q.Why, q.Arguments, q.Digest, q.RuleKey, q.Cacheable, q.Asked.UnixMilli(),
				q.Expires.UnixMilli(), q.Plan, approvers)
			if err != nil {
				return err
			}
			return s.audit(t, r)
		})
	}
	return wrapf(err, "ask %s", q.ID)
}

// Decide records the first answer to a question that by reaches, if now is before its deadline; see
// [approval.Journal]. A late answer is recorded as expired, with a record that says so instead of r.
func (s *Store) Decide(ctx context.Context, by principal.Scope, a id.Approval, ans approval.Answer, now time.Time, r event.Record) (approval.Question, approval.Recording, error) {
	rc, err := s.accept(by)
	if err != nil {
		return approval.Question{}, "", err
	}
	var (
		q   approval.Question
		how approval.Recording
	)
	err = s.write(ctx, func(t *tx) (err error) {
		q, how, err = s.decide(t, rc, a, ans, now, r)
		return err
	})
	if err != nil {
		return approval.Question{}, "", wrapf(err, "decide %s", a)
	}
	return q, how, nil
}

func (s *Store) decide(t *tx, rc reach, a id.Approval, ans approval.Answer, now time.Time, r event.Record) (approval.Question, approval.Recording, error) {
	q, found, err := oneQuestion(t, rc, a)
	if err != nil {
		return q, "", err
	}
	if !found {
		return q, approval.NotFound, s.deny(t, rc, rule.Lookup{What: lookupApproval, ID: string(a)})
	}
	if q.State != approval.Pending {
		return q, approval.AlreadyDecided, nil
	}
	if err := errors.Join(rule.Answer(q, ans), rule.Audit(r)); err != nil {
		return q, "", err
	}
	if !rule.DecidedBy(q, rc.by, ans) {
		return q, approval.NotApprover, s.audit(t, rule.Refused(r, q, rc.by, string(ans.State)))
	}
	how := approval.Recorded
	if rule.TooLate(q, ans, now.UnixMilli()) {
		how = approval.TooLate
		ans = approval.Answer{State: approval.Expired, Reason: rule.ReasonDeadline}
		r = rule.Lapsed(r, q, rule.ReasonDeadline)
	}
	q.State, q.Reach, q.DecidedBy, q.Reason, q.Decided = ans.State, ans.Reach, ans.By, ans.Reason, rule.Millis(now)
	err = t.must(`UPDATE approvals SET state = ?, reach = ?, decided_by = ?, reason = ?, decided_at = ?
		WHERE id = ? AND state = 'pending' AND (? = 'expired' OR expires_at > ?) AND `+decidable("approvals"),
		string(ans.State), string(ans.Reach), ans.By, ans.Reason, now.UnixMilli(), string(a), string(ans.State),
		now.UnixMilli(), rc.all, rc.allowed, rc.by.PrincipalID())
	if err != nil {
		return q, "", err
	}
	return q, how, s.audit(t, r)
}

// Revoke ends an allowance for the session; see [approval.Journal].
func (s *Store) Revoke(ctx context.Context, by principal.Scope, a id.Approval, now time.Time, r event.Record) (approval.Question, approval.Recording, error) {
	rc, err := s.accept(by)
	if err != nil {
		return approval.Question{}, "", err
	}
	var (
		q   approval.Question
		how approval.Recording
	)
	err = s.write(ctx, func(t *tx) (err error) {
		q, how, err = s.revoke(t, rc, a, now, r)
		return err
	})
	if err != nil {
		return approval.Question{}, "", wrapf(err, "revoke %s", a)
	}
	return q, how, nil
}

func (s *Store) revoke(t *tx, rc reach, a id.Approval, now time.Time, r event.Record) (approval.Question, approval.Recording, error) {
	q, found, err := oneQuestion(t, rc, a)
	if err != nil {
		return q, "", err
	}
	if !found {
		return q, approval.NotFound, s.deny(t, rc, rule.Lookup{What: lookupApproval, ID: string(a)})
	}
	if err := rule.Audit(r); err != nil {
		return q, "", err
	}
	how := rule.Revocable(q, rc.by)
	switch how {
	case approval.Recorded:
		q.Revoked = rule.Millis(now)
		err = t.must(`UPDATE approvals SET revoked_at = ? WHERE id = ? AND reach = 'session' AND revoked_at IS NULL AND `+decidable("approvals"),
			now.UnixMilli(), string(a), rc.all, rc.allowed, rc.by.PrincipalID())
	case approval.NotApprover:
		r = rule.Refused(r, q, rc.by, "revoke")
	default:
		return q, how, nil
	}
	if err != nil {
		return q, "", err
	}
	return q, how, s.audit(t, r)
}

// decidable is the predicate over a question that a scope reaches or that names it as an approver. It takes all and
// allowed of the scope, then its principal id.
func decidable(question string) string {
	return `(` + reached(question+".session_id") + ` OR EXISTS (SELECT 1 FROM session_owners o WHERE o.session_id = ` + question +
		`.session_id AND o.legacy = 0 AND ? IN (SELECT j.value FROM json_each(` + question + `.approvers) j)))`
}

// closeQuestions expires every question that is open under a turn, with its record.
func (s *Store) closeQuestions(t *tx, end turn.Terminal, trace id.Trace, why string) error {
	rows, err := t.rows(`UPDATE approvals SET state = 'expired', reason = ?, decided_at = ?
		WHERE turn_id = ? AND state = 'pending' RETURNING id, effect_id, tool`, why, end.At.UnixMilli(), string(end.Turn))
	closed, err := collect(rows, err, func(r *sql.Rows) (q approval.Question, err error) {
		err = r.Scan(&q.ID, &q.Effect, &q.Tool)
		return q, err
	})
	if err != nil {
		return err
	}
	for _, q := range closed {
		err := s.audit(t, rule.Lapsed(event.Record{
			ID: s.ids.Event(), At: end.At, Session: end.Session, Turn: end.Turn, Effect: q.Effect, Trace: trace,
		}, q, why))
		if err != nil {
			return err
		}
	}
	return nil
}

const questionColumns = `a.id, a.session_id, a.turn_id, a.effect_id, a.principal_id, a.core, a.tool, a.plugin, a.risk, a.needs,
	a.why, a.arguments, a.digest, a.rule_key, a.cacheable, a.asked_at, a.expires_at, a.state, a.reach, a.decided_by,
	a.reason, a.decided_at, a.plan, a.approvers, a.used_at, a.revoked_at`

func oneQuestion(q querier, rc reach, a id.Approval) (approval.Question, bool, error) {
	got, err := scanQuestion(q.row(`SELECT `+questionColumns+` FROM approvals a WHERE a.id = ? AND `+decidable("a"),
		string(a), rc.all, rc.allowed, rc.by.PrincipalID()))
	if errors.Is(err, sql.ErrNoRows) {
		return approval.Question{}, false, nil
	}
	return got, err == nil, err
}

// Question reads one question that by reaches; see [approval.Journal].
func (s *Store) Question(ctx context.Context, by principal.Scope, a id.Approval) (approval.Question, bool, error) {
	rc, err := s.accept(by)
	if err != nil {
		return approval.Question{}, false, err
	}
	q, found, err := oneQuestion(reading{ctx, s.reader}, rc, a)
	if err == nil && !found {
		err = s.denied(ctx, rc, rule.Lookup{What: lookupApproval, ID: string(a)})
	}
	return q, found, wrapf(err, "read question %s", a)
}

// Questions lists the questions that by reaches, newest first; see [approval.Journal].
func (s *Store) Questions(ctx context.Context, by principal.Scope, state approval.State, skip, limit int) ([]approval.Question, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Page(skip, limit, rule.MaxPage)
	}
	if err != nil {
		return nil, wrapf(err, "list questions")
	}
	out, err := pages(rc, skip, limit, func(session string, skip, limit int) ([]approval.Question, error) {
		query, args := `SELECT `+questionColumns+` FROM approvals a WHERE `+reached("a.session_id"), []any{rc.all, rc.allowed}
		if session != "" {
			query, args = query+` AND a.session_id = ?`, append(args, session)
		}
		if state != "" {
			query, args = query+` AND a.state = ?`, append(args, string(state))
		}
		rows, err := s.reader.rows(ctx, query+` ORDER BY a.asked_at DESC, a.seq DESC LIMIT ? OFFSET ?`, append(args, limit, skip)...)
		return collect(rows, err, func(r *sql.Rows) (approval.Question, error) { return scanQuestion(r) })
	}, func(x, y approval.Question) int { return y.Asked.Compare(x.Asked) })
	return out, wrapf(err, "list questions")
}

func scanQuestion(r scanner) (approval.Question, error) {
	var (
		q                      approval.Question
		risk, needs, approvers string
		asked, ends            int64
		decided, used, revoked sql.NullInt64
	)
	err := r.Scan(&q.ID, &q.Session, &q.Turn, &q.Effect, &q.Principal, &q.Core, &q.Tool, &q.Plugin, &risk, &needs,
		&q.Why, &q.Arguments, &q.Digest, &q.RuleKey, &q.Cacheable, &asked, &ends, &q.State, &q.Reach, &q.DecidedBy,
		&q.Reason, &decided, &q.Plan, &approvers, &used, &revoked)
	if err != nil {
		return approval.Question{}, err
	}
	q.Asked, q.Expires, q.Decided = time.UnixMilli(asked).UTC(), time.UnixMilli(ends).UTC(), when(decided)
	q.Used, q.Revoked = when(used), when(revoked)
	if q.Risk, err = decide.ParseRisk(risk); err != nil {
		return approval.Question{}, err
	}
	if q.Needs, err = column.DecodeNames(needs); err != nil {
		return approval.Question{}, err
	}
	q.Approvers, err = column.DecodeNames(approvers)
	return q, err
}
