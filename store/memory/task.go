package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// work is one task with its log.
type work struct {
	task.Task
	log []chunk
}

// chunk is one append; its places are where it begins in all that was ever appended.
type chunk struct {
	fromByte, fromLine int64
	text               string
}

// scheduleKey names a schedule.
type scheduleKey struct{ core, schedule string }

type cursor struct {
	digest string
	at     time.Time
}

// QueueTask writes a task that a running turn asks for; see [task.Queue].
func (s *Store) QueueTask(ctx context.Context, n task.Task, r event.Record) (task.Task, task.Queueing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := rule.NewTask(n, task.Process, r); err != nil {
		return task.Task{}, "", fmt.Errorf("memory: queue task %s: %w", n.ID, err)
	}
	if w := s.instance(n.Instance); w != nil {
		return w.Task, task.Duplicate, nil
	}
	one, t := s.sessions[n.Session], s.turns[n.Turn]
	if one.ownership() != rule.Owned || !one.row.Ended.IsZero() || t == nil || t.rec.Session != n.Session || t.rec.State != turn.Running || t.claim.Expired(s.clock()) {
		return task.Task{}, task.NoOwner, nil
	}
	n.Owner = *one.owner
	return s.keepTask(n, r)
}

func (s *Store) instance(of string) *work {
	for _, w := range s.queued {
		if w.Instance == of {
			return w
		}
	}
	return nil
}

func (s *Store) keepTask(n task.Task, r event.Record) (task.Task, task.Queueing, error) {
	open := 0
	for _, w := range s.queued {
		if w.State.Ended() {
			continue
		}
		if rule.ScopesClash(w.Scope, n.Scope) {
			return task.Task{}, task.ScopeBusy, nil
		}
		if w.Session == n.Session && n.Session != "" {
			open++
		}
	}
	err := s.fresh(r)
	if s.tasks[n.ID] != nil {
		err = errors.Join(err, errors.New("the task id is taken"))
	}
	switch {
	case open >= task.MaxOpen:
		return task.Task{}, task.TooMany, nil
	case err != nil:
		return task.Task{}, "", fmt.Errorf("memory: queue task %s: %w", n.ID, err)
	}
	w := &work{Task: rule.TaskQueued(n)}
	s.tasks[n.ID], s.queued = w, append(s.queued, w)
	s.audit(rule.OfTask(r, w.Task))
	return w.Task, task.Accepted, nil
}

// FireSchedule writes a run of a schedule and moves its cursor; see [task.Queue].
func (s *Store) FireSchedule(ctx context.Context, n task.Task, digest string, after time.Time, r event.Record) (task.Task, task.Queueing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := rule.NewTask(n, task.Fire, r); err != nil {
		return task.Task{}, "", fmt.Errorf("memory: fire schedule %s of %s: %w", n.Schedule, n.Core, err)
	}
	if w := s.instance(n.Instance); w != nil {
		return w.Task, task.Duplicate, nil
	}
	if after.IsZero() {
		return s.keepTask(n, r)
	}
	key := scheduleKey{n.Core, n.Schedule}
	if now, ok := s.cursors[key]; !ok || now.digest != digest || !now.at.Equal(rule.Millis(after)) || !now.at.Before(rule.Millis(n.Due)) {
		return task.Task{}, task.Passed, nil
	}
	got, how, err := s.keepTask(n, r)
	if how == task.Accepted {
		s.cursors[key] = cursor{digest, got.Due}
	}
	return got, how, err
}

// SeeSchedule is the cursor of a schedule; see [task.Queue].
func (s *Store) SeeSchedule(ctx context.Context, core, schedule, digest string, now time.Time) (time.Time, error) {
	if core == "" || schedule == "" || digest == "" || now.IsZero() {
		return time.Time{}, errors.New("memory: see a schedule: its core, id, digest or the time is missing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := scheduleKey{core, schedule}
	if have, ok := s.cursors[key]; !ok || have.digest != digest || rule.Ahead(have.at, now) {
		s.cursors[key] = cursor{digest, rule.Millis(now)}
	}
	return s.cursors[key].at, nil
}

// ScheduleSession is the session of the last run with this owner; see [task.Queue].
func (s *Store) ScheduleSession(ctx context.Context, core, schedule, principalID string) (id.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range slices.Backward(s.queued) {
		if w.Kind == task.Fire && w.Core == core && w.Schedule == schedule && w.Owner.PrincipalID == principalID && w.Session != "" {
			return w.Session, nil
		}
	}
	return "", nil
}

// ClaimTask takes the task that has been queued longest; see [task.Queue].
func (s *Store) ClaimTask(ctx context.Context, of task.Which, c lease.Claim, r event.Record) (task.Task, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	if err := errors.Join(rule.TaskClaim(c, now), rule.Audit(r)); err != nil {
		return task.Task{}, false, fmt.Errorf("memory: claim a task: %w", err)
	}
	for _, w := range s.queued {
		if w.State != task.Queued || of.Kind != "" && w.Kind != of.Kind || of.Only != "" && w.ID != of.Only {
			continue
		}
		if err := s.fresh(r); err != nil {
			return task.Task{}, false, fmt.Errorf("memory: claim a task: %w", err)
		}
		w.State, w.Started = task.Running, rule.Millis(now)
		w.Claim = lease.Claim{Token: c.Token, Epoch: c.Epoch, Fence: w.Claim.Fence + 1, Expires: rule.Millis(c.Expires)}
		s.audit(rule.OfTask(r, w.Task))
		return w.Task, true, nil
	}
	return task.Task{}, false, nil
}

// works is the task that c holds now, or nil.
func (s *Store) works(key id.Task, c lease.Claim) *work {
	w := s.tasks[key]
	if w == nil || !w.State.Held() || !w.Claim.Same(c) || w.Claim.Expired(rule.Millis(s.clock())) {
		return nil
	}
	return w
}

// ownerHolds reports whether a task's session has the owner still that was captured.
func (s *Store) ownerHolds(w *work) bool {
	if w.Session == "" {
		return true
	}
	one := s.sessions[w.Session]
	return one.ownership() == rule.Owned && rule.SameOwner(*one.owner, w.Owner)
}

// closeTask ends a task and its claim.
func (s *Store) closeTask(w *work, to task.State, reason string, at time.Time) {
	w.State, w.Reason, w.Ended, w.Claim = to, reason, rule.Millis(at), lease.Claim{Fence: w.Claim.Fence}
	if w.Kind == task.Process && s.ownerHolds(w) {
		w.Notice = task.Waiting
	}
}

// BeatTask moves the expiry of a live claim; see [task.Queue].
func (s *Store) BeatTask(ctx context.Context, key id.Task, c lease.Claim, until time.Time) (task.Beat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !until.After(s.clock()) {
		return task.Beat{}, fmt.Errorf("memory: beat the claim on %s: the new expiry has passed already", key)
	}
	w := s.works(key, c)
	if w == nil {
		return task.Beat{Fenced: task.Stale}, nil
	}
	w.Claim.Expires = rule.Millis(until)
	return task.Beat{Fenced: task.Written, Unwanted: w.Unwanted}, nil
}

// BindTask says which turn a run of a schedule is; see [task.Queue].
func (s *Store) BindTask(ctx context.Context, key id.Task, c lease.Claim, session id.Session, turnID id.Turn) (task.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, one, t := s.works(key, c), s.sessions[session], s.turns[turnID]
	if w == nil || w.Kind != task.Fire || w.Session != "" || t == nil || t.rec.Session != session || one.ownership() != rule.Owned ||
		one.owner.Authority != w.Owner.Authority || one.owner.PrincipalID != w.Owner.PrincipalID {
		return task.Stale, nil
	}
	w.Session, w.Turn = session, turnID
	return task.Written, nil
}

// BlockTask says whether a running task waits for a person; see [task.Queue].
func (s *Store) BlockTask(ctx context.Context, key id.Task, c lease.Claim, blocked bool) (task.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.works(key, c)
	if w == nil {
		return task.Stale, nil
	}
	if w.State = task.Running; blocked {
		w.State = task.Blocked
	}
	return task.Written, nil
}

// AppendTaskLog adds to the log of a task; see [task.Queue].
func (s *Store) AppendTaskLog(ctx context.Context, key id.Task, c lease.Claim, text string, at time.Time) (task.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := rule.TaskChunk(text); err != nil {
		return "", fmt.Errorf("memory: log of %s: %w", key, err)
	}
	w := s.works(key, c)
	if w == nil {
		return task.Stale, nil
	}
	w.log = append(w.log, chunk{w.LogBytes, w.LogLines, text})
	w.LogBytes, w.LogLines = w.LogBytes+int64(len(text)), w.LogLines+rule.Lines(text)
	w.log = slices.DeleteFunc(w.log, func(c chunk) bool {
		return c.fromByte < w.LogBytes-task.MaxLogBytes || c.fromLine < w.LogLines-task.MaxLogLines
	})
	return task.Written, nil
}

// FinishTask ends a task and its claim; see [task.Queue].
func (s *Store) FinishTask(ctx context.Context, key id.Task, c lease.Claim, e task.End, r event.Record) (task.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := rule.TaskEnd(e, r)
	if err != nil {
		return "", fmt.Errorf("memory: finish %s: %w", key, err)
	}
	w := s.works(key, c)
	if w == nil {
		return task.Stale, nil
	}
	if err := s.fresh(r); err != nil {
		return "", fmt.Errorf("memory: finish %s: %w", key, err)
	}
	if !s.ownerHolds(w) {
		e.State, e.Reason, e.Summary = task.Failed, task.ReasonOwnerChanged, ""
	}
	w.Summary = e.Summary
	s.closeTask(w, e.State, e.Reason, e.At)
	s.audit(rule.OfTask(r, w.Task))
	return task.Written, nil
}

// RecoverTasks makes lost what holders had that are gone; see [task.Queue].
func (s *Store) RecoverTasks(ctx context.Context, epoch id.Epoch, now time.Time) ([]task.Recovered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []*work
	for _, w := range s.queued {
		if w.State.Held() && (w.Claim.Epoch != epoch || w.Claim.Expired(rule.Millis(now))) {
			gone = append(gone, w)
		}
	}
	slices.SortFunc(gone, func(a, b *work) int { return cmp.Compare(a.ID, b.ID) })
	var done []task.Recovered
	for _, w := range gone {
		s.closeTask(w, task.Lost, rule.ReasonTaskLost(w.Task, epoch), now)
		s.audit(rule.OfTask(event.Record{ID: s.ids.Event(), At: now, Kind: event.TaskLost}, w.Task))
		done = append(done, task.Recovered{Task: w.ID, Kind: w.Kind})
	}
	return done, nil
}

// Untold are the ends of tasks that a session was not told of; see [turn.Notices].
func (s *Store) Untold(ctx context.Context, by principal.Scope, session id.Session, limit int) ([]turn.Notice, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return nil, err
	}
	if err := rule.Limit(limit, turn.MaxNotices); err != nil {
		return nil, fmt.Errorf("memory: look for news of %s: %w", session, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []turn.Notice
	for _, w := range s.queued {
		if w.Session == session && w.Notice == task.Waiting && s.ownerHolds(w) && s.reached(by, session) && len(out) < limit {
			out = append(out, rule.NoticeOf(w.Task))
		}
	}
	return out, nil
}

// Tell stores a message of a running turn and notes that it tells of these tasks; see [turn.Notices].
func (s *Store) Tell(ctx context.Context, turnID id.Turn, c lease.Claim, m turn.Message, of []id.Task) (turn.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, seen := s.turns[turnID], map[id.Task]bool{}
	if t == nil || len(of) == 0 {
		return "", fmt.Errorf("memory: tell turn %s of tasks: there is no turn, or nothing to tell", turnID)
	}
	if how := t.fenced(c, s.clock()); how != turn.Written {
		return how, nil
	}
	for _, key := range of {
		w := s.tasks[key]
		if w == nil || seen[key] || w.Session != t.rec.Session || w.Notice != task.Waiting || !s.ownerHolds(w) {
			return "", fmt.Errorf("memory: tell turn %s of tasks: %s has nothing to tell in session %s", turnID, key, t.rec.Session)
		}
		seen[key] = true
	}
	how, err := s.append(turnID, c, []turn.Message{m})
	if err != nil || how != turn.Written {
		return how, err
	}
	for _, key := range of {
		s.tasks[key].Notice, s.tasks[key].Told = task.Told, turnID
	}
	return how, nil
}
