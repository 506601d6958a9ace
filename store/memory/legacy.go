package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Legacy shows the operator one session without a certain owner; see [turn.History].
func (s *Store) Legacy(ctx context.Context, by principal.Scope, q turn.LegacyQuery) (turn.Legacy, bool, error) {
	if err := rule.AcceptOperator(by, s.id); err != nil {
		return turn.Legacy{}, false, err
	}
	if err := rule.LegacyQuery(q); err != nil {
		return turn.Legacy{}, false, fmt.Errorf("memory: look at a session to repair: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	got, found := s.legacy(q)
	r := event.Record{ID: s.ids.Event(), At: s.clock(), Principal: by.PrincipalID()}
	s.audit(rule.Accessed(r, q, got.Session.ID, rule.Reason(got.Why)))
	return got, found, nil
}

func (s *Store) legacy(q turn.LegacyQuery) (turn.Legacy, bool) {
	key := q.Session
	if t, ok := s.turns[q.Turn]; ok {
		key = t.rec.Session
	}
	one, exists := s.sessions[key]
	if !exists || one.ownership() == rule.Owned {
		return turn.Legacy{}, false
	}
	got := turn.Legacy{Session: one.row, Why: string(rule.Why(true, one.ownership(), false))}
	if one.owner == nil {
		got.Session.Owner = principal.Facts{}
	}
	for _, t := range slices.Backward(one.turns) {
		if len(got.Turns) == turn.MaxLegacyTurns {
			break
		}
		got.Turns = append(got.Turns, t.rec)
	}
	return got, true
}

// Search looks for a text in the turns that by reaches, newest first; see [turn.History].
func (s *Store) Search(ctx context.Context, by principal.Scope, q turn.SearchQuery) (turn.Findings, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return turn.Findings{}, err
	}
	look, err := rule.NewSearch(q)
	if err != nil {
		return turn.Findings{}, fmt.Errorf("memory: search: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.latest(by) {
		f := turn.Finding{Session: t.rec.Session, Turn: t.rec.ID, Started: t.rec.Started}
		if !look.Look(f, t.rec.Input, t.rec.Reply) {
			break
		}
	}
	return look.Findings(), nil
}
