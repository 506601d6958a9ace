package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Owner returns the durable owner of a session, its session fields filled; false when there is no certain one. It is for
// host/authority, which makes scopes from it, and so takes none.
func (s *Store) Owner(ctx context.Context, session id.Session) (principal.Facts, bool, error) {
	f, found, err := owner(reading{brief(ctx), s.reader}, session)
	if err != nil || !found {
		return principal.Facts{}, false, wrapf(err, "read the owner of %s", session)
	}
	f.SessionID, f.AllowedSessions = string(session), []string{string(session)}
	return f, true, nil
}

// owner reads the owner row as it was written, without session fields.
func owner(q querier, session id.Session) (f principal.Facts, found bool, err error) {
	err = q.row(`SELECT authority, principal_id, channel, conversation_key, parent_session, parent_turn
		FROM session_owners WHERE session_id = ? AND legacy = 0`, string(session)).
		Scan(&f.Authority, &f.PrincipalID, &f.Channel, &f.ConversationKey, &f.ParentSession, &f.ParentTurn)
	if errors.Is(err, sql.ErrNoRows) {
		return principal.Facts{}, false, nil
	}
	return f, err == nil, err
}
