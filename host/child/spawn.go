package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Tool is the tool's name. A call of it needs agents.spawn:<core> of its core.
const Tool = "agents.spawn"

// family is what a core must be granted, with the id of a core after it.
const family = "agents.spawn"

// Bounds of one child; [turn.MaxChildren] and its like say how many there may be.
const (
	MaxTask   = 16 << 10 // bytes of what a child is asked to do
	MaxResult = 64 << 10 // bytes of what it answers
)

// Stable reasons of a refusal. Nothing was started then.
const (
	ReasonDepth = "child_" + turn.RejectDepth
	ReasonCount = "child_" + turn.RejectCount
	ReasonBusy  = "child_" + turn.RejectCrowd
	ReasonCore  = "child_core" // the core is not there, or cannot be used
)

// Runner runs the child's turn, which nobody watches.
type Runner interface {
	Run(ctx context.Context, req turn.Request) (turn.Result, error)
}

// Authority names the child.
type Authority interface {
	Child(ctx context.Context, parent principal.Scope, t id.Turn, e id.Effect) (principal.Facts, error)
}

// Source offers [Tool] to turns whose core is granted some agents.spawn:<core>.
type Source struct {
	Runner    Runner
	Authority Authority
}

// Known is the tool as approval rules see it, for a core that may have children; else nothing.
func Known(grants capability.Snapshot) []approval.Entry {
	if !grants.AllowsFamily(family) {
		return nil
	}
	e := approval.Entry{Tool: Tool, Risk: approval.Medium, Mode: approval.Auto}
	for _, g := range grants.Strings() {
		if n, err := capability.Parse(g); err == nil && n.Family() == family {
			e.Capabilities = append(e.Capabilities, n)
		}
	}
	return []approval.Entry{e}
}

// Tools returns the tool.
func (s *Source) Tools(_ context.Context, bound binding.Turn) ([]effect.Tool, error) {
	grants := bound.Core().Capabilities
	if !grants.AllowsFamily(family) {
		return nil, nil
	}
	var cores []string
	for _, g := range grants.Strings() {
		if core, ok := strings.CutPrefix(g, family+":"); ok {
			cores = append(cores, core)
		}
	}
	return []effect.Tool{{
		Name: Tool,
		Description: "Have another agent do one task, and wait for its answer. It sees nothing of this conversation: say in the task all that it needs. " +
			"It can do no more than you can. Cores: " + strings.Join(cores, ", ") + ".",
		InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"core":{"type":"string","minLength":1,"maxLength":64,"pattern":"^[a-z][a-z0-9-]*$",`+
			`"description":"id of the core that does it"},"task":{"type":"string","minLength":1,"maxLength":%d,"description":"what to do, complete in itself"}},`+
			`"required":["core","task"],"additionalProperties":false}`, MaxTask)),
		Risk: approval.Medium, Approval: approval.Auto, Recovery: "manual", Asks: asks, OwnTime: true, Timeout: effect.MaxTimeout, Output: MaxResult,
		Origin: effect.Builtin, Provenance: "builtin:" + Tool, Adapter: spawner{s},
	}}, nil
}

// asks is the capability that a call needs.
func asks(args document.Document) []string {
	var in input
	if json.Unmarshal(args.Bytes(), &in) != nil {
		return nil // the schema has said so already
	}
	return []string{family + ":" + in.Core}
}

type input struct {
	Core string `json:"core"`
	Task string `json:"task"`
}

// answer is what the parent's model reads, and what its record keeps: the child by name.
type answer struct {
	Turn    id.Turn      `json:"turn"`
	Session id.Session   `json:"session"`
	Core    string       `json:"core"`
	Outcome turn.Outcome `json:"outcome"`
	Reason  string       `json:"reason,omitempty"`
	Reply   string       `json:"reply"`
	Cut     bool         `json:"cut,omitempty"` // the reply was longer
}

// spawner runs children. How many there may be is the Execution's to say, which all of them pass.
type spawner struct{ of *Source }

// Invoke runs one child and waits for its end, also when ctx is over: the turn winds up then.
func (s spawner) Invoke(ctx context.Context, call effect.Call) effect.Outcome {
	var in input
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return refused(ReasonCore, "the arguments cannot be read: "+err.Error())
	}
	actor, err := s.of.Authority.Child(ctx, call.Turn.Principal(), call.Turn.ID(), call.Effect)
	if err != nil {
		return refused("child_authority", "the child cannot be given authority: "+err.Error())
	}
	res, err := s.of.Runner.Run(ctx, turn.Request{
		Actor: actor, Selector: turn.Selector{Kind: turn.Fresh}, Core: in.Core, Input: in.Task, Workspace: call.Turn.Workspace(),
		Known: call.Redactor(), Parent: &turn.Parent{Turn: call.Turn, Setup: call.Setup()},
	})
	return ended(ctx, in.Core, res, err)
}

func refused(reason, detail string) effect.Outcome {
	return effect.Outcome{Status: effect.Failed, Reason: reason, Detail: detail}
}

// ended is the effect's outcome. The host's own context says whether it was cancelled; what nobody knows stays unknown.
func ended(ctx context.Context, core string, res turn.Result, err error) effect.Outcome {
	var no *turn.RejectedError
	switch {
	case errors.As(err, &no) && no.Reason == turn.RejectCore:
		return refused(ReasonCore, no.Sentence)
	case errors.As(err, &no):
		return refused("child_"+no.Reason, no.Sentence)
	case res.Turn() == "":
		return effect.Outcome{Status: effect.Indeterminate, Reason: "child_unknown", Detail: fmt.Sprintf("how the child ended is not known: %v", err)}
	case res.Outcome() == turn.Indeterminate || res.Outcome() == turn.Lost:
		return effect.Outcome{
			Status: effect.Indeterminate, Reason: "child_indeterminate",
			Detail: fmt.Sprintf("something that its child did may or may not have happened: `portcullis turns show %s`", res.Turn()),
		}
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return effect.Outcome{Status: effect.TimedOut, Reason: "deadline"}
	case ctx.Err() != nil:
		return effect.Outcome{Status: effect.Cancelled, Reason: "cancelled"}
	}
	reply, cut := bounded(res.Reply())
	raw, err := json.Marshal(answer{res.Turn(), res.Session(), core, res.Outcome(), res.Reason(), reply, cut})
	if err != nil { // a struct of strings always marshals
		panic(err)
	}
	return effect.Outcome{Status: effect.Succeeded, Result: raw, Duration: res.Duration()}
}

// bounded is a reply of which every byte may need an escape of six.
func bounded(reply string) (string, bool) {
	for size, i := 1<<10, 0; i < len(reply); { // room for the other members
		r, n := utf8.DecodeRuneInString(reply[i:])
		cost := n
		if r < ' ' || r == '"' || r == '\\' || r == '<' || r == '>' || r == '&' || r == 0x2028 || r == 0x2029 || r == utf8.RuneError {
			cost = 6
		}
		if size += cost; size > MaxResult {
			return reply[:i], true
		}
		i += n
	}
	return reply, false
}
