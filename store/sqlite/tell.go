package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Untold are the ends of tasks that a session was not told of; see [turn.Notices].
func (s *Store) Untold(ctx context.Context, by principal.Scope, session id.Session, limit int) ([]turn.Notice, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Limit(limit, turn.MaxNotices)
	}
	if err != nil {
		return nil, wrapf(err, "look for news of %s", session)
	}
	rows, err := s.reader.rows(ctx, `SELECT `+taskColumns+` FROM tasks WHERE session_id = ? AND notice = 'waiting' AND `+ownerHolds+
		` AND `+reached("tasks.session_id")+` ORDER BY seq LIMIT ?`, string(session), rc.all, rc.allowed, limit)
	ended, err := collect(rows, err, scanTask)
	var out []turn.Notice
	for _, k := range ended {
		out = append(out, rule.NoticeOf(k))
	}
	return out, wrapf(err, "look for news of %s", session)
}

// Tell stores a message of a running turn and notes that it tells of these tasks; see [turn.Notices].
func (s *Store) Tell(ctx context.Context, turnID id.Turn, c lease.Claim, m turn.Message, of []id.Task) (how turn.Fenced, err error) {
	if err = rule.Messages([]turn.Message{m}, turnID); err == nil {
		err = s.write(ctx, func(t *tx) error {
			st, err := t.stand(turnID)
			if err != nil {
				return err
			}
			if how = st.fenced(c, t.now); how != turn.Written {
				return nil
			}
			if err := t.insertMessages(st.session, []turn.Message{m}); err != nil {
				return err
			}
			for _, key := range of {
				n, err := t.exec(`UPDATE tasks SET notice = 'told', told_turn = ? WHERE id = ? AND session_id = ? AND notice = 'waiting' AND `+ownerHolds,
					string(turnID), string(key), string(st.session))
				if err == nil && n != 1 {
					err = fmt.Errorf("%s has nothing to tell in session %s", key, st.session)
				}
				if err != nil {
					return err
				}
			}
			if len(of) == 0 {
				return errors.New("there is nothing to tell")
			}
			return nil
		})
	}
	if err != nil {
		return "", wrapf(err, "tell turn %s of tasks", turnID)
	}
	return how, nil
}

var (
	_ task.Queue   = (*Store)(nil)
	_ task.Records = (*Store)(nil)
	_ turn.Notices = (*Store)(nil)
)
