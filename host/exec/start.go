package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// StartTool starts a program in the background, as a task of the session.
const StartTool = "task.start"

// maxBackground bounds, in milliseconds, how long a program may run in the background.
const (
	maxBackground     = 24 * 60 * 60 * 1000
	defaultBackground = 60 * 60 * 1000
)

// starter is task.start. It plans as process.exec does, so that what is asked and approved is the same; what it does is to
// queue.
type starter struct{ *words }

// startTool is the tool for a core that may run programs and control tasks.
func (s *Source) startTool(exec capability.Name) (effect.Tool, error) {
	control, err := capability.Parse(task.Capability)
	return effect.Tool{
		Name: StartTool,
		Description: "Start a program of this machine in the background and return its task at once. The next turn of this session is told how it ended; " +
			task.StatusTool + ", " + task.LogsTool + " and " + task.CancelTool + " look after it. One task at a time runs in a folder and what is in it. " + describe(s.rule),
		InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
			`"argv":{"type":"array","minItems":1,"maxItems":%d,"items":{"type":"string","maxLength":%d},"description":"the program and its arguments, one word each; no shell reads them"},`+
			`"cwd":{"type":"string","minLength":1,"maxLength":1024,"description":"folder below the workspace"},`+
			`"env":{"type":"object","maxProperties":%d,"additionalProperties":{"type":"string","maxLength":%d},"description":"variables"},`+
			`"timeout_ms":{"type":"integer","minimum":1,"maximum":%d,"description":"when it is stopped; an hour unless said otherwise"}`+
			`},"required":["argv"],"additionalProperties":false}`, maxWords, maxWord, maxVariables, maxWord, maxBackground)),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"task":{"type":"string"},"state":{"type":"string"},"title":{"type":"string"}},` +
			`"required":["task","state","title"],"additionalProperties":false}`),
		Needs: []capability.Name{exec, control}, Risk: approval.High, Approval: approval.Prompt, Recovery: "manual", Files: true,
		Origin: effect.Builtin, Provenance: "builtin:" + StartTool, Adapter: &starter{&words{s}},
	}, err
}

// spec is what a background program is told, as its task keeps it.
type spec struct {
	Arguments json.RawMessage `json:"arguments"` // as they were approved, byte for byte
	Workspace string          `json:"workspace"`
}

// text is the spec as its task keeps it. [json.Marshal] would write <, > and & of the arguments in another way, and other bytes
// than those that were approved.
func (s spec) text() (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// scope is a folder, free of links, as the write scope of a task: it holds those of the folders in it.
func scope(dir string) string {
	return "process:" + strings.TrimSuffix(filepath.ToSlash(filepath.Clean(dir)), "/")
}

// Invoke queues the task. The effect's id is its instance: an effect queues one task at the most, however often it is asked.
func (s *starter) Invoke(ctx context.Context, call effect.Call) effect.Outcome {
	failed := func(reason, detail string) effect.Outcome {
		return effect.Outcome{Status: effect.Failed, Reason: reason, Detail: detail}
	}
	if call.Plan == nil || s.cfg.Queue == nil {
		return failed("not_planned", "the call came without its plan, or there is nothing to queue tasks in")
	}
	if _, held := call.Redactor().Holds(call.Arguments); held {
		return failed("secret_in_arguments", "a word or variable holds a secret, which a task would keep: background programs get none")
	}
	kept, err := spec{call.Arguments, call.Turn.Workspace()}.text()
	if err != nil || len(kept) > task.MaxSpec {
		return failed("arguments_too_long", fmt.Sprintf("a background program is told at most %d bytes: put them into a file", task.MaxSpec))
	}
	title := call.Redactor().Short(redact.ForDurable, strings.Join(strings.Fields(strings.Join(call.Plan.Argv, " ")), " "), task.MaxTitle)
	t, how, err := s.cfg.Queue(ctx, call, task.Task{
		Kind: task.Process, Instance: string(call.Effect), Session: call.Turn.Session(), Turn: call.Turn.ID(), Core: call.Turn.Core().ID,
		Title: title, Spec: kept, Digest: call.Plan.Digest(string(call.Arguments)), Scope: scope(call.Plan.Dir),
	})
	switch {
	case err != nil:
		return failed("task_not_queued", err.Error())
	case how == task.ScopeBusy:
		return failed("folder_busy", "another background task is open in "+call.Plan.Dir+", above it or below it: wait for it, cancel it, or run in another folder")
	case how == task.TooMany:
		return failed("too_many_tasks", fmt.Sprintf("the session has %d open tasks already: wait for one, or cancel it", task.MaxOpen))
	case how != task.Accepted && how != task.Duplicate:
		return failed("task_not_queued", "the store answered "+string(how))
	}
	raw, err := json.Marshal(map[string]string{"task": string(t.ID), "state": string(t.State), "title": t.Title})
	if err != nil {
		return failed("result_unwritable", err.Error())
	}
	return effect.Outcome{Status: effect.Succeeded, Result: raw}
}
