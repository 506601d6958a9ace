package sqlite

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Search looks for a text in the turns that by reaches, newest first; see [turn.History]. It reads rows in the order of
// an index and stops by itself, so that its cost does not depend on how many there are.
func (s *Store) Search(ctx context.Context, by principal.Scope, q turn.SearchQuery) (turn.Findings, error) {
	rc, err := s.accept(by)
	if err != nil {
		return turn.Findings{}, wrapf(err, "search")
	}
	look, err := rule.NewSearch(q)
	if err != nil {
		return turn.Findings{}, wrapf(err, "search")
	}
	sessions := []string{""}
	if !rc.all {
		sessions = by.AllowedSessions()
	}
	for _, session := range sessions { // more than one is an operator's alone, which asks once
		more, err := s.searchIn(ctx, rc, session, look)
		if err != nil {
			return turn.Findings{}, wrapf(err, "search")
		}
		if !more {
			break
		}
	}
	return look.Findings(), nil
}

func (s *Store) searchIn(ctx context.Context, rc reach, session string, look *rule.Search) (more bool, err error) {
	query, args := `SELECT t.session_id, t.id, t.started_at, t.input, t.reply FROM turns t WHERE t.seq > 0 AND `+reached("t.session_id"), []any{rc.all, rc.allowed}
	if session != "" {
		query, args = query+` AND t.session_id = ?`, append(args, session)
	}
	rows, err := s.reader.rows(ctx, query+` ORDER BY t.seq DESC LIMIT ?`, append(args, turn.MaxSearchTurns+1)...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			f            turn.Finding
			at           int64
			input, reply string
		)
		if err := rows.Scan(&f.Session, &f.Turn, &at, &input, &reply); err != nil {
			return false, err
		}
		f.Started = time.UnixMilli(at).UTC()
		if !look.Look(f, input, reply) {
			return false, nil
		}
	}
	return true, rows.Err()
}
