package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func valueCases() []testCase {
	return []testCase{
		{"values are kept with a version that counts their writes", valuesKept},
		{"a condition on the version is compare-and-set", valuesCompared},
		{"scopes share nothing", valuesScoped},
		{"keys are listed by prefix, after a key, in byte order", valuesListed},
		{"a scope holds no more than its bounds", valuesBounded},
		{"racing increments lose none", valuesRace},
		{"a turn that is over writes no values", valuesFenced},
	}
}

func scopeOf(plugin, principal string) sandbox.KVScope {
	return sandbox.KVScope{Plugin: plugin, Principal: principal}
}

// scopes starts a turn and returns scopes under it.
func (w *world) scopes(t testing.TB) func(plugin, principal string) sandbox.KVScope {
	t.Helper()
	l := w.start(t, talker("writer"), fresh())
	return func(plugin, principal string) sandbox.KVScope {
		return sandbox.KVScope{Plugin: plugin, Principal: principal, Turn: l.turn}
	}
}

func at(version int64) *int64 { return &version }

func (w *world) set(t testing.TB, s sandbox.KVScope, key, value string) int64 {
	t.Helper()
	version, ok, err := w.Store.Set(w.ctx, s, key, []byte(value), nil)
	if err != nil || !ok {
		t.Fatalf("set %q: %v, %v", key, ok, err)
	}
	return version
}

func (w *world) get(t testing.TB, s sandbox.KVScope, key string) (string, int64) {
	t.Helper()
	value, version, err := w.Store.Get(w.ctx, s, key)
	if err != nil {
		t.Fatalf("get %q: %v", key, err)
	}
	return string(value), version
}

func valuesKept(t *testing.T, w *world) {
	scopeOf := w.scopes(t)
	s := scopeOf("notes", "alice")
	if value, version := w.get(t, s, "k"); value != "" || version != 0 {
		t.Errorf("a missing key is %q, %d", value, version)
	}
	for i, value := range []string{"one", "", "\x00\xff\xfe binary", "one"} {
		if version := w.set(t, s, "k", value); version != int64(i+1) {
			t.Errorf("write %d has version %d", i, version)
		}
		if got, version := w.get(t, s, "k"); got != value || version != int64(i+1) {
			t.Errorf("read %q, %d, want %q", got, version, value)
		}
	}
	handed := []byte("mine")
	if _, _, err := w.Store.Set(w.ctx, s, "copy", handed, nil); err != nil {
		t.Fatal(err)
	}
	handed[0] = 'X'
	read, _, err := w.Store.Get(w.ctx, s, "copy")
	if err != nil || !bytes.Equal(read, []byte("mine")) {
		t.Fatalf("the store kept the caller's slice: %q, %v", read, err)
	}
	read[0] = 'X'
	if got, _ := w.get(t, s, "copy"); got != "mine" {
		t.Errorf("the store handed out its own slice: %q", got)
	}
	for range 2 { // the second finds nothing, which is no failure
		if ok, err := w.Store.Delete(w.ctx, s, "k", nil); !ok || err != nil {
			t.Errorf("delete: %v, %v", ok, err)
		}
	}
	for i, key := range []string{"k", "k", "another"} { // "k" was deleted at version 4
		if version := w.set(t, s, key, "again"); version != []int64{5, 6, 5}[i] {
			t.Errorf("%s, made again, has version %d", key, version)
		}
	}
	if version := w.set(t, scopeOf("notes", "bob"), "k", "first"); version != 1 {
		t.Errorf("a key of another scope has version %d", version)
	}
}

func valuesCompared(t *testing.T, w *world) {
	scopeOf := w.scopes(t)
	s := scopeOf("notes", "alice")
	steps := []struct {
		what      string
		condition *int64
		ok        bool
		version   int64
	}{
		{"set", at(1), false, 0},
		{"set", at(0), true, 1},
		{"set", at(0), false, 0},
		{"set", at(1), true, 2},
		{"set", at(1), false, 0},
		{"set", nil, true, 3},
		{"delete", at(2), false, 0},
		{"delete", at(0), false, 0},
		{"delete", at(3), true, 0},
		{"delete", at(3), false, 0},
		{"delete", at(0), true, 0},
		{"set", at(3), false, 0},
		{"set", at(0), true, 4},
	}
	for i, c := range steps {
		var (
			ok      bool
			version int64
			err     error
		)
		if c.what == "set" {
			version, ok, err = w.Store.Set(w.ctx, s, "k", fmt.Append(nil, i), c.condition)
		} else {
			ok, err = w.Store.Delete(w.ctx, s, "k", c.condition)
		}
		if ok != c.ok || version != c.version || err != nil {
			t.Errorf("step %d, %s: %v, version %d, %v", i, c.what, ok, version, err)
		}
	}
	if got, version := w.get(t, s, "k"); got != "12" || version != 4 {
		t.Errorf("at the end %q, %d", got, version)
	}
}

func valuesScoped(t *testing.T, w *world) {
	scopeOf := w.scopes(t)
	mine := scopeOf("notes", "alice")
	w.set(t, mine, "k", "mine")
	for _, other := range []sandbox.KVScope{scopeOf("notes", "bob"), scopeOf("calc", "alice"), scopeOf("note", "salice")} {
		if got, version := w.get(t, other, "k"); got != "" || version != 0 {
			t.Errorf("%v reads %q", other, got)
		}
		if entries, more, err := w.Store.List(w.ctx, other, "", "", 10); len(entries) != 0 || more || err != nil {
			t.Errorf("%v lists %v, %v", other, entries, err)
		}
		if ok, err := w.Store.Delete(w.ctx, other, "k", nil); !ok || err != nil {
			t.Errorf("%v: %v, %v", other, ok, err)
		}
		w.set(t, other, "k", "other")
	}
	if got, version := w.get(t, mine, "k"); got != "mine" || version != 1 {
		t.Errorf("mine is %q, %d", got, version)
	}
	for _, bad := range []sandbox.KVScope{{}, scopeOf("", "alice"), scopeOf("notes", "")} {
		_, _, getErr := w.Store.Get(w.ctx, bad, "k")
		_, _, setErr := w.Store.Set(w.ctx, bad, "k", nil, nil)
		_, deleteErr := w.Store.Delete(w.ctx, bad, "k", nil)
		_, _, listErr := w.Store.List(w.ctx, bad, "", "", 1)
		if getErr == nil || setErr == nil || deleteErr == nil || listErr == nil {
			t.Errorf("%v was taken: %v, %v, %v, %v", bad, getErr, setErr, deleteErr, listErr)
		}
	}
}

func valuesListed(t *testing.T, w *world) {
	scopeOf := w.scopes(t)
	s := scopeOf("notes", "alice")
	for _, key := range []string{"a", "a/1", "a/2", "a/é", "a0", "b", "A", "\uffff"} {
		w.set(t, s, key, key)
	}
	w.set(t, s, "a/2", "longer now")
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          string
		more          bool
	}{
		{"", "", 10, "A a a/1 a/2 a/é a0 b \uffff", false},
		{"", "", 8, "A a a/1 a/2 a/é a0 b \uffff", false},
		{"", "", 3, "A a a/1", true},
		{"", "a/1", 2, "a/2 a/é", true},
		{"a/", "", 10, "a/1 a/2 a/é", false},
		{"a/", "a/1", 1, "a/2", true},
		{"a/", "a/2", 1, "a/é", false},
		{"a/", "zz", 10, "", false},
		{"a", "", 10, "a a/1 a/2 a/é a0", false},
		{"\uffff", "", 10, "\uffff", false},
		{"none", "", 10, "", false},
	} {
		entries, more, err := w.Store.List(w.ctx, s, c.prefix, c.after, c.limit)
		var keys []string
		for _, e := range entries {
			keys = append(keys, e.Key)
			if e.Key == "a/2" && (e.Version != 2 || e.Size != 10) {
				t.Errorf("entry %+v", e)
			}
		}
		if got := strings.Join(keys, " "); got != c.want || more != c.more || err != nil {
			t.Errorf("list %q after %q, %d: %q, %v, %v", c.prefix, c.after, c.limit, got, more, err)
		}
	}
	for _, n := range []int{-1, 0, wire.MaxListEntries + 1} {
		if _, _, err := w.Store.List(w.ctx, s, "", "", n); err == nil {
			t.Errorf("a page of %d was taken", n)
		}
	}
}

func valuesBounded(t *testing.T, w *world) {
	scopeOf := w.scopes(t)
	full := func(s sandbox.KVScope, key string, value []byte, what string) {
		t.Helper()
		_, ok, err := w.Store.Set(w.ctx, s, key, value, nil)
		var limit *sandbox.KVLimitError
		if ok || !errors.As(err, &limit) || limit.What != what {
			t.Errorf("set %.20q: %v, %v, want the bound of %s", key, ok, err, what)
		}
	}
	bytesScope := scopeOf("bytes", "alice")
	whole := strings.Repeat("x", wire.MaxKVValue)
	full(bytesScope, "k", []byte(whole+"x"), "bytes in a value")
	for i := range wire.MaxKVTotal / wire.MaxKVValue {
		w.set(t, bytesScope, fmt.Sprint(i), whole)
	}
	full(bytesScope, "one more", []byte("x"), "bytes in all values")
	w.set(t, bytesScope, "empty", "")
	w.set(t, bytesScope, "0", whole[1:]) // one byte less, so that one fits
	w.set(t, bytesScope, "one more", "x")
	full(bytesScope, "0", []byte(whole), "bytes in all values")
	if ok, err := w.Store.Delete(w.ctx, bytesScope, "1", nil); !ok || err != nil {
		t.Fatal(ok, err)
	}
	w.set(t, bytesScope, "0", whole)
	w.set(t, scopeOf("bytes", "bob"), "k", whole)

	keysScope := scopeOf("keys", "alice")
	for i := range wire.MaxKVKeys {
		w.set(t, keysScope, fmt.Sprint("k", i), "")
	}
	full(keysScope, "one more", nil, "keys")
	w.set(t, keysScope, "k0", "a write of a key that is there")
	if _, ok, err := w.Store.Set(w.ctx, keysScope, "one more", nil, at(5)); ok || err != nil {
		t.Errorf("a failed condition met the bound: %v, %v", ok, err)
	}
	for name, key := range map[string]string{"empty": "", "long": strings.Repeat("k", wire.MaxKVKey+1), "not UTF-8": "\xff"} {
		if _, ok, err := w.Store.Set(w.ctx, scopeOf("a", "b"), key, nil, nil); ok || err == nil {
			t.Errorf("a key that is %s was taken: %v, %v", name, ok, err)
		}
	}
}

func valuesRace(t *testing.T, w *world) {
	scopeOf := w.scopes(t)
	s := scopeOf("counter", "alice")
	const workers, rounds = 4, 5
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for done := 0; done < rounds; {
				value, version, err := w.Store.Get(w.ctx, s, "n")
				if err != nil {
					t.Error(err)
					return
				}
				var n int
				if version > 0 {
					if _, err := fmt.Sscan(string(value), &n); err != nil {
						t.Error(err)
						return
					}
				}
				_, ok, err := w.Store.Set(w.ctx, s, "n", fmt.Append(nil, n+1), &version)
				if err != nil {
					t.Error(err)
					return
				}
				if ok {
					done++
				}
			}
		})
	}
	wg.Wait()
	if got, version := w.get(t, s, "n"); got != fmt.Sprint(workers*rounds) || version != workers*rounds {
		t.Errorf("after %d increments: %s, version %d", workers*rounds, got, version)
	}
}

func valuesFenced(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	under := func(turn id.Turn) sandbox.KVScope {
		return sandbox.KVScope{Plugin: "notes", Principal: "alice", Turn: turn}
	}
	w.set(t, under(l.turn), "k", "in time")
	refused := func(what string, s sandbox.KVScope) {
		t.Helper()
		var over *sandbox.KVOverError
		for _, condition := range []*int64{nil, at(0), at(1)} {
			if _, ok, err := w.Store.Set(w.ctx, s, "k", []byte("late"), condition); ok || !errors.As(err, &over) || over.Turn != s.Turn {
				t.Errorf("%s: set: %v, %v", what, ok, err)
			}
			if ok, err := w.Store.Delete(w.ctx, s, "k", condition); ok || !errors.As(err, &over) {
				t.Errorf("%s: delete: %v, %v", what, ok, err)
			}
		}
		if got, version := w.get(t, s, "k"); got != "in time" || version != 1 {
			t.Errorf("%s: the value is %q, %d", what, got, version)
		}
	}
	refused("no turn", under(""))
	refused("no such turn", under(w.ids.Turn()))
	w.finish(t, l, turn.Completed)
	refused("an ended turn", under(l.turn))
	next := w.start(t, alice(), bound())
	refused("an ended turn of a session that has another", under(l.turn))
	w.Clock.Advance(time.Minute)
	refused("a turn whose claim ran out", under(next.turn))
	if _, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	refused("a turn that a restart ended", under(other.turn))
	last := w.start(t, alice(), bound())
	if version := w.set(t, under(last.turn), "k", "of the next host"); version != 2 {
		t.Errorf("version %d", version)
	}
}
