package host

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// bare is an open host over an empty home.
func bare(t *testing.T) *Host {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, core.HostFile), core.DefaultHostConfig().Bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := Open(t.Context(), Config{Home: dir, Store: memory.New(memory.Config{Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader)})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// issued is a scope of each kind of authority, issued by h.
func issued(t *testing.T, h *Host) map[principal.Authority]principal.Scope {
	t.Helper()
	ids := id.NewSource(time.Now, rand.Reader)
	op, err := h.Operator(t.Context(), "kept past the end")
	if err != nil {
		t.Fatal(err)
	}
	all := map[principal.Authority]principal.Scope{principal.Operator: op}
	session := ids.Session()
	if all[principal.System], err = h.resolver.Suppose(session); err != nil {
		t.Fatal(err)
	}
	return all
}

// However a shutdown goes, the scopes that were given away authorise nothing after it.
func TestNoScopeOutlivesAShutdownThatFails(t *testing.T) {
	broken := errors.New("the engine does not close")
	for name, c := range map[string]struct {
		turns, network func()
		engine         func() error
		want           any // the error, or what was panicked with
	}{
		"nothing fails":      {func() {}, func() {}, func() error { return nil }, nil},
		"the engine fails":   {func() {}, func() {}, func() error { return broken }, broken},
		"the turns panic":    {func() { panic("turns") }, func() {}, func() error { return nil }, "turns"},
		"the network panics": {func() {}, func() { panic("network") }, func() error { return nil }, "network"},
		"the engine panics":  {func() {}, func() {}, func() error { panic("engine") }, "engine"},
	} {
		h := bare(t)
		scopes := issued(t, h)
		during := make(map[principal.Authority]bool)
		turns := c.turns
		c.turns = func() {
			for a, s := range scopes {
				during[a] = s.RefusedBy(string(h.cfg.Store.StoreID())) == ""
			}
			turns()
		}
		var got any
		func() {
			defer func() {
				if v := recover(); v != nil {
					got = v
				}
			}()
			if err := h.close(c.turns, c.network, c.engine); err != nil {
				got = err
			}
		}()
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if during[principal.Operator] || !during[principal.System] {
			t.Errorf("%s: while turns wind up these are alive: %v", name, during)
		}
		for a, s := range scopes {
			if s.RefusedBy(string(h.cfg.Store.StoreID())) != principal.RefusedClosed {
				t.Errorf("%s: %s authority is still alive", name, a)
			}
		}
		if _, err := h.Operator(t.Context(), "after the end"); err == nil {
			t.Errorf("%s: a closed host issued operator authority", name)
		}
	}
}

// Every method of a host that takes a scope refuses one of nobody, of another store and of a closed host. The methods
// are found by themselves, so that a new one is held to it too.
func TestEveryMethodOfTheHostRefusesScopes(t *testing.T) {
	h, other, closed := bare(t), bare(t), bare(t)
	refused := map[principal.Refusal][]principal.Scope{principal.RefusedNobody: {{}}}
	for _, s := range issued(t, other) {
		refused[principal.RefusedForeign] = append(refused[principal.RefusedForeign], s)
	}
	// A host over the same store that was closed before.
	cfg := closed.cfg
	cfg.Store = h.cfg.Store
	before, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range issued(t, before) {
		refused[principal.RefusedClosed] = append(refused[principal.RefusedClosed], s)
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	args := map[reflect.Type]any{
		reflect.TypeFor[context.Context]():  t.Context(),
		reflect.TypeFor[plugin.Installed](): plugin.Installed{ID: "calc"},
		reflect.TypeFor[string]():           "kv", // a grant, where one is read before the scope is asked
	}
	scopes := 0
	host := reflect.TypeOf(h)
	for i := range host.NumMethod() {
		m := host.Method(i)
		at := -1
		for in := range m.Type.NumIn() {
			if m.Type.In(in) == reflect.TypeFor[principal.Scope]() {
				at = in
			}
		}
		if at < 0 {
			continue
		}
		scopes++
		for why, all := range refused {
			for _, by := range all {
				in := []reflect.Value{reflect.ValueOf(h)}
				for k := 1; k < m.Type.NumIn(); k++ {
					v := reflect.Zero(m.Type.In(k))
					if known, ok := args[m.Type.In(k)]; ok {
						v = reflect.ValueOf(known)
					}
					if k == at {
						v = reflect.ValueOf(by)
					}
					in = append(in, v)
				}
				out := m.Func.Call(in)
				err, _ := out[len(out)-1].Interface().(error)
				var is *principal.RefusedError
				if !errors.As(err, &is) || is.Why != why {
					t.Errorf("%s by %s (%s): %v", m.Name, by, why, err)
				}
			}
		}
	}
	if scopes < 6 {
		t.Errorf("only %d methods take a scope: this test no longer sees them", scopes)
	}
	op, err := h.Operator(t.Context(), "look")
	if err != nil {
		t.Fatal(err)
	}
	recs, err := h.History().Events(t.Context(), op, turn.EventQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		if r.Kind != event.OperatorIssued && r.Kind != event.LookupDenied {
			t.Errorf("a refused scope left %+v", r)
		}
	}
}
