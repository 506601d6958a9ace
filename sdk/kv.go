package sdk

import (
	"iter"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// KV is a small store of bytes by key, the plugin's own for the principal it
// runs for. Keys are UTF-8 and at most 512 bytes, values at most 64 KiB, and
// there are at most 1000 keys with 4 MiB of values.
//
// The version of a key grows with each write and is 0 for a key that is not
// there; a key that is deleted and made again goes on from a higher one. A write
// after the turn of the call ended is [Unavailable]. Errors are a [*Fault]. Needs
// kv.
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
	var head codec.Writer
	head.Text("key", key)
	var version int64
	value, err := ask(k.to.kvGet, head, nil, versioned(&version))
	if err != nil {
		return nil, 0, err
	}
	return value, version, nil
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
	var head codec.Writer
	head.Text("key", key)
	if ifVersion != nil {
		head.Int("if_version", *ifVersion)
	}
	var version int64
	_, err := ask(k.to.kvSet, head, value, versioned(&version))
	return version, err
}

// versioned reads a reply that tells the version of a key.
func versioned(to *int64) reader {
	return func(name string, r *codec.Reader) error {
		if name != "version" {
			return r.Unknown(name)
		}
		return r.Int(to)
	}
}

// Delete removes a key; it may be gone already.
func (k KV) Delete(key string) error {
	if err := badKey(key); err != nil {
		return err
	}
	var head codec.Writer
	head.Text("key", key)
	_, err := ask(k.to.kvDelete, head, nil, acknowledged)
	return err
}

// List walks the keys with a prefix in byte order, a page at a time. It stops
// after the first error.
func (k KV) List(prefix string) iter.Seq2[KVEntry, error] {
	return func(yield func(KVEntry, error) bool) {
		after := ""
		for {
			page, more, err := k.page(prefix, after)
			if err != nil {
				yield(KVEntry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if !more || len(page) == 0 {
				return
			}
			after = page[len(page)-1].Key
		}
	}
}

func (k KV) page(prefix, after string) (page []KVEntry, more bool, err error) {
	var head codec.Writer
	head.TextUnlessEmpty("prefix", prefix)
	head.TextUnlessEmpty("after", after)
	_, err = ask(k.to.kvList, head, nil, func(name string, r *codec.Reader) error {
		switch name {
		case "entries":
			return r.List(func(r *codec.Reader) error {
				page = append(page, KVEntry{})
				return readEntry(r, &page[len(page)-1])
			})
		case "more":
			return r.Bool(&more)
		}
		return r.Unknown(name)
	})
	return page, more, err
}

func readEntry(r *codec.Reader, to *KVEntry) error {
	return r.Members(func(name string, r *codec.Reader) error {
		switch name {
		case "key":
			return r.Text(&to.Key)
		case "version":
			return r.Int(&to.Version)
		case "size":
			return r.Int(&to.Size)
		}
		return r.Unknown(name)
	})
}
