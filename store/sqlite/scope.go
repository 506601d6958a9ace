package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// reach is a scope as an owner predicate takes it: whether it crosses sessions, and the one session that it is bound to
// where it does not. A scope allows no others.
type reach struct {
	by      principal.Scope
	all     bool
	allowed string
}

// reached is the owner predicate over a session id. It takes all and allowed. Rows of a session without a durable
// owner, or without a certain one, are nobody's, an operator's neither.
func reached(session string) string {
	return `EXISTS (SELECT 1 FROM session_owners o WHERE o.session_id = ` + session +
		` AND o.legacy = 0 AND (? OR o.session_id = ?))`
}

// accept refuses scopes that this store must not act for and prepares the rest for a predicate.
func (s *Store) accept(by principal.Scope) (reach, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return reach{}, err
	}
	return reach{by: by, all: by.CrossSession(), allowed: by.SessionID()}, nil
}

// denied writes why an exact lookup found nothing. It looks again in the transaction of the audit record; a row
// that has come within reach since is no denial.
func (s *Store) denied(ctx context.Context, r reach, l rule.Lookup) error {
	if s.readOnly {
		return nil
	}
	return s.write(ctx, func(t *tx) error { return s.deny(t, r, l) })
}

func (s *Store) deny(t *tx, r reach, l rule.Lookup) error {
	session, exists, err := t.sessionOf(l)
	if err != nil {
		return err
	}
	owned, err := t.ownership(session)
	if err != nil {
		return err
	}
	var reaches bool
	if err := t.row(`SELECT `+reached("?"), session, r.all, r.allowed).Scan(&reaches); err != nil {
		return err
	}
	why := rule.Why(exists, owned, reaches && (l.Within == "" || session == string(l.Within)))
	if why == "" {
		return nil
	}
	return s.audit(t, rule.Denied(r.by.PrincipalID(), l, why, s.ids.Event(), t.now))
}

// ownership is whether session has an owner, and a certain one.
func (t *tx) ownership(session string) (rule.Ownership, error) {
	var legacy bool
	err := t.row(`SELECT o.legacy FROM session_owners o WHERE o.session_id = ?`, session).Scan(&legacy)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return rule.Unowned, nil
	case legacy:
		return rule.Legacy, err
	}
	return rule.Owned, err
}

// sessionOf finds the session of what was looked up, whoever owns it.
func (t *tx) sessionOf(l rule.Lookup) (session string, exists bool, err error) {
	query := map[string]string{
		lookupSession:  `SELECT id FROM sessions WHERE id = ?`,
		lookupTurn:     `SELECT session_id FROM turns WHERE id = ?`,
		lookupApproval: `SELECT session_id FROM approvals WHERE id = ?`,
		lookupEffect:   `SELECT session_id FROM effects WHERE id = ?`,
		lookupDelivery: `SELECT session_id FROM deliveries WHERE id = ?`,

		rule.LookupTask: `SELECT session_id FROM tasks WHERE id = ?`,
	}[l.What]
	err = t.row(query, l.ID).Scan(&session)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return session, err == nil, err
}

// What an exact lookup looks for.
const (
	lookupSession  = "session"
	lookupTurn     = "turn"
	lookupApproval = "approval"
	lookupEffect   = "effect"
	lookupDelivery = rule.LookupDelivery
)

// reaches reports whether r reaches session; a session out of reach is audited.
func (s *Store) reaches(ctx context.Context, r reach, l rule.Lookup, session string) (bool, error) {
	var yes bool
	err := s.reader.row(ctx, `SELECT `+reached("?"), session, r.all, r.allowed).Scan(&yes)
	if err != nil || yes {
		return yes, err
	}
	return false, s.denied(ctx, r, l)
}
