package effect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Explanation is what the gate would say of one call, without running, asking or recording anything.
type Explanation struct {
	Tool      string
	Plugin    string            // "<id>@<version>" or empty
	Found     bool              // false: no such tool in the catalog; the rest is empty
	Needs     []capability.Name // what this call uses
	Arguments Objection         // why the arguments would be refused
	Policy    policy.Verdict
	Approval  approval.Verdict // what the approval rules say, also where an earlier check decides
	Plan      json.RawMessage  // what would run beyond the arguments, as a person would be shown it; empty for most tools
	Planned   Objection        // why the tool would not run it
	Unshown   Objection        // why nobody could be asked about it
	Wanted    Wanted           // the secrets of the call; without an effect
}

// Explain asks what [Runtime.Execute] would ask, of the same facts, up to approval. Empty arguments are not looked at,
// and nothing is planned then. A tool that plans may look files up, and reads them at the most.
func (r *Runtime) Explain(ctx context.Context, c *Catalog, tool string, arguments []byte) Explanation {
	e, ok := c.entries[tool]
	if !ok {
		return Explanation{Tool: tool}
	}
	p := &passage{catalog: c, entry: e, turn: c.turn, needs: e.tool.Needs}
	defer p.letGo()
	x := Explanation{Tool: tool, Plugin: e.tool.label(), Found: true}
	if len(arguments) > 0 {
		x.Arguments = p.explainArguments(arguments)
	}
	p.granted = e.grants
	facts := c.facts(e, p.needs, p.granted)
	ruled := decide(facts)
	if p.policy = &ruled; x.Arguments == (Objection{}) && len(arguments) > 0 {
		p.nameMissing()
	}
	x.Needs, x.Policy, x.Approval = p.needs, p.policy.Verdict, approval.Decide(facts.Tool, facts.Policies...)
	x.Wanted = Wanted{Tool: e.tool.Name, Turn: c.turn, Plugin: e.tool.Plugin, Granted: e.grants, Names: secretNames(p.needs)}
	if x.Policy.Stage == policy.Approval && len(arguments) > 0 && x.Arguments == (Objection{}) { // all that comes before a plan has passed
		if v := r.plan(ctx, p); v.stops() {
			x.Planned = Objection{v.reason, v.why, v.model, v.remedy}
		} else if p.planned != nil {
			x.Plan = json.RawMessage(p.plan.Operator.String())
		}
		if v := p.unshown(); x.Policy.Action == policy.Ask && v.stops() {
			x.Unshown = Objection{v.reason, v.why, v.model, v.remedy}
		}
	}
	return x
}

// explainArguments reads the arguments into p and says why they would be refused.
func (p *passage) explainArguments(raw []byte) Objection {
	args, err := ParseArguments(raw)
	if err != nil {
		var bad *ArgumentError
		if errors.As(err, &bad) {
			return Objection{Reason: "arguments_" + bad.Code, Why: bad.Sentence}
		}
		return Objection{Reason: "arguments_invalid", Why: "the arguments cannot be read"}
	}
	p.args = args
	if redact.ContainsSentinel(args.Bytes()) {
		return Objection{Reason: "arguments_redacted", Why: holdsMark}
	}
	if p.shown, err = p.catalog.views(questionBounds(), redact.Document(args.read), redact.ForOperator); err != nil {
		return Objection{Reason: "redaction_failed", Why: "the arguments could not be redacted, so nothing is done with them"}
	}
	needs, unnamed := needsOf(p.entry.tool, args.read)
	if unnamed == nil {
		p.needs = needs
	}
	schema, err := p.entry.input()
	if err != nil {
		return Objection{Reason: "schema_unusable", Why: fmt.Sprintf("the input schema cannot be used: %v", err)}
	}
	if faults := schema.check(&args.read); len(faults) > 0 {
		return Objection{Reason: "arguments_schema", Why: "the arguments do not fit the schema: " + join(faults)}
	}
	if unnamed != nil {
		return Objection{Reason: "secret_name", Why: unnamed.Error()}
	}
	return Objection{}
}
