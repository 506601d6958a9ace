package sdk

import (
	"iter"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

type kvSystem interface {
	KVGet(arg []byte) []byte
	KVSet(arg []byte) []byte
	KVDelete(arg []byte) []byte
	KVList(arg []byte) []byte
}

// KV is the plugin's store through the host.
func (g *guest) KV() KV { return keys{g.kv} }

type keys struct{ sys kvSystem }

func badKey(key string) error {
	if key == "" || len(key) > wire.MaxKVKey || !utf8.ValidString(key) {
		return Errorf(Invalid, "not a key: 1 to %d bytes of UTF-8", wire.MaxKVKey)
	}
	return nil
}

func (k keys) Get(key string) ([]byte, int64, error) {
	if err := badKey(key); err != nil {
		return nil, 0, err
	}
	var r wire.KVGetReply
	value, err := ask(k.sys.KVGet, wire.KVGetRequest{Key: key}, nil, &r)
	if err == nil {
		err = refused(r.Fault)
	}
	if err != nil {
		return nil, 0, err
	}
	return value, r.Version, nil
}

func (k keys) Set(key string, value []byte) (int64, error) { return k.set(key, value, nil) }

func (k keys) CompareAndSet(key string, value []byte, expected int64) (int64, error) {
	return k.set(key, value, &expected)
}

func (k keys) set(key string, value []byte, ifVersion *int64) (int64, error) {
	if err := badKey(key); err != nil {
		return 0, err
	}
	if len(value) > wire.MaxKVValue {
		return 0, Errorf(TooLarge, "value of %s has %d bytes, at most %d are allowed", key, len(value), wire.MaxKVValue)
	}
	var r wire.KVSetReply
	_, err := ask(k.sys.KVSet, wire.KVSetRequest{Key: key, IfVersion: ifVersion}, value, &r)
	if err == nil {
		err = refused(r.Fault)
	}
	return r.Version, err
}

func (k keys) Delete(key string) error {
	if err := badKey(key); err != nil {
		return err
	}
	var r wire.Ack
	_, err := ask(k.sys.KVDelete, wire.KVDeleteRequest{Key: key}, nil, &r)
	if err != nil {
		return err
	}
	return refused(r.Fault)
}

func (k keys) List(prefix string) iter.Seq2[KVEntry, error] {
	return func(yield func(KVEntry, error) bool) {
		after := ""
		for {
			var r wire.KVListReply
			_, err := ask(k.sys.KVList, wire.KVListRequest{Prefix: prefix, After: after}, nil, &r)
			if err == nil {
				err = refused(r.Fault)
			}
			if err != nil {
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
