package egress

import (
	"errors"
	"fmt"
	"slices"
)

// Policy is an immutable list of rules. A request is allowed when one rule allows all of it; rules never add up.
// The zero Policy allows nothing.
type Policy struct{ rules []Rule }

// NewPolicy freezes rules. An error joins one [*RuleError] for each field that cannot be meant, and comes with the
// zero Policy.
func NewPolicy(rules ...Rule) (Policy, error) {
	own := make([]Rule, len(rules))
	var faults []error
	for i, r := range rules {
		faults = append(faults, r.check(i))
		r.Ports, r.Methods = slices.Clone(r.Ports), slices.Clone(r.Methods)
		own[i] = r
	}
	if err := errors.Join(faults...); err != nil {
		return Policy{}, err
	}
	return Policy{own}, nil
}

// Rules returns the rules as given, as a fresh slice.
func (p Policy) Rules() []Rule {
	own := slices.Clone(p.rules)
	for i, r := range own {
		own[i].Ports, own[i].Methods = slices.Clone(r.Ports), slices.Clone(r.Methods)
	}
	return own
}

// Check judges one request. Method is compared as written: "get" is no method. A refusal gives the reason of the
// rule that came nearest, in the order host, port, method, path.
func (p Policy) Check(method string, t Target) Verdict {
	switch {
	case t.Zero():
		return refuse(InvalidURL, "there is no URL to judge")
	case metadataHost(t.host):
		return refuse(MetadataHostname, t.host+" is a cloud metadata service, which no rule may open")
	}
	nearest := noHost(t)
	reached := 0
	for _, r := range p.rules {
		v, stage := r.judge(method, t)
		if v.Allowed {
			return v
		}
		if stage > reached {
			nearest, reached = v, stage
		}
	}
	return nearest
}

func noHost(t Target) Verdict {
	_, literal := t.Address()
	switch {
	case literal:
		return refuse(HostNotAllowed, "no rule names the address "+t.host+"; a pattern never covers an address")
	case privateHost(t.host):
		return refuse(PrivateHostname, t.host+" is a private name: it needs a rule with exactly this host")
	}
	return refuse(HostNotAllowed, "no rule allows the host "+t.host)
}

// named is a method inside a sentence: one that a rule could name. Any other is a caller's own text.
func named(method string) string {
	if knownMethod(method) {
		return "the method " + method
	}
	return "a method that is none of GET HEAD POST PUT PATCH DELETE OPTIONS"
}

// judge returns the verdict of one rule and how far the request came: 0 host, 1 port, 2 method, 3 path, 4 allowed.
func (r Rule) judge(method string, t Target) (Verdict, int) {
	v, stage := Verdict{Rule: r.String()}, 0
	switch {
	case !r.matchesHost(t):
		v.Reason = HostNotAllowed
	case !r.matchesPort(t):
		stage, v.Reason = 1, PortNotAllowed
		v.Sentence = fmt.Sprintf("the rule for %s does not allow %s on port %d", r.Host, t.scheme, t.port)
	case !r.matchesMethod(method):
		stage, v.Reason = 2, MethodNotAllowed
		v.Sentence = fmt.Sprintf("the rule for %s does not allow %s", r.Host, named(method))
	case r.PathPrefix != "" && hidesPath(t.path):
		stage, v.Reason = 3, NonCanonicalPath
		v.Sentence = fmt.Sprintf("the rule for %s holds a path prefix, and the path has encoded slashes, dots or controls", r.Host)
	case r.PathPrefix != "" && !under(t.path, r.PathPrefix):
		stage, v.Reason = 3, PathNotAllowed
		v.Sentence = fmt.Sprintf("the rule for %s allows only paths under %s", r.Host, r.PathPrefix)
	default:
		stage, v.Allowed, v.Reason = 4, true, Allowed
	}
	return v, stage
}
