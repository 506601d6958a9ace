package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// bound is the session that the owner's conversation is bound to, or empty, with its certain owner. Only conversations have a
// binding.
func bound(q querier, f principal.Facts) (session id.Session, have principal.Facts, certain bool, err error) {
	if !rule.Routed(f) {
		return "", principal.Facts{}, false, nil
	}
	err = q.row(`SELECT b.session_id, o.session_id IS NOT NULL, coalesce(o.authority, ''), coalesce(o.principal_id, ''), coalesce(o.channel, ''),
			coalesce(o.conversation_key, ''), coalesce(o.parent_session, ''), coalesce(o.parent_turn, '')
		FROM conversation_bindings b LEFT JOIN session_owners o ON o.session_id = b.session_id AND o.legacy = 0
		WHERE b.channel = ? AND b.conversation_key = ?`, f.Channel, f.ConversationKey).
		Scan(&session, &certain, &have.Authority, &have.PrincipalID, &have.Channel, &have.ConversationKey, &have.ParentSession, &have.ParentTurn)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return session, have, certain, err
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
	session, have, certain, err := bound(reading{brief(ctx), s.reader}, f)
	if err != nil || !certain || !rule.MayUse(f, have) {
		return "", false, wrapf(err, "look up the bound session of %s", f.PrincipalID)
	}
	return session, true, nil
}
