package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// FireSchedule writes a run of a schedule and moves its cursor; see [task.Queue].
func (s *Store) FireSchedule(ctx context.Context, n task.Task, digest string, after time.Time, r event.Record) (got task.Task, how task.Queueing, err error) {
	if err = rule.NewTask(n, task.Fire, r); err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			got, how, err = s.fire(t, n, digest, after, r)
			return err
		})
	}
	if err != nil {
		return task.Task{}, "", wrapf(err, "fire schedule %s of %s", n.Schedule, n.Core)
	}
	return got, how, nil
}

func (s *Store) fire(t *tx, n task.Task, digest string, after time.Time, r event.Record) (task.Task, task.Queueing, error) {
	if got, found, err := t.instance(n.Instance); err != nil || found {
		return got, task.Duplicate, err
	}
	if after.IsZero() {
		return s.insertTask(t, n, r)
	}
	at := n.Due.UnixMilli()
	var stands bool
	err := t.row(`SELECT EXISTS (SELECT 1 FROM schedules c WHERE c.core = ? AND c.schedule = ? AND c.digest = ? AND c.cursor_at = ?
		AND c.cursor_at < ?)`, n.Core, n.Schedule, digest, after.UnixMilli(), at).Scan(&stands)
	if err != nil || !stands {
		return task.Task{}, task.Passed, err
	}
	got, how, err := s.insertTask(t, n, r)
	if err != nil || how != task.Accepted {
		return got, how, err // the one before runs still: the cursor stays, and what is missed comes to one run later
	}
	return got, how, t.must(`UPDATE schedules SET cursor_at = ? WHERE core = ? AND schedule = ? AND digest = ? AND cursor_at = ?`,
		at, n.Core, n.Schedule, digest, after.UnixMilli())
}

// SeeSchedule is the cursor of a schedule; see [task.Queue]. One that is known costs a read and no write.
func (s *Store) SeeSchedule(ctx context.Context, core, schedule, digest string, now time.Time) (time.Time, error) {
	const known = `SELECT c.digest, c.cursor_at FROM schedules c WHERE c.core = ? AND c.schedule = ?`
	var (
		have   string
		cursor int64
	)
	if core == "" || schedule == "" || digest == "" || now.IsZero() {
		return time.Time{}, errors.New("sqlite: see a schedule: its core, id, digest or the time is missing")
	}
	err := s.reader.row(ctx, known, core, schedule).Scan(&have, &cursor)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (have != digest || rule.Ahead(time.UnixMilli(cursor), now)) {
		err = s.write(ctx, func(t *tx) error {
			// A cursor only goes on, by its trigger: one that a wrong clock set goes, and a new one begins.
			if _, err := t.exec(`DELETE FROM schedules WHERE core = ? AND schedule = ? AND cursor_at > ?`,
				core, schedule, now.Add(rule.MaxAhead).UnixMilli()); err != nil {
				return err
			}
			// Whoever saw it first has set the cursor, which stays.
			if _, err := t.exec(`INSERT INTO schedules (core, schedule, digest, cursor_at) VALUES (?, ?, ?, ?)
				ON CONFLICT (core, schedule) DO UPDATE SET digest = excluded.digest, cursor_at = excluded.cursor_at
				WHERE schedules.digest <> excluded.digest`, core, schedule, digest, now.UnixMilli()); err != nil {
				return err
			}
			return t.row(known, core, schedule).Scan(&have, &cursor)
		})
	}
	if err != nil {
		return time.Time{}, wrapf(err, "see schedule %s of %s", schedule, core)
	}
	return time.UnixMilli(cursor).UTC(), nil
}

// ScheduleSession is the session of the last run with this owner; see [task.Queue].
func (s *Store) ScheduleSession(ctx context.Context, core, schedule, principalID string) (session id.Session, err error) {
	err = s.reader.row(ctx, `SELECT k.session_id FROM tasks k WHERE k.kind = 'schedule.fire' AND k.core = ? AND k.schedule = ?
		AND k.principal_id = ? AND k.session_id <> '' ORDER BY k.seq DESC LIMIT 1`, core, schedule, principalID).Scan(&session)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return session, wrapf(err, "look up the session of schedule %s of %s", schedule, core)
}
