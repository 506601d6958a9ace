package sqlite

import (
	"context"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Window returns the newest messages of a session, oldest first; see [turn.Journal]. It walks back from the newest
// and stops at the first message that does not fit, so that what it returns has no gap.
func (s *Store) Window(ctx context.Context, by principal.Scope, session id.Session, limit, maxBytes int) ([]turn.Message, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Window(limit, maxBytes)
	}
	if err != nil {
		return nil, wrapf(err, "read messages of %s", session)
	}
	l := rule.Lookup{What: lookupSession, ID: string(session)}
	if found, err := s.reaches(ctx, rc, l, string(session)); err != nil || !found {
		return nil, wrapf(err, "read messages of %s", session)
	}
	out, err := s.newest(ctx, rc, session, limit, maxBytes)
	slices.Reverse(out)
	return out, wrapf(err, "read messages of %s", session)
}

func (s *Store) newest(ctx context.Context, rc reach, session id.Session, limit, maxBytes int) ([]turn.Message, error) {
	rows, err := s.reader.rows(ctx, `SELECT m.id, m.turn_id, m.role, m.at, m.body FROM messages m
		WHERE m.session_id = ? AND `+reached("m.session_id")+` ORDER BY m.seq DESC LIMIT ?`,
		string(session), rc.all, rc.allowed, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []turn.Message
	for rows.Next() {
		var (
			m    turn.Message
			at   int64
			body string
		)
		if err := rows.Scan(&m.ID, &m.Turn, &m.Role, &at, &body); err != nil {
			return nil, err
		}
		if maxBytes -= len(body); maxBytes < 0 {
			return out, nil
		}
		m.At, m.Body = time.UnixMilli(at).UTC(), raw(body)
		out = append(out, m)
	}
	return out, rows.Err()
}
