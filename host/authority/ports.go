package authority

import (
	"context"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Bindings reads durable ownership. The owner of a session is written once, when the session is made.
type Bindings interface {
	// StoreID is the identity of this database for its whole life. Scopes are issued for it.
	StoreID() id.Store
	// Owner returns the owner of a session with its session fields filled; false when the session is unknown.
	Owner(ctx context.Context, s id.Session) (principal.Facts, bool, error)
}

// Audit appends one audit record in a transaction of its own.
type Audit interface {
	Record(ctx context.Context, r event.Record) error
}
