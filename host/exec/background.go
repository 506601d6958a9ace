package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Workspace is the folder that a task's program is confined to.
func Workspace(t task.Task) (string, error) {
	var s spec
	if err := json.Unmarshal([]byte(t.Spec), &s); err != nil {
		return "", fmt.Errorf("exec: read the task %s: %w", t.ID, err)
	}
	return s.Workspace, nil
}

// Background runs the program of a task under what the core says now: a program or a capability that was taken back since does not
// run, and neither does what is no longer what was approved, word for word and file for file. The approval itself was used when
// the task was queued; `portcullis tasks cancel` takes a queued task back. hide is what no log or summary may show.
// When ctx ends the program is stopped, with everything it started.
func (s *Source) Background(ctx context.Context, turn binding.Turn, t task.Task, c task.Control, hide redact.Set) task.Outcome {
	failed := func(reason, summary string) task.Outcome {
		return task.Outcome{State: task.Failed, Reason: reason, Summary: hide.Text(redact.ForDurable, summary)}
	}
	var told spec
	if err := json.Unmarshal([]byte(t.Spec), &told); err != nil {
		return failed("task_unreadable", err.Error())
	}
	args, err := read(told.Arguments)
	if err != nil {
		return failed("task_unreadable", err.Error())
	}
	call := effect.Call{
		Effect: id.Effect(t.Instance), Tool: StartTool, Arguments: told.Arguments, Turn: turn, Redactor: func() redact.Set { return hide },
	}
	plan, no := (&words{s}).Plan(ctx, call)
	if no.Reason != "" && ctx.Err() != nil { // it was told to end while files were read; what they were is not the reason
		return task.Outcome{State: task.Cancelled, Reason: task.ReasonCancelled}
	}
	if no.Reason != "" {
		return failed(no.Reason, no.Why)
	}
	defer func() { _ = plan.Held.Close() }() // it was only read
	if plan.Digest(string(told.Arguments)) != t.Digest {
		return failed(effect.ReasonOperandChanged, "what would run is not what was approved any more, so it did not run: ask for it again")
	}
	call.Plan = &plan
	limit := time.Duration(defaultBackground) * time.Millisecond
	if args.Timeout > 0 {
		limit = time.Duration(args.Timeout) * time.Millisecond
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	l := newLogger(c, hide)
	var writing sync.WaitGroup
	writing.Go(func() { l.write(context.WithoutCancel(ctx)) })
	out := s.invokeTo(ctx, call, l.stream(), l.stream())
	l.close()
	writing.Wait()
	return ended(out, limit, failed, hide)
}

// ended is what an outcome of process.exec is of a task. A program that says no has failed: nobody waits to read its code.
func ended(out effect.Outcome, limit time.Duration, failed func(reason, summary string) task.Outcome, hide redact.Set) task.Outcome {
	switch out.Status {
	case effect.Cancelled:
		return task.Outcome{State: task.Cancelled, Reason: task.ReasonCancelled}
	case effect.TimedOut:
		return failed(task.ReasonTimedOut, fmt.Sprintf("it did not end and was stopped after %s", limit))
	case effect.Succeeded:
	default:
		return failed(out.Reason, out.Detail)
	}
	var r result
	if err := json.Unmarshal(out.Result, &r); err != nil {
		return failed("result_unreadable", err.Error())
	}
	how := fmt.Sprintf("exit code %d", r.Code)
	if r.Signal != "" {
		how = "ended by signal " + r.Signal
	}
	summary := how + after("\n", tail(hide.Text(redact.ForDurable, r.Stdout), 1800)) + after("\nstderr:\n", tail(hide.Text(redact.ForDurable, r.Stderr), 1800))
	if r.Code != 0 || r.Signal != "" {
		return task.Outcome{State: task.Failed, Reason: task.ReasonExitCode, Summary: summary}
	}
	return task.Outcome{State: task.Succeeded, Summary: summary}
}

func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// tail is the end of a redacted text, from a line's beginning on where there is one.
func tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	for i := range len(text) {
		if text[i] == '\n' {
			return "…" + text[i:]
		}
	}
	return "…" + text
}

// logger brings what a program prints to its task's log now and then. A program never waits for it: what comes faster
// than it can be written is counted and dropped.
type logger struct {
	to   task.Control
	hide redact.Set

	mu      sync.Mutex // guards what follows
	pending []byte     // redacted
	lost    int
	streams []*redact.Stream
	closed  chan struct{}
}

// Bounds of a logger.
const (
	logEvery   = 500 * time.Millisecond
	maxPending = 128 << 10
)

func newLogger(to task.Control, hide redact.Set) *logger {
	return &logger{to: to, hide: hide, closed: make(chan struct{})}
}

// stream is one of the two outputs. A secret that is cut in two by a write is found nevertheless.
func (l *logger) stream() io.Writer {
	s := redact.NewStream(l.hide, redact.ForDurable)
	l.streams = append(l.streams, s)
	return writer(func(p []byte) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.add(s.Push(p))
	})
}

type writer func(p []byte)

// Write takes everything.
func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// add keeps what there is room for. l.mu is held.
func (l *logger) add(text []byte) {
	fits := text[:min(len(text), maxPending-len(l.pending))]
	l.pending = append(l.pending, fits...)
	l.lost += len(text) - len(fits)
}

// close ends the streams. Nothing is written to them any more.
func (l *logger) close() {
	l.mu.Lock()
	for _, s := range l.streams {
		l.add(s.Flush())
	}
	l.mu.Unlock()
	close(l.closed)
}

// write brings out what is pending until the logger is closed, and then the rest.
func (l *logger) write(ctx context.Context) {
	tick := time.NewTicker(logEvery)
	defer tick.Stop()
	for open := true; open; {
		select {
		case <-tick.C:
		case <-l.closed:
			open = false
		}
		l.mu.Lock()
		text, lost := string(l.pending), l.lost
		l.pending, l.lost = l.pending[:0], 0
		l.mu.Unlock()
		if lost > 0 {
			text += fmt.Sprintf("\n[%d bytes came too fast and were dropped]\n", lost)
		}
		if text != "" {
			l.to.Log(ctx, text)
		}
	}
}
