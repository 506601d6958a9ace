package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Unsettled lists the uncertain effects of a turn whose tools can say what became of them; see [effect.Reconciliations].
func (s *Store) Unsettled(ctx context.Context, key id.Turn) ([]effect.Unsettled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.turns[key]
	if !ok || s.sessions[t.rec.Session].ownership() != rule.Owned {
		return nil, nil
	}
	actor := rule.Actor(principal.Facts{Authority: t.authority, PrincipalID: t.principal}, *s.sessions[t.rec.Session].owner)
	var out []effect.Unsettled
	for _, e := range t.effects {
		if e.Status == effect.Indeterminate && e.Recovery == "reconcile" && e.Resolution.Verdict == "" {
			out = append(out, effect.Unsettled{
				Record: copied(e), Request: t.rec.Request, Core: t.rec.Core, Revision: t.rec.Revision, Trace: t.rec.Trace, Actor: actor,
			})
		}
	}
	return out, nil
}

// Reconciled settles an uncertain effect as its tool said; see [effect.Reconciliations].
func (s *Store) Reconciled(ctx context.Context, key id.Effect, as effect.Resolution, r event.Record) (effect.Settling, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	as.At = rule.Millis(as.At)
	err := errors.Join(rule.Reconciliation(as, r), s.fresh(r))
	e, ok := s.effects[key]
	if err == nil && !ok {
		return effect.EffectNotFound, nil
	}
	if err == nil {
		if how := rule.Settling(*e); how != effect.Settled {
			return how, nil
		}
		err = rule.SpeaksFor(*e, as)
	}
	if err != nil {
		return "", fmt.Errorf("memory: reconcile effect %s: %w", key, err)
	}
	e.Resolution = as
	s.audit(rule.Resolved(r, *e))
	return effect.Settled, nil
}
