package approval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/capability"
)

// Known is what exists where a file is loaded: the tools that the rules are for, and capabilities that are used
// outside a tool call (mcp.connect:<server> and the like).
type Known struct {
	Tools        []Entry
	Capabilities []capability.Name
}

// Code is the stable name of a fault.
type Code string

// The codes.
const (
	UnknownTool       Code = "unknown_tool"
	UnknownCapability Code = "unknown_capability"
	UnknownRisk       Code = "unknown_risk"
	UnknownMode       Code = "unknown_mode"
	Duplicate         Code = "duplicate"
	Unreachable       Code = "unreachable"
)

// Fault is one thing wrong with a file, with what to write instead.
type Fault struct {
	At       Position
	Code     Code
	Sentence string
}

// Faults are all that is wrong with a file, in the order of the file. A file with faults must not be used.
type Faults []Fault

// Error lists the faults, one a line, each with file, line and column.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.At.String() + ": " + one.Sentence
	}
	return strings.Join(lines, "\n")
}

// Compile checks one file's rules against what is known. With faults the Policy denies everything.
func Compile(rules Rules, known Known) (Policy, Faults) {
	c := compiler{known: known, out: &compiled{file: rules.File, digest: rules.digest(), tools: map[string]*rule{}, risks: map[Risk]*rule{}}}
	if rules.Default.Mode != "" {
		c.out.fallback = c.rule("default", rules.Default)
	}
	for _, r := range rules.Tools {
		c.tool(r)
	}
	for _, r := range rules.Capabilities {
		c.capability(r)
	}
	for _, r := range rules.Risks {
		c.risk(r)
	}
	if len(c.faults) == 0 {
		c.reach() // over sound rules only: a typing mistake should not bring a second complaint
	}
	slices.SortStableFunc(c.faults, func(a, b Fault) int {
		return cmpPosition(a.At, b.At)
	})
	c.out.faulty = len(c.faults) > 0
	return Policy{c.out}, c.faults
}

func cmpPosition(a, b Position) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}

type compiler struct {
	known  Known
	out    *compiled
	rules  []*rule // all but the default, in the order of the file
	faults Faults
}

func (c *compiler) fault(at Position, code Code, sentence string, args ...any) {
	c.faults = append(c.faults, Fault{at, code, fmt.Sprintf(sentence, args...)})
}

// rule checks the mode that every kind of rule has.
func (c *compiler) rule(name string, r Rule) *rule {
	mode, err := ParseMode(r.Mode)
	if err != nil {
		c.fault(r.At, UnknownMode, "%s: %q is no mode: write auto, prompt or deny", name, told(r.Mode))
	}
	return &rule{name: name, mode: mode, at: r.At}
}

// add keeps r unless the same key stands before it.
func (c *compiler) add(r, before *rule) bool {
	if before != nil {
		c.fault(r.at, Duplicate, "%s stands twice: the first is at line %d; keep one", r.name, before.at.Line)
		return false
	}
	c.rules = append(c.rules, r)
	return true
}

func (c *compiler) tool(in Rule) {
	r := c.rule("tools: "+told(in.Key), in)
	if !slices.ContainsFunc(c.known.Tools, func(e Entry) bool { return e.Tool == in.Key }) {
		c.fault(in.At, UnknownTool, "no tool is named %q: %s", told(in.Key), c.toolNames())
		return
	}
	if c.add(r, c.out.tools[in.Key]) {
		c.out.tools[in.Key] = r
	}
}

func (c *compiler) capability(in Rule) {
	r := c.rule("capabilities: "+told(in.Key), in)
	p, err := parsePattern(in.Key)
	if err != nil {
		c.fault(in.At, UnknownCapability, "%s", err)
		return
	}
	r.pattern = p
	var before *rule
	if i := slices.IndexFunc(c.out.capabilities, func(o *rule) bool { return o.pattern == p }); i >= 0 {
		before = c.out.capabilities[i]
	}
	if c.add(r, before) {
		c.out.capabilities = append(c.out.capabilities, r)
	}
}

func (c *compiler) risk(in Rule) {
	r := c.rule("risks: "+told(in.Key), in)
	risk, err := ParseRisk(in.Key)
	if err != nil {
		c.fault(in.At, UnknownRisk, "%q is no risk: write low, medium, high or critical", told(in.Key))
		return
	}
	if c.add(r, c.out.risks[risk]) {
		c.out.risks[risk] = r
	}
}

// toolNames says what could have been meant.
func (c *compiler) toolNames() string {
	const shown = 12
	var names []string
	for _, e := range c.known.Tools {
		names = append(names, e.Tool)
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return "no tools are installed; see portcullis plugin list"
	case len(names) > shown:
		return fmt.Sprintf("known are %s and %d more; see portcullis plugin list", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return "known are " + strings.Join(names, ", ")
}

// told is what a file says, whole or not at all: a part of a secret could not be hidden any more.
func told(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("a text of %d bytes", len(s))
	}
	return strings.ToValidUTF8(s, "?")
}
