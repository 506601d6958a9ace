package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	gate "github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// granting gives a plugin grants, or takes them back, as the operator.
func (f *fixture) granting(plugin string, have bool, grants ...string) {
	f.t.Helper()
	for _, text := range grants {
		g, err := capability.ParseGrant(text)
		if err != nil {
			f.t.Fatal(err)
		}
		change, kind := f.store.GrantPlugin, event.PluginGranted
		if !have {
			change, kind = f.store.RevokePlugin, event.PluginRevoked
		}
		if changed, err := change(f.t.Context(), f.operator(), plugin, g, event.Record{ID: f.ids.Event(), At: time.Now(), Kind: kind}); err != nil || !changed {
			f.t.Fatalf("%s %v: changed %v, %v", text, have, changed, err)
		}
	}
}

// pluginTool is a tool of the plugin p that needs kv and whose adapter notes the grants that each call goes by.
func pluginTool(seen *[][]string) effect.Tool {
	t := tool("a.b", adapter(func(_ context.Context, c effect.Call) effect.Outcome {
		*seen = append(*seen, c.Grants.Strings())
		return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
	}))
	t.Plugin, t.Version, t.Origin, t.Needs = "p", "1.0.0", effect.Authored, []capability.Name{mustName("kv")}
	return t
}

// What the operator takes back is gone with the next call of a turn that runs; what they add is not there before the next
// turn.
func TestGrantsNarrowAtOnceAndWidenNever(t *testing.T) {
	f := newFixture(t, "kv", "fs.read", "fs.write")
	f.granting("p", true, "kv", "net.fetch:*", "fs.read")
	var seen [][]string
	c := f.catalog(effect.Setup{}, pluginTool(&seen))
	call := func() effect.Result { return f.execute(t.Context(), c, "a.b", `{}`) }
	f.want(call(), effect.Succeeded, true, "")
	f.granting("p", true, "fs.write", "net.fetch:192.168.1.5:8080") // by name it is more than any host
	f.want(call(), effect.Succeeded, true, "")
	f.granting("p", false, "fs.read", "net.fetch:*")
	f.want(call(), effect.Succeeded, true, "")
	f.granting("p", false, "kv")
	f.want(call(), effect.Denied, false, "capability_not_granted")
	f.granting("p", true, "kv") // the turn began with it, so that it is no widening
	f.want(call(), effect.Succeeded, true, "")
	for i, want := range [][]string{{"fs.read", "kv", "net.fetch:*"}, {"fs.read", "kv", "net.fetch:*"}, {"kv"}, {"kv"}} {
		if i >= len(seen) || !slices.Equal(seen[i], want) {
			t.Fatalf("the calls went by %v, and %d should have by %v", seen, i, want)
		}
	}
}

// A grant that is taken back while a person is asked carries the call no more, whatever the person says.
func TestAGrantThatWasTakenBackMeanwhileStartsNothing(t *testing.T) {
	f := newFixture(t, "kv")
	f.granting("p", true, "kv")
	var seen [][]string
	asked := pluginTool(&seen)
	asked.Approval = approval.Prompt
	f.answer = gate.Decision{Allowed: true}
	f.whileAsked = func() { f.granting("p", false, "kv") }
	res := f.run(`{}`, asked)
	f.want(res, effect.Denied, false, string(effect.GrantRevoked))
	if len(seen) != 0 || res.Remedy != "portcullis plugin inspect p" {
		t.Errorf("ran %d times, remedy %q", len(seen), res.Remedy)
	}
}

// unreadable are grants that could be read when the turn began and cannot any more.
type unreadable struct {
	effect.Grants
	broken bool
}

func (u *unreadable) PluginGrants(ctx context.Context, plugin string) (capability.Snapshot, error) {
	if u.broken {
		return capability.Snapshot{}, errors.New("disk gone")
	}
	return u.Grants.PluginGrants(ctx, plugin)
}

func TestGrantsThatCannotBeReadAllowNothing(t *testing.T) {
	f := newFixture(t, "kv")
	f.granting("p", true, "kv")
	grants := &unreadable{Grants: f.store}
	f.runtime = f.over(grants)
	var seen [][]string
	c := f.catalog(effect.Setup{}, pluginTool(&seen))
	grants.broken = true
	f.want(f.execute(t.Context(), c, "a.b", `{}`), effect.Denied, false, "grants_unreadable")
	if len(seen) != 0 {
		t.Error("it ran")
	}
}

// operator is a live scope of the operator of the fixture's store.
func (f *fixture) operator() principal.Scope {
	f.t.Helper()
	by, err := f.resolver().Operator(f.t.Context(), "test")
	if err != nil {
		f.t.Fatal(err)
	}
	return by
}
