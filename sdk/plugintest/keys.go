package plugintest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// keys is the store by key.
type keys struct {
	entries map[string]entry
	retired int64 // the highest version that was deleted
}

type entry struct {
	value   []byte
	version int64
}

func (k *keys) put(key string, value []byte) int64 {
	last, there := k.entries[key]
	if !there {
		last.version = k.retired
	}
	version := last.version + 1
	k.entries[key] = entry{slices.Clone(value), version}
	return version
}

func (k *keys) serve(t testing.TB, function string, header, body []byte) []byte {
	t.Helper()
	switch function {
	case wire.ImportKVGet:
		reply, value := k.get(decode[wire.KVGetRequest](t, header, wire.MaxHeaderBytes))
		return frame(t, reply, value)
	case wire.ImportKVSet:
		return frame(t, k.set(decode[wire.KVSetRequest](t, header, wire.MaxHeaderBytes), body), nil)
	case wire.ImportKVDelete:
		return frame(t, wire.Ack{Fault: k.remove(decode[wire.KVDeleteRequest](t, header, wire.MaxHeaderBytes))}, nil)
	case wire.ImportKVList:
		reply := k.list(decode[wire.KVListRequest](t, header, wire.MaxHeaderBytes))
		if n := fit(t, reply.Entries); n < len(reply.Entries) {
			reply.Entries, reply.More = reply.Entries[:n], true
		}
		return frame(t, reply, nil)
	}
	t.Fatalf("plugintest: no fake for %s", function)
	return nil
}

func (k *keys) get(r wire.KVGetRequest) (wire.KVGetReply, []byte) {
	e, ok := k.entries[r.Key]
	if !ok {
		return wire.KVGetReply{Fault: &sdk.Fault{Code: sdk.NotFound, Message: "no key " + r.Key}}, nil
	}
	return wire.KVGetReply{Version: e.version}, e.value
}

// refuse checks key and condition of a write.
func (k *keys) refuse(key string, ifVersion *int64) *sdk.Fault {
	if key == "" || len(key) > wire.MaxKVKey || !utf8.ValidString(key) {
		return &sdk.Fault{Code: sdk.Invalid, Message: "not a key"}
	}
	if ifVersion != nil && *ifVersion != k.entries[key].version {
		return &sdk.Fault{Code: sdk.Conflict, Message: "key " + key + " has another version"}
	}
	return nil
}

func (k *keys) set(r wire.KVSetRequest, value []byte) wire.KVSetReply {
	if fault := k.refuse(r.Key, r.IfVersion); fault != nil {
		return wire.KVSetReply{Fault: fault}
	}
	total := len(value) - len(k.entries[r.Key].value)
	for _, e := range k.entries {
		total += len(e.value)
	}
	_, there := k.entries[r.Key]
	if len(value) > wire.MaxKVValue || total > wire.MaxKVTotal || !there && len(k.entries) >= wire.MaxKVKeys {
		return wire.KVSetReply{Fault: &sdk.Fault{Code: sdk.TooLarge, Message: "no room for the value of " + r.Key}}
	}
	return wire.KVSetReply{Version: k.put(r.Key, value)}
}

func (k *keys) remove(r wire.KVDeleteRequest) *sdk.Fault {
	if fault := k.refuse(r.Key, r.IfVersion); fault != nil {
		return fault
	}
	k.retired = max(k.retired, k.entries[r.Key].version)
	delete(k.entries, r.Key)
	return nil
}

func (k *keys) list(r wire.KVListRequest) wire.KVListReply {
	var reply wire.KVListReply
	for _, key := range slices.Sorted(maps.Keys(k.entries)) {
		if !strings.HasPrefix(key, r.Prefix) || key <= r.After {
			continue
		}
		if len(reply.Entries) == cmp.Or(r.Limit, wire.MaxListEntries) {
			reply.More = true
			break
		}
		e := k.entries[key]
		reply.Entries = append(reply.Entries, wire.KVEntry{Key: key, Version: e.version, Size: int64(len(e.value))})
	}
	return reply
}
