package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// seesTask is the owner predicate over a task; one without a session is the operator's.
func (s *Store) seesTask(by principal.Scope, within id.Session, w *work) bool {
	return (w.Session == "" && by.CrossSession() || s.reached(by, w.Session)) && (within == "" || w.Session == within)
}

// seenTask finds a task that by reaches; else the lookup is denied and audited.
func (s *Store) seenTask(by principal.Scope, within id.Session, key id.Task) *work {
	w := s.tasks[key]
	if w != nil && s.seesTask(by, within, w) {
		return w
	}
	var home id.Session
	if w != nil {
		home = w.Session
	}
	s.deny(by, rule.Lookup{What: rule.LookupTask, ID: string(key), Within: within}, home, w != nil)
	return nil
}

// Task reads one task that by reaches; see [task.Records].
func (s *Store) Task(ctx context.Context, by principal.Scope, within id.Session, key id.Task) (task.Task, bool, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return task.Task{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.seenTask(by, within, key)
	if w == nil {
		return task.Task{}, false, nil
	}
	return w.Task, true, nil
}

// Tasks lists those that by reaches, newest first; see [task.Records].
func (s *Store) Tasks(ctx context.Context, by principal.Scope, within id.Session, state task.State, skip, limit int) ([]task.Task, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return nil, err
	}
	if err := rule.Page(skip, limit, rule.MaxPage); err != nil {
		return nil, fmt.Errorf("memory: list tasks: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []task.Task
	for _, w := range slices.Backward(s.queued) {
		if s.seesTask(by, within, w) && (state == "" || w.State == state) {
			out = append(out, w.Task)
		}
	}
	slices.SortStableFunc(out, func(a, b task.Task) int { return b.Created.Compare(a.Created) })
	return rule.Cut(out, skip, limit), nil
}

// TaskLog is the end of a task's log; see [task.Records].
func (s *Store) TaskLog(ctx context.Context, by principal.Scope, within id.Session, key id.Task, lines, maxBytes int) (string, bool, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return "", false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.seenTask(by, within, key)
	if err := errors.Join(rule.Limit(lines, task.MaxLogLines), rule.Limit(maxBytes, task.MaxLogBytes)); err != nil {
		return "", false, fmt.Errorf("memory: read the log of %s: %w", key, err)
	}
	if w == nil {
		return "", false, nil
	}
	var chunks []string
	for _, c := range slices.Backward(w.log) {
		chunks = append(chunks, c.text)
	}
	return rule.TaskTail(chunks, lines, maxBytes), true, nil
}

// CancelTask asks for the end of a task; see [task.Records].
func (s *Store) CancelTask(ctx context.Context, by principal.Scope, within id.Session, key id.Task, r event.Record) (task.Task, task.Cancelling, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return task.Task{}, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := rule.Audit(r); err != nil {
		return task.Task{}, "", fmt.Errorf("memory: cancel task %s: %w", key, err)
	}
	w := s.seenTask(by, within, key)
	switch {
	case w == nil:
		return task.Task{}, task.CancelNoTask, nil
	case w.State.Ended():
		return w.Task, task.CancelEnded, nil
	case w.Unwanted:
		return w.Task, task.CancelBefore, nil
	}
	if err := s.fresh(r); err != nil {
		return task.Task{}, "", fmt.Errorf("memory: cancel task %s: %w", key, err)
	}
	how := task.CancelNoted
	r.Kind, r.Principal = event.TaskCancelAsked, by.PrincipalID()
	if w.Unwanted = true; w.State == task.Queued {
		how, r.Kind = task.CancelDone, event.TaskCancelled
		s.closeTask(w, task.Cancelled, task.ReasonCancelled, s.clock())
	}
	s.audit(rule.OfTask(r, w.Task))
	return w.Task, how, nil
}

var (
	_ task.Queue   = (*Store)(nil)
	_ task.Records = (*Store)(nil)
)
