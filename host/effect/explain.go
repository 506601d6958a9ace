package effect

import (
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/policy"
)

// Explanation is what the gate would say of one call, without running, asking or recording anything.
type Explanation struct {
	Tool      string
	Plugin    string // "<id>@<version>" or empty
	Found     bool   // false: no such tool in the catalog; the rest is empty
	Arguments string // why the arguments would be refused, or empty
	Policy    policy.Verdict
}

// Explain asks what [Runtime.Execute] would ask, of the same facts, up to approval. Empty arguments are not looked at.
func (c *Catalog) Explain(tool string, arguments []byte) Explanation {
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
	x.Policy = policy.Decide(c.facts(e, needs))
	return x
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
