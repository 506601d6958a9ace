package sqlite

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// AppendTaskLog adds to the log of a task; see [task.Queue]. It reads nothing of it: each append carries where it begins,
// and what lies too far back of the task's own counts goes.
func (s *Store) AppendTaskLog(ctx context.Context, key id.Task, c lease.Claim, text string, at time.Time) (how task.Fenced, err error) {
	if err = rule.TaskChunk(text); err == nil {
		err = s.write(ctx, func(t *tx) error {
			how = task.Stale
			size, lines := int64(len(text)), rule.Lines(text)
			got, err := t.taskStep(`UPDATE tasks SET log_bytes = log_bytes + ?, log_lines = log_lines + ? WHERE `+taskHeld,
				append([]any{size, lines}, t.taskOf(key, c)...)...)
			if err != nil || len(got) == 0 {
				return err
			}
			all := got[0]
			err = t.must(`INSERT INTO task_logs (task_id, from_byte, from_line, at, body) VALUES (?, ?, ?, ?, ?)`,
				string(key), all.LogBytes-size, all.LogLines-lines, at.UnixMilli(), text)
			if err == nil {
				_, err = t.exec(`DELETE FROM task_logs WHERE task_id = ? AND from_byte < ?`, string(key), all.LogBytes-task.MaxLogBytes)
			}
			if err == nil {
				_, err = t.exec(`DELETE FROM task_logs WHERE task_id = ? AND from_line < ?`, string(key), all.LogLines-task.MaxLogLines)
			}
			how = task.Written
			return err
		})
	}
	if err != nil {
		return "", wrapf(err, "log of %s", key)
	}
	return how, nil
}

// TaskLog is the end of a task's log; see [task.Records].
func (s *Store) TaskLog(ctx context.Context, by principal.Scope, within id.Session, key id.Task, lines, maxBytes int) (string, bool, error) {
	_, found, err := s.Task(ctx, by, within, key)
	if err == nil {
		err = rule.Limit(lines, task.MaxLogLines)
	}
	if err == nil {
		err = rule.Limit(maxBytes, task.MaxLogBytes)
	}
	if err != nil || !found {
		return "", false, wrapf(err, "read the log of %s", key)
	}
	rc, err := s.accept(by)
	if err != nil {
		return "", false, err
	}
	rows, err := s.reader.rows(ctx, `SELECT l.body FROM task_logs l JOIN tasks ON tasks.id = l.task_id
		WHERE l.task_id = ? AND `+seenTask+` ORDER BY l.from_byte DESC LIMIT ?`, append(rc.tasks(within, string(key)), task.MaxLogLines+1)...)
	if err != nil {
		return "", false, wrapf(err, "read the log of %s", key)
	}
	defer rows.Close()
	var chunks []string
	for size := 0; size < maxBytes && rows.Next(); {
		text, err := scanText(rows)
		if err != nil {
			return "", false, wrapf(err, "read the log of %s", key)
		}
		chunks, size = append(chunks, text), size+len(text)
	}
	return rule.TaskTail(chunks, lines, maxBytes), true, wrapf(rows.Err(), "read the log of %s", key)
}
