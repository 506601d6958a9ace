package rule

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Scope refuses a scope that would mix what different plugins or principals keep.
func Scope(s sandbox.KVScope) error {
	if s.Plugin == "" || s.Principal == "" {
		return errors.New("the plugin or the principal is missing")
	}
	return nil
}

// Key refuses a key that is none.
func Key(s sandbox.KVScope, key string) error {
	if key == "" || len(key) > wire.MaxKVKey || !utf8.ValidString(key) {
		return fmt.Errorf("a key has 1 to %d bytes of UTF-8", wire.MaxKVKey)
	}
	return Scope(s)
}

// Value refuses a value that is too large.
func Value(v []byte) error {
	if len(v) > wire.MaxKVValue {
		return &sandbox.KVLimitError{What: "bytes in a value", Limit: wire.MaxKVValue}
	}
	return nil
}

// Room refuses what a scope would hold after a write, when it is too much.
func Room(keys, bytes int64) error {
	switch {
	case keys > wire.MaxKVKeys:
		return &sandbox.KVLimitError{What: "keys", Limit: wire.MaxKVKeys}
	case bytes > wire.MaxKVTotal:
		return &sandbox.KVLimitError{What: "bytes in all values", Limit: wire.MaxKVTotal}
	}
	return nil
}

// PrefixEnd is the smallest text above every text that begins with prefix, in byte order; empty when there is none.
func PrefixEnd(prefix string) string {
	end := []byte(prefix)
	for len(end) > 0 {
		last := len(end) - 1
		if end[last] < 0xff {
			end[last]++
			return string(end)
		}
		end = end[:last]
	}
	return ""
}
