package sdk

import (
	"iter"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// KV is a small store of bytes by key, the plugin's own for the principal it
// runs for. Keys are UTF-8 and at most 512 bytes, values at most 64 KiB, and
// there are at most 1000 keys with 4 MiB of values.
//
// The version of a key counts its writes and is 0 for a key that is not there; a
// key that is deleted and made again begins at 1 again. Errors are a [*Fault].
// Needs kv.
type KV struct{ to keySystem }

// KV is the store of the call.
func (h Host) KV() KV { return KV{h.border()} }

// KVEntry is one key of a list.
type KVEntry struct {
	Key     string
	Version int64
	Size    int64 // bytes of the value
}

func badKey(key string) error {
	if key == "" || len(key) > wire.MaxKVKey || !utf8.ValidString(key) {
		return Errorf(Invalid, "not a key: 1 to %d bytes of UTF-8", wire.MaxKVKey)
	}
	return nil
}

// Get reads a key; errors.Is(err, [NotFound]) when it is not there.
func (k KV) Get(key string) ([]byte, int64, error) {
	if err := badKey(key); err != nil {
		return nil, 0, err
	}
	var r wire.KVGetReply
	value, err := ask(k.to.kvGet, wire.KVGetRequest{Key: key}, nil, &r)
	if err := settled(err, r.Fault); err != nil {
		return nil, 0, err
	}
	return value, r.Version, nil
}

// Set writes a key whatever is there and returns the version written.
func (k KV) Set(key string, value []byte) (int64, error) { return k.set(key, value, nil) }

// CompareAndSet writes a key only when it has the version expected, 0 meaning
// that it is not there; otherwise errors.Is(err, [Conflict]).
func (k KV) CompareAndSet(key string, value []byte, expected int64) (int64, error) {
	return k.set(key, value, &expected)
}

func (k KV) set(key string, value []byte, ifVersion *int64) (int64, error) {
	if err := badKey(key); err != nil {
		return 0, err
	}
	if len(value) > wire.MaxKVValue {
		return 0, Errorf(TooLarge, "value of %s has %d bytes, at most %d are allowed", key, len(value), wire.MaxKVValue)
	}
	var r wire.KVSetReply
	_, err := ask(k.to.kvSet, wire.KVSetRequest{Key: key, IfVersion: ifVersion}, value, &r)
	return r.Version, settled(err, r.Fault)
}

// Delete removes a key; it may be gone already.
func (k KV) Delete(key string) error {
	if err := badKey(key); err != nil {
		return err
	}
	var r wire.Ack
	_, err := ask(k.to.kvDelete, wire.KVDeleteRequest{Key: key}, nil, &r)
	return settled(err, r.Fault)
}

// List walks the keys with a prefix in byte order, a page at a time. It stops
// after the first error.
func (k KV) List(prefix string) iter.Seq2[KVEntry, error] {
	return func(yield func(KVEntry, error) bool) {
		after := ""
		for {
			var r wire.KVListReply
			_, err := ask(k.to.kvList, wire.KVListRequest{Prefix: prefix, After: after}, nil, &r)
			if err := settled(err, r.Fault); err != nil {
				yield(KVEntry{}, err)
				return
			}
			for _, e := range r.Entries {
				if !yield(KVEntry(e), nil) {
					return
				}
			}
			if !r.More || len(r.Entries) == 0 {
				return
			}
			after = r.Entries[len(r.Entries)-1].Key
		}
	}
}
