package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// EndSession ends a session for good; see [turn.Journal].
func (s *Store) EndSession(ctx context.Context, by principal.Scope, key id.Session, r event.Record) (turn.Ending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := rule.Accept(by, s.id)
	if err == nil {
		err = errors.Join(rule.Audit(r), s.fresh(r))
	}
	if err != nil {
		return "", fmt.Errorf("memory: end session %s: %w", key, err)
	}
	if !s.reached(by, key) {
		s.denySession(by, key)
		return turn.EndNoSession, nil
	}
	one := s.sessions[key]
	if !one.row.Ended.IsZero() {
		return turn.EndedBefore, nil
	}
	if t := one.held; t != nil {
		s.lapse(t, rule.ReasonSessionEnded, rule.Millis(s.clock()))
		t.unwanted = true
	}
	s.takeBack(key, r)
	if where := (route{one.owner.Channel, one.owner.ConversationKey}); s.bindings[where] == key {
		delete(s.bindings, where)
	}
	one.row.Ended = rule.Millis(r.At)
	s.audit(r)
	return turn.Ended, nil
}

// takeBack revokes every allowance for the session, with a record each.
func (s *Store) takeBack(key id.Session, r event.Record) {
	var taken []*approval.Question
	for _, q := range s.questions {
		if q.Session == key && q.Reach == approval.ForSession && q.Revoked.IsZero() {
			taken = append(taken, q)
		}
	}
	slices.SortFunc(taken, func(a, b *approval.Question) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for _, q := range taken {
		q.Revoked = rule.Millis(r.At)
		s.audit(rule.TakenBack(r, *q, s.ids.Event()))
	}
}
