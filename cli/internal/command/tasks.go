package command

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
)

func (s *shell) tasks() *cli.Command {
	return &cli.Command{
		Name: "tasks", Usage: "background programs and runs of schedules", Action: group,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list tasks, newest first", Action: s.listTasks,
				Flags: listFlags(20, &cli.StringFlag{
					Name: "state", Value: "all", Usage: "only those in `STATE`: queued, running, blocked, succeeded, failed, cancelled, lost or all",
				}),
			},
			{Name: "show", Usage: "show one task whole", ArgsUsage: "TASK", Action: s.showTask},
			{
				Name: "logs", Usage: "show the end of what a task has printed", ArgsUsage: "TASK", Action: s.taskLogs,
				Flags: []cli.Flag{limitFlag(100)},
			},
			{Name: "cancel", Usage: "end a task; may be repeated", ArgsUsage: "TASK", Action: s.cancelTask},
		},
	}
}

// taskAnswer is a task in a document.
type taskAnswer struct {
	ID       id.Task     `json:"id"`
	Kind     task.Kind   `json:"kind"`
	State    task.State  `json:"state"`
	Title    string      `json:"title"`
	Core     string      `json:"core"`
	Schedule string      `json:"schedule,omitempty"`
	Due      *string     `json:"due,omitempty"`
	Session  id.Session  `json:"session,omitempty"`
	Turn     id.Turn     `json:"turn,omitempty"`
	Unwanted bool        `json:"cancel_requested"`
	Reason   string      `json:"reason,omitempty"`
	Summary  string      `json:"summary,omitempty"`
	Notice   task.Notice `json:"notice,omitempty"`
	Told     id.Turn     `json:"told_turn,omitempty"`
	LogLines int64       `json:"log_lines"`
	LogBytes int64       `json:"log_bytes"`
	Created  *string     `json:"created"`
	Started  *string     `json:"started,omitempty"`
	Ended    *string     `json:"ended,omitempty"`
}

func taskOf(t task.Task) taskAnswer {
	return taskAnswer{
		ID: t.ID, Kind: t.Kind, State: t.State, Title: t.Title, Core: t.Core, Schedule: t.Schedule, Due: moment(t.Due), Session: t.Session,
		Turn: t.Turn, Unwanted: t.Unwanted, Reason: t.Reason, Summary: t.Summary, Notice: t.Notice, Told: t.Told, LogLines: t.LogLines,
		LogBytes: t.LogBytes, Created: moment(t.Created), Started: moment(t.Started), Ended: moment(t.Ended),
	}
}

func (s *shell) listTasks(c *cli.Context) error {
	state := task.State(c.String("state"))
	switch {
	case state == "all":
		state = ""
	case !state.Valid():
		p := usage("--state %q is not one of queued, running, blocked, succeeded, failed, cancelled, lost, all", string(state))
		p.Remedy = "write --state=all"
		return p
	}
	return listing[task.Task]{
		name: "tasks", most: 500, none: "no tasks: an agent starts programs in the background with task.start, and `portcullis serve` runs schedules",
		find: func(ctx context.Context, r *app.Records, skip, n int) ([]task.Task, error) {
			return r.Store.Tasks(ctx, r.By, "", state, skip, n)
		},
		answer: func(t task.Task) any { return taskOf(t) },
		head:   []string{"task", "state", "kind", "core", "created", "reason", "title"},
		row: func(t task.Task) []any {
			return []any{t.ID, t.State, t.Kind, t.Core, stamp(t.Created), t.Reason, console.Cut(t.Title, 40)}
		},
	}.show(s, c)
}

// namedTask runs do with the task that the operand names.
func (s *shell) namedTask(c *cli.Context, do func(ctx context.Context, r *app.Records, t task.Task) error) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseTask(args[0])
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		t, ok, err := r.Store.Task(ctx, r.By, "", name)
		if err != nil {
			return err
		}
		if !ok {
			return notFound("task", name, "portcullis tasks list")
		}
		return do(ctx, r, t)
	})
}

func (s *shell) showTask(c *cli.Context) error {
	return s.namedTask(c, func(_ context.Context, _ *app.Records, t task.Task) error {
		return s.out.Answer(taskOf(t), func(text *console.Text) { sayTask(text, t) })
	})
}

// sayTask shows where a task stands and what may be done.
func sayTask(text *console.Text, t task.Task) {
	text.Say("task       %s (%s) of core %s", t.ID, t.Kind, t.Core)
	if t.Schedule != "" {
		text.Say("schedule   %s, due at %s", t.Schedule, stamp(t.Due))
	}
	if t.Session != "" {
		text.Say("from       turn %s of session %s", t.Turn, t.Session)
	}
	text.Say("state      %s; queued at %s%s%s", t.State, stamp(t.Created), after(", begun at ", stamp(t.Started)), after(", ended at ", stamp(t.Ended)))
	if t.Reason != "" {
		text.Say("reason     %s", t.Reason)
	}
	switch {
	case t.State == task.Queued:
		text.Say("next       it begins when a host works: `portcullis serve`, or `portcullis chat`")
	case t.State == task.Blocked:
		text.Say("next       it waits for a person: `portcullis approvals list --state pending`")
	case t.State == task.Lost:
		text.Say("next       its host died while it ran, so that what it did is not known; look, and ask for it again if need be: it is not run again by itself")
	case t.Unwanted && !t.State.Ended():
		text.Say("next       it was asked to end")
	}
	switch t.Notice {
	case task.Waiting:
		text.Say("told       not yet: the next turn of its session is")
	case task.Told:
		text.Say("told       turn %s", t.Told)
	}
	if t.LogLines > 0 || t.LogBytes > 0 {
		text.Say("log        %d lines, %d bytes: `portcullis tasks logs %s`", t.LogLines, t.LogBytes, t.ID)
	}
	text.Say("title")
	text.Prose("  ", t.Title)
	if t.Summary != "" {
		text.Say("summary")
		text.Prose("  ", t.Summary)
	}
}

func after(word, text string) string {
	if text == "" {
		return ""
	}
	return word + text
}

func (s *shell) taskLogs(c *cli.Context) error {
	n, err := limit(c, task.MaxLogLines)
	if err != nil {
		return err
	}
	return s.namedTask(c, func(ctx context.Context, r *app.Records, t task.Task) error {
		log, _, err := r.Store.TaskLog(ctx, r.By, "", t.ID, n, task.MaxLogBytes)
		if err != nil {
			return err
		}
		answer := struct {
			Task id.Task `json:"task"`
			Log  string  `json:"log"`
		}{t.ID, log}
		return s.out.Answer(answer, func(text *console.Text) {
			if log == "" {
				text.Say("nothing was printed; `portcullis tasks show %s` shows where it stands", t.ID)
				return
			}
			text.Prose("", log)
		})
	})
}

// cancelTask notes that a task shall end. A queued one is cancelled here; the process that runs one ends it.
func (s *shell) cancelTask(c *cli.Context) error {
	return s.namedTask(c, func(ctx context.Context, r *app.Records, t task.Task) error {
		t, how, err := r.CancelTask(ctx, t.ID)
		switch {
		case err != nil:
			return err
		case how == task.CancelEnded:
			return &console.Problem{
				Code: "task_ended", Exit: console.ExitNo, Message: fmt.Sprintf("task %s has ended already (%s), so there is nothing to cancel", t.ID, t.State),
				Remedy: "`portcullis tasks show " + string(t.ID) + "` shows it",
			}
		}
		running, err := s.waits()
		if err != nil {
			return err
		}
		answer := struct {
			taskAnswer
			Request task.Cancelling `json:"request"`
		}{taskOf(t), how}
		return s.out.Answer(answer, func(text *console.Text) {
			switch {
			case how == task.CancelDone:
				text.Say("%s %s had not begun and will not run", console.Warn("cancelled:"), t.ID)
			case !running:
				text.Say("the process that ran %s is gone: the next host makes it lost", t.ID)
			default:
				text.Say("asked: %s ends within %s, or as soon as what it runs is cleaned up; `portcullis tasks show %s` says how", t.ID, task.BeatTime, t.ID)
			}
		})
	})
}
