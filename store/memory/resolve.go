package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// settleItself notes what the recovery of an effect that became indeterminate settles by itself.
func (s *Store) settleItself(e *effect.Record, trace id.Trace) {
	if e.Status != effect.Indeterminate {
		return
	}
	if e.Resolution = rule.Settles(*e); e.Resolution.Verdict != "" {
		s.audit(rule.SettledItself(*e, s.ids.Event(), trace))
	}
}

// Uncertain lists indeterminate effects, those that ended last first; see [effect.Resolutions].
func (s *Store) Uncertain(ctx context.Context, by principal.Scope, open bool, skip, limit int) ([]effect.Record, error) {
	if err := errors.Join(rule.AcceptOperator(by, s.id), rule.Page(skip, limit, rule.MaxPage)); err != nil {
		return nil, fmt.Errorf("memory: list uncertain effects: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []effect.Record
	for _, e := range slices.Backward(s.begun) {
		if e.Status == effect.Indeterminate && s.reached(by, e.Session) && (!open || e.Resolution.Verdict == "") {
			out = append(out, copied(e))
		}
	}
	slices.SortStableFunc(out, func(a, b effect.Record) int { return cmp.Compare(b.FinishedAt.UnixMilli(), a.FinishedAt.UnixMilli()) })
	return rule.Cut(out, skip, limit), nil
}

// Effect reads one effect; see [effect.Resolutions].
func (s *Store) Effect(ctx context.Context, by principal.Scope, key id.Effect) (effect.Record, bool, error) {
	if err := rule.AcceptOperator(by, s.id); err != nil {
		return effect.Record{}, false, fmt.Errorf("memory: read effect %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.effects[key]
	if !ok || !s.reached(by, e.Session) {
		s.denyEffect(by, key)
		return effect.Record{}, false, nil
	}
	return copied(e), true, nil
}

// ResolveEffect settles an indeterminate effect, once; see [effect.Resolutions].
func (s *Store) ResolveEffect(ctx context.Context, by principal.Scope, key id.Effect, as effect.Resolution, r event.Record) (effect.Record, effect.Settling, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := rule.AcceptOperator(by, s.id)
	if err == nil {
		as.By, as.At = by.PrincipalID(), rule.Millis(as.At)
		err = errors.Join(rule.Resolution(as, r), s.fresh(r))
	}
	if err != nil {
		return effect.Record{}, "", fmt.Errorf("memory: resolve effect %s: %w", key, err)
	}
	e, ok := s.effects[key]
	if !ok || !s.reached(by, e.Session) {
		s.denyEffect(by, key)
		return effect.Record{}, effect.EffectNotFound, nil
	}
	how := rule.Settling(*e)
	if how == effect.Settled {
		e.Resolution = as
		s.audit(rule.Resolved(r, *e))
	}
	return copied(e), how, nil
}

func (s *Store) denyEffect(by principal.Scope, key id.Effect) {
	var home id.Session
	e, exists := s.effects[key]
	if exists {
		home = e.Session
	}
	s.deny(by, rule.Lookup{What: "effect", ID: string(key)}, home, exists)
}

// copied is an effect that shares nothing with the store.
func copied(e *effect.Record) effect.Record {
	one := *e
	one.Arguments, one.Durable = slices.Clone(e.Arguments), slices.Clone(e.Durable)
	return one
}
