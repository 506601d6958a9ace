package evasion_test

import (
	"testing"

	"github.com/b3abf3ee/portcullis/conformance/gatetest"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
	rules "github.com/b3abf3ee/portcullis/policy/approval"
)

// What was allowed for the session is asked about again when one thing differs, and one alone: each of these is the same
// call but for it.
func TestAnAllowanceCoversNothingElse(t *testing.T) {
	core := gatetest.Core{ID: "assistant", Revision: "r1", Capabilities: []string{"tool.call:*"}}
	operator := authority.OperatorFacts("test")
	type call struct {
		who    string // "owner" or "operator"
		fresh  bool   // in another session
		core   gatetest.Core
		setup  effect.Setup
		args   string
		reboot bool
		grant  string // given to the plugin before the call
	}
	same := call{who: "owner", core: core, args: `{"key":"x"}`}
	change := func(f func(*call)) call {
		c := same
		f(&c)
		return c
	}
	noted := func(file string) effect.Setup {
		p, faults := rules.Compile(rules.Rules{File: file, Default: rules.Rule{Mode: "prompt"}}, rules.Known{})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		return effect.Setup{Policies: []rules.Policy{p}}
	}
	same.setup = noted("a.yaml")
	cases, missed := 0, 0
	first := same
	first.who = "operator" // where the session alone differs, the principal must not
	for name, c := range map[string]struct{ first, second call }{
		"principal":    {same, change(func(c *call) { c.who = "operator" })},
		"session":      {first, func() call { c := first; c.fresh = true; return c }()},
		"core":         {same, change(func(c *call) { c.core.ID = "another" })},
		"revision":     {same, change(func(c *call) { c.core.Revision = "r2" })},
		"capabilities": {same, change(func(c *call) { c.core.Capabilities = []string{"tool.call:*", "kv"} })},
		"policy":       {same, change(func(c *call) { c.setup = noted("b.yaml") })},
		"argument":     {same, change(func(c *call) { c.args = `{"key":"y"}` })},
		"grants":       {same, change(func(c *call) { c.grant = "fs.write" })},
		"restart":      {same, change(func(c *call) { c.reboot = true })},
	} {
		cases++
		if !t.Run(name, func(t *testing.T) {
			p := &person{}
			w := gatetest.New(t, approval.Config{Prompter: p})
			ran := 0
			one := gatetest.Tool("run.it", counter(&ran))
			one.Risk = rules.High // its rule names the input
			one.Plugin, one.Version = "runner", "1.0.0"
			home := w.Admit(gatetest.Talker("a"), gatetest.Fresh(), core)
			w.End(home)
			run := func(c call) effect.Result {
				t.Helper()
				if c.reboot {
					w.Restart(approval.Config{Prompter: p})
				}
				if c.grant != "" {
					w.Grant("runner", c.grant)
				}
				facts, sel := gatetest.Talker("a"), turn.Selector{Kind: turn.Resume, Session: home.Session()}
				if c.who == "operator" {
					facts = operator
				}
				if c.fresh {
					sel = gatetest.Fresh()
				}
				b := w.Admit(facts, sel, c.core)
				defer w.End(b)
				return w.Run(t.Context(), b, c.setup, one, []byte(c.args))
			}
			p.says = approval.Answer{State: approval.Allowed, Reach: approval.ForSession}
			for range 2 { // the second is covered: the case would show nothing if it were not
				if res := run(c.first); res.Status != effect.Succeeded {
					t.Fatalf("%s %s: %s", res.Status, res.Reason, res.Sentence)
				}
			}
			if len(p.asked) != 1 || ran != 2 {
				t.Fatalf("%d questions and %d runs before anything differed", len(p.asked), ran)
			}
			p.says = approval.Answer{State: approval.Denied}
			if res := run(c.second); res.Status != effect.Denied || res.Reason != approval.ReasonDenied || len(p.asked) != 2 || ran != 2 {
				t.Errorf("%s %s after %d questions, %d runs: another %s was not asked about", res.Status, res.Reason, len(p.asked), ran, name)
			}
		}) {
			missed++
		}
	}
	t.Logf("session allowances: %d of %d single differences asked about again", cases-missed, cases)
}
