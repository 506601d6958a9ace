package approval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/capability"
)

// Position is where a rule stands in a file. Line and Column count from 1; the zero Position is nowhere.
type Position struct {
	File         string
	Line, Column int
}

// String is "file:line:column", as editors jump to it.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Rule is one line as it was written: a key, a mode, and where it stands.
type Rule struct {
	Key  string // a tool, capability or risk; ignored for the default
	Mode string
	At   Position
}

// Rules are one file's approval rules as they were written. The caller reads the file; nothing here was checked.
//
// A capability key is a family ("net.fetch", which "net.fetch:*" is another spelling of), a name
// ("mcp.call:docs"), or a prefix ("net.fetch:api.example.com:*"). Every tool also has the capability
// tool.call:<its name>.
type Rules struct {
	File         string
	Default      Rule // no default when Mode is empty
	Tools        []Rule
	Capabilities []Rule
	Risks        []Rule
	Approvers    []string // who may decide what must be asked; see [Operator] and [Requester]. Empty: the operator alone
}

// Words of [Rules.Approvers] beside principal ids.
const (
	Operator  = "operator"  // who holds the machine: may always decide, and is named to say that nobody else may
	Requester = "requester" // the principal for whom the call would run
)

// MaxApprovers is how many one file may name.
const MaxApprovers = 32

// NamesApprover reports whether text stands for somebody in [Rules.Approvers]: one of the words, or a principal id, which is
// "principal:" with at least two more parts of printable ASCII.
func NamesApprover(text string) bool {
	if text == Operator || text == Requester {
		return true
	}
	parts := strings.Split(text, ":")
	for _, p := range parts {
		if p == "" || strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return false
		}
	}
	return len(parts) >= 3 && parts[0] == "principal"
}

// Entry is what the rules are asked about: one tool as the catalog holds it. Mode is the tool's own: the mode that
// its manifest or the host's table states.
type Entry struct {
	Tool         string
	Capabilities []capability.Name
	Risk         Risk
	Mode         Mode
}

// RuleKey names what an allowance for the session would cover: the tool, its capabilities, and detail where the
// tool's arguments must be part of it (a digest, a host, an exact command). Empty detail covers every argument.
func (e Entry) RuleKey(detail string) string {
	parts := []string{e.Tool}
	for _, c := range e.Capabilities {
		parts = append(parts, c.String())
	}
	if detail != "" {
		parts = append(parts, "="+detail)
	}
	return strings.Join(parts, " ")
}

// NamesInput reports whether an allowance for the session covers only calls with the same input: where a wrong call is
// worse than medium, or where a capability is open (net.fetch without a host, process.exec), so that the tool's name
// says too little of what would happen.
func (e Entry) NamesInput() bool {
	if e.Risk.AtLeast(High) {
		return true
	}
	return slices.ContainsFunc(e.Capabilities, func(n capability.Name) bool {
		return n.Open() || n.Family() == "process.exec"
	})
}

// asked are the capabilities that rules are looked up for.
func (e Entry) asked() []capability.Name {
	own := e.Capabilities[:len(e.Capabilities):len(e.Capabilities)]
	if n, err := capability.Parse("tool.call:" + e.Tool); err == nil && !slices.Contains(own, n) {
		own = append(own, n)
	}
	return own
}

// pattern is a capability key.
type pattern struct {
	family string           // the whole family, or
	exact  capability.Name  // one name, or
	prefix capability.Grant // what lies below a prefix
}

func parsePattern(text string) (pattern, error) {
	if strings.HasSuffix(text, ":*") {
		g, err := capability.ParseGrant(text)
		if err == nil && g.String() == g.Family()+":*" {
			return pattern{family: g.Family()}, nil
		}
		return pattern{prefix: g}, err
	}
	n, err := capability.Parse(text)
	if n.Open() {
		return pattern{family: n.Family()}, nil
	}
	return pattern{exact: n}, err
}

func (p pattern) matches(n capability.Name) bool {
	return p.family != "" && p.family == n.Family() || !n.Zero() && p.exact == n || p.prefix.Matches(n)
}

// rank orders patterns by how specific they are.
func (p pattern) rank() int {
	switch {
	case !p.exact.Zero():
		return 3
	case !p.prefix.Zero():
		return 2
	}
	return 1
}
