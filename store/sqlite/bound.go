package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// bound is the session that the owner's conversation is bound to, or empty. Only conversations have a binding.
func bound(q querier, f principal.Facts) (session id.Session, err error) {
	if !rule.Routed(f) {
		return "", nil
	}
	err = q.row(`SELECT session_id FROM conversation_bindings WHERE channel = ? AND conversation_key = ?`,
		f.Channel, f.ConversationKey).Scan(&session)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return session, err
}

// rebind makes session the one that the conversation continues in, if it is the conversation's own.
func (t *tx) rebind(f principal.Facts, session id.Session) error {
	if !rule.Routed(f) {
		return nil
	}
	return t.must(`INSERT INTO conversation_bindings (channel, conversation_key, session_id) VALUES (?, ?, ?)
		ON CONFLICT (channel, conversation_key) DO UPDATE SET session_id = excluded.session_id`,
		f.Channel, f.ConversationKey, string(session))
}

// BoundSession is the session that a Bound admission of this owner would continue in; see [turn.Journal].
func (s *Store) BoundSession(ctx context.Context, f principal.Facts) (id.Session, bool, error) {
	if !rule.Routed(f) {
		return "", false, nil
	}
	var (
		session id.Session
		have    principal.Facts
	)
	err := s.reader.row(brief(ctx), `SELECT b.session_id, o.authority, o.principal_id, o.channel, o.conversation_key, o.parent_session, o.parent_turn
		FROM conversation_bindings b JOIN session_owners o ON o.session_id = b.session_id AND o.legacy = 0
		WHERE b.channel = ? AND b.conversation_key = ?`, f.Channel, f.ConversationKey).
		Scan(&session, &have.Authority, &have.PrincipalID, &have.Channel, &have.ConversationKey, &have.ParentSession, &have.ParentTurn)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !rule.MayUse(f, have) {
		return "", false, nil
	}
	if err != nil {
		return "", false, wrapf(err, "look up the bound session of %s", f.PrincipalID)
	}
	return session, true, nil
}
