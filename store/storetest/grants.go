package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func grantCases() []testCase {
	return []testCase{
		{"grants are added and removed once, with their record", grantsKept},
		{"only an operator grants", grantsOperatorOnly},
		{"an effect starts by grants that still stand", grantsStand},
	}
}

func grant(t testing.TB, text string) capability.Grant {
	t.Helper()
	g, err := capability.ParseGrant(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// grantsStand holds a start to what its plugin is granted in the moment of it.
func grantsStand(t *testing.T, w *world) {
	by, l := w.operator(t), w.start(t, alice(), bound())
	change := func(do func(context.Context, principal.Scope, string, capability.Grant, event.Record) (bool, error), plugin, text string) {
		t.Helper()
		if changed, err := do(w.ctx, by, plugin, grant(t, text), w.record(event.PluginGranted)); err != nil || !changed {
			t.Fatal(changed, err)
		}
	}
	change(w.Store.GrantPlugin, "calc", "kv")
	change(w.Store.GrantPlugin, "calc", "fs.read")
	change(w.Store.GrantPlugin, "mail", "fs.write")
	with := func(grants ...string) effect.Started {
		s := w.started(l)
		s.Grants = grants
		return s
	}
	q := w.allowed(t, l, approval.Once)
	w.starts(t, "with all of its grants", with("fs.read", "kv"), effect.Begun)
	w.starts(t, "by a grant of another plugin", with("fs.write"), effect.GrantRevoked)
	change(w.Store.RevokePlugin, "calc", "kv")
	w.starts(t, "with a grant that was taken back", with("fs.read", "kv"), effect.GrantRevoked)
	w.starts(t, "with what is left", with("fs.read"), effect.Begun)
	s := w.carries(l, q)
	s.Grants = []string{"kv"}
	w.starts(t, "approved, with a grant that was taken back", s, effect.GrantRevoked)
	s.Grants = nil
	w.starts(t, "approved, with an approval that was not used for it", s, effect.Begun)
}

func grantsKept(t *testing.T, w *world) {
	by := w.operator(t)
	want := func(plugin string, grants ...string) {
		t.Helper()
		got, err := w.Store.PluginGrants(w.ctx, plugin)
		if err != nil || !slices.Equal(got.Strings(), grants) && len(got.Strings())+len(grants) != 0 {
			t.Errorf("%s is granted %v, %v, want %v", plugin, got.Strings(), err, grants)
		}
	}
	want("calc")
	for i, c := range []struct {
		grant   string
		changed bool
	}{{"kv", true}, {"net.fetch:api.example.com", true}, {"kv", false}} {
		got, err := w.Store.GrantPlugin(w.ctx, by, "calc", grant(t, c.grant), w.record(event.PluginGranted))
		if got != c.changed || err != nil {
			t.Errorf("grant %d: %v, %v", i, got, err)
		}
	}
	want("calc", "kv", "net.fetch:api.example.com")
	want("other")
	for i, changed := range []bool{true, false} {
		got, err := w.Store.RevokePlugin(w.ctx, by, "calc", grant(t, "kv"), w.record(event.PluginRevoked))
		if got != changed || err != nil {
			t.Errorf("revoke %d: %v, %v", i, got, err)
		}
	}
	if got, err := w.Store.RevokePlugin(w.ctx, by, "other", grant(t, "net.fetch:api.example.com"), w.record(event.PluginRevoked)); got || err != nil {
		t.Errorf("revoke of another plugin: %v, %v", got, err)
	}
	want("calc", "net.fetch:api.example.com")
	if a, b := w.events(t, turn.EventQuery{Kind: event.PluginGranted}), w.events(t, turn.EventQuery{Kind: event.PluginRevoked}); len(a) != 2 || len(b) != 1 {
		t.Errorf("%d and %d records for 2 grants and 1 revocation", len(a), len(b))
	}
}

func grantsOperatorOnly(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	if _, err := w.Store.GrantPlugin(w.ctx, w.operator(t), "calc", grant(t, "kv"), w.record(event.PluginGranted)); err != nil {
		t.Fatal(err)
	}
	scope := w.scope(t, alice(), l.session)
	var refused *principal.RefusedError
	if got, err := w.Store.GrantPlugin(w.ctx, scope, "calc", grant(t, "fs.write"), w.record(event.PluginGranted)); got || !errors.As(err, &refused) || refused.Why != principal.RefusedOperator {
		t.Errorf("a conversation granted: %v, %v", got, err)
	}
	if got, err := w.Store.RevokePlugin(w.ctx, scope, "calc", grant(t, "kv"), w.record(event.PluginRevoked)); got || !errors.As(err, &refused) {
		t.Errorf("a conversation revoked: %v, %v", got, err)
	}
	for name, call := range map[string]func() (bool, error){
		"no plugin": func() (bool, error) {
			return w.Store.GrantPlugin(w.ctx, w.operator(t), "", grant(t, "kv"), w.record(event.PluginGranted))
		},
		"no grant": func() (bool, error) {
			return w.Store.GrantPlugin(w.ctx, w.operator(t), "calc", capability.Grant{}, w.record(event.PluginGranted))
		},
		"no record": func() (bool, error) {
			return w.Store.GrantPlugin(w.ctx, w.operator(t), "calc", grant(t, "fs.read"), event.Record{})
		},
	} {
		if got, err := call(); got || err == nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	got, err := w.Store.PluginGrants(w.ctx, "calc")
	if err != nil || !slices.Equal(got.Strings(), []string{"kv"}) {
		t.Errorf("grants %v, %v", got.Strings(), err)
	}
}
