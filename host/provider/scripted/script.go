package scripted

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml/ast"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// Script is a parsed script. It never changes; any number of models may run it.
type Script struct {
	name   string
	model  string
	limits provider.Limits
	repeat bool
	steps  []step
}

// Steps returns the number of steps, at least one.
func (s *Script) Steps() int { return len(s.steps) }

// step is one answer. Exactly one of say, calls and failure is set.
type step struct {
	line    int
	expect  expectation
	say     string
	calls   []call
	failure *failure
	text    string // said before the calls
	finish  provider.FinishReason
	chunks  int
	usage   *provider.Usage
}

type call struct {
	tool string
	id   string
	args string
}

type failure struct {
	kind       provider.ErrorKind
	status     int
	retryAfter time.Duration
	message    string
	after      string // streamed before the failure
}

// What a scripted model claims for itself when the script does not say.
const (
	defaultWindow = 200_000
	defaultOutput = 8_192
)

func (d decoder) script(f fileYAML) (*Script, error) {
	if f.Version != 1 {
		return nil, d.fail(nil, "has version %d: write version: 1", f.Version)
	}
	if f.Limits.ContextWindow < 0 || f.Limits.MaxOutput < 0 {
		return nil, d.fail(nil, "has negative limits")
	}
	limits := limits(f.Limits.ContextWindow, f.Limits.MaxOutput)
	if limits.MaxOutput >= limits.ContextWindow {
		return nil, d.fail(nil, "has limits that leave no room for a prompt")
	}
	nodes, ok := f.Steps.(*ast.SequenceNode)
	if !ok || len(nodes.Values) == 0 {
		return nil, d.fail(f.Steps, "needs steps: a list of at least one step")
	}
	if len(nodes.Values) > maxSteps {
		return nil, d.fail(f.Steps, "has more than %d steps", maxSteps)
	}
	s := &Script{name: d.name, model: f.Model, repeat: f.Repeat, limits: limits}
	if s.model == "" {
		s.model = "script"
	}
	for _, node := range nodes.Values {
		step, err := d.step(node)
		if err != nil {
			return nil, err
		}
		s.steps = append(s.steps, step)
	}
	return s, nil
}

func limits(window, output int) provider.Limits {
	if window == 0 {
		window = defaultWindow
	}
	if output == 0 {
		output = min(defaultOutput, window/2)
	}
	return provider.LimitsFor("", window, output)
}

func (d decoder) step(node ast.Node) (step, error) {
	var y stepYAML
	if err := d.decode(node, &y); err != nil {
		return step{}, err
	}
	line, _ := start(node)
	s := step{line: line, chunks: 1}
	if err := d.action(node, y, &s); err != nil {
		return step{}, err
	}
	if err := d.manner(node, y, &s); err != nil {
		return step{}, err
	}
	expect, err := d.expectation(node, y.Expect)
	s.expect = expect
	return s, err
}

// action reads the one thing a step does.
func (d decoder) action(node ast.Node, y stepYAML, s *step) error {
	actions := 0
	for _, present := range []bool{y.Say != nil, y.Call != nil, y.Error != nil} {
		if present {
			actions++
		}
	}
	if actions != 1 {
		return d.fail(node, "the step has %d actions: write exactly one of say, call, error", actions)
	}
	switch {
	case y.Say != nil:
		if *y.Say == "" {
			return d.fail(node, "say is empty")
		}
		s.say = *y.Say
		return nil
	case y.Call != nil:
		return d.calls(node, y.Call, s)
	default:
		return d.failure(node, *y.Error, s)
	}
}

func (d decoder) calls(node ast.Node, in []callYAML, s *step) error {
	if len(in) == 0 {
		return d.fail(node, "call is an empty list")
	}
	for i, c := range in {
		switch {
		case c.Tool == "":
			return d.fail(node, "call %d names no tool", i+1)
		case c.Args != nil && c.ArgsText != nil:
			return d.fail(node, "call %d has both args and args_text", i+1)
		}
		out := call{tool: c.Tool, id: c.ID, args: "{}"}
		switch {
		case c.ArgsText != nil:
			out.args = *c.ArgsText
		case c.Args != nil:
			raw, err := json.Marshal(c.Args, json.Deterministic(true))
			if err != nil {
				return d.fail(node, "the args of call %d cannot be written as JSON", i+1)
			}
			out.args = string(raw)
		}
		s.calls = append(s.calls, out)
	}
	return nil
}

func (d decoder) failure(node ast.Node, y errorYAML, s *step) error {
	f := failure{
		kind: provider.ErrorKind(y.Kind), status: y.Status, retryAfter: y.RetryAfter,
		message: y.Message, after: y.After,
	}
	usual, known := simulated(f.kind)
	switch {
	case !known:
		return d.fail(node, "error kind %q is not one a script can simulate: write rate_limited, overloaded, context_overflow, refused, auth, network, bad_request, protocol or too_large", y.Kind)
	case y.Status < 0 || y.Status > 599:
		return d.fail(node, "status %d is not an HTTP status", y.Status)
	case y.RetryAfter < 0:
		return d.fail(node, "retry_after is negative")
	}
	if f.status == 0 {
		f.status = usual
	}
	if f.message == "" {
		f.message = "simulated by the script"
	}
	s.failure = &f
	return nil
}

// simulated returns the HTTP status a failure of kind usually comes with.
func simulated(kind provider.ErrorKind) (status int, ok bool) {
	switch kind {
	case provider.KindRateLimited:
		return http.StatusTooManyRequests, true
	case provider.KindOverloaded:
		return http.StatusServiceUnavailable, true
	case provider.KindContextOverflow, provider.KindRefused, provider.KindBadRequest:
		return http.StatusBadRequest, true
	case provider.KindAuth:
		return http.StatusUnauthorized, true
	case provider.KindNetwork:
		return 0, true
	case provider.KindProtocol, provider.KindTooLarge:
		return http.StatusOK, true
	default:
		return 0, false
	}
}

// manner reads how the action is carried out.
func (d decoder) manner(node ast.Node, y stepYAML, s *step) error {
	if y.Error != nil && (y.Text != nil || y.Finish != nil || y.Usage != nil) {
		return d.fail(node, "text, finish and usage have no meaning beside error: text streamed before a failure is error.after")
	}
	if y.Text != nil {
		if y.Call == nil {
			return d.fail(node, "text goes with call: a step that only talks uses say")
		}
		s.text = *y.Text
	}
	if y.Chunks != nil {
		if *y.Chunks < 1 || *y.Chunks > maxChunks {
			return d.fail(node, "chunks is %d: it must be between 1 and %d", *y.Chunks, maxChunks)
		}
		s.chunks = *y.Chunks
	}
	s.finish = provider.FinishStop
	if y.Finish != nil {
		s.finish = provider.FinishReason(*y.Finish)
		switch s.finish {
		case provider.FinishStop, provider.FinishLength, provider.FinishRefused, provider.FinishOther:
		default:
			return d.fail(node, "finish %q is not known: write stop, length, refused or other (a step with call finishes with tool_calls by itself)", *y.Finish)
		}
	}
	if u := y.Usage; u != nil {
		if u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 {
			return d.fail(node, "usage has a negative count")
		}
		s.usage = &provider.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	}
	return nil
}

// describe names a step for a person: "step 2 of 5 (line 14)".
func (s *Script) describe(i int) string {
	return fmt.Sprintf("step %d of %d (line %d)", i+1, len(s.steps), s.steps[i].line)
}
