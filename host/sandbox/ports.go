package sandbox

import (
	"context"
	"fmt"

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
	// written. version is the one written: 1 for a new key, else one more. A
	// write past a bound of the scope is a [*KVLimitError] and writes nothing.
	Set(ctx context.Context, scope KVScope, key string, value []byte, ifVersion *int64) (version int64, ok bool, err error)
	// Delete removes the key under the same condition.
	Delete(ctx context.Context, scope KVScope, key string, ifVersion *int64) (ok bool, err error)
	// List returns at most limit keys that begin with prefix and are greater
	// than after, in byte order, and whether more remain.
	List(ctx context.Context, scope KVScope, prefix, after string, limit int) (entries []wire.KVEntry, more bool, err error)
}

// KVScope says whose keys: one plugin's, on behalf of one principal. Two scopes
// that differ in either share nothing.
type KVScope struct{ Plugin, Principal string }

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
}
