package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Context reads a session's summary and the newest messages after its cutoff, or after the mark; see [prompt.Journal].
func (s *Store) Context(ctx context.Context, by principal.Scope, session id.Session, since prompt.Mark, limit, maxBytes int) (prompt.Snapshot, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Window(limit, maxBytes)
	}
	if err != nil {
		return prompt.Snapshot{}, wrapf(err, "read the context of %s", session)
	}
	if got, joins, err := s.joining(brief(ctx), rc, session, since, limit, maxBytes); err != nil || joins {
		return got, wrapf(err, "read the context of %s", session)
	}
	got, from, err := s.summary(brief(ctx), rc, session, since)
	if errors.Is(err, sql.ErrNoRows) {
		err = s.denied(ctx, rc, rule.Lookup{What: lookupSession, ID: string(session)})
		return prompt.Snapshot{}, wrapf(err, "read the context of %s", session)
	}
	if err != nil {
		return prompt.Snapshot{}, wrapf(err, "read the summary of %s", session)
	}
	got.Messages, got.Older, err = s.after(brief(ctx), rc, session, from, limit, maxBytes)
	return got, wrapf(err, "read the context of %s", session)
}

// joining reads what came after the mark when that joins on, which it does for most turns: then one statement is all. No row
// says that the mark does not join on or is out of reach, one without a message that nothing came.
func (s *Store) joining(ctx context.Context, rc reach, session id.Session, since prompt.Mark, limit, maxBytes int) (got prompt.Snapshot, joins bool, err error) {
	if since.Last == "" {
		return got, false, nil
	}
	rows, err := s.reader.rows(ctx, `SELECT coalesce(m.id, ''), coalesce(m.turn_id, ''), coalesce(m.body, '')
		FROM messages k LEFT JOIN summaries p ON p.session_id = k.session_id
			LEFT JOIN messages m ON m.session_id = k.session_id AND m.seq > k.seq
		WHERE k.id = ? AND k.session_id = ? AND `+reached("k.session_id")+` AND coalesce(p.revision, 0) = ? AND k.seq > coalesce(p.cutoff, 0)
		ORDER BY m.seq DESC LIMIT ?`,
		string(since.Last), string(session), rc.all, rc.allowed, since.Revision, limit+1)
	if err != nil {
		return got, false, err
	}
	got.Messages, got.Older, joins, err = window(rows, limit, maxBytes)
	if err != nil || !joins {
		return prompt.Snapshot{}, false, err
	}
	got.Revision, got.Joins = since.Revision, true
	return got, true, nil
}

// summary reads where the session's window begins: behind the summary's cutoff, or at the mark when that joins on. A
// session out of reach has no row.
func (s *Store) summary(ctx context.Context, rc reach, session id.Session, since prompt.Mark) (got prompt.Snapshot, from int64, err error) {
	var at, mark int64
	err = s.reader.row(ctx, `SELECT coalesce(p.revision, 0), coalesce(p.text, ''), coalesce(p.cutoff, 0), coalesce(c.id, ''), coalesce(p.model, ''),
			coalesce(p.at, 0), coalesce((SELECT m.seq FROM messages m WHERE m.id = ? AND m.session_id = w.session_id), 0)
		FROM session_owners w LEFT JOIN summaries p ON p.session_id = w.session_id LEFT JOIN messages c ON c.seq = p.cutoff
		WHERE w.session_id = ? AND `+reached("w.session_id"), string(since.Last), string(session), rc.all, rc.allowed).
		Scan(&got.Revision, &got.Summary.Text, &from, &got.Summary.Cutoff, &got.Summary.Model, &at, &mark)
	if err != nil {
		return got, 0, err
	}
	if got.Joins = since.Revision == got.Revision && mark > from; got.Joins {
		got.Summary = prompt.Summary{}
		return got, mark, nil
	}
	if got.Revision > 0 {
		got.Summary.At = time.UnixMilli(at).UTC()
	}
	return got, from, nil
}

// after walks back from the newest message to the cutoff.
func (s *Store) after(ctx context.Context, rc reach, session id.Session, cutoff int64, limit, maxBytes int) (out []prompt.Stored, older bool, err error) {
	rows, err := s.reader.rows(ctx, `SELECT m.id, m.turn_id, m.body FROM messages m
		WHERE m.session_id = ? AND m.seq > ? AND `+reached("m.session_id")+` ORDER BY m.seq DESC LIMIT ?`,
		string(session), cutoff, rc.all, rc.allowed, limit+1)
	if err != nil {
		return nil, false, err
	}
	out, older, _, err = window(rows, limit, maxBytes)
	return out, older, err
}

// window takes messages in, the newest first, and stops at the first that does not fit. It says whether there was any row, of
// which one without an id is no message, and closes rows.
func window(rows *sql.Rows, limit, maxBytes int) (out []prompt.Stored, older, found bool, err error) {
	defer rows.Close()
	for rows.Next() {
		found = true
		var (
			one  prompt.Stored
			body string
		)
		if err := rows.Scan(&one.ID, &one.Turn, &body); err != nil {
			return nil, false, found, err
		}
		if one.ID == "" {
			continue
		}
		if maxBytes -= len(body); maxBytes < 0 || len(out) == limit {
			older = true
			break
		}
		one.Body = raw(body)
		out = append(out, one)
	}
	slices.Reverse(out)
	return out, older, found, rows.Err()
}

// LeaseCompaction asks for the right to write a summary; see [prompt.Journal].
func (s *Store) LeaseCompaction(ctx context.Context, session id.Session, c lease.Claim, revision int64) (prompt.LeaseAnswer, error) {
	var answer prompt.LeaseAnswer
	err := rule.Compaction(c, s.clock())
	if err == nil {
		err = s.write(ctx, func(t *tx) error {
			now, err := t.revision(session)
			if err != nil {
				return err
			}
			if now != revision {
				answer = prompt.Moved
				return nil
			}
			var (
				token         string
				expires, rest int64
			)
			err = t.row(`SELECT token, expires_at, rest_until FROM compactions WHERE session_id = ?`, string(session)).Scan(&token, &expires, &rest)
			at := t.now.UnixMilli()
			switch {
			case err != nil && !errors.Is(err, sql.ErrNoRows):
				return err
			case token != "" && expires > at:
				answer = prompt.Held
				return nil
			case rest > at:
				answer = prompt.Resting
				return nil
			}
			answer = prompt.Acquired
			return t.must(`INSERT INTO compactions (session_id, token, epoch, expires_at, rest_until) VALUES (?, ?, ?, ?, 0)
				ON CONFLICT DO UPDATE SET token = excluded.token, epoch = excluded.epoch, expires_at = excluded.expires_at, rest_until = 0`,
				string(session), string(c.Token), string(c.Epoch), c.Expires.UnixMilli())
		})
	}
	if err != nil {
		return "", wrapf(err, "lease the compaction of %s", session)
	}
	return answer, nil
}

func (t *tx) revision(session id.Session) (n int64, err error) {
	err = t.row(`SELECT revision FROM summaries WHERE session_id = ?`, string(session)).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

// CommitSummary writes a summary with its cutoff and ends the lease; see [prompt.Journal].
func (s *Store) CommitSummary(ctx context.Context, session id.Session, c lease.Claim, revision int64, sum prompt.Summary) (bool, error) {
	var done bool
	err := rule.Summary(sum)
	if err == nil {
		err = s.write(ctx, func(t *tx) error {
			done = false
			n, err := t.exec(`DELETE FROM compactions WHERE session_id = ? AND token = ? AND epoch = ? AND expires_at > ?`,
				string(session), string(c.Token), string(c.Epoch), t.now.UnixMilli())
			if err != nil || n == 0 {
				return err
			}
			n, err = t.exec(`INSERT INTO summaries (session_id, revision, text, cutoff, model, at)
				SELECT m.session_id, ? + 1, ?, m.seq, ?, ? FROM messages m
				WHERE m.id = ? AND m.session_id = ? AND m.seq > coalesce((SELECT cutoff FROM summaries WHERE session_id = m.session_id), 0)
					AND coalesce((SELECT revision FROM summaries WHERE session_id = m.session_id), 0) = ?
				ON CONFLICT DO UPDATE SET revision = excluded.revision, text = excluded.text, cutoff = excluded.cutoff,
					model = excluded.model, at = excluded.at`,
				revision, sum.Text, sum.Model, sum.At.UnixMilli(), string(sum.Cutoff), string(session), revision)
			done = n == 1
			return err
		})
	}
	if err != nil {
		return false, wrapf(err, "commit the summary of %s", session)
	}
	return done, nil
}

// ReleaseCompaction ends a lease; see [prompt.Journal].
func (s *Store) ReleaseCompaction(ctx context.Context, session id.Session, c lease.Claim, rest time.Time) error {
	err := s.write(ctx, func(t *tx) error {
		until := int64(0)
		if !rest.IsZero() {
			until = rest.UnixMilli()
		}
		_, err := t.exec(`UPDATE compactions SET token = '', rest_until = ? WHERE session_id = ? AND token = ? AND epoch = ?`,
			until, string(session), string(c.Token), string(c.Epoch))
		return err
	})
	return wrapf(err, "release the compaction of %s", session)
}

// Calibration reads what is known of a model; see [prompt.Journal].
func (s *Store) Calibration(ctx context.Context, model string) (prompt.Calibration, error) {
	k, err := calibration(s.reader.row(brief(ctx), calibrationOf, model))
	return k, wrapf(err, "read the calibration of %s", model)
}

const calibrationOf = `SELECT samples, ratio FROM calibrations WHERE model = ?`

func calibration(r row) (k prompt.Calibration, err error) {
	err = r.Scan(&k.Samples, &k.Ratio)
	if errors.Is(err, sql.ErrNoRows) {
		return prompt.Calibration{}, nil
	}
	return k, err
}

// Observe takes an observation for the turn's next write; see [prompt.Journal].
func (s *Store) Observe(ctx context.Context, o prompt.Observation) (prompt.Kept, error) {
	var now prompt.Calibration
	one := &op{behind: o.Turn, report: true, fn: func(t *tx) (err error) {
		now, err = t.observe(o)
		return err
	}}
	err := rule.Observation(o)
	if err == nil {
		err = s.behind(ctx, one)
	}
	if err != nil {
		return nil, wrapf(err, "keep the observation %s", o.Decision)
	}
	return func(ctx context.Context) (prompt.Calibration, error) {
		if err := s.await(ctx, one); err != nil {
			return prompt.Calibration{}, wrapf(err, "keep the observation %s", o.Decision)
		}
		return now, nil
	}, nil
}

// observe appends an observation, once, and advances the calibration of its model.
func (t *tx) observe(o prompt.Observation) (prompt.Calibration, error) {
	now, known := t.calibrations[o.Provider]
	if !known {
		var err error
		if now, err = calibration(t.row(calibrationOf, o.Provider)); err != nil {
			return now, err
		}
		t.calibrated(o.Provider, now)
	}
	n, err := t.exec(`INSERT INTO observations (decision, session_id, turn_id, step, model, estimate, tokens_input, tokens_output,
			tokens_cache_read, tokens_cache_write, reported, finish, vendor_request, at)
		SELECT ?, t.session_id, t.id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM turns t WHERE t.id = ? AND t.session_id = ?
		ON CONFLICT (decision) DO NOTHING`,
		string(o.Decision), o.Step, o.Provider, o.Estimate, o.Usage.Input, o.Usage.Output, o.Usage.CacheRead, o.Usage.CacheWrite,
		o.Usage.Reported, o.FinishReason, o.RequestID, o.At.UnixMilli(), string(o.Turn), string(o.Session))
	if err != nil {
		return now, err
	}
	if n == 0 { // observed before, or of nothing
		if st, err := t.stand(o.Turn); err != nil || st.session != o.Session {
			return now, errors.Join(errors.New("there is no such turn of the session"), err)
		}
		return now, nil
	}
	next := now.Advance(o)
	if next == now {
		return now, nil
	}
	t.calibrated(o.Provider, next)
	return next, t.must(`INSERT INTO calibrations (model, samples, ratio) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET samples = excluded.samples, ratio = excluded.ratio`, o.Provider, next.Samples, next.Ratio)
}

// calibrated notes what is known of a model, for the next observation in the transaction.
func (t *tx) calibrated(model string, k prompt.Calibration) {
	if t.calibrations == nil {
		t.calibrations = map[string]prompt.Calibration{}
	}
	t.calibrations[model] = k
}
