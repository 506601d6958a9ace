package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// EffectStarted stores the intent to run an effect of a running turn; see [effect.Journal].
func (s *Store) EffectStarted(ctx context.Context, e effect.Started, r event.Record) (effect.Start, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(rule.Started(e, r), s.owes(e.Turn), s.fresh(r))
	q, found := s.questions[e.Approval]
	if one := s.sessions[e.Session]; err == nil && one != nil && !one.row.Ended.IsZero() {
		return effect.SessionEnded, nil
	}
	if err == nil && !rule.Stands(e, s.granted(rule.PluginOf(e.Plugin)).Strings()) {
		return effect.GrantRevoked, nil
	}
	if err == nil && e.Approval != "" {
		if !found {
			q = &approval.Question{}
		}
		if how := rule.Begin(*q, found, e, e.At.UnixMilli()); how != effect.Begun {
			return how, nil
		}
	}
	if t := s.turns[e.Turn]; err == nil && t != nil && t.claim.Expired(s.clock()) {
		err = fmt.Errorf("the claim of turn %s is over", e.Turn)
	}
	if err == nil {
		err = s.addEffect(&effect.Record{
			ID: e.Effect, Turn: e.Turn, Session: e.Session, CallID: e.CallID, Tool: e.Tool, Plugin: e.Plugin,
			Recovery: e.Recovery, Digest: e.Digest, Arguments: slices.Clone(e.Arguments), Approval: e.Approval,
			Started: true, StartedAt: rule.Millis(e.At),
		})
	}
	if err != nil {
		return "", fmt.Errorf("memory: start effect %s: %w", e.Effect, err)
	}
	if found && q.Used.IsZero() {
		q.Used = rule.Millis(e.At)
	}
	s.audit(rule.OfEffect(r, e.Session, e.Turn, e.Effect))
	return effect.Begun, nil
}

// addEffect adds an effect to its running turn.
func (s *Store) addEffect(e *effect.Record) error {
	t, err := s.runningTurn(e.Turn, e.Session)
	if err != nil {
		return err
	}
	if _, taken := s.effects[e.ID]; taken {
		return errors.New("the effect id is taken")
	}
	s.effects[e.ID] = e
	t.effects, s.begun = append(t.effects, e), append(s.begun, e)
	return nil
}

func (s *Store) runningTurn(key id.Turn, home id.Session) (*running, error) {
	t, ok := s.turns[key]
	if !ok || t.rec.Session != home || t.rec.State != turn.Running {
		return nil, fmt.Errorf("turn %s of session %s is not running", key, home)
	}
	return t, nil
}

// EffectFinished stores the end of a started effect, or the whole of one that never started; see [effect.Journal].
func (s *Store) EffectFinished(ctx context.Context, f effect.Finished, r event.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(rule.Finished(f, r), s.fresh(r))
	if err == nil {
		err = s.finishEffect(f)
	}
	if err != nil {
		return fmt.Errorf("memory: finish effect %s: %w", f.Effect, err)
	}
	s.audit(rule.OfEffect(r, f.Session, f.Turn, f.Effect))
	s.settleItself(s.effects[f.Effect], r.Trace)
	return nil
}

func (s *Store) finishEffect(f effect.Finished) error {
	if !f.Started {
		e := &effect.Record{ID: f.Effect, Turn: f.Turn, Session: f.Session, CallID: f.CallID, Tool: f.Tool, Plugin: f.Plugin}
		settle(e, f)
		return s.addEffect(e)
	}
	e, ok := s.effects[f.Effect]
	if !ok || e.Turn != f.Turn || e.Session != f.Session || e.Status != "" {
		return fmt.Errorf("turn %s has no such effect under way", f.Turn)
	}
	settle(e, f)
	return nil
}

func settle(e *effect.Record, f effect.Finished) {
	e.Status, e.Reason, e.FinishedAt, e.Duration = f.Status, f.Reason, rule.Millis(f.At), rule.Span(f.Duration)
	if len(f.Durable) != 0 {
		e.Durable = slices.Clone(f.Durable)
	}
}

// Effects lists the effects of one turn in the order they were asked for; see [turn.History].
func (s *Store) Effects(ctx context.Context, by principal.Scope, key id.Turn) ([]effect.Record, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.turns[key]
	if !ok || !s.reached(by, t.rec.Session) {
		s.denyTurn(by, key)
		return nil, nil
	}
	var out []effect.Record
	for _, e := range t.effects {
		out = append(out, copied(e))
	}
	return out, nil
}
