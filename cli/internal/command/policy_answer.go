package command

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/egress"
)

// explainAnswer is an explanation in a document.
type explainAnswer struct {
	Tool      string          `json:"tool"`
	Plugin    string          `json:"plugin,omitempty"`
	Core      string          `json:"core"`
	Revision  string          `json:"revision"`
	Principal string          `json:"principal"`
	Found     bool            `json:"found"`
	Decision  policy.Action   `json:"decision"` // allow, ask or deny
	Stage     policy.Stage    `json:"stage"`    // that decides
	Rule      string          `json:"rule"`     // that decides: "<file>: <rule>", or the stage
	Reason    string          `json:"reason,omitempty"`
	Why       string          `json:"why,omitempty"`
	Remedy    string          `json:"remedy,omitempty"`
	Needs     []string        `json:"needs"` // capabilities of this call
	Checks    []checkLine     `json:"checks"`
	Approval  modeAnswer      `json:"approval"`
	Approvers []string        `json:"approvers"` // who may decide it when a person must; none: who it runs for
	Arguments string          `json:"arguments_refused,omitempty"`
	Plan      json.RawMessage `json:"plan,omitempty"` // what would run beyond the arguments
	Secrets   *secretsAnswer  `json:"secrets,omitempty"`
	URL       *urlAnswer      `json:"url,omitempty"`
}

// checkLine is one check that was made.
type checkLine struct {
	Stage  policy.Stage `json:"stage"`
	Passed bool         `json:"passed"`
	Text   string       `json:"text"`
}

// modeAnswer is what the approval rules say by themselves, also where an earlier check decides.
type modeAnswer struct {
	Mode  string     `json:"mode,omitempty"` // auto, prompt or deny
	Rules []ruleLine `json:"rules"`          // every place that was looked at, in order
}

// ruleLine is one place that was looked at.
type ruleLine struct {
	Rule    string `json:"rule"`           // "<file>: <rule>" or "tool: own mode of <tool>"
	Mode    string `json:"mode,omitempty"` // empty: there is no such rule
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Decides bool   `json:"decides"`
}

// secretsAnswer are the secrets of the call by name, and why it would get none.
type secretsAnswer struct {
	Names   []string `json:"names"`
	Refused string   `json:"refused,omitempty"`
}

// urlAnswer is what would be said of the URL in the arguments, without asking a name server.
type urlAnswer struct {
	Origin   string   `json:"origin,omitempty"`
	Method   string   `json:"method"`
	Refused  string   `json:"refused,omitempty"` // why the URL can never be used
	Needs    []string `json:"needs_one_of"`
	Granted  bool     `json:"granted"`
	InCore   bool     `json:"in_core"`
	CoreRule string   `json:"refused_by_core,omitempty"`
	Manifest string   `json:"refused_by_manifest,omitempty"` // the plugin does not say that it goes there
	Grant    string   `json:"refused_by_grant,omitempty"`    // what is granted, net.fetch:*, does not do for this place
	Address  string   `json:"refused_address,omitempty"`     // the host is an address that is not open
}

func explainOf(x host.Explanation) explainAnswer {
	j := x.Judge()
	a := explainAnswer{
		Tool: x.Tool, Plugin: x.Plugin, Core: x.Core, Revision: x.Revision, Principal: x.Principal, Found: x.Found,
		Decision: j.Action, Stage: j.Stage, Rule: j.Rule, Reason: j.Reason, Why: j.Why, Remedy: j.Remedy,
		Needs: []string{}, Checks: []checkLine{}, Approval: modeAnswer{Rules: []ruleLine{}}, Arguments: x.Arguments.Why, Plan: x.Plan,
		Approvers: append([]string{}, x.Approvers...),
	}
	for _, n := range x.Needs {
		a.Needs = append(a.Needs, n.String())
	}
	a.Checks = checksOf(x, j)
	for _, step := range x.Approval.Trace {
		a.Approval.Rules = append(a.Approval.Rules, ruleOf(step))
	}
	if x.Found {
		a.Approval.Mode = x.Approval.Mode.String()
	}
	if len(x.Wanted.Names) > 0 {
		a.Secrets = &secretsAnswer{Names: x.Wanted.Names, Refused: x.Secrets.Why}
	}
	a.URL = urlOf(x.URL)
	return a
}

// stages are those of a judgement, in the order of the gate.
func stages() []policy.Stage {
	return []policy.Stage{host.StageRequest, policy.Scope, policy.Capability, policy.HostChecks, policy.Approval, host.StageSecrets, host.StageEgress}
}

// checksOf are the checks that were made, up to the one that says no: a check that the gate would not come to has not passed.
func checksOf(x host.Explanation, j host.Judgement) []checkLine {
	all, no := []checkLine{}, false
	for _, l := range x.Policy.Trace {
		if j.Action == policy.Deny && slices.Index(stages(), l.Stage) > slices.Index(stages(), j.Stage) {
			continue
		}
		if l.Passed && j.Action == policy.Deny && l.Stage == policy.Approval && j.Stage == policy.Approval {
			continue // the rules would ask, and nobody can be
		}
		all, no = append(all, checkLine(l)), no || !l.Passed
	}
	if j.Action == policy.Deny && !no && x.Found {
		all = append(all, checkLine{Stage: j.Stage, Text: j.Why})
	}
	return all
}

func urlOf(u *host.URLExplanation) *urlAnswer {
	if u == nil {
		return nil
	}
	a := &urlAnswer{Origin: u.Origin, Method: u.Method, Needs: append([]string{}, u.Needs...), Granted: u.Granted, InCore: u.InCore}
	if !u.Parsed.Allowed {
		a.Refused = u.Parsed.Sentence
	}
	if !u.Rules.Allowed {
		a.CoreRule = u.Rules.Sentence
	}
	if u.Parsed.Allowed && !u.Declared.Allowed {
		a.Manifest = u.Declared.Sentence
	}
	if u.Declared.Allowed && u.Granted && u.InCore && u.Rules.Allowed && !u.Judged.Allowed {
		a.Grant = u.Judged.Sentence
	}
	switch u.Address.Reason {
	case egress.Allowed:
	case egress.PrivateAddress:
		a.Address = u.Address.Sentence + ": " + u.Address.Remedy
	default: // nothing opens it
		a.Refused = u.Address.Sentence
	}
	return a
}

func ruleOf(s approval.Step) ruleLine {
	l := ruleLine{Rule: s.Source + ": " + s.Rule, File: s.At.File, Line: s.At.Line, Column: s.At.Column, Decides: s.Decides}
	if s.Mode.Valid() {
		l.Mode = s.Mode.String()
	}
	return l
}

func sayExplained(t *console.Text, a explainAnswer, x host.Explanation) {
	if !a.Found {
		t.Say("%s core %s has no tool %s: %s", console.Bad("not found:"), a.Core, a.Tool, console.Command(a.Remedy))
		return
	}
	t.Say("%s of %s in core %s: %s", console.Bold(a.Tool), orHost(a.Plugin), a.Core, decided(a.Decision))
	for _, c := range a.Checks {
		mark := console.Good("pass")
		switch {
		case !c.Passed:
			mark = console.Bad("no  ")
		case c.Stage == policy.Approval && x.Policy.Action == policy.Ask:
			mark = console.Warn("ask ")
		}
		t.Say("  %s %-11s %s", mark, string(c.Stage), c.Text)
	}
	t.Say("approval rules by themselves: %s; looked at, in order:", a.Approval.Mode)
	for _, step := range x.Approval.Trace {
		t.Say("  %s", step.String())
	}
	if a.Decision == policy.Ask {
		t.Say("who may decide: %s", strings.Join(deciders(a), ", "))
	}
	if len(a.Plan) > 0 {
		t.Say("it would run")
		t.Prose("  ", string(a.Plan))
	}
	sayBound(t, a)
	if a.Why != "" {
		t.Say("decided by %s: %s", string(a.Stage), a.Why)
	}
	if a.Arguments != "" {
		t.Say("%s %s", console.Bad("the arguments would be refused:"), a.Arguments)
	}
	if a.Remedy != "" {
		t.Say("to change that: %s", console.Command(a.Remedy))
	}
}

// deciders are who may answer the question of the call, the operator first.
func deciders(a explainAnswer) []string {
	all := []string{authority.OperatorID}
	if len(a.Approvers) == 0 {
		all = append(all, a.Principal)
	}
	all = append(all, a.Approvers...)
	slices.Sort(all[1:])
	return slices.Compact(all)
}

// sayBound is what the call reaches beyond the machine.
func sayBound(t *console.Text, a explainAnswer) {
	if b := a.Secrets; b != nil && b.Refused == "" {
		t.Say("secrets: %s would be bound", strings.Join(b.Names, ", "))
	} else if b != nil {
		t.Say("secrets: %s: %s %s", strings.Join(b.Names, ", "), console.Bad("none would be bound:"), b.Refused)
	}
	if u := a.URL; u != nil {
		switch {
		case u.Refused != "":
			t.Say("%s %s", console.Bad("the URL can never be used:"), u.Refused)
		case u.CoreRule != "":
			t.Say("%s %s", console.Bad("the core's egress rules refuse the URL:"), u.CoreRule)
		case u.Manifest != "":
			t.Say("%s %s", console.Bad("the plugin does not declare this URL:"), u.Manifest)
		case u.Grant == "" && u.Granted && u.InCore && u.Address != "":
			t.Say("%s %s", console.Bad("the URL's address would be refused:"), u.Address)
		default:
			t.Say("the URL's origin is %s; granted to the plugin: %v; listed in the core: %v", u.Origin, u.Granted, u.InCore)
		}
	}
}

// decided is a decision in words.
func decided(a policy.Action) console.Styled {
	switch a {
	case policy.Allow:
		return console.Good("would run")
	case policy.Ask:
		return console.Warn("a person would be asked")
	}
	return console.Bad("would be denied")
}

// orHost is the plugin that a tool is of, or the host for its own.
func orHost(plugin string) string {
	if plugin == "" {
		return "the host itself"
	}
	return plugin
}
