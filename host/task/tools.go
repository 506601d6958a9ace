package task

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// Names of the tools with which a model looks after the tasks of its own session.
const (
	ListTool   = "task.list"
	StatusTool = "task.status"
	LogsTool   = "task.logs"
	CancelTool = "task.cancel"
)

// Capability is what each of them needs.
const Capability = "task.control"

// Bounds of what a model is shown.
const (
	maxListed   = 50
	maxShown    = 400      // lines of a log
	maxLogShown = 16 << 10 // bytes of it
)

// Tools offers them. They reach the tasks of the turn's own session, whatever else its principal may see.
type Tools struct {
	Records Records
	IDs     *id.Source
	Clock   func() time.Time
}

// Tools returns the tools for a core that has the capability, and else none.
func (s Tools) Tools(_ context.Context, turn binding.Turn) ([]effect.Tool, error) {
	return s.Offered(turn.Core().Capabilities)
}

// Offered is Tools for a core with these capabilities.
func (s Tools) Offered(core capability.Snapshot) ([]effect.Tool, error) {
	need, err := capability.Parse(Capability)
	if err != nil || !core.Meets(need) {
		return nil, err
	}
	return s.tools(need), nil
}

// Known are the tools that rules of config.yaml may name.
func Known() ([]effect.Tool, error) {
	need, err := capability.Parse(Capability)
	return Tools{}.tools(need), err
}

func (s Tools) tools(need capability.Name) []effect.Tool {
	const named = `{"type":"object","properties":{"task":{"type":"string","maxLength":40,"description":"the task's id"}},"required":["task"],"additionalProperties":false}`
	all := []effect.Tool{
		{
			Name: ListTool, Description: "List the background tasks of this session, newest first.", Risk: approval.Low, Recovery: "read", Adapter: caller(s.list),
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"state":{"enum":["queued","running","blocked","succeeded","failed","cancelled","lost"]}},"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"tasks":{"type":"array","items":` + statusSchema + `}},"required":["tasks"],"additionalProperties":false}`),
		},
		{
			Name: StatusTool, Description: "Say where one background task of this session stands.", Risk: approval.Low, Recovery: "read", Adapter: caller(s.status),
			InputSchema: json.RawMessage(named), OutputSchema: json.RawMessage(statusSchema),
		},
		{
			Name: LogsTool, Description: "Show the end of what a background task of this session has printed.", Risk: approval.Low, Recovery: "read", Adapter: caller(s.logs),
			InputSchema:  json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"task":{"type":"string","maxLength":40},"lines":{"type":"integer","minimum":1,"maximum":%d}},"required":["task"],"additionalProperties":false}`, maxShown)),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"log":{"type":"string"}},"required":["log"],"additionalProperties":false}`),
		},
		{
			Name: CancelTool, Description: "Ask a background task of this session to end. It may be asked again.", Risk: approval.Medium, Recovery: "idempotent", Adapter: caller(s.cancel),
			InputSchema: json.RawMessage(named), OutputSchema: json.RawMessage(statusSchema),
		},
	}
	for i := range all {
		t := &all[i]
		t.Needs, t.Approval, t.Origin, t.Provenance = []capability.Name{need}, approval.Auto, effect.Builtin, "builtin:"+t.Name
	}
	return all
}

const statusSchema = `{"type":"object","properties":{"task":{"type":"string"},"kind":{"type":"string"},"title":{"type":"string"},"state":{"type":"string"},` +
	`"running":{"type":"boolean"},"cancel_requested":{"type":"boolean"},"reason":{"type":"string"},"summary":{"type":"string"},"created":{"type":"string"},` +
	`"started":{"type":"string"},"ended":{"type":"string"}},"required":["task","kind","title","state","running","created"],"additionalProperties":false}`

// status is a task as a model sees it.
type status struct {
	Task     id.Task `json:"task"`
	Kind     Kind    `json:"kind"`
	Title    string  `json:"title"`
	State    State   `json:"state"`
	Running  bool    `json:"running"`
	Unwanted bool    `json:"cancel_requested,omitempty"`
	Reason   string  `json:"reason,omitempty"`
	Summary  string  `json:"summary,omitempty"`
	Created  string  `json:"created"`
	Started  string  `json:"started,omitempty"`
	Ended    string  `json:"ended,omitempty"`
}

func statusOf(t Task) status {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return status{
		t.ID, t.Kind, t.Title, t.State, t.State.Held(), t.Unwanted && !t.State.Ended(), t.Reason, t.Said(), at(t.Created), at(t.Started), at(t.Ended),
	}
}

// arguments are those of all four; the gate has held them to the schema of the one that is called.
type arguments struct {
	Task  string `json:"task"`
	State State  `json:"state"`
	Lines int    `json:"lines"`
}

// caller is one tool: its answer, or why there is none.
type caller func(ctx context.Context, call effect.Call, a arguments) (answer any, no effect.Outcome)

// Invoke is [effect.Adapter].
func (c caller) Invoke(ctx context.Context, call effect.Call) effect.Outcome {
	var a arguments
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return effect.Outcome{Status: effect.Failed, Reason: "arguments_schema", Detail: err.Error()}
	}
	answer, no := c(ctx, call, a)
	if no.Status != "" {
		return no
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return effect.Outcome{Status: effect.Failed, Reason: "result_unwritable", Detail: err.Error()}
	}
	return effect.Outcome{Status: effect.Succeeded, Result: raw}
}

func unreadable(err error) effect.Outcome {
	return effect.Outcome{Status: effect.Failed, Reason: "tasks_unreadable", Detail: err.Error()}
}

// unknown is the one answer to what does not exist and to what is another's. The name is told whole or not at all: a part of a
// secret could not be hidden any more.
func unknown(text string) effect.Outcome {
	if len(text) > 40 {
		text = "of that name"
	} else {
		text = strconv.Quote(text)
	}
	return effect.Outcome{Status: effect.Failed, Reason: "task_not_found", Detail: "this session has no task " + text + ": task.list lists them"}
}

func (s Tools) list(ctx context.Context, call effect.Call, a arguments) (any, effect.Outcome) {
	found, err := s.Records.Tasks(ctx, call.Turn.Principal(), call.Turn.Session(), a.State, 0, maxListed)
	if err != nil {
		return nil, unreadable(err)
	}
	all := []status{}
	for _, t := range found {
		all = append(all, statusOf(t))
	}
	return map[string]any{"tasks": all}, effect.Outcome{}
}

func (s Tools) status(ctx context.Context, call effect.Call, a arguments) (any, effect.Outcome) {
	key, err := id.ParseTask(a.Task)
	if err != nil {
		return nil, unknown(a.Task)
	}
	t, found, err := s.Records.Task(ctx, call.Turn.Principal(), call.Turn.Session(), key)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case !found:
		return nil, unknown(a.Task)
	}
	return statusOf(t), effect.Outcome{}
}

func (s Tools) logs(ctx context.Context, call effect.Call, a arguments) (any, effect.Outcome) {
	key, err := id.ParseTask(a.Task)
	if err != nil {
		return nil, unknown(a.Task)
	}
	text, found, err := s.Records.TaskLog(ctx, call.Turn.Principal(), call.Turn.Session(), key, cmp.Or(a.Lines, 40), min(maxLogShown, call.Output))
	switch {
	case err != nil:
		return nil, unreadable(err)
	case !found:
		return nil, unknown(a.Task)
	}
	return map[string]string{"log": text}, effect.Outcome{}
}

func (s Tools) cancel(ctx context.Context, call effect.Call, a arguments) (any, effect.Outcome) {
	key, err := id.ParseTask(a.Task)
	if err != nil {
		return nil, unknown(a.Task)
	}
	r := event.Record{ID: s.IDs.Event(), At: s.Clock(), Kind: event.TaskCancelAsked, Effect: call.Effect}
	t, how, err := s.Records.CancelTask(ctx, call.Turn.Principal(), call.Turn.Session(), key, r)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case how == CancelNoTask:
		return nil, unknown(a.Task)
	}
	return statusOf(t), effect.Outcome{}
}
