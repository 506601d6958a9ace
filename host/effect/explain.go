package effect

import (
	"context"
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Explanation is what the gate would say of one call, without running, asking or recording anything.
type Explanation struct {
	Tool      string
	Plugin    string // "<id>@<version>" or empty
	Found     bool   // false: no such tool in the catalog; the rest is empty
	Arguments string // why the arguments would be refused, or empty
	Policy    policy.Verdict
}

// Explain asks what [Runtime.Execute] would ask, of the same facts, up to approval. Empty arguments are not looked at; others
// of a tool that plans are planned, and the plan is one more of the host's checks.
func (c *Catalog) Explain(ctx context.Context, tool string, arguments []byte) Explanation {
	e, ok := c.entries[tool]
	if !ok {
		return Explanation{Tool: tool}
	}
	x := Explanation{Tool: tool, Plugin: e.tool.label(), Found: true}
	needs := e.tool.Needs
	if len(arguments) > 0 {
		x.Arguments = explainArguments(e, arguments)
		if args, err := ParseArguments(arguments); err == nil {
			if more, err := needsOf(e.tool, args.read); err == nil {
				needs = more
			}
		}
	}
	facts := c.facts(e, needs)
	x.Policy = policy.Decide(facts)
	if check, planned := c.explainPlan(ctx, e, arguments, x); planned {
		facts.Checks = append(facts.Checks, check)
		x.Policy = policy.Decide(facts)
	}
	return x
}

// explainPlan is what a planner says of the arguments, where the gate would come to ask it.
func (c *Catalog) explainPlan(ctx context.Context, e *entry, arguments []byte, x Explanation) (policy.Check, bool) {
	planner, ok := e.tool.Adapter.(Planner)
	if !ok || len(arguments) == 0 || x.Arguments != "" || x.Policy.Action == policy.Deny {
		return policy.Check{}, false
	}
	args, err := ParseArguments(arguments)
	if err != nil {
		return policy.Check{}, false
	}
	ctx, stop := context.WithTimeout(ctx, planTime)
	defer stop()
	p := passage{planned: &Plan{}}
	defer p.letGo()
	var no Objection
	*p.planned, no = planner.Plan(ctx, Call{
		Tool: e.tool.Name, Arguments: args.Bytes(), Read: args.read, Turn: c.turn, Output: e.tool.Output, Grants: e.grants,
		Progress: func(wire.Progress) {},
	})
	check := policy.Check{Name: "plan", Passed: no.Reason == "", Reason: no.Reason, Why: no.Why, Model: no.Model, Remedy: no.Remedy}
	if why := p.planned.fault(); check.Passed && why != "" {
		check.Passed, check.Reason, check.Why = false, ReasonPlanInvalid, "the plan of the call "+why
	}
	if check.Passed {
		check.Why = c.Redactor().Text(redact.ForOperator, string(p.planned.shown()))
	}
	return check, true
}

func explainArguments(e *entry, raw []byte) string {
	args, err := ParseArguments(raw)
	if err != nil {
		var bad *ArgumentError
		if errors.As(err, &bad) {
			return bad.Sentence
		}
		return "the arguments cannot be read"
	}
	schema, err := e.input()
	if err != nil {
		return fmt.Sprintf("the input schema cannot be used: %v", err)
	}
	if faults := schema.check(&args.read); len(faults) > 0 {
		return "the arguments do not fit the schema: " + join(faults)
	}
	return ""
}
