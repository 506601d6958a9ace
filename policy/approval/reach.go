package approval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/capability"
)

// reach reports every rule that can never decide. A rule that is written but never counts is worse than none: the
// operator believes in it. It asks the finished policy about every known entry and keeps which rules answered, so
// that the lookup and this check cannot drift apart. The default is exempt: it stands for tools yet to come.
func (c *compiler) reach() {
	entries := slices.Clone(c.known.Tools)
	for _, n := range c.known.Capabilities {
		entries = append(entries, Entry{Capabilities: []capability.Name{n}, Mode: Auto})
	}
	answers, counts := map[*rule]bool{}, map[*rule]bool{}
	for _, e := range entries {
		for _, s := range (Policy{c.out}).answer(e) {
			if s.Applies {
				answers[s.rule] = true
				counts[s.rule] = counts[s.rule] || s.Mode >= e.Mode.Stricter(Auto)
			}
		}
	}
	for _, r := range c.rules {
		switch {
		case !answers[r]:
			c.fault(r.at, Unreachable, "%s can never decide: %s", r.name, c.unanswered(r, entries))
		case !counts[r]:
			c.fault(r.at, Unreachable, "%s: %s never decides: every tool it is for is stricter by itself, and the stricter wins", r.name, r.mode)
		}
	}
}

// unanswered says why a rule answers for no entry.
func (c *compiler) unanswered(r *rule, entries []Entry) string {
	var users []string
	for _, e := range entries {
		if c.concerns(r, e) {
			users = append(users, e.Tool)
		}
	}
	switch isRisk := strings.HasPrefix(r.name, "risks: "); {
	case isRisk && len(users) == 0:
		return "no known tool has this risk"
	case isRisk:
		return fmt.Sprintf("the tools of this risk (%s) are all decided by tools or capabilities rules", strings.Join(users, ", "))
	case len(users) == 0:
		return "no known tool uses this capability" + c.openHint(r)
	}
	return fmt.Sprintf("the tools that use this capability (%s) are all decided by a tools rule or by a more specific or stricter capability rule", strings.Join(users, ", "))
}

func (c *compiler) concerns(r *rule, e Entry) bool {
	if c.out.risks[e.Risk] == r {
		return true
	}
	return slices.ContainsFunc(e.asked(), r.pattern.matches)
}

// openHint helps with the likeliest mistake: naming a host where tools ask for net.fetch without one.
func (c *compiler) openHint(r *rule) string {
	family := r.pattern.exact.Family()
	if family == "" {
		family = r.pattern.prefix.Family()
	}
	for _, e := range c.known.Tools {
		for _, n := range e.Capabilities {
			if n.Open() && n.Family() == family {
				return fmt.Sprintf("; %s asks for %s without naming one, so write %s here and narrow it in the egress rules", e.Tool, family, family)
			}
		}
	}
	return ""
}
