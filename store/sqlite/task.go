package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

const taskColumns = `id, kind, state, instance, session_id, turn_id, authority, principal_id, channel, conversation_key, parent_session,
	parent_turn, core, schedule, due_at, title, spec, digest, write_scope, token, epoch, fence, expires_at, unwanted, reason, summary,
	notice, told_turn, log_bytes, log_lines, created_at, started_at, ended_at`

func scanTask(r *sql.Rows) (task.Task, error) {
	var (
		t                   task.Task
		due, started, ended sql.NullInt64
		expires, created    int64
	)
	err := r.Scan(&t.ID, &t.Kind, &t.State, &t.Instance, &t.Session, &t.Turn, &t.Owner.Authority, &t.Owner.PrincipalID, &t.Owner.Channel,
		&t.Owner.ConversationKey, &t.Owner.ParentSession, &t.Owner.ParentTurn, &t.Core, &t.Schedule, &due, &t.Title, &t.Spec, &t.Digest,
		&t.Scope, &t.Claim.Token, &t.Claim.Epoch, &t.Claim.Fence, &expires, &t.Unwanted, &t.Reason, &t.Summary,
		&t.Notice, &t.Told, &t.LogBytes, &t.LogLines, &created, &started, &ended)
	if t.State.Held() {
		t.Claim.Expires = time.UnixMilli(expires).UTC()
	}
	t.Due, t.Created, t.Started, t.Ended = when(due), time.UnixMilli(created).UTC(), when(started), when(ended)
	return t, err
}

// ownerHolds is the predicate that a task's session has the owner still that was captured. A run of a schedule that came
// to no session has nobody else's.
const ownerHolds = `(tasks.session_id = '' OR EXISTS (SELECT 1 FROM session_owners c WHERE c.session_id = tasks.session_id
	AND c.legacy = 0 AND c.authority = tasks.authority AND c.principal_id = tasks.principal_id AND c.channel = tasks.channel
	AND c.conversation_key = tasks.conversation_key AND c.parent_session = tasks.parent_session AND c.parent_turn = tasks.parent_turn))`

// toldOf is what a task's end owes its session.
const toldOf = `CASE WHEN kind = 'process' AND ` + ownerHolds + ` THEN 'waiting' ELSE '' END`

// QueueTask writes a task that a running turn asks for; see [task.Queue].
func (s *Store) QueueTask(ctx context.Context, n task.Task, r event.Record) (got task.Task, how task.Queueing, err error) {
	if err = rule.NewTask(n, task.Process, r); err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			got, how, err = s.queueTask(t, n, r)
			return err
		})
	}
	if err != nil {
		return task.Task{}, "", wrapf(err, "queue task %s", n.ID)
	}
	return got, how, nil
}

func (s *Store) queueTask(t *tx, n task.Task, r event.Record) (task.Task, task.Queueing, error) {
	if got, found, err := t.instance(n.Instance); err != nil || found {
		return got, task.Duplicate, err
	}
	who, certain, err := owner(t, n.Session)
	if err != nil || !certain {
		return task.Task{}, task.NoOwner, err
	}
	var running bool
	err = t.row(`SELECT EXISTS (SELECT 1 FROM leases l WHERE l.session_id = ? AND l.turn_id = ? AND l.expires_at > ?
			AND NOT EXISTS (SELECT 1 FROM session_ends e WHERE e.session_id = l.session_id))`,
		string(n.Session), string(n.Turn), t.now.UnixMilli()).Scan(&running)
	if err != nil || !running {
		return task.Task{}, task.NoOwner, err
	}
	n.Owner = who
	return s.insertTask(t, n, r)
}

// instance finds the one task of an instance.
func (t *tx) instance(of string) (task.Task, bool, error) {
	rows, err := t.rows(`SELECT `+taskColumns+` FROM tasks WHERE instance = ?`, of)
	got, err := collect(rows, err, scanTask)
	if err != nil || len(got) == 0 {
		return task.Task{}, false, err
	}
	return got[0], true, nil
}

// insertTask writes a task unless its scope is taken or its session has too many.
func (s *Store) insertTask(t *tx, n task.Task, r event.Record) (task.Task, task.Queueing, error) {
	var (
		around, below bool
		open          int
	)
	scopes, err := json.Marshal(rule.ScopesAround(n.Scope))
	if err != nil {
		return task.Task{}, "", err
	}
	from, to := rule.ScopesBelow(n.Scope)
	err = t.row(`SELECT EXISTS (SELECT 1 FROM tasks k WHERE k.write_scope IN (SELECT j.value FROM json_each(?) j) AND k.write_scope <> ''
			AND k.state IN ('queued', 'running', 'blocked')),
		EXISTS (SELECT 1 FROM tasks k WHERE ? <> '' AND k.write_scope > ? AND k.write_scope < ? AND k.write_scope <> ''
			AND k.state IN ('queued', 'running', 'blocked')),
		(SELECT count(*) FROM tasks k WHERE k.session_id = ? AND k.session_id <> '' AND k.state IN ('queued', 'running', 'blocked'))`,
		string(scopes), n.Scope, from, to, string(n.Session)).Scan(&around, &below, &open)
	switch {
	case err != nil:
		return task.Task{}, "", err
	case around || below:
		return task.Task{}, task.ScopeBusy, nil
	case open >= task.MaxOpen:
		return task.Task{}, task.TooMany, nil
	}
	n = rule.TaskQueued(n)
	var due any
	if !n.Due.IsZero() {
		due = n.Due.UnixMilli()
	}
	err = t.must(`INSERT INTO tasks (id, kind, state, instance, session_id, turn_id, authority, principal_id, channel, conversation_key,
			parent_session, parent_turn, core, schedule, due_at, title, spec, digest, write_scope, token, epoch, fence, expires_at, unwanted,
			reason, summary, notice, told_turn, log_bytes, log_lines, created_at)
		VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', 0, 0, 0, '', '', '', '', 0, 0, ?)`,
		string(n.ID), string(n.Kind), n.Instance, string(n.Session), string(n.Turn), string(n.Owner.Authority), n.Owner.PrincipalID,
		n.Owner.Channel, n.Owner.ConversationKey, n.Owner.ParentSession, n.Owner.ParentTurn, n.Core, n.Schedule, due, n.Title, n.Spec,
		n.Digest, n.Scope, n.Created.UnixMilli())
	if err != nil {
		return task.Task{}, "", err
	}
	return n, task.Accepted, s.audit(t, rule.OfTask(r, n))
}

// ClaimTask takes the task that has been queued longest; see [task.Queue]. An empty queue costs a read and no write.
func (s *Store) ClaimTask(ctx context.Context, of task.Which, c lease.Claim, r event.Record) (task.Task, bool, error) {
	const next = `SELECT k.id FROM tasks k INDEXED BY tasks_queued WHERE k.state = 'queued' AND (? = '' OR k.kind = ?)
		AND (? = '' OR k.id = ?) ORDER BY k.seq LIMIT 1`
	var got []task.Task
	which := []any{string(of.Kind), string(of.Kind), string(of.Only), string(of.Only)}
	err := errors.Join(rule.TaskClaim(c, s.clock()), rule.Audit(r))
	if err == nil {
		var rows *sql.Rows
		rows, err = s.reader.rows(ctx, next, which...)
		var queued []string
		if queued, err = collect(rows, err, scanText); err == nil && len(queued) > 0 {
			err = s.write(ctx, func(t *tx) (err error) {
				got, err = t.taskStep(`UPDATE tasks SET state = 'running', token = ?, epoch = ?, fence = fence + 1, expires_at = ?, started_at = ?
					WHERE id = (`+next+`) AND state = 'queued'`,
					append([]any{string(c.Token), string(c.Epoch), c.Expires.UnixMilli(), t.now.UnixMilli()}, which...)...)
				if err == nil && len(got) > 0 {
					err = s.audit(t, rule.OfTask(r, got[0]))
				}
				return err
			})
		}
	}
	if err != nil || len(got) == 0 {
		return task.Task{}, false, wrapf(err, "claim a task")
	}
	return got[0], true, nil
}

// taskStep changes tasks and returns them as they are then.
func (t *tx) taskStep(update string, args ...any) ([]task.Task, error) {
	rows, err := t.rows(update+` RETURNING `+taskColumns, args...)
	return collect(rows, err, scanTask)
}

// taskHeld is the predicate over a task under a live claim. It takes id, token, epoch, fence and now.
const taskHeld = `id = ? AND token = ? AND epoch = ? AND fence = ? AND expires_at > ?`

func (t *tx) taskOf(key id.Task, c lease.Claim) []any {
	return []any{string(key), string(c.Token), string(c.Epoch), c.Fence, t.now.UnixMilli()}
}

// fencedTask is a step under a claim; no row changed is a stale claim.
func (s *Store) fencedTask(t *tx, key id.Task, c lease.Claim, set string, args ...any) (task.Fenced, error) {
	got, err := t.taskStep(`UPDATE tasks SET `+set+` WHERE `+taskHeld, append(args, t.taskOf(key, c)...)...)
	if err != nil || len(got) == 0 {
		return task.Stale, err
	}
	return task.Written, nil
}

// BeatTask moves the expiry of a live claim; see [task.Queue].
func (s *Store) BeatTask(ctx context.Context, key id.Task, c lease.Claim, until time.Time) (beat task.Beat, err error) {
	err = s.write(ctx, func(t *tx) error {
		beat = task.Beat{Fenced: task.Stale}
		if !until.After(t.now) {
			return errors.New("the new expiry has passed already")
		}
		got, err := t.taskStep(`UPDATE tasks SET expires_at = ? WHERE `+taskHeld, append([]any{until.UnixMilli()}, t.taskOf(key, c)...)...)
		if err == nil && len(got) > 0 {
			beat = task.Beat{Fenced: task.Written, Unwanted: got[0].Unwanted}
		}
		return err
	})
	return beat, wrapf(err, "beat the claim on %s", key)
}

// BindTask says which turn a run of a schedule is; see [task.Queue].
func (s *Store) BindTask(ctx context.Context, key id.Task, c lease.Claim, session id.Session, turnID id.Turn) (how task.Fenced, err error) {
	err = s.write(ctx, func(t *tx) (err error) {
		how, err = task.Stale, nil
		got, err := t.taskStep(`UPDATE tasks SET session_id = ?, turn_id = ? WHERE `+taskHeld+` AND kind = 'schedule.fire' AND session_id = ''
			AND EXISTS (SELECT 1 FROM turns u JOIN session_owners o ON o.session_id = u.session_id WHERE u.id = ? AND u.session_id = ?
				AND o.legacy = 0 AND o.authority = tasks.authority AND o.principal_id = tasks.principal_id)`,
			append(append([]any{string(session), string(turnID)}, t.taskOf(key, c)...), string(turnID), string(session))...)
		if err == nil && len(got) > 0 {
			how = task.Written
		}
		return err
	})
	return how, wrapf(err, "bind %s to turn %s", key, turnID)
}

// BlockTask says whether a running task waits for a person; see [task.Queue].
func (s *Store) BlockTask(ctx context.Context, key id.Task, c lease.Claim, blocked bool) (how task.Fenced, err error) {
	to := task.Running
	if blocked {
		to = task.Blocked
	}
	err = s.write(ctx, func(t *tx) (err error) {
		how, err = s.fencedTask(t, key, c, `state = ?`, string(to))
		return err
	})
	return how, wrapf(err, "block %s", key)
}

// FinishTask ends a task and its claim; see [task.Queue].
func (s *Store) FinishTask(ctx context.Context, key id.Task, c lease.Claim, e task.End, r event.Record) (how task.Fenced, err error) {
	if e, err = rule.TaskEnd(e, r); err == nil {
		err = s.write(ctx, func(t *tx) error {
			how = task.Stale
			got, err := t.taskStep(`UPDATE tasks SET token = '', epoch = '', expires_at = 0, ended_at = ?, notice = `+toldOf+`,
				state = CASE WHEN `+ownerHolds+` THEN ? ELSE 'failed' END, reason = CASE WHEN `+ownerHolds+` THEN ? ELSE ? END,
				summary = CASE WHEN `+ownerHolds+` THEN ? ELSE '' END WHERE `+taskHeld,
				append([]any{e.At.UnixMilli(), string(e.State), e.Reason, task.ReasonOwnerChanged, e.Summary}, t.taskOf(key, c)...)...)
			if err == nil && len(got) > 0 {
				how, err = task.Written, s.audit(t, rule.OfTask(r, got[0]))
			}
			return err
		})
	}
	if err != nil {
		return "", wrapf(err, "finish %s", key)
	}
	return how, nil
}

// RecoverTasks makes lost what holders had that are gone; see [task.Queue]. It reads what is held, which is at most what
// the places of each host are.
func (s *Store) RecoverTasks(ctx context.Context, epoch id.Epoch, now time.Time) ([]task.Recovered, error) {
	var done []task.Recovered
	err := s.write(ctx, func(t *tx) error {
		done = nil
		rows, err := t.rows(`SELECT `+taskColumns+` FROM tasks WHERE token <> '' AND epoch > '' AND (epoch <> ? OR expires_at <= ?)`,
			string(epoch), now.UnixMilli())
		gone, err := collect(rows, err, scanTask)
		if err != nil {
			return err
		}
		slices.SortFunc(gone, func(a, b task.Task) int { return cmp.Compare(a.ID, b.ID) })
		for _, k := range gone {
			got, err := t.taskStep(`UPDATE tasks SET state = 'lost', reason = ?, token = '', epoch = '', expires_at = 0, ended_at = ?,
				notice = `+toldOf+` WHERE id = ? AND token = ?`, rule.ReasonTaskLost(k, epoch), now.UnixMilli(), string(k.ID), string(k.Claim.Token))
			if err != nil {
				return err
			}
			for _, is := range got {
				if err := s.audit(t, rule.OfTask(event.Record{ID: s.ids.Event(), At: now, Kind: event.TaskLost}, is)); err != nil {
					return err
				}
				done = append(done, task.Recovered{Task: is.ID, Kind: is.Kind})
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrapf(err, "recover tasks")
	}
	return done, nil
}

// seenTask is the owner predicate over a task; one without a session is the operator's. It takes [reach.tasks].
var seenTask = `(tasks.session_id = '' AND ? OR ` + reached("tasks.session_id") + `) AND (? = '' OR tasks.session_id = ?)`

// tasks are what seenTask takes, behind what comes before it.
func (r reach) tasks(within id.Session, before ...any) []any {
	return append(before, r.all, r.all, r.allowed, string(within), string(within))
}

var oneTask = `SELECT ` + taskColumns + ` FROM tasks WHERE id = ? AND ` + seenTask

// Task reads one task that by reaches; see [task.Records].
func (s *Store) Task(ctx context.Context, by principal.Scope, within id.Session, key id.Task) (task.Task, bool, error) {
	rc, err := s.accept(by)
	if err != nil {
		return task.Task{}, false, err
	}
	rows, err := s.reader.rows(ctx, oneTask, rc.tasks(within, string(key))...)
	got, err := collect(rows, err, scanTask)
	if err == nil && len(got) == 0 {
		err = s.denied(ctx, rc, rule.Lookup{What: rule.LookupTask, ID: string(key), Within: within})
	}
	if err != nil || len(got) == 0 {
		return task.Task{}, false, wrapf(err, "read task %s", key)
	}
	return got[0], true, nil
}

// Tasks lists those that by reaches, newest first; see [task.Records].
func (s *Store) Tasks(ctx context.Context, by principal.Scope, within id.Session, state task.State, skip, limit int) ([]task.Task, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Page(skip, limit, rule.MaxPage)
	}
	if err != nil {
		return nil, wrapf(err, "list tasks")
	}
	out, err := pages(rc, skip, limit, func(session string, skip, limit int) ([]task.Task, error) {
		query, args := `SELECT `+taskColumns+` FROM tasks WHERE `+seenTask, rc.tasks(within)
		if session = cmp.Or(session, string(within)); session != "" {
			query, args = query+` AND session_id = ?`, append(args, session)
		}
		if state != "" {
			query, args = query+` AND state = ?`, append(args, string(state))
		}
		rows, err := s.reader.rows(ctx, query+` ORDER BY created_at DESC, seq DESC LIMIT ? OFFSET ?`, append(args, limit, skip)...)
		return collect(rows, err, scanTask)
	}, func(a, b task.Task) int { return b.Created.Compare(a.Created) })
	return out, wrapf(err, "list tasks")
}

// CancelTask asks for the end of a task; see [task.Records].
func (s *Store) CancelTask(ctx context.Context, by principal.Scope, within id.Session, key id.Task, r event.Record) (got task.Task, how task.Cancelling, err error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Audit(r)
	}
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			got, how, err = s.cancelTask(t, rc, within, key, r)
			return err
		})
	}
	if err != nil {
		return task.Task{}, "", wrapf(err, "cancel task %s", key)
	}
	return got, how, nil
}

func (s *Store) cancelTask(t *tx, rc reach, within id.Session, key id.Task, r event.Record) (task.Task, task.Cancelling, error) {
	mine := rc.tasks(within, string(key))
	rows, err := t.rows(oneTask, mine...)
	was, err := collect(rows, err, scanTask)
	switch {
	case err != nil:
		return task.Task{}, "", err
	case len(was) == 0:
		return task.Task{}, task.CancelNoTask, s.deny(t, rc, rule.Lookup{What: rule.LookupTask, ID: string(key), Within: within})
	case was[0].State.Ended():
		return was[0], task.CancelEnded, nil
	case was[0].Unwanted:
		return was[0], task.CancelBefore, nil
	}
	how, set, args := task.CancelNoted, `unwanted = 1`, []any{}
	r.Kind, r.Principal = event.TaskCancelAsked, rc.by.PrincipalID()
	if was[0].State == task.Queued {
		how, r.Kind = task.CancelDone, event.TaskCancelled
		set, args = `unwanted = 1, state = 'cancelled', reason = ?, ended_at = ?, notice = `+toldOf, []any{task.ReasonCancelled, t.now.UnixMilli()}
	}
	got, err := t.taskStep(`UPDATE tasks SET `+set+` WHERE id = ? AND `+seenTask, append(args, mine...)...)
	if err != nil || len(got) == 0 {
		return task.Task{}, task.CancelNoTask, err
	}
	return got[0], how, s.audit(t, rule.OfTask(r, got[0]))
}
