package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// standing is a turn with the lease that it runs under.
type standing struct {
	session id.Session
	trace   id.Trace
	state   turn.State
	claim   lease.Claim // zero when the turn has ended
}

// stood is how the turn stands that was asked for last in a transaction: what a turn wrote behind comes with its next write.
type stood struct {
	turn id.Turn
	standing
}

// stand is how turn id stands; an unknown turn is an error, because only admitted ones come here.
func (t *tx) stand(turnID id.Turn) (standing, error) {
	if t.stood.turn == turnID {
		return t.stood.standing, nil
	}
	st, err := t.readStanding(turnID)
	if err == nil {
		t.stood = stood{turnID, st}
	}
	return st, err
}

func (t *tx) readStanding(turnID id.Turn) (standing, error) {
	var (
		st      standing
		fence   sql.NullInt64
		expires sql.NullInt64
		token   sql.NullString
		epoch   sql.NullString
	)
	err := t.row(`SELECT t.session_id, t.trace, t.state, l.token, l.epoch, l.fence, l.expires_at
		FROM turns t LEFT JOIN leases l ON l.session_id = t.session_id AND l.turn_id = t.id WHERE t.id = ?`, string(turnID)).
		Scan(&st.session, &st.trace, &st.state, &token, &epoch, &fence, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return standing{}, fmt.Errorf("there is no turn %s", turnID)
	}
	if token.Valid {
		st.claim = lease.Claim{
			Token: id.Lease(token.String), Epoch: id.Epoch(epoch.String), Fence: fence.Int64,
			Expires: time.UnixMilli(expires.Int64).UTC(),
		}
	}
	return st, err
}

// fenced is whether a write under c may happen: the turn runs, c is its claim, and it is not over.
func (st standing) fenced(c lease.Claim, now time.Time) turn.Fenced {
	switch {
	case st.state != turn.Running:
		return turn.AlreadyEnded
	case !st.claim.Same(c) || st.claim.Expired(now):
		return turn.Stale
	}
	return turn.Written
}

// Append adds messages to a running turn under its claim; see [turn.Journal].
func (s *Store) Append(ctx context.Context, turnID id.Turn, c lease.Claim, m []turn.Message) (turn.Fenced, error) {
	var how turn.Fenced
	err := rule.Messages(m, turnID)
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			how, err = t.append(turnID, c, m)
			return err
		})
	}
	if err != nil {
		return "", wrapf(err, "append to turn %s", turnID)
	}
	return how, nil
}

// AppendBehind takes messages for the turn's next write; see [turn.Journal].
func (s *Store) AppendBehind(ctx context.Context, turnID id.Turn, c lease.Claim, m []turn.Message) error {
	err := rule.Messages(m, turnID)
	if err == nil {
		err = s.behind(ctx, &op{behind: turnID, fn: func(t *tx) error {
			how, err := t.append(turnID, c, m)
			if err == nil && how != turn.Written {
				err = fmt.Errorf("the claim does not hold: %s", how)
			}
			return err
		}})
	}
	return wrapf(err, "append to turn %s", turnID)
}

func (t *tx) append(turnID id.Turn, c lease.Claim, m []turn.Message) (turn.Fenced, error) {
	st, err := t.stand(turnID)
	if err != nil {
		return "", err
	}
	how := st.fenced(c, t.now)
	if how == turn.Written {
		err = t.insertMessages(st.session, m)
	}
	return how, err
}

func (t *tx) insertMessages(session id.Session, m []turn.Message) error {
	for _, one := range m {
		err := t.must(`INSERT INTO messages (id, session_id, turn_id, role, body, at) VALUES (?, ?, ?, ?, ?, ?)`,
			string(one.ID), string(session), string(one.Turn), one.Role, string(one.Body), one.At.UnixMilli())
		if err != nil {
			return err
		}
	}
	return nil
}

// Extend moves the expiry of a live claim; see [turn.Journal]. A claim that is over stays over.
func (s *Store) Extend(ctx context.Context, session id.Session, c lease.Claim, until time.Time) (turn.Fenced, error) {
	var how turn.Fenced
	err := s.write(ctx, func(t *tx) error {
		how = turn.Written
		if !until.After(t.now) {
			return errors.New("the new expiry has passed already")
		}
		t.stood = stood{}
		n, err := t.exec(`UPDATE leases SET expires_at = ?
			WHERE session_id = ? AND token = ? AND epoch = ? AND fence = ? AND expires_at > ?`,
			until.UnixMilli(), string(session), string(c.Token), string(c.Epoch), c.Fence, t.now.UnixMilli())
		if err == nil && n == 0 {
			how = turn.Stale
		}
		return err
	})
	if err != nil {
		return "", wrapf(err, "extend the claim on %s", session)
	}
	return how, nil
}

// Finish writes the one terminal state of a turn and ends its claim; see [turn.Journal]. Effects and questions that
// are still open under it become indeterminate and expired, each with its record, and what it owes its conversation is
// queued.
func (s *Store) Finish(ctx context.Context, end turn.Terminal, r event.Record) (turn.Fenced, error) {
	var how turn.Fenced
	err := rule.Terminal(end, r)
	if err == nil {
		err = s.write(ctx, func(t *tx) error {
			st, err := t.stand(end.Turn)
			if err != nil {
				return err
			}
			if st.session != end.Session {
				return fmt.Errorf("the turn is not of session %s", end.Session)
			}
			if how = st.fenced(end.Claim, t.now); how != turn.Written {
				return nil
			}
			if err := s.repaid(t, end.Turn); err != nil {
				return err
			}
			if err := errors.Join(t.insertMessages(end.Session, end.Messages), t.insertDeliveries(end)); err != nil {
				return err
			}
			if _, _, err := s.endTurn(t, end, st.trace, rule.ReasonTurnEnded); err != nil {
				return err
			}
			return s.audit(t, r)
		})
	}
	if err != nil {
		return "", wrapf(err, "finish turn %s", end.Turn)
	}
	return how, nil
}

// endTurn closes what is open under a running turn, ends it and releases its lease. With no outcome given the
// turn's is [rule.Orphan]'s. It returns the number of effects that became indeterminate, and the turn's outcome.
func (s *Store) endTurn(t *tx, end turn.Terminal, trace id.Trace, closing string) (open int, as turn.Outcome, err error) {
	t.stood = stood{}
	var effects, questions bool // as a rule neither; a trigger holds the turn's end to it
	err = t.row(`SELECT EXISTS (SELECT 1 FROM effects WHERE turn_id = ?1 AND finished_at IS NULL),
		EXISTS (SELECT 1 FROM approvals WHERE turn_id = ?1 AND state = 'pending')`, string(end.Turn)).Scan(&effects, &questions)
	if err == nil && effects {
		open, err = s.closeEffects(t, end, trace, closing)
	}
	if err == nil && questions {
		err = s.closeQuestions(t, end, trace, closing)
	}
	if err == nil && end.Outcome == "" {
		var uncertain, asked bool
		err = t.row(`SELECT EXISTS (SELECT 1 FROM effects WHERE turn_id = ?1 AND status = 'indeterminate'),
			EXISTS (SELECT 1 FROM cancel_requests WHERE turn_id = ?1)`, string(end.Turn)).Scan(&uncertain, &asked)
		end.Outcome = rule.Orphan(uncertain, asked)
	}
	if err != nil {
		return 0, "", err
	}
	err = t.must(`UPDATE turns SET state = ?, reason = ?, reply = ?, steps = ?, tokens_input = ?, tokens_output = ?,
			tokens_cache_read = ?, tokens_cache_write = ?, finished_at = ?
		WHERE id = ? AND state = 'running'`,
		string(end.Outcome), end.Reason, end.Reply, end.Steps, end.Usage.Input, end.Usage.Output, end.Usage.CacheRead,
		end.Usage.CacheWrite, end.At.UnixMilli(), string(end.Turn))
	if err != nil {
		return 0, "", err
	}
	return open, end.Outcome, t.must(`DELETE FROM leases WHERE session_id = ? AND turn_id = ?`, string(end.Session), string(end.Turn))
}
