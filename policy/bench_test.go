package policy_test

import (
	"fmt"
	"testing"

	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// BenchmarkDecide is one verdict under a core's and a host's file of rules, for a tool that none of the specific ones
// is about: every kind of rule is looked up before the default decides.
func BenchmarkDecide(b *testing.B) {
	for _, rules := range []int{0, 50, 500} {
		b.Run(fmt.Sprintf("%drules", rules), func(b *testing.B) {
			f := allowed(b)
			for _, file := range []string{"agent.yaml", "policy.yaml"} {
				f.Policies = append(f.Policies, manyRules(b, file, rules/2))
			}
			b.ReportAllocs()
			for b.Loop() {
				if v := policy.Decide(f); v.Action != policy.Allow {
					b.Fatalf("%s: %s", v.Action, v.Why)
				}
			}
		})
	}
}

// manyRules is one file of about n rules, half about tools and half about capabilities, that all known tools reach.
func manyRules(b *testing.B, file string, n int) approval.Policy {
	b.Helper()
	rules := approval.Rules{File: file, Default: approval.Rule{Mode: "auto", At: approval.Position{File: file, Line: 1, Column: 1}}}
	var known approval.Known
	for i := range n / 2 {
		need, err := capability.Parse(fmt.Sprintf("net.fetch:host-%d.example", i))
		if err != nil {
			b.Fatal(err)
		}
		at := approval.Position{File: file, Line: 2 + i, Column: 1}
		tool := fmt.Sprintf("tool%d.run", i)
		rules.Tools = append(rules.Tools, approval.Rule{Key: tool, Mode: "prompt", At: at})
		rules.Capabilities = append(rules.Capabilities, approval.Rule{Key: need.String(), Mode: "prompt", At: at})
		known.Tools = append(known.Tools,
			approval.Entry{Tool: tool, Risk: approval.Low, Mode: approval.Auto},
			approval.Entry{Tool: fmt.Sprintf("site%d.read", i), Capabilities: []capability.Name{need}, Risk: approval.Low, Mode: approval.Auto},
		)
	}
	p, faults := approval.Compile(rules, known)
	if len(faults) > 0 {
		b.Fatal(faults)
	}
	return p
}
