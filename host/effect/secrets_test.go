package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gate "github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/document"
)

// vault answers each binding with one of its values, in turn.
type vault struct {
	asked   []effect.Wanted
	bound   []effect.Bound
	refusal effect.Refusal
	err     error
}

func (v *vault) Bind(_ context.Context, w effect.Wanted) (effect.Bound, effect.Refusal, error) {
	v.asked = append(v.asked, w)
	if v.err != nil || !v.refusal.Zero() {
		return effect.Bound{}, v.refusal, v.err
	}
	next := v.bound[0]
	if len(v.bound) > 1 {
		v.bound = v.bound[1:]
	}
	return next, effect.Refusal{}, nil
}

// withVault makes the fixture's gate bind from v.
func (f *fixture) withVault(v *vault) {
	f.runtime = effect.NewRuntime(effect.Config{Journal: f.journal, Grants: f.store, Approver: f, Secrets: v, IDs: f.ids, Clock: time.Now})
}

func token(value string) effect.Bound {
	return effect.Bound{}.With("API_TOKEN", value, time.Time{})
}

func boundTool(a effect.Adapter) effect.Tool {
	one := tool("a.b", a)
	one.Needs = []capability.Name{mustName("secret.bind:API_TOKEN")}
	return one
}

// A value that was rotated between two calls of a turn is hidden from then on, and the first one still is.
func TestABoundValueIsTheAdaptersAndHiddenForTheRestOfTheTurn(t *testing.T) {
	f := newFixture(t, "secret.bind:API_TOKEN")
	v := &vault{bound: []effect.Bound{token("first-value-0001"), token("second-value-0002")}}
	f.withVault(v)
	var got []string
	c := f.catalog(effect.Setup{}, boundTool(adapter(func(_ context.Context, c effect.Call) effect.Outcome {
		value, _ := c.Secrets.Value("API_TOKEN")
		got = append(got, value)
		return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{"echo":"` + strings.Join(got, " ") + `"}`)}
	})))
	for range 2 {
		res := f.execute(t.Context(), c, "a.b", `{}`)
		f.want(res, effect.Succeeded, true, "")
		for _, view := range []string{res.Views.Model.String(), res.Views.Operator.String(), res.Views.Event.String(), res.Views.Durable.String(), res.Views.Debug.String()} {
			if strings.Contains(view, "value-000") {
				t.Errorf("a view shows %s", view)
			}
		}
		if res.Stages[5].Why != "bound API_TOKEN" {
			t.Errorf("the step says %q", res.Stages[5].Why)
		}
	}
	if !slices.Equal(got, []string{"first-value-0001", "second-value-0002"}) {
		t.Errorf("the adapter got %q", got)
	}
	if w := v.asked[0]; w.Tool != "a.b" || w.Plugin != "" || !slices.Equal(w.Names, []string{"API_TOKEN"}) || !w.Turn.Same(f.turn) {
		t.Errorf("asked for %+v", w)
	}
}

func TestNothingRunsWithoutItsSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		vault  vault
		reason string
	}{
		"refused":             {vault{refusal: effect.Refusal{Reason: "secret_missing", Why: "type it", Remedy: "type"}}, "secret_missing"},
		"broken":              {vault{err: errors.New("disk")}, "secret_unavailable"},
		"another one":         {vault{bound: []effect.Bound{effect.Bound{}.With("OTHER", "other-value-0001", time.Time{})}}, "secret_unavailable"},
		"none":                {vault{bound: []effect.Bound{{}}}, "secret_unavailable"},
		"cannot be hidden":    {vault{bound: []effect.Bound{token("short")}}, "secret_not_hidable"},
		"cannot be hidden, 2": {vault{bound: []effect.Bound{token(strings.Repeat("ab", 20))}}, "secret_not_hidable"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "secret.bind:API_TOKEN")
			f.withVault(&c.vault)
			res := f.run(`{}`, boundTool(adapter(func(context.Context, effect.Call) effect.Outcome {
				t.Error("it ran")
				return effect.Outcome{}
			})))
			f.want(res, effect.Denied, false, c.reason)
			if strings.Contains(res.Views.Model.String(), "API_TOKEN") {
				t.Errorf("the model reads %s", res.Views.Model)
			}
		})
	}
}

func TestACallEndsBeforeItsSecretsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "secret.bind:API_TOKEN")
		late := effect.Bound{}.With("API_TOKEN", "value-of-a-token", time.Now().Add(2*time.Second))
		f.withVault(&vault{bound: []effect.Bound{late}})
		slow := boundTool(adapter(func(ctx context.Context, c effect.Call) effect.Outcome {
			if left := time.Until(c.Deadline); left > 2*time.Second {
				t.Errorf("the adapter was told %s", left)
			}
			<-ctx.Done()
			return effect.Outcome{Status: effect.TimedOut}
		}))
		slow.Timeout = time.Minute
		began := time.Now()
		f.want(f.run(`{}`, slow), effect.TimedOut, true, "deadline")
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the call had its secret for %s", took)
		}
	})
}

// What a call's arguments ask for is a need of the call: of its capability, its approval and its rules.
func TestSecretsNamedByArgumentsAreNeeds(t *testing.T) {
	asks := func(a effect.Adapter) effect.Tool {
		one := tool("a.b", a)
		one.Secrets = func(args document.Document) []string {
			var doc struct{ Key string }
			if json.Unmarshal(args.Bytes(), &doc) != nil || doc.Key == "" {
				return nil
			}
			return []string{doc.Key}
		}
		return one
	}
	f := newFixture(t, "tool.call:*", "secret.bind:API_TOKEN")
	v := &vault{bound: []effect.Bound{token("value-of-a-token")}}
	f.withVault(v)
	var env []string
	run := asks(adapter(func(_ context.Context, c effect.Call) effect.Outcome {
		env = nil
		for _, name := range c.Secrets.Names() {
			v, _ := c.Secrets.Value(name)
			env = append(env, name+"="+v)
		}
		return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
	}))
	f.want(f.run(`{"key":"OTHER_TOKEN"}`, run), effect.Denied, false, "capability_not_in_core")
	f.want(f.run(`{"key":"NOT-A-NAME"}`, run), effect.Invalid, false, "secret_name")
	f.want(f.run(`{}`, run), effect.Succeeded, true, "")
	if len(v.asked) > 0 || len(env) > 0 {
		t.Fatalf("bound %v before any was granted", v.asked)
	}
	f.want(f.run(`{"key":"API_TOKEN"}`, run), effect.Succeeded, true, "")
	if !slices.Equal(env, []string{"API_TOKEN=value-of-a-token"}) {
		t.Errorf("the environment is %q", env)
	}

	run.Approval = approval.Prompt
	f.answer = gate.Decision{Allowed: true, Reason: "allowed", By: "test"}
	f.want(f.run(`{"key":"API_TOKEN"}`, run), effect.Succeeded, true, "")
	last := f.asked[len(f.asked)-1]
	if !slices.Contains(last.Needs, "secret.bind:API_TOKEN") || last.Cacheable {
		t.Errorf("the question was %+v", last)
	}
	if x := f.runtime.Explain(t.Context(), f.catalog(effect.Setup{}, run), "a.b", []byte(`{"key":"OTHER_TOKEN"}`)); x.Policy.Reason != "capability_not_in_core" {
		t.Errorf("explained as %+v", x.Policy)
	}
}
