package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

const sessionColumns = `s.id, s.core, s.title, s.turns, s.created_at, s.last_turn_at, w.authority, w.principal_id, w.channel,
	w.conversation_key, w.parent_session, w.parent_turn, (SELECT e.at FROM session_ends e WHERE e.session_id = s.id)`

// Sessions lists the sessions that by reaches, the one with the latest turn first; see [turn.History].
func (s *Store) Sessions(ctx context.Context, by principal.Scope, skip, limit int) ([]turn.Session, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Page(skip, limit, rule.MaxPage)
	}
	if err != nil {
		return nil, wrapf(err, "list sessions")
	}
	out, err := pages(rc, skip, limit, func(session string, skip, limit int) ([]turn.Session, error) {
		query, args := `SELECT `+sessionColumns+` FROM sessions s CROSS JOIN session_owners w ON w.session_id = s.id
			WHERE `+reached("s.id"), []any{rc.all, rc.allowed}
		if session != "" {
			query, args = query+` AND s.id = ?`, append(args, session)
		}
		rows, err := s.reader.rows(ctx, query+` ORDER BY s.last_turn_at DESC, s.seq DESC LIMIT ? OFFSET ?`, append(args, limit, skip)...)
		return collect(rows, err, func(r *sql.Rows) (turn.Session, error) { return scanSession(r) })
	}, func(a, b turn.Session) int { return b.LastTurn.Compare(a.LastTurn) })
	return out, wrapf(err, "list sessions")
}

// pages asks once for an operator, whose predicate is true of every owned row, and else once for each session that
// the scope allows, so that each query walks an index in its order and stops at the limit. The pages are merged in
// the order of newer, and what is skipped is left out behind that.
func pages[T any](rc reach, skip, limit int, ask func(session string, skip, limit int) ([]T, error), newer func(a, b T) int) ([]T, error) {
	if rc.all {
		return ask("", skip, limit)
	}
	var all []T
	for _, session := range rc.by.AllowedSessions() {
		page, err := ask(session, 0, skip+limit)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	slices.SortStableFunc(all, newer)
	return rule.Cut(all, skip, limit), nil
}

// Session reads one session that by reaches; see [turn.History].
func (s *Store) Session(ctx context.Context, by principal.Scope, session id.Session) (turn.Session, bool, error) {
	rc, err := s.accept(by)
	if err != nil {
		return turn.Session{}, false, err
	}
	got, err := scanSession(s.reader.row(ctx, `SELECT `+sessionColumns+` FROM sessions s
		JOIN session_owners w ON w.session_id = s.id WHERE s.id = ? AND `+reached("s.id"), string(session), rc.all, rc.allowed))
	if errors.Is(err, sql.ErrNoRows) {
		err = s.denied(ctx, rc, rule.Lookup{What: lookupSession, ID: string(session)})
		return turn.Session{}, false, wrapf(err, "read session %s", session)
	}
	return got, err == nil, wrapf(err, "read session %s", session)
}

func scanSession(r scanner) (turn.Session, error) {
	var (
		got           turn.Session
		created, last int64
		ended         sql.NullInt64
	)
	err := r.Scan(&got.ID, &got.Core, &got.Title, &got.Turns, &created, &last, &got.Owner.Authority,
		&got.Owner.PrincipalID, &got.Owner.Channel, &got.Owner.ConversationKey, &got.Owner.ParentSession, &got.Owner.ParentTurn, &ended)
	if err != nil {
		return turn.Session{}, err
	}
	got.Created, got.LastTurn, got.Ended = time.UnixMilli(created).UTC(), time.UnixMilli(last).UTC(), when(ended)
	return got, nil
}

const turnColumns = `t.id, t.session_id, t.request, t.digest, t.core, t.revision, t.state, t.reason, t.input, t.reply, t.steps,
	t.tokens_input, t.tokens_output, t.tokens_cache_read, t.tokens_cache_write, t.trace, t.started_at, t.finished_at`

// Turns lists the turns of one session, or of all that by reaches, newest first; see [turn.History].
func (s *Store) Turns(ctx context.Context, by principal.Scope, session id.Session, skip, limit int) ([]turn.Record, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Page(skip, limit, rule.MaxPage)
	}
	if err != nil {
		return nil, wrapf(err, "list turns")
	}
	if session == "" {
		out, err := s.everyTurn(ctx, rc, skip, limit)
		return out, wrapf(err, "list turns")
	}
	l := rule.Lookup{What: lookupSession, ID: string(session)}
	if found, err := s.reaches(ctx, rc, l, string(session)); err != nil || !found {
		return nil, wrapf(err, "list turns of %s", session)
	}
	rows, err := s.reader.rows(ctx, `SELECT `+turnColumns+` FROM turns t
		WHERE t.session_id = ? AND `+reached("t.session_id")+` ORDER BY t.seq DESC LIMIT ? OFFSET ?`,
		string(session), rc.all, rc.allowed, limit, skip)
	out, err := collect(rows, err, func(r *sql.Rows) (turn.Record, error) { return scanTurn(r) })
	return out, wrapf(err, "list turns of %s", session)
}

func (s *Store) everyTurn(ctx context.Context, rc reach, skip, limit int) ([]turn.Record, error) {
	return pages(rc, skip, limit, func(session string, skip, limit int) ([]turn.Record, error) {
		query, args := `SELECT `+turnColumns+` FROM turns t WHERE t.seq > 0 AND `+reached("t.session_id"), []any{rc.all, rc.allowed}
		if session != "" {
			query, args = query+` AND t.session_id = ?`, append(args, session)
		}
		rows, err := s.reader.rows(ctx, query+` ORDER BY t.seq DESC LIMIT ? OFFSET ?`, append(args, limit, skip)...)
		return collect(rows, err, func(r *sql.Rows) (turn.Record, error) { return scanTurn(r) })
	}, func(a, b turn.Record) int { return b.Started.Compare(a.Started) })
}

// Turn reads one turn of a session that by reaches; see [turn.History].
func (s *Store) Turn(ctx context.Context, by principal.Scope, turnID id.Turn) (turn.Record, bool, error) {
	rc, err := s.accept(by)
	if err != nil {
		return turn.Record{}, false, err
	}
	got, err := scanTurn(s.reader.row(ctx, `SELECT `+turnColumns+` FROM turns t WHERE t.id = ? AND `+reached("t.session_id"),
		string(turnID), rc.all, rc.allowed))
	if errors.Is(err, sql.ErrNoRows) {
		err = s.denied(ctx, rc, rule.Lookup{What: lookupTurn, ID: string(turnID)})
		return turn.Record{}, false, wrapf(err, "read turn %s", turnID)
	}
	return got, err == nil, wrapf(err, "read turn %s", turnID)
}

// reachesTurn reports whether r reaches the turn's session; a turn out of reach is audited.
func (s *Store) reachesTurn(ctx context.Context, r reach, turnID id.Turn) (bool, error) {
	var yes bool
	err := s.reader.row(ctx, `SELECT EXISTS (SELECT 1 FROM turns t WHERE t.id = ? AND `+reached("t.session_id")+`)`,
		string(turnID), r.all, r.allowed).Scan(&yes)
	if err != nil || yes {
		return yes, err
	}
	return false, s.denied(ctx, r, rule.Lookup{What: lookupTurn, ID: string(turnID)})
}

func scanTurn(r scanner) (turn.Record, error) {
	var (
		got      turn.Record
		started  int64
		finished sql.NullInt64
	)
	err := r.Scan(&got.ID, &got.Session, &got.Request, &got.Digest, &got.Core, &got.Revision, &got.State, &got.Reason,
		&got.Input, &got.Reply, &got.Steps, &got.Usage.Input, &got.Usage.Output, &got.Usage.CacheRead,
		&got.Usage.CacheWrite, &got.Trace, &started, &finished)
	if err != nil {
		return turn.Record{}, err
	}
	got.Started, got.Finished = time.UnixMilli(started).UTC(), when(finished)
	if got.State != turn.Running {
		got.Outcome = turn.Outcome(got.State)
	}
	return got, nil
}
