package policy_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func name(t interface{ Fatal(...any) }, text string) capability.Name {
	n, err := capability.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func snapshot(t interface{ Fatal(...any) }, texts ...string) capability.Snapshot {
	s, err := capability.ParseSnapshot(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// allowed are facts that every check lets through.
func allowed(t interface{ Fatal(...any) }) policy.Facts {
	issuer := principal.NewIssuer("sto_test")
	scope, err := issuer.Issue(principal.Facts{
		PrincipalID: "principal:system:s", Authority: principal.System, SessionID: "ses_a", AllowedSessions: []string{"ses_a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return policy.Facts{
		Principal: scope, Session: "ses_a", Visible: true, Core: "assistant", Plugin: "web",
		Tool: approval.Entry{
			Tool: "web.fetch", Capabilities: []capability.Name{name(t, "net.fetch"), name(t, "tool.call:web.fetch")},
			Risk: approval.Medium, Mode: approval.Auto,
		},
		Capabilities: snapshot(t, "net.fetch:*", "tool.call:*", "kv"),
		Granted:      snapshot(t, "net.fetch:example.org", "kv"),
		Loads:        []capability.Name{name(t, "kv")},
		Checks:       []policy.Check{{Name: "bounds", Passed: true, Why: "in bounds"}},
	}
}

// breaks are one fact for each stage that turns the verdict, in the order of the stages.
func breaks(t interface{ Fatal(...any) }) []struct {
	do     func(*policy.Facts)
	stage  policy.Stage
	reason string
	remedy string
} {
	return []struct {
		do     func(*policy.Facts)
		stage  policy.Stage
		reason string
		remedy string
	}{
		{func(f *policy.Facts) { f.Principal = principal.Scope{} }, policy.Scope, policy.NotInScope, ""},
		{func(f *policy.Facts) { f.Visible = false }, policy.Scope, policy.NotVisible, ""},
		{func(f *policy.Facts) { f.Capabilities = snapshot(t, "tool.call:*") }, policy.Capability, policy.NotInCore, "portcullis plugin grant web net.fetch:HOST --core assistant"},
		{func(f *policy.Facts) { f.Granted = snapshot(t, "kv") }, policy.Capability, policy.NotGranted, "portcullis plugin grant web net.fetch:HOST --core assistant"},
		{func(f *policy.Facts) {
			f.Checks = append(f.Checks, policy.Check{Name: "workspace", Reason: "no_workspace", Why: "none", Model: "none", Remedy: "--workspace DIR"})
		}, policy.HostChecks, "no_workspace", "--workspace DIR"},
		{func(f *policy.Facts) { f.Tool.Mode = approval.Deny }, policy.Approval, policy.DeniedByRules, ""},
	}
}

func TestEveryStageCanSayNoAndTheFirstOneDecides(t *testing.T) {
	if v := policy.Decide(allowed(t)); v.Action != policy.Allow || v.Stage != policy.Approval || v.Reason != "" {
		t.Fatalf("%+v", v)
	}
	all := breaks(t)
	for i, b := range all {
		f := allowed(t)
		for _, later := range all[i:] {
			later.do(&f)
		}
		v := policy.Decide(f)
		if v.Action != policy.Deny || v.Stage != b.stage || v.Reason != b.reason || v.Remedy != b.remedy {
			t.Errorf("break %d: %s at %s, %s, remedy %q", i, v.Action, v.Stage, v.Reason, v.Remedy)
		}
		if v.Model == "" || strings.Contains(v.Model, "portcullis") {
			t.Errorf("break %d: the model is told %q", i, v.Model)
		}
		if v.Why == "" || v.Trace[len(v.Trace)-1].Passed {
			t.Errorf("break %d: why %q, trace %+v", i, v.Why, v.Trace)
		}
	}
}

func TestAModuleNeedsWhatItImportsWhicheverToolIsCalled(t *testing.T) {
	f := allowed(t)
	f.Granted = snapshot(t, "net.fetch:*")
	v := policy.Decide(f)
	if v.Reason != policy.NotGranted || v.Missing.String() != "kv" || v.Remedy != "portcullis plugin grant web kv" {
		t.Fatalf("%+v", v)
	}
}

func TestABuiltinNeedsNoGrantAndAToolMayNeedNothing(t *testing.T) {
	f := allowed(t)
	f.Plugin, f.Granted, f.Loads = "", capability.Snapshot{}, nil
	if v := policy.Decide(f); v.Action != policy.Allow || !strings.Contains(v.At(policy.Capability), "; a builtin needs no grant") {
		t.Fatalf("%+v", v)
	}
	f.Tool.Capabilities, f.Capabilities = nil, capability.Snapshot{}
	v := policy.Decide(f)
	if v.Action != policy.Allow || !strings.HasPrefix(v.At(policy.Capability), "core assistant lists nothing, and nothing is needed") {
		t.Fatalf("%+v", v)
	}
	if v.At("no such stage") != "" {
		t.Error("a stage that was not asked has words")
	}
}

func TestRemedyIsOneWordForTheShell(t *testing.T) {
	f := allowed(t)
	f.Tool.Capabilities = []capability.Name{name(t, "net.fetch:[2001:db8::1]:8443")}
	v := policy.Decide(f)
	if v.Remedy != "portcullis plugin grant web 'net.fetch:[2001:db8::1]:8443'" || v.Missing.String() != "net.fetch:[2001:db8::1]:8443" {
		t.Fatalf("%+v", v)
	}
}

func TestPromptAsks(t *testing.T) {
	f := allowed(t)
	f.Tool.Mode = approval.Prompt
	if v := policy.Decide(f); v.Action != policy.Ask || v.Reason != "" || v.Approval.Mode != approval.Prompt {
		t.Fatalf("%+v", v)
	}
}

func TestFactsThatAreLeftOutDeny(t *testing.T) {
	if v := policy.Decide(policy.Facts{}); v.Action != policy.Deny {
		t.Fatalf("nothing at all is %s", v.Action)
	}
	f := allowed(t)
	f.Tool.Mode = 0
	if v := policy.Decide(f); v.Action != policy.Deny {
		t.Fatalf("a tool without a mode is %s", v.Action)
	}
}

// Taking any authority away never turns a no into a yes.
func TestLessAuthorityNeverAllowsMore(t *testing.T) {
	rank := map[policy.Action]int{policy.Allow: 0, policy.Ask: 1, policy.Deny: 2}
	rapid.Check(t, func(t *rapid.T) {
		all := breaks(t)
		var first, more []int
		for i := range all {
			if rapid.Bool().Draw(t, "first") {
				first = append(first, i)
			} else if rapid.Bool().Draw(t, "more") {
				more = append(more, i)
			}
		}
		f := allowed(t)
		for _, i := range first {
			all[i].do(&f)
		}
		before := policy.Decide(f)
		for _, i := range more {
			all[i].do(&f)
		}
		if after := policy.Decide(f); rank[after.Action] < rank[before.Action] {
			t.Fatalf("%s became %s", before.Action, after.Action)
		}
	})
}
