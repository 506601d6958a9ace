package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Ask stores a pending question of a running turn; see [approval.Journal].
func (s *Store) Ask(ctx context.Context, q approval.Question, r event.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(rule.Question(q, r), s.fresh(r))
	if err == nil {
		err = s.addQuestion(q)
	}
	if err != nil {
		return fmt.Errorf("memory: ask %s: %w", q.ID, err)
	}
	s.audit(r)
	return nil
}

func (s *Store) addQuestion(q approval.Question) error {
	t, err := s.runningTurn(q.Turn, q.Session)
	if err != nil {
		return err
	}
	if _, taken := s.questions[q.ID]; taken {
		return errors.New("the question id is taken")
	}
	kept := clone(q)
	kept.Asked, kept.Expires = rule.Millis(q.Asked), rule.Millis(q.Expires)
	s.questions[q.ID] = &kept
	s.asked = append(s.asked, &kept)
	t.questions = append(t.questions, &kept)
	return nil
}

func clone(q approval.Question) approval.Question {
	q.Needs = append([]string(nil), q.Needs...)
	q.Approvers = append([]string(nil), q.Approvers...)
	return q
}

// Decide records the first answer to a question that by reaches; see [approval.Journal].
func (s *Store) Decide(ctx context.Context, by principal.Scope, key id.Approval, ans approval.Answer, now time.Time, r event.Record) (approval.Question, approval.Recording, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return approval.Question{}, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.seen(by, key)
	if !ok {
		return approval.Question{}, approval.NotFound, nil
	}
	if q.State != approval.Pending {
		return clone(*q), approval.AlreadyDecided, nil
	}
	if err := errors.Join(rule.Answer(*q, ans), s.fresh(r)); err != nil {
		return approval.Question{}, "", fmt.Errorf("memory: decide %s: %w", key, err)
	}
	if !rule.DecidedBy(*q, by, ans) {
		s.audit(rule.Refused(r, *q, by, string(ans.State)))
		return clone(*q), approval.NotApprover, nil
	}
	how := approval.Recorded
	if rule.TooLate(*q, ans, now.UnixMilli()) {
		how = approval.TooLate
		ans = approval.Answer{State: approval.Expired, Reason: rule.ReasonDeadline}
		r = rule.Lapsed(r, *q, rule.ReasonDeadline)
	}
	q.State, q.Reach, q.DecidedBy, q.Reason, q.Decided = ans.State, ans.Reach, ans.By, ans.Reason, rule.Millis(now)
	s.audit(r)
	return clone(*q), how, nil
}

// Revoke ends an allowance for the session; see [approval.Journal].
func (s *Store) Revoke(ctx context.Context, by principal.Scope, key id.Approval, now time.Time, r event.Record) (approval.Question, approval.Recording, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return approval.Question{}, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.seen(by, key)
	if !ok {
		return approval.Question{}, approval.NotFound, nil
	}
	if err := errors.Join(rule.Audit(r), s.fresh(r)); err != nil {
		return approval.Question{}, "", fmt.Errorf("memory: revoke %s: %w", key, err)
	}
	how := rule.Revocable(*q, by)
	switch how {
	case approval.Recorded:
		q.Revoked = rule.Millis(now)
		s.audit(r)
	case approval.NotApprover:
		s.audit(rule.Refused(r, *q, by, "revoke"))
	}
	return clone(*q), how, nil
}

// seen finds a question that by reaches or is named by; else the lookup is denied and audited.
func (s *Store) seen(by principal.Scope, key id.Approval) (*approval.Question, bool) {
	if q, ok := s.questions[key]; ok {
		home := s.sessions[q.Session]
		if s.reached(by, q.Session) || home != nil && home.owner != nil && !home.legacy && slices.Contains(q.Approvers, by.PrincipalID()) {
			return q, true
		}
	}
	s.denyQuestion(by, key)
	return nil, false
}

func (s *Store) denyQuestion(by principal.Scope, key id.Approval) {
	var home id.Session
	q, exists := s.questions[key]
	if exists {
		home = q.Session
	}
	s.deny(by, rule.Lookup{What: "approval", ID: string(key)}, home, exists)
}

// Question reads one question that by reaches; see [approval.Journal].
func (s *Store) Question(ctx context.Context, by principal.Scope, key id.Approval) (approval.Question, bool, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return approval.Question{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.seen(by, key)
	if !ok {
		return approval.Question{}, false, nil
	}
	return clone(*q), true, nil
}

// Questions lists the questions that by reaches, newest first; see [approval.Journal].
func (s *Store) Questions(ctx context.Context, by principal.Scope, state approval.State, skip, limit int) ([]approval.Question, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return nil, err
	}
	if err := rule.Page(skip, limit, rule.MaxPage); err != nil {
		return nil, fmt.Errorf("memory: list questions: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []approval.Question
	for _, q := range slices.Backward(s.asked) {
		if s.reached(by, q.Session) && (state == "" || q.State == state) {
			out = append(out, clone(*q))
		}
	}
	slices.SortStableFunc(out, func(a, b approval.Question) int { return b.Asked.Compare(a.Asked) })
	return rule.Cut(out, skip, limit), nil
}
