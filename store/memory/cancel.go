package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// RequestCancel notes that a running turn shall end; see [turn.Journal].
func (s *Store) RequestCancel(ctx context.Context, by principal.Scope, key id.Turn, r event.Record) (turn.Cancelling, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := rule.Accept(by, s.id)
	if err == nil {
		err = errors.Join(rule.Audit(r), s.fresh(r))
	}
	if err != nil {
		return "", fmt.Errorf("memory: ask for the end of turn %s: %w", key, err)
	}
	t, ok := s.turns[key]
	switch {
	case !ok || !s.reached(by, t.rec.Session):
		s.denyTurn(by, key)
		return turn.CancelNoTurn, nil
	case t.rec.State != turn.Running:
		return turn.CancelEnded, nil
	case t.unwanted:
		return turn.CancelNotedBefore, nil
	}
	t.unwanted = true
	s.audit(r)
	return turn.CancelNoted, nil
}

// NoteCancel notes that the end of a running turn came from where it runs; see [turn.Journal].
func (s *Store) NoteCancel(ctx context.Context, key id.Turn, c lease.Claim, r event.Record) (turn.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(rule.CancelNote(r, key), s.fresh(r))
	t, ok := s.turns[key]
	if err == nil && !ok {
		err = fmt.Errorf("there is no turn %s", key)
	}
	if err != nil {
		return "", fmt.Errorf("memory: note the end of turn %s: %w", key, err)
	}
	how := t.fenced(c, s.clock())
	if how == turn.Written && !t.unwanted { // who asked before is on record
		t.unwanted = true
		s.audit(r)
	}
	return how, nil
}

// CancelRequested reports whether the end of a turn was asked for; see [turn.Journal].
func (s *Store) CancelRequested(ctx context.Context, key id.Turn) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.turns[key]
	return ok && t.unwanted, nil
}
