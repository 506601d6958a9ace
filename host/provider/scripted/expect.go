package scripted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// expectation is what a step wants the model to have been shown. The zero value
// wants nothing.
type expectation struct {
	lastUser textRule
	system   textRule
	include  []string
	exclude  []string
	results  []resultRule
	nowhere  []string
}

type textRule struct {
	equals   *string
	contains []string
	without  []string
}

// resultRule must be met, whole, by one of the results just shown.
type resultRule struct {
	name   string
	status string
	text   textRule
}

func (d decoder) expectation(node ast.Node, y *expectYAML) (expectation, error) {
	if y == nil {
		return expectation{}, nil
	}
	e := expectation{
		lastUser: rule(y.LastUser), system: rule(y.System),
		include: y.Tools.Include, exclude: y.Tools.Exclude, nowhere: y.NotContains,
	}
	for _, r := range y.ToolResult {
		e.results = append(e.results, resultRule{
			name: r.Name, status: r.Status,
			text: textRule{contains: r.Contains, without: r.NotContains},
		})
	}
	// An empty text is contained in everything: such a line could never fail, or
	// could never hold, and says something its author did not mean.
	lists := [][]string{e.include, e.exclude, e.nowhere, e.lastUser.contains, e.lastUser.without, e.system.contains, e.system.without}
	for _, r := range e.results {
		lists = append(lists, r.text.contains, r.text.without)
	}
	for _, list := range lists {
		if slices.Contains(list, "") {
			return expectation{}, d.fail(node, "expect holds an empty text")
		}
	}
	return e, nil
}

func rule(y textYAML) textRule {
	return textRule{equals: y.Equals, contains: y.Contains, without: y.NotContains}
}

// broken returns what was expected and what was seen instead, or ok.
func (e expectation) broken(req provider.Request) (expected, seen string, ok bool) {
	for _, check := range []func(provider.Request) (string, string, bool){
		e.checkUser, e.checkSystem, e.checkTools, e.checkResults, e.checkNowhere,
	} {
		if expected, seen, ok := check(req); !ok {
			return expected, seen, false
		}
	}
	return "", "", true
}

func (e expectation) checkUser(req provider.Request) (string, string, bool) {
	last := ""
	for _, m := range req.Messages {
		if m.Role == provider.RoleUser {
			last = m.Text()
		}
	}
	want, ok := e.lastUser.fails(last)
	return "the last user message " + want, last, ok
}

func (e expectation) checkSystem(req provider.Request) (string, string, bool) {
	system := req.System
	for _, m := range req.Messages {
		if m.Role == provider.RoleSystem {
			system += "\n" + m.Text()
		}
	}
	want, ok := e.system.fails(system)
	return "the system prompt " + want, system, ok
}

func (e expectation) checkTools(req provider.Request) (string, string, bool) {
	var offered []string
	for _, t := range req.Tools {
		offered = append(offered, t.Name)
	}
	seen := "the tools on offer: " + strings.Join(offered, ", ")
	for _, name := range e.include {
		if _, found := find(req.Tools, name); !found {
			return fmt.Sprintf("tool %s to be on offer", name), seen, false
		}
	}
	for _, name := range e.exclude {
		if _, found := find(req.Tools, name); found {
			return fmt.Sprintf("tool %s not to be on offer", name), seen, false
		}
	}
	return "", "", true
}

// find looks a tool up by its name or its wire name.
func find(tools []provider.ToolDefinition, name string) (provider.ToolDefinition, bool) {
	for _, t := range tools {
		if t.Name == name || t.WireName == name {
			return t, true
		}
	}
	return provider.ToolDefinition{}, false
}

func (e expectation) checkResults(req provider.Request) (string, string, bool) {
	shown := latest(req)
	for _, r := range e.results {
		if !slices.ContainsFunc(shown, r.holds) {
			return "a tool result " + r.String(), describe(shown), false
		}
	}
	return "", "", true
}

// shownResult is a result with the names of the tool that gave it.
type shownResult struct {
	result   provider.ToolResult
	name     string
	wireName string
}

// latest returns the results since the model last spoke.
func latest(req provider.Request) []shownResult {
	wires := make(map[string]string)
	var out []shownResult
	for _, m := range req.Messages {
		if m.Role == provider.RoleAssistant {
			out = nil
			for _, c := range m.Calls() {
				wires[c.ID] = c.Name
			}
		}
		for _, p := range m.Parts {
			if p.Kind != provider.PartToolResult {
				continue
			}
			wire := wires[p.Result.CallID]
			name := strings.ReplaceAll(wire, "-", ".")
			if t, ok := find(req.Tools, wire); ok {
				name = t.Name
			}
			out = append(out, shownResult{result: p.Result, name: name, wireName: wire})
		}
	}
	return out
}

func (r resultRule) holds(s shownResult) bool {
	if r.name != "" && r.name != s.name && r.name != s.wireName {
		return false
	}
	switch r.status {
	case "", s.result.Status:
	case "ok":
		if s.result.IsError {
			return false
		}
	case "error":
		if !s.result.IsError {
			return false
		}
	default:
		return false
	}
	_, ok := r.text.fails(s.result.Content)
	return ok
}

// String describes the rule as the end of "a tool result ...".
func (r resultRule) String() string {
	var parts []string
	if r.name != "" {
		parts = append(parts, "of "+r.name)
	}
	if r.status != "" {
		parts = append(parts, "with status "+r.status)
	}
	for _, c := range r.text.contains {
		parts = append(parts, fmt.Sprintf("containing %q", c))
	}
	for _, c := range r.text.without {
		parts = append(parts, fmt.Sprintf("not containing %q", c))
	}
	return strings.Join(parts, " ")
}

func describe(shown []shownResult) string {
	if len(shown) == 0 {
		return "no tool result"
	}
	var parts []string
	for _, s := range shown {
		status := s.result.Status
		if status == "" && s.result.IsError {
			status = "error"
		}
		parts = append(parts, fmt.Sprintf("%s [%s]: %s", s.name, status, s.result.Content))
	}
	return strings.Join(parts, "; ")
}

func (e expectation) checkNowhere(req provider.Request) (string, string, bool) {
	for _, secret := range e.nowhere {
		for _, piece := range everything(req) {
			if strings.Contains(piece.text, secret) {
				return fmt.Sprintf("%q nowhere", secret), "it in " + piece.where, false
			}
		}
	}
	return "", "", true
}

type piece struct{ where, text string }

// everything lists all the text a model is shown.
func everything(req provider.Request) []piece {
	out := []piece{{"the system prompt", req.System}}
	for _, t := range req.Tools {
		out = append(out, piece{"the definition of tool " + t.Name, t.Name + "\n" + t.WireName + "\n" + t.Description + "\n" + string(t.InputSchema)})
	}
	for i, m := range req.Messages {
		where := fmt.Sprintf("message %d (%s)", i+1, m.Role)
		for _, p := range m.Parts {
			out = append(
				out, piece{where, p.Text}, piece{where, p.Result.Content},
				piece{where, p.Call.Name}, piece{where, string(p.Call.Arguments)}, piece{where, string(p.Opaque.Data)},
			)
		}
	}
	return out
}

// fails returns the first rule that text breaks, as the end of a sentence, or ok.
func (r textRule) fails(text string) (want string, ok bool) {
	if r.equals != nil && *r.equals != text {
		return fmt.Sprintf("to be %q", *r.equals), false
	}
	for _, c := range r.contains {
		if !strings.Contains(text, c) {
			return fmt.Sprintf("to contain %q", c), false
		}
	}
	for _, c := range r.without {
		if strings.Contains(text, c) {
			return fmt.Sprintf("not to contain %q", c), false
		}
	}
	return "", true
}
