package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// EndSession ends a session for good; see [turn.Journal].
func (s *Store) EndSession(ctx context.Context, by principal.Scope, session id.Session, r event.Record) (how turn.Ending, err error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Audit(r)
	}
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			how, err = s.endSession(t, rc, session, r)
			return err
		})
	}
	if err != nil {
		return "", wrapf(err, "end session %s", session)
	}
	return how, nil
}

func (s *Store) endSession(t *tx, rc reach, session id.Session, r event.Record) (turn.Ending, error) {
	var found bool
	if err := t.row(`SELECT `+reached("?"), string(session), rc.all, rc.allowed).Scan(&found); err != nil {
		return "", err
	}
	if !found {
		return turn.EndNoSession, s.deny(t, rc, rule.Lookup{What: lookupSession, ID: string(session)})
	}
	over, err := t.over(session)
	switch {
	case err != nil:
		return "", err
	case over:
		return turn.EndedBefore, nil
	}
	if err := s.stopTurn(t, rc, session); err != nil {
		return "", err
	}
	if err := s.takeBack(t, session, r); err != nil {
		return "", err
	}
	owner, _, err := owner(t, session)
	if err != nil {
		return "", err
	}
	if rule.Routed(owner) { // the conversation goes on in a session that is made for it
		_, err = t.exec(`DELETE FROM conversation_bindings WHERE channel = ? AND conversation_key = ? AND session_id = ?`,
			owner.Channel, owner.ConversationKey, string(session))
		if err != nil {
			return "", err
		}
	}
	err = t.must(`INSERT INTO session_ends (session_id, principal_id, at) SELECT s.id, ?, ? FROM sessions s
		WHERE s.id = ? AND `+reached("s.id"), rc.by.PrincipalID(), r.At.UnixMilli(), string(session), rc.all, rc.allowed)
	if err != nil {
		return "", err
	}
	return turn.Ended, s.audit(t, r)
}

// over reports whether a session was ended.
func (t *tx) over(session id.Session) (over bool, err error) {
	err = t.row(`SELECT EXISTS (SELECT 1 FROM session_ends e WHERE e.session_id = ?)`, string(session)).Scan(&over)
	return over, err
}

// stopTurn expires what the session's running turn asks and notes that it shall end.
func (s *Store) stopTurn(t *tx, rc reach, session id.Session) error {
	var name, trace string
	err := t.row(`SELECT t.id, t.trace FROM leases l JOIN turns t ON t.id = l.turn_id WHERE l.session_id = ?`, string(session)).Scan(&name, &trace)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	end := turn.Terminal{Turn: id.Turn(name), Session: session, At: t.now}
	if err := s.closeQuestions(t, end, id.Trace(trace), rule.ReasonSessionEnded); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO cancel_requests (turn_id, principal_id, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
		name, rc.by.PrincipalID(), t.now.UnixMilli())
	return err
}

// takeBack revokes every allowance for the session, with a record each.
func (s *Store) takeBack(t *tx, session id.Session, r event.Record) error {
	rows, err := t.rows(`UPDATE approvals SET revoked_at = ? WHERE session_id = ? AND reach = 'session' AND revoked_at IS NULL
		RETURNING id, turn_id, effect_id, tool`, r.At.UnixMilli(), string(session))
	taken, err := collect(rows, err, func(r *sql.Rows) (q approval.Question, err error) {
		err = r.Scan(&q.ID, &q.Turn, &q.Effect, &q.Tool)
		return q, err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(taken, func(a, b approval.Question) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for _, q := range taken {
		q.Session = session
		if err := s.audit(t, rule.TakenBack(r, q, s.ids.Event())); err != nil {
			return err
		}
	}
	return nil
}
