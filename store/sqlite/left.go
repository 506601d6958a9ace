package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Left reads what earlier turns of a session left; see [prompt.Journal].
func (s *Store) Left(ctx context.Context, by principal.Scope, session id.Session, turnID id.Turn, limit int) (left prompt.Left, err error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Limit(limit, prompt.MaxLeft)
	}
	if err != nil {
		return prompt.Left{}, wrapf(err, "read what turns of %s left", session)
	}
	var (
		reason, state string
		begun         int64
		steps         int
		any           bool
	)
	ctx = brief(ctx)
	err = s.reader.row(ctx, `SELECT t.reason, t.state, t.steps, t.started_at,
		EXISTS (SELECT 1 FROM effects e WHERE e.session_id = t.session_id AND e.status = 'indeterminate')
		FROM turns t WHERE t.session_id = ?
		AND t.seq < (SELECT u.seq FROM turns u WHERE u.id = ? AND u.session_id = ?) AND `+reached("t.session_id")+` ORDER BY t.seq DESC LIMIT 1`,
		string(session), string(turnID), string(session), rc.all, rc.allowed).Scan(&reason, &state, &steps, &begun, &any)
	if errors.Is(err, sql.ErrNoRows) {
		return prompt.Left{}, nil // the first turn, or out of reach
	}
	if err != nil {
		return prompt.Left{}, wrapf(err, "read what turns of %s left", session)
	}
	left.CutOff = rule.CutOff(reason)
	var found []unseen
	if any { // as a rule not: every turn asks
		rows, err := s.reader.rows(ctx, `SELECT e.seq, `+effectColumns+` WHERE e.session_id = ? AND e.status = 'indeterminate' AND e.turn_id <> ?
			AND (x.effect_id IS NULL OR x.verdict <> 'nothing_to_do' AND x.at >= ?) AND `+reached("e.session_id")+` ORDER BY e.seq DESC LIMIT ?`,
			string(session), string(turnID), begun, rc.all, rc.allowed, limit+1)
		if found, err = collect(rows, err, scanUnseen); err != nil {
			return prompt.Left{}, wrapf(err, "read what turns of %s left", session)
		}
	}
	if !rule.Answered(turn.State(state), steps) { // as a rule it did
		more, err := s.unanswered(ctx, rc, session, turnID)
		if err != nil {
			return prompt.Left{}, wrapf(err, "read what turns of %s left", session)
		}
		found = append(found, more...)
		slices.SortFunc(found, func(a, b unseen) int { return cmp.Compare(b.seq, a.seq) })
	}
	if left.More = len(found) > limit; left.More {
		found = found[:limit]
	}
	for _, e := range found {
		left.Effects = append(left.Effects, rule.Unseen(e.effect))
	}
	return left, nil
}

// unseen is an effect with its place among all.
type unseen struct {
	seq    int64
	effect effect.Record
}

func scanUnseen(r *sql.Rows) (u unseen, err error) {
	u.effect, err = scanEffect(behind{r, &u.seq})
	return u, err
}

// behind scans a row behind its first column.
type behind struct {
	rows  scanner
	first any
}

func (b behind) Scan(dest ...any) error { return b.rows.Scan(append([]any{b.first}, dest...)...) }

// unanswered are the effects of turns before one that no message answers, back to a turn that ended with an answer.
func (s *Store) unanswered(ctx context.Context, rc reach, session id.Session, before id.Turn) (out []unseen, err error) {
	broken, err := s.broken(ctx, rc, session, before)
	if err != nil {
		return nil, err
	}
	for _, b := range broken {
		rows, err := s.reader.rows(ctx, `SELECT e.seq, `+effectColumns+` WHERE e.turn_id = ? AND `+reached("e.session_id")+` ORDER BY e.seq DESC`,
			b.turn, rc.all, rc.allowed)
		all, err := collect(rows, err, scanUnseen)
		if err != nil {
			return nil, err
		}
		effects, seq := make([]effect.Record, len(all)), map[id.Effect]int64{}
		for i, u := range all {
			effects[i], seq[u.effect.ID] = u.effect, u.seq
		}
		for _, e := range rule.Unanswered(b.role, raw(b.body), effects) {
			out = append(out, unseen{seq[e.ID], e})
		}
	}
	return out, nil
}

// brokenOff is the newest message of a turn that did not answer.
type brokenOff struct{ turn, role, body string }

// broken are such turns before one, back to a turn that did. They are found by their messages, which lie together: it reads
// those of these turns and no others, and never more than [rule.MaxBrokenMessages].
func (s *Store) broken(ctx context.Context, rc reach, session id.Session, before id.Turn) (out []brokenOff, err error) {
	rows, err := s.reader.rows(ctx, `SELECT few.turn_id, few.role, CASE few.role WHEN 'assistant' THEN few.body ELSE '' END, t.state, t.steps
		FROM (SELECT n.seq, n.session_id, n.turn_id, n.role, n.body FROM messages n WHERE n.session_id = ? ORDER BY n.seq DESC LIMIT ?) few
		CROSS JOIN turns t ON t.id = few.turn_id
		WHERE t.seq < (SELECT u.seq FROM turns u WHERE u.id = ?) AND `+reached("few.session_id")+` ORDER BY few.seq DESC`,
		string(session), rule.MaxBrokenMessages, string(before), rc.all, rc.allowed)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			b     brokenOff
			state string
			steps int
		)
		if err := rows.Scan(&b.turn, &b.role, &b.body, &state, &steps); err != nil {
			return nil, err
		}
		if len(out) > 0 && out[len(out)-1].turn == b.turn {
			continue
		}
		if rule.Answered(turn.State(state), steps) || len(out) == rule.MaxBroken {
			break
		}
		out = append(out, b)
	}
	return out, rows.Err()
}
