package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Admit decides and writes a whole admission in one transaction; see [turn.Journal].
//
// In this order: the request key (of this principal), the session, its lease. A running turn whose lease is over is
// ended as lost or indeterminate first, so that a session never has two. Resuming an own session makes it the bound
// one; an operator in another's session moves no binding.
func (s *Store) Admit(ctx context.Context, a turn.Admission, r []event.Record) (turn.Admittance, error) {
	var got turn.Admittance
	err := rule.Admission(a, r, s.clock())
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			got, err = s.admit(t, a, r)
			return err
		})
	}
	if err != nil {
		return turn.Admittance{}, fmt.Errorf("sqlite: admit turn %s: %w", a.Turn, err)
	}
	return got, nil
}

func (s *Store) admit(t *tx, a turn.Admission, r []event.Record) (turn.Admittance, error) {
	before, found, err := t.requested(a)
	switch {
	case err != nil:
		return turn.Admittance{}, err
	case found && before.Digest == a.Digest:
		return turn.Admittance{Disposition: turn.Duplicate, Session: before.Session, Existing: before}, nil
	case found:
		return turn.Admittance{Disposition: turn.Conflict}, nil
	}
	session, why, err := t.resolve(a)
	if err != nil {
		return turn.Admittance{}, err
	}
	if why != "" {
		l := rule.Lookup{What: lookupSession, ID: string(session)}
		err := s.audit(t, rule.Denied(a.Owner.PrincipalID, l, why, s.ids.Event(), t.now))
		return turn.Admittance{Disposition: turn.SessionNotFound}, err
	}
	var at vacancy
	if session != "" {
		if at, err = t.vacancy(session); err != nil {
			return turn.Admittance{}, err
		}
		if at.over {
			return turn.Admittance{Disposition: turn.SessionOver}, nil
		}
		free, err := s.vacate(t, at)
		if err != nil || !free {
			return turn.Admittance{Disposition: turn.Busy}, err
		}
	}
	got := turn.Admittance{Disposition: turn.Admitted, Session: session, Claim: a.Claim}
	got.Claim.Expires = rule.Millis(a.Claim.Expires)
	if session == "" {
		got.Session, got.Created = a.NewSession, true
		if err := t.found(a); err != nil {
			return turn.Admittance{}, err
		}
	}
	if got.Created || a.Selector.Kind == turn.Resume {
		if err := t.rebind(a.Owner, got.Session); err != nil {
			return turn.Admittance{}, err
		}
	}
	got.Claim.Fence = at.fence + 1
	if err := t.start(a, got); err != nil {
		return turn.Admittance{}, err
	}
	if err := t.insertMessages(got.Session, a.Messages); err != nil {
		return turn.Admittance{}, err
	}
	for _, rec := range rule.Admitted(a, got, r) {
		if err := s.audit(t, rec); err != nil {
			return turn.Admittance{}, err
		}
	}
	return got, nil
}

// Requested is the turn that this principal asked for under a key before; see [turn.Journal].
func (s *Store) Requested(ctx context.Context, owner principal.Facts, key id.Request) (turn.Record, bool, error) {
	rec, found, err := scanRequested(s.reader.row(ctx, `SELECT `+turnColumns+requestedTurn, string(owner.Authority), owner.PrincipalID, string(key)))
	return rec, found, wrapf(err, "look up a request key")
}

// requested finds the turn that this principal asked for under the same key.
func (t *tx) requested(a turn.Admission) (turn.Record, bool, error) {
	var name string // to ask for all of a row that is not there would cost more
	err := t.row(`SELECT t.id`+requestedTurn, string(a.Owner.Authority), a.Owner.PrincipalID, string(a.Request)).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return turn.Record{}, false, nil
	}
	if err != nil {
		return turn.Record{}, false, err
	}
	return scanRequested(t.row(`SELECT `+turnColumns+` FROM turns t WHERE t.id = ?`, name))
}

const requestedTurn = ` FROM turns t WHERE t.authority = ? AND t.principal_id = ? AND t.request = ?`

func scanRequested(r scanner) (rec turn.Record, found bool, err error) {
	rec, err = scanTurn(r)
	if errors.Is(err, sql.ErrNoRows) {
		return turn.Record{}, false, nil
	}
	return rec, err == nil, err
}

// resolve finds the session that a wants; empty when one is to be made. A reason means that the session is named
// and not the actor's to use.
func (t *tx) resolve(a turn.Admission) (id.Session, rule.Reason, error) {
	var (
		session = a.Selector.Session
		have    principal.Facts
		certain bool
		err     error
	)
	if a.Selector.Kind == turn.Bound {
		session, have, certain, err = bound(t, a.Owner)
	} else if session != "" {
		have, certain, err = owner(t, session)
	}
	if err != nil || session == "" {
		return "", "", err
	}
	if certain {
		return session, rule.Why(true, rule.Owned, rule.MayUse(a.Owner, have)), nil
	}
	_, exists, err := t.sessionOf(rule.Lookup{What: lookupSession, ID: string(session)})
	if err != nil {
		return "", "", err
	}
	owned, err := t.ownership(string(session))
	return session, rule.Why(exists, owned, false), err
}

// found makes the session with its owner.
func (t *tx) found(a turn.Admission) error {
	at := a.At.UnixMilli()
	err := t.must(`INSERT INTO sessions (id, core, title, turns, fence, created_at, last_turn_at)
		VALUES (?, ?, ?, 0, 0, ?, ?)`, string(a.NewSession), a.Core, rule.Title(a.Input), at, at)
	if err != nil {
		return err
	}
	return t.must(`INSERT INTO session_owners (session_id, authority, principal_id, channel, conversation_key, parent_session,
			parent_turn)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, string(a.NewSession), string(a.Owner.Authority), a.Owner.PrincipalID,
		a.Owner.Channel, a.Owner.ConversationKey, a.Owner.ParentSession, a.Owner.ParentTurn)
}

// vacancy is how a session stands for its next turn. The zero vacancy is a new session's.
type vacancy struct {
	fence   int64 // of its latest claim
	over    bool  // it was ended
	running orphaned
	expires int64 // of the claim of the running turn
}

// vacancy reads it. The fence is no part of the statement that moves it: with RETURNING SQLite makes a table each time.
func (t *tx) vacancy(session id.Session) (v vacancy, err error) {
	v.running.session = session
	err = t.row(`SELECT s.fence, EXISTS (SELECT 1 FROM session_ends e WHERE e.session_id = s.id), coalesce(l.turn_id, ''),
			coalesce(l.expires_at, 0), coalesce(t.trace, '')
		FROM sessions s LEFT JOIN leases l ON l.session_id = s.id LEFT JOIN turns t ON t.id = l.turn_id WHERE s.id = ?`, string(session)).
		Scan(&v.fence, &v.over, &v.running.turn, &v.expires, &v.running.trace)
	return v, err
}

// start writes the running turn with its lease.
func (t *tx) start(a turn.Admission, got turn.Admittance) error {
	session := string(got.Session)
	err := t.must(`UPDATE sessions SET turns = turns + 1, fence = ?, last_turn_at = ? WHERE id = ?`, got.Claim.Fence, a.At.UnixMilli(), session)
	if err != nil {
		return err
	}
	err = t.must(`INSERT INTO turns (id, session_id, authority, principal_id, request, digest, core, revision,
			capabilities, trace, input, state, reason, reply, steps, tokens_input, tokens_output, tokens_cache_read,
			tokens_cache_write, started_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', '', '', 0, 0, 0, 0, 0, ?)`,
		string(a.Turn), session, string(a.Owner.Authority), a.Owner.PrincipalID, string(a.Request), a.Digest,
		a.Core, a.Revision, a.Capabilities, string(a.Trace), a.Input, a.At.UnixMilli())
	if err != nil {
		return err
	}
	return t.must(`INSERT INTO leases (session_id, turn_id, token, epoch, fence, expires_at) VALUES (?, ?, ?, ?, ?, ?)`,
		session, string(a.Turn), string(a.Claim.Token), string(a.Claim.Epoch), got.Claim.Fence, a.Claim.Expires.UnixMilli())
}
