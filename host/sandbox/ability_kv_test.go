package sandbox_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// memKV is a strict store in memory.
type memKV struct {
	values map[string]struct {
		data    string
		version int64
	}
	broken bool
	over   bool // the turn that writes has ended
}

func newMemKV() *memKV {
	return &memKV{values: map[string]struct {
		data    string
		version int64
	}{}}
}

func (m *memKV) key(s sandbox.KVScope, k string) string {
	return s.Plugin + "\x00" + s.Principal + "\x00" + k
}

func (m *memKV) late(s sandbox.KVScope) error {
	if m.over {
		return &sandbox.KVOverError{Turn: s.Turn}
	}
	return nil
}

func (m *memKV) err() error {
	if m.broken {
		return errors.New("open /var/lib/portcullis/portcullis.db: secret path")
	}
	return nil
}

func (m *memKV) Get(_ context.Context, s sandbox.KVScope, k string) ([]byte, int64, error) {
	v := m.values[m.key(s, k)]
	return []byte(v.data), v.version, m.err()
}

func (m *memKV) Set(_ context.Context, s sandbox.KVScope, k string, value []byte, ifVersion *int64) (int64, bool, error) {
	if err := m.late(s); err != nil {
		return 0, false, err
	}
	v := m.values[m.key(s, k)]
	if ifVersion != nil && *ifVersion != v.version {
		return 0, false, m.err()
	}
	v.data, v.version = string(value), v.version+1
	m.values[m.key(s, k)] = v
	return v.version, true, m.err()
}

func (m *memKV) Delete(_ context.Context, s sandbox.KVScope, k string, ifVersion *int64) (bool, error) {
	if err := m.late(s); err != nil {
		return false, err
	}
	if ifVersion != nil && *ifVersion != m.values[m.key(s, k)].version {
		return false, m.err()
	}
	delete(m.values, m.key(s, k))
	return true, m.err()
}

func (m *memKV) List(_ context.Context, s sandbox.KVScope, prefix, after string, limit int) ([]wire.KVEntry, bool, error) {
	var all []wire.KVEntry
	for full, v := range m.values {
		if k, ok := strings.CutPrefix(full, m.key(s, "")); ok && strings.HasPrefix(k, prefix) && k > after {
			all = append(all, wire.KVEntry{Key: k, Version: v.version, Size: int64(len(v.data))})
		}
	}
	slices.SortFunc(all, func(a, b wire.KVEntry) int { return cmp.Compare(a.Key, b.Key) })
	if len(all) > limit {
		return all[:limit], true, m.err()
	}
	return all, false, m.err()
}

func TestValuesOfOnePluginAndPrincipal(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	kv := newMemKV()
	opt := sandbox.CallOptions{Abilities: everything, KV: kv, Scope: sandbox.KVScope{Plugin: "notes", Principal: "ann"}}
	set, _ := ask[wire.KVSetReply](t, p, wire.ImportKVSet, `{"key":"a"}`, "one", opt)
	if set.Version != 1 || set.Fault != nil {
		t.Fatalf("set %+v", set)
	}
	get, value := ask[wire.KVGetReply](t, p, wire.ImportKVGet, `{"key":"a"}`, "", opt)
	if get.Version != 1 || value != "one" {
		t.Errorf("get %+v %q", get, value)
	}
	for _, other := range []sandbox.KVScope{{Plugin: "notes", Principal: "bob"}, {Plugin: "web", Principal: "ann"}, {}} {
		o := opt
		o.Scope = other
		if get, value := ask[wire.KVGetReply](t, p, wire.ImportKVGet, `{"key":"a"}`, "", o); code(get.Fault) != wire.CodeNotFound || value != "" {
			t.Errorf("%+v sees %q", other, value)
		}
	}
	if set, _ := ask[wire.KVSetReply](t, p, wire.ImportKVSet, `{"key":"a","if_version":0}`, "two", opt); code(set.Fault) != wire.CodeConflict {
		t.Errorf("conditional set on a key that is there: %+v", set)
	}
	if set, _ := ask[wire.KVSetReply](t, p, wire.ImportKVSet, `{"key":"a","if_version":1}`, "two", opt); set.Version != 2 {
		t.Errorf("conditional set on the right version: %+v", set)
	}
	if del, _ := ask[wire.Ack](t, p, wire.ImportKVDelete, `{"key":"a","if_version":1}`, "", opt); code(del.Fault) != wire.CodeConflict {
		t.Errorf("conditional delete on the wrong version: %+v", del)
	}
	if del, _ := ask[wire.Ack](t, p, wire.ImportKVDelete, `{"key":"a"}`, "", opt); del.Fault != nil {
		t.Errorf("delete: %+v", del)
	}
	if get, _ := ask[wire.KVGetReply](t, p, wire.ImportKVGet, `{"key":"a"}`, "", opt); code(get.Fault) != wire.CodeNotFound {
		t.Errorf("get after delete: %+v", get)
	}
}

func TestValueRequestsAreChecked(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	kv := newMemKV()
	opt := sandbox.CallOptions{Abilities: everything, KV: kv}
	for _, key := range []string{"", strings.Repeat("k", wire.MaxKVKey+1)} {
		header := fmt.Sprintf(`{"key":%q}`, key)
		for _, fn := range []string{wire.ImportKVGet, wire.ImportKVSet, wire.ImportKVDelete} {
			if reply, _ := ask[wire.Ack](t, p, fn, header, "", opt); code(reply.Fault) != wire.CodeInvalid {
				t.Errorf("%s with a key of %d bytes: %+v", fn, len(key), reply)
			}
		}
	}
	if set, _ := ask[wire.KVSetReply](t, p, wire.ImportKVSet, `{"key":"a"}`, strings.Repeat("x", wire.MaxKVValue+1), opt); code(set.Fault) != wire.CodeTooLarge {
		t.Errorf("a value that is too large: %+v", set)
	}
	for _, limit := range []string{"-1", "1001"} {
		if list, _ := ask[wire.KVListReply](t, p, wire.ImportKVList, `{"limit":`+limit+`}`, "", opt); code(list.Fault) != wire.CodeInvalid {
			t.Errorf("a page of %s: %+v", limit, list)
		}
	}
	if len(kv.values) != 0 {
		t.Errorf("something was kept: %d", len(kv.values))
	}
	kv.over = true
	for _, fn := range []string{wire.ImportKVSet, wire.ImportKVDelete} {
		if reply, _ := ask[wire.Ack](t, p, fn, `{"key":"a"}`, "", opt); code(reply.Fault) != wire.CodeUnavailable || len(kv.values) != 0 {
			t.Errorf("%s of a turn that is over: %+v", fn, reply.Fault)
		}
	}
	kv.over, kv.broken = false, true
	for _, fn := range []string{wire.ImportKVGet, wire.ImportKVSet, wire.ImportKVDelete} {
		if reply, _ := ask[wire.Ack](t, p, fn, `{"key":"a"}`, "", opt); code(reply.Fault) != wire.CodeIO || strings.Contains(reply.Fault.Message, "/var") {
			t.Errorf("%s on a broken store: %+v", fn, reply.Fault)
		}
	}
	if reply, _ := ask[wire.KVListReply](t, p, wire.ImportKVList, `{}`, "", opt); code(reply.Fault) != wire.CodeIO {
		t.Errorf("list on a broken store: %+v", reply.Fault)
	}
	if reply, _ := ask[wire.KVListReply](t, p, wire.ImportKVList, `{}`, "", sandbox.CallOptions{Abilities: everything}); code(reply.Fault) != wire.CodeUnavailable {
		t.Errorf("list without a store: %+v", reply.Fault)
	}
}

func TestListOfKeysIsPagedWithinAHeader(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	kv := newMemKV()
	opt := sandbox.CallOptions{Abilities: everything, KV: kv}
	for i := range 300 {
		if _, _, err := kv.Set(t.Context(), opt.Scope, fmt.Sprintf("%03d-%s", i, strings.Repeat("k", 400)), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	seen, after := 0, ""
	for range 20 {
		list, _ := ask[wire.KVListReply](t, p, wire.ImportKVList, fmt.Sprintf(`{"after":%q}`, after), "", opt)
		if list.Fault != nil || len(list.Entries) == 0 {
			t.Fatalf("after %d keys: %+v", seen, list.Fault)
		}
		for _, e := range list.Entries {
			if !strings.HasPrefix(e.Key, fmt.Sprintf("%03d-", seen)) {
				t.Fatalf("key %d is %.8s", seen, e.Key)
			}
			seen++
		}
		after = list.Entries[len(list.Entries)-1].Key
		if !list.More {
			break
		}
	}
	if seen != 300 {
		t.Errorf("%d of 300 keys came", seen)
	}
	if list, _ := ask[wire.KVListReply](t, p, wire.ImportKVList, `{"prefix":"29","limit":4}`, "", opt); len(list.Entries) != 4 || !list.More {
		t.Errorf("a page of 4: %d entries, more %v", len(list.Entries), list.More)
	}
}
