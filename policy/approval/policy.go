package approval

import (
	"slices"

	"github.com/b3abf3ee/portcullis/policy/capability"
)

// Policy is one file's rules after [Compile]. It is immutable. The zero Policy has no rules and leaves every tool
// at its own mode.
type Policy struct{ of *compiled }

type compiled struct {
	file         string
	faulty       bool
	digest       string // of the rules as they were written
	fallback     *rule
	tools        map[string]*rule
	capabilities []*rule
	risks        map[Risk]*rule
}

// rule is one checked rule.
type rule struct {
	name    string // as a person finds it: "tools: web.fetch"
	mode    Mode
	at      Position
	pattern pattern // of a capability rule
}

// Step is one place that was looked at on the way to a verdict.
type Step struct {
	Source  string   // "tool" for the tool's own mode, else the file
	Rule    string   // for example "capabilities: net.fetch"
	Mode    Mode     // the zero Mode when there is no such rule
	At      Position // the zero Position when there is no such rule
	Applies bool     // it is what its source answers
	Decides bool     // it is what the verdict rests on

	rule *rule
}

// String is one line of an explanation.
func (s Step) String() string {
	text := s.Source + ": " + s.Rule
	switch {
	case !s.Mode.Valid():
		return text + ": no such rule"
	case s.At != Position{}:
		text = s.At.String() + ": " + s.Rule
	}
	text += ": " + s.Mode.String()
	switch {
	case s.Decides:
		return text + " (decides)"
	case !s.Applies:
		return text + " (a stricter capability counts)"
	}
	return text
}

// Verdict is the mode of one call with the step that it rests on. Trace holds every place that was looked at, in
// order; exactly one step of it decides.
type Verdict struct {
	Mode  Mode
	Why   Step
	Trace []Step
}

// Decide combines the entry's own mode with what each policy answers; the stricter wins, and of equals the first.
func Decide(e Entry, policies ...Policy) Verdict {
	own := Step{Source: "tool", Rule: "own mode of " + e.Tool, Mode: e.Mode, Applies: true}
	if !e.Mode.Valid() {
		own.Mode, own.Rule = Deny, e.Tool+" states no mode"
	}
	trace, decider := []Step{own}, 0
	for _, p := range policies {
		first := len(trace)
		trace = append(trace, p.answer(e)...)
		for i := first; i < len(trace); i++ {
			if trace[i].Applies && trace[i].Mode > trace[decider].Mode {
				decider = i
			}
		}
	}
	trace[decider].Decides = true
	return Verdict{trace[decider].Mode, trace[decider], trace}
}

// answer lists what was looked up in one file. At most one kind of rule applies: the first kind that has any.
func (p Policy) answer(e Entry) []Step {
	if p.of == nil {
		return nil
	}
	c := p.of
	if c.faulty {
		return []Step{{Source: c.file, Rule: "the file has faults, so it denies", Mode: Deny, Applies: true}}
	}
	steps := []Step{c.step(c.tools[e.Tool], "tools: "+e.Tool)}
	if steps[0].Applies {
		return steps
	}
	found := false
	for _, n := range e.asked() {
		s := c.step(c.capability(n), "capabilities: "+n.String())
		found = found || s.Applies
		steps = append(steps, s)
	}
	if found {
		return strictestOnly(steps)
	}
	steps = append(steps, c.step(c.risks[e.Risk], "risks: "+e.Risk.String()))
	if !steps[len(steps)-1].Applies {
		steps = append(steps, c.step(c.fallback, "default"))
	}
	return steps
}

func (c *compiled) step(r *rule, looked string) Step {
	if r == nil {
		return Step{Source: c.file, Rule: looked}
	}
	return Step{Source: c.file, Rule: r.name, Mode: r.mode, At: r.at, Applies: true, rule: r}
}

// capability finds the most specific rule for one name.
func (c *compiled) capability(n capability.Name) *rule {
	var best *rule
	for _, r := range c.capabilities {
		if r.pattern.matches(n) && (best == nil || r.pattern.rank() > best.pattern.rank()) {
			best = r
		}
	}
	return best
}

func strictestOnly(steps []Step) []Step {
	strictest := slices.MaxFunc(steps, func(a, b Step) int { return int(a.Mode) - int(b.Mode) })
	for i := range steps {
		steps[i].Applies = steps[i].Applies && steps[i].Mode == strictest.Mode
	}
	return steps
}
