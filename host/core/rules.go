package core

import (
	"errors"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// egress reads rules that narrow net.fetch. Each rule is checked by the policy that will apply it.
func (r *reading) egress(v value) (out []egress.Rule) {
	r.list(v, maxEgress, func(v value) {
		var rule egress.Rule
		at := map[string]Position{}
		r.object(v,
			must("host", func(v value) { rule.Host, _ = r.text(v, 300); at["host"] = r.begin(v.node) }),
			may("ports", func(v value) {
				at["ports"] = r.begin(v.node)
				r.list(v, 16, func(v value) { rule.Ports = append(rule.Ports, uint16(r.integer(v, 1, 65535))) })
			}),
			may("methods", func(v value) {
				at["methods"] = r.begin(v.node)
				r.list(v, 16, func(v value) {
					m, _ := r.text(v, 16)
					rule.Methods = append(rule.Methods, m)
				})
			}),
			may("path_prefix", func(v value) { rule.PathPrefix, _ = r.text(v, maxPathLength); at["path_prefix"] = r.begin(v.node) }),
		)
		if rule.Host == "" {
			return // noted already
		}
		if _, err := egress.NewPolicy(rule); err != nil {
			r.ruleFaults(v, at, err)
		}
		out = append(out, rule)
	})
	return out
}

func (r *reading) ruleFaults(v value, at map[string]Position, err error) {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		for _, one := range many.Unwrap() {
			r.ruleFaults(v, at, one)
		}
		return
	}
	var one *egress.RuleError
	if !errors.As(err, &one) {
		r.fault(v.at, "%s: %v", v.name, err)
		return
	}
	place, ok := at[one.Field]
	if !ok {
		place = v.at
	}
	r.fault(place, "%s.%s: %s", v.name, one.Field, one.Want)
}

// approval reads the rules of one file with their places. What needs the catalog to be checked is left to
// [approval.Compile].
func (r *reading) approval(v value) approval.Rules {
	rules := approval.Rules{File: r.path}
	modes := []string{approval.Auto.String(), approval.Prompt.String(), approval.Deny.String()}
	mode := func(key string, v value) (approval.Rule, bool) {
		at := v.at
		word, ok := r.word(v, modes...)
		return approval.Rule{Key: key, Mode: word, At: at}, ok
	}
	section := func(check func(key string) string, into *[]approval.Rule) func(value) {
		return func(v value) {
			n := 0
			r.each(v, func(key string, child value) {
				if n++; n == maxRules+1 {
					r.fault(child.at, "%s has more than %d entries", v.name, maxRules)
				}
				if n > maxRules || r.null(child) {
					return
				}
				if want := check(key); want != "" {
					r.fault(child.at, "%s", want)
					return
				}
				if rule, ok := mode(key, child); ok {
					*into = append(*into, rule)
				}
			})
		}
	}
	decide := func(v value) { rules.Approvers = r.approvers(v) }
	if r.path != HostFile {
		decide = func(v value) {
			r.fault(v.at, "who may decide is the operator's to say, for every core: put approval.approvers into %s", HostFile)
		}
	}
	r.object(v,
		may("approvers", decide),
		may("default", func(v value) { rules.Default, _ = mode("default", v) }),
		may("tools", section(checkTool, &rules.Tools)),
		may("capabilities", section(checkCapability, &rules.Capabilities)),
		may("risks", section(checkRisk, &rules.Risks)),
	)
	return rules
}

// approvers reads who may decide: "operator", "requester", or principal ids, each once.
func (r *reading) approvers(v value) []string {
	var out []string
	faults := len(r.faults)
	r.list(v, approval.MaxApprovers, func(item value) {
		name, ok := r.text(item, 200)
		switch {
		case !ok:
		case !approval.NamesApprover(name):
			r.fault(item.at, "%s is not operator, requester or the id of a principal, as `portcullis sessions show` names it", quote(name))
		case slices.Contains(out, name):
			r.fault(item.at, "%s is listed twice", quote(name))
		default:
			out = append(out, name)
		}
	})
	if len(out) == 0 && len(r.faults) == faults {
		r.fault(v.at, "%s names nobody: leave it out, and the operator decides", v.name)
	}
	return out
}

func checkTool(key string) string {
	if wire.ValidToolName(key) {
		return ""
	}
	return quote(key) + " is not a tool name such as calc.eval"
}

func checkRisk(key string) string {
	if _, err := approval.ParseRisk(key); err == nil {
		return ""
	}
	return quote(key) + " is not a risk" + hint(key, wire.Risks())
}

// checkCapability takes a family, a name, or a prefix with :* behind it.
func checkCapability(key string) string {
	var err error
	if strings.HasSuffix(key, ":*") {
		_, err = capability.ParseGrant(key)
	} else if !slices.Contains(capability.Families(), key) {
		_, err = capability.Parse(key)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
