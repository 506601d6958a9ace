package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
)

// What a log has more than it may keep is not only left out when it is read: it is gone.
func TestALogTakesNoMoreRoomThanItMay(t *testing.T) {
	s, clock := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	key, c := s.ids.Task(), lease.Claim{Token: "t", Epoch: "e", Fence: 1, Expires: clock.Now().Add(time.Hour)}
	err := s.write(t.Context(), func(t *tx) error {
		for _, statement := range []string{
			`INSERT INTO tasks (id, kind, state, instance, session_id, turn_id, authority, principal_id, channel, conversation_key, parent_session,
				parent_turn, core, schedule, due_at, title, spec, digest, write_scope, token, epoch, fence, expires_at, unwanted, reason, summary,
				notice, told_turn, log_bytes, log_lines, created_at)
				VALUES ('` + string(key) + `', 'schedule.fire', 'queued', 'i', '', '', 'system', 'p', '', '', '', '', 'c', 's', 1, 't', '{}', '', '',
				'', '', 0, 0, 0, '', '', '', '', 0, 0, 1)`,
			`UPDATE tasks SET state = 'running', token = 't', epoch = 'e', fence = 1, expires_at = 99999999999999, started_at = 2`,
		} {
			if _, err := t.exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(repeated(50, strings.Repeat("x", task.MaxChunk-1)+"\n"), repeated(5, strings.Repeat("\n", 1000))...) {
		if how, err := s.AppendTaskLog(t.Context(), id.Task(key), c, text, clock.Now()); how != task.Written || err != nil {
			t.Fatal(how, err)
		}
		var bytes, lines int
		err := s.reader.row(t.Context(), `SELECT sum(length(l.body)), sum(length(l.body) - length(replace(l.body, char(10), ''))) FROM task_logs l
			WHERE l.task_id = ?`, string(key)).Scan(&bytes, &lines)
		if err != nil || bytes > task.MaxLogBytes || lines > task.MaxLogLines || bytes == 0 {
			t.Fatalf("%d bytes and %d lines are kept, %v", bytes, lines, err)
		}
	}
}

func repeated(n int, text string) (out []string) {
	for range n {
		out = append(out, text)
	}
	return out
}
