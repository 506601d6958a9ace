package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func grantCases() []testCase {
	return []testCase{
		{"grants are added and removed once, with their record", grantsKept},
		{"only an operator grants", grantsOperatorOnly},
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
