package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// maxOwners is how many owners are remembered; then all are forgotten.
const maxOwners = 4096

// owners are certain owners that were read before. A trigger keeps such a row as it is for good, so what was read once is
// what a read would find, whoever else writes the database. The zero value is ready; it is safe for concurrent use.
type owners struct {
	mu sync.Mutex // guards of
	of map[id.Session]principal.Facts
}

func (o *owners) recall(session id.Session) (f principal.Facts, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, known = o.of[session]
	return f, known
}

func (o *owners) keep(session id.Session, f principal.Facts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil || len(o.of) == maxOwners {
		o.of = map[id.Session]principal.Facts{}
	}
	o.of[session] = f
}

func (o *owners) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of = nil
}

// Owner returns the durable owner of a session, its session fields filled; false when there is no certain one. It is for
// host/authority, which makes scopes from it, and so takes none.
func (s *Store) Owner(ctx context.Context, session id.Session) (principal.Facts, bool, error) {
	f, known := s.owners.recall(session)
	if !known || ctx.Err() != nil {
		var (
			found bool
			err   error
		)
		if f, found, err = owner(reading{brief(ctx), s.reader}, session); err != nil || !found {
			return principal.Facts{}, false, wrapf(err, "read the owner of %s", session)
		}
		s.owners.keep(session, f)
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
