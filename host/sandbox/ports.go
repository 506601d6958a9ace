package sandbox

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// KV keeps small values for plugins. Implementations are safe for concurrent
// use, make each method one transaction, and return soon after ctx is done. An
// error means that they could not do their job; the guest is told "io" and no
// more.
type KV interface {
	// Get returns the value and its version, or version 0 when the key is not
	// there.
	Get(ctx context.Context, scope KVScope, key string) (value []byte, version int64, err error)
	// Set writes the value. With ifVersion the write happens only when the key
	// has that version (0: is not there); otherwise ok is false and nothing is
	// written. version is the one written: one more than the key's last, and for
	// a key that is not there one more than the highest that was deleted in the
	// scope, 1 at first: no version of a key comes twice. A write past a bound of
	// the scope is a [*KVLimitError] and writes nothing.
	// Set and Delete happen only while scope.Turn runs under a live claim, which
	// is looked at in the same transaction; otherwise they are a [*KVOverError]
	// and write nothing, whatever the condition says.
	Set(ctx context.Context, scope KVScope, key string, value []byte, ifVersion *int64) (version int64, ok bool, err error)
	// Delete removes the key under the same condition.
	Delete(ctx context.Context, scope KVScope, key string, ifVersion *int64) (ok bool, err error)
	// List returns at most limit keys that begin with prefix and are greater
	// than after, in byte order, and whether more remain.
	List(ctx context.Context, scope KVScope, prefix, after string, limit int) (entries []wire.KVEntry, more bool, err error)
}

// KVScope says whose keys: one plugin's, on behalf of one principal. Two scopes
// that differ in either share nothing. Turn is who writes, and no part of whose
// keys they are; reading needs none.
type KVScope struct {
	Plugin, Principal string
	Turn              id.Turn
}

// KVOverError reports a write of a turn that is over: what a plugin still does
// after its turn ended must not change what later turns read. The guest is told
// "unavailable".
type KVOverError struct{ Turn id.Turn }

// Error names the turn.
func (e *KVOverError) Error() string { return fmt.Sprintf("kv: turn %q is not running", e.Turn) }

// KVLimitError reports a write that would pass a bound of its scope:
// [wire.MaxKVValue], [wire.MaxKVKeys] or [wire.MaxKVTotal]. The guest is told
// "too_large", because it can do something about it.
type KVLimitError struct {
	What  string // "bytes in a value", "keys" or "bytes in all values"
	Limit int
}

// Error names the bound.
func (e *KVLimitError) Error() string { return fmt.Sprintf("kv: at most %d %s", e.Limit, e.What) }

// HTTPDoer makes one HTTP exchange under the URL policy. It refuses by a fault
// in the reply; an error means that it could not do its job. It returns soon
// after ctx is done, and holds the response body to req.MaxBytes while reading.
type HTTPDoer interface {
	Do(ctx context.Context, req wire.HTTPRequest, body []byte) (wire.HTTPReply, []byte, error)
	// Unanswered reports that an exchange ended with a fault or an error after a request of it that may have changed
	// something had gone out. It is asked when the call is over.
	Unanswered() bool
	// Changed reports that a request that may have changed something was answered, and not with a refusal. It is asked when the
	// call is over.
	Changed() bool
}
