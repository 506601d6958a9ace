package effect_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// reaching is an adapter that may be narrowed, and notes by what.
type reaching struct {
	adapter
	name   string
	within *[]string
}

func (r reaching) Within(of effect.Adapter) (effect.Adapter, error) {
	*r.within = append(*r.within, r.name+" within "+of.(reaching).name)
	return r, nil
}

func TestATurnThatWorksForAnotherIsWithinIt(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	var within []string
	authored := func(name, whose, version string, mode approval.Mode) effect.Tool {
		one := tool(name, reaching{succeed(`{}`), whose, &within})
		one.Origin, one.Plugin, one.Version, one.Approval = effect.Authored, "p", version, mode
		return one
	}
	plain := authored("p.plain", "child", "1.0.0", approval.Auto)
	plain.Adapter = succeed(`{}`) // it cannot be narrowed
	described := authored("p.described", "child", "1.0.0", approval.Auto)
	described.Description = "another"
	child := effect.Setup{Timeout: time.Minute, Sources: []effect.Source{source{
		tool("b.both", succeed(`{}`)), tool("b.mine", succeed(`{}`)), authored("p.both", "child", "1.0.0", approval.Auto),
		authored("p.other", "child", "2.0.0", approval.Auto), plain, described,
	}}}
	known, err := redact.Set{}.With(redact.NewSecret("TOKEN", "s3cr3t-of-the-parent"))
	if err != nil {
		t.Fatal(err)
	}
	parent := effect.Setup{Timeout: time.Second, Output: 1000, Known: known, Policies: []approval.Policy{{}}, Sources: []effect.Source{source{
		tool("b.both", succeed(`{}`)), authored("p.both", "parent", "1.0.0", approval.Prompt), authored("p.other", "parent", "1.0.0", approval.Auto),
		authored("p.plain", "parent", "1.0.0", approval.Auto), authored("p.described", "parent", "1.0.0", approval.Auto), tool("b.theirs", succeed(`{}`)),
	}}}
	got := child.Within(parent, f.turn)
	if got.Timeout != time.Second || got.Output != 1000 || len(got.Policies) != 1 || !slices.Equal(got.Approvers, []string{f.turn.Principal().PrincipalID()}) {
		t.Errorf("%+v", got)
	}
	if text := got.Known.Text(redact.ForModel, "s3cr3t-of-the-parent"); text == "s3cr3t-of-the-parent" {
		t.Error("what the parent hides is shown")
	}
	tools, err := got.Sources[0].Tools(t.Context(), f.turn)
	if err != nil || len(got.Sources) != 1 || len(tools) != 2 || tools[0].Name != "b.both" || tools[1].Name != "p.both" || tools[1].Approval != approval.Prompt {
		t.Errorf("%+v, %v", tools, err)
	}
	if !slices.Equal(within, []string{"child within parent"}) {
		t.Errorf("%q", within)
	}
}

// A turn that works for another goes by what plugins had when that one began, also where the operator has added since.
func TestATurnThatWorksForAnotherGoesByItsGrants(t *testing.T) {
	f := newFixture(t, "kv", "fs.read", "tool.call:*")
	f.granting("p", true, "kv")
	var (
		seen   [][]string
		within []string
		from   effect.Setup
	)
	offered := func() effect.Tool {
		one := pluginTool(&seen)
		one.Adapter = reaching{one.Adapter.(adapter), "p", &within}
		return one
	}
	parent := f.catalog(effect.Setup{}, offered(), tool("b.spawn", adapter(func(_ context.Context, c effect.Call) effect.Outcome {
		from = c.Setup()
		return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
	})))
	f.granting("p", true, "fs.read")
	f.want(f.execute(t.Context(), parent, "b.spawn", `{}`), effect.Succeeded, true, "")
	child, err := f.runtime.Prepare(t.Context(), f.turn, effect.Setup{Sources: []effect.Source{source{offered()}}}.Within(from, f.turn))
	if err != nil {
		t.Fatal(err)
	}
	f.want(f.execute(t.Context(), child, "a.b", `{}`), effect.Succeeded, true, "")
	if len(seen) != 1 || !slices.Equal(seen[0], []string{"kv"}) {
		t.Errorf("the child went by %v", seen)
	}
	f.granting("p", false, "kv")
	f.want(f.execute(t.Context(), child, "a.b", `{}`), effect.Denied, false, "capability_not_granted")
}
