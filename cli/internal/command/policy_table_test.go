package command

import (
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/policy"
)

func TestARowThatDiffersSaysInWhat(t *testing.T) {
	j := host.Judgement{Action: policy.Deny, Stage: policy.Capability, Rule: "capability", Reason: "capability_not_granted", Why: "because"}
	for name, c := range map[string]struct {
		row  core.Row
		want string
	}{
		"holds":          {core.Row{Expect: "deny"}, ""},
		"holds in all":   {core.Row{Expect: "deny", Reason: "capability_not_granted", Rule: "capability"}, ""},
		"other verdict":  {core.Row{Expect: "allow"}, "expected allow, and it is deny: because"},
		"other reason":   {core.Row{Expect: "deny", Reason: "x"}, "expected the reason x, and it is capability_not_granted: because"},
		"other rule":     {core.Row{Expect: "deny", Rule: "x"}, `expected the rule "x", and "capability" decides: because`},
		"everything":     {core.Row{Expect: "ask", Reason: "x", Rule: "y"}, "; expected the rule"},
		"asked of allow": {core.Row{Expect: "ask"}, "expected ask, and it is deny"},
	} {
		if got := differs(c.row, j); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
