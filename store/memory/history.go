package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Sessions lists the sessions that by reaches, the one with the latest turn first; see [turn.History].
func (s *Store) Sessions(ctx context.Context, by principal.Scope, skip, limit int) ([]turn.Session, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return nil, err
	}
	if err := rule.Page(skip, limit, rule.MaxPage); err != nil {
		return nil, fmt.Errorf("memory: list sessions: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*session
	for key, one := range s.sessions {
		if s.reached(by, key) {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b *session) int {
		return cmp.Or(b.row.LastTurn.Compare(a.row.LastTurn), b.order-a.order)
	})
	var out []turn.Session
	for _, one := range rule.Cut(found, skip, limit) {
		out = append(out, one.row)
	}
	return out, nil
}

// Session reads one session that by reaches; see [turn.History].
func (s *Store) Session(ctx context.Context, by principal.Scope, key id.Session) (turn.Session, bool, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return turn.Session{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reached(by, key) {
		s.denySession(by, key)
		return turn.Session{}, false, nil
	}
	return s.sessions[key].row, true, nil
}

// Turns lists the turns of one session, or of all that by reaches, newest first; see [turn.History].
func (s *Store) Turns(ctx context.Context, by principal.Scope, key id.Session, skip, limit int) ([]turn.Record, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return nil, err
	}
	if err := rule.Page(skip, limit, rule.MaxPage); err != nil {
		return nil, fmt.Errorf("memory: list turns: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []turn.Record
	if key == "" {
		for _, t := range s.latest(by) {
			out = append(out, t.rec)
		}
		return rule.Cut(out, skip, limit), nil
	}
	if !s.reached(by, key) {
		s.denySession(by, key)
		return nil, nil
	}
	for _, t := range slices.Backward(s.sessions[key].turns) {
		out = append(out, t.rec)
	}
	return rule.Cut(out, skip, limit), nil
}

// latest are all turns that by reaches, newest first.
func (s *Store) latest(by principal.Scope) []*running {
	var all []*running
	for _, t := range s.turns {
		if s.reached(by, t.rec.Session) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *running) int { return b.order - a.order })
	return all
}

// Turn reads one turn of a session that by reaches; see [turn.History].
func (s *Store) Turn(ctx context.Context, by principal.Scope, key id.Turn) (turn.Record, bool, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return turn.Record{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.turns[key]
	if !ok || !s.reached(by, t.rec.Session) {
		s.denyTurn(by, key)
		return turn.Record{}, false, nil
	}
	return t.rec, true, nil
}

// Record appends one audit record; see [authority.Audit].
func (s *Store) Record(ctx context.Context, r event.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fresh(r); err != nil {
		return fmt.Errorf("memory: append audit record %s: %w", r.ID, err)
	}
	s.audit(r)
	return nil
}

// Events lists audit records, newest first; see [turn.History].
func (s *Store) Events(ctx context.Context, by principal.Scope, q turn.EventQuery) ([]event.Record, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return nil, err
	}
	if err := rule.Page(q.Skip, q.Limit, rule.MaxEvents); err != nil {
		return nil, fmt.Errorf("memory: list audit records: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []event.Record
	for _, r := range slices.Backward(s.events) {
		if wanted(q, r) && (by.CrossSession() || s.reached(by, r.Session)) {
			r.Fields = slices.Clone(r.Fields)
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b event.Record) int { return b.At.Compare(a.At) })
	if len(out) == 0 {
		s.emptyEvents(by, q)
	}
	return rule.Cut(out, q.Skip, q.Limit), nil
}

func wanted(q turn.EventQuery, r event.Record) bool {
	return (q.Session == "" || q.Session == r.Session) && (q.Turn == "" || q.Turn == r.Turn) &&
		(q.Kind == "" || q.Kind == r.Kind) && (q.Without == "" || q.Without != r.Kind) && (q.Since.IsZero() || !r.At.Before(rule.Millis(q.Since)))
}

// emptyEvents audits a listing that names a session or turn out of reach.
func (s *Store) emptyEvents(by principal.Scope, q turn.EventQuery) {
	switch {
	case q.Turn != "":
		if t, ok := s.turns[q.Turn]; !ok || !s.reached(by, t.rec.Session) {
			s.denyTurn(by, q.Turn)
		}
	case q.Session != "":
		if !s.reached(by, q.Session) {
			s.denySession(by, q.Session)
		}
	}
}

// Children lists the turns of a turn's child agents, in the order they began; see [turn.History].
func (s *Store) Children(ctx context.Context, by principal.Scope, parent id.Turn, limit int) ([]turn.Child, error) {
	if err := errors.Join(rule.Accept(by, s.id), rule.Limit(limit, rule.MaxPage)); err != nil {
		return nil, fmt.Errorf("memory: list the children of %s: %w", parent, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var turns []*running
	for _, one := range s.sessions {
		if one.owner == nil || parent == "" || one.owner.ParentTurn != string(parent) || !s.reached(by, one.row.ID) {
			continue
		}
		for _, t := range one.turns {
			if t.authority == one.owner.Authority && t.principal == one.owner.PrincipalID {
				turns = append(turns, t)
			}
		}
	}
	slices.SortFunc(turns, func(a, b *running) int { return a.order - b.order })
	var out []turn.Child
	for _, t := range turns[:min(limit, len(turns))] {
		out = append(out, turn.Child{Record: t.rec, Principal: t.principal})
	}
	return out, nil
}
