package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// RequestCancel notes that a running turn shall end; see [turn.Journal].
func (s *Store) RequestCancel(ctx context.Context, by principal.Scope, turnID id.Turn, r event.Record) (how turn.Cancelling, err error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Audit(r)
	}
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			how, err = s.requestCancel(t, rc, turnID, r)
			return err
		})
	}
	if err != nil {
		return "", wrapf(err, "ask for the end of turn %s", turnID)
	}
	return how, nil
}

func (s *Store) requestCancel(t *tx, rc reach, turnID id.Turn, r event.Record) (turn.Cancelling, error) {
	var (
		state string
		asked bool
	)
	err := t.row(`SELECT t.state, EXISTS (SELECT 1 FROM cancel_requests c WHERE c.turn_id = t.id) FROM turns t
		WHERE t.id = ? AND `+reached("t.session_id"), string(turnID), rc.all, rc.allowed).Scan(&state, &asked)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return turn.CancelNoTurn, s.deny(t, rc, rule.Lookup{What: lookupTurn, ID: string(turnID)})
	case err != nil:
		return "", err
	case turn.State(state) != turn.Running:
		return turn.CancelEnded, nil
	case asked:
		return turn.CancelNotedBefore, nil
	}
	err = t.must(`INSERT INTO cancel_requests (turn_id, principal_id, at) SELECT t.id, ?, ? FROM turns t
		WHERE t.id = ? AND t.state = 'running' AND `+reached("t.session_id"),
		rc.by.PrincipalID(), t.now.UnixMilli(), string(turnID), rc.all, rc.allowed)
	if err != nil {
		return "", err
	}
	return turn.CancelNoted, s.audit(t, r)
}

// NoteCancel notes that the end of a running turn came from where it runs; see [turn.Journal].
func (s *Store) NoteCancel(ctx context.Context, turnID id.Turn, c lease.Claim, r event.Record) (how turn.Fenced, err error) {
	err = rule.CancelNote(r, turnID)
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			how, err = s.noteCancel(t, turnID, c, r)
			return err
		})
	}
	if err != nil {
		return "", wrapf(err, "note the end of turn %s", turnID)
	}
	return how, nil
}

func (s *Store) noteCancel(t *tx, turnID id.Turn, c lease.Claim, r event.Record) (turn.Fenced, error) {
	st, err := t.stand(turnID)
	if err != nil {
		return "", err
	}
	if how := st.fenced(c, t.now); how != turn.Written {
		return how, nil
	}
	n, err := t.exec(`INSERT INTO cancel_requests (turn_id, principal_id, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
		string(turnID), r.Principal, t.now.UnixMilli())
	if err != nil || n == 0 { // somebody asked before, and is on record
		return turn.Written, err
	}
	return turn.Written, s.audit(t, r)
}

// CancelRequested reports whether the end of a turn was asked for; see [turn.Journal].
func (s *Store) CancelRequested(ctx context.Context, turnID id.Turn) (asked bool, err error) {
	err = s.reader.row(ctx, `SELECT EXISTS (SELECT 1 FROM cancel_requests c WHERE c.turn_id = ?)`, string(turnID)).Scan(&asked)
	return asked, wrapf(err, "look whether the end of turn %s was asked for", turnID)
}
