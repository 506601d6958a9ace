package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// fenced is whether a write to t under c may happen.
func (t *running) fenced(c lease.Claim, now time.Time) turn.Fenced {
	switch {
	case t.rec.State != turn.Running:
		return turn.AlreadyEnded
	case !t.claim.Same(c) || t.claim.Expired(now):
		return turn.Stale
	}
	return turn.Written
}

// Append adds messages to a running turn under its claim; see [turn.Journal].
func (s *Store) Append(ctx context.Context, key id.Turn, c lease.Claim, m []turn.Message) (turn.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how, err := s.append(key, c, m)
	if err != nil {
		return "", fmt.Errorf("memory: append to turn %s: %w", key, err)
	}
	return how, nil
}

func (s *Store) append(key id.Turn, c lease.Claim, m []turn.Message) (turn.Fenced, error) {
	if err := rule.Messages(m, key); err != nil {
		return "", err
	}
	t, ok := s.turns[key]
	if !ok {
		return "", fmt.Errorf("there is no turn %s", key)
	}
	if how := t.fenced(c, s.clock()); how != turn.Written {
		return how, nil
	}
	if err := s.newMessages(m); err != nil {
		return "", err
	}
	s.keepMessages(t.rec.Session, m)
	return turn.Written, nil
}

// AppendBehind takes messages for the turn's next write; see [turn.Journal]. Here they are kept at once.
func (s *Store) AppendBehind(ctx context.Context, key id.Turn, c lease.Claim, m []turn.Message) error {
	if err := rule.Messages(m, key); err != nil {
		return fmt.Errorf("memory: append to turn %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	how, err := s.append(key, c, m)
	if err == nil && how != turn.Written {
		err = fmt.Errorf("the claim does not hold: %s", how)
	}
	if err != nil {
		d := s.owed[key]
		d.messages = fmt.Errorf("%w: %w", turn.ErrMessagesLost, err)
		s.owed[key] = d
	}
	return nil
}

// debt is what a turn must be told about its writes behind: why they are not there.
type debt struct {
	messages error
	report   error
}

// owes is why messages of a turn are not there.
func (s *Store) owes(key id.Turn) error { return s.owed[key].messages }

// newMessages refuses ids that are taken.
func (s *Store) newMessages(m []turn.Message) error {
	seen := map[id.Message]bool{}
	for _, one := range m {
		if s.messages[one.ID] || seen[one.ID] {
			return fmt.Errorf("the message id %s is taken", one.ID)
		}
		seen[one.ID] = true
	}
	return nil
}

func (s *Store) keepMessages(of id.Session, m []turn.Message) {
	home := s.sessions[of]
	for _, one := range m {
		one.Body, one.At = slices.Clone(one.Body), rule.Millis(one.At)
		s.messages[one.ID] = true
		home.messages = append(home.messages, one)
	}
}

// Extend moves the expiry of a live claim; see [turn.Journal].
func (s *Store) Extend(ctx context.Context, key id.Session, c lease.Claim, until time.Time) (turn.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	if !until.After(now) {
		return "", fmt.Errorf("memory: extend the claim on %s: %w", key, errors.New("the new expiry has passed already"))
	}
	one, ok := s.sessions[key]
	if !ok || one.held == nil || one.held.fenced(c, now) != turn.Written {
		return turn.Stale, nil
	}
	one.held.claim.Expires = rule.Millis(until)
	return turn.Written, nil
}

// Finish writes the one terminal state of a turn and ends its claim; see [turn.Journal].
func (s *Store) Finish(ctx context.Context, end turn.Terminal, r event.Record) (turn.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how, err := s.finish(end, r)
	if err != nil {
		return "", fmt.Errorf("memory: finish turn %s: %w", end.Turn, err)
	}
	return how, nil
}

func (s *Store) finish(end turn.Terminal, r event.Record) (turn.Fenced, error) {
	if err := rule.Terminal(end, r); err != nil {
		return "", err
	}
	t, ok := s.turns[end.Turn]
	switch {
	case !ok:
		return "", fmt.Errorf("there is no turn %s", end.Turn)
	case t.rec.Session != end.Session:
		return "", fmt.Errorf("the turn is not of session %s", end.Session)
	}
	if how := t.fenced(end.Claim, s.clock()); how != turn.Written {
		return how, nil
	}
	err := errors.Join(s.owes(end.Turn), s.owed[end.Turn].report, s.newMessages(end.Messages), s.newDeliveries(end), s.fresh(r))
	delete(s.owed, end.Turn)
	if err != nil {
		return "", err
	}
	s.keepMessages(end.Session, end.Messages)
	s.keepDeliveries(end)
	s.end(t, end, rule.ReasonTurnEnded)
	s.audit(r)
	return turn.Written, nil
}

// end closes what is open under a running turn, ends it and releases its lease. It returns the number of effects
// that became indeterminate.
func (s *Store) end(t *running, end turn.Terminal, closing string) int {
	at, open, uncertain := rule.Millis(end.At), 0, false
	for _, e := range t.effects {
		uncertain = uncertain || e.Status == "" || e.Status == effect.Indeterminate
		if e.Status != "" {
			continue
		}
		open++
		e.Status, e.Reason, e.FinishedAt = effect.Indeterminate, closing, at
		s.audit(event.Record{
			ID: s.ids.Event(), At: at, Kind: event.EffectFinished, Session: t.rec.Session, Turn: t.rec.ID, Effect: e.ID,
			Trace: t.rec.Trace,
			Fields: []event.Field{
				event.F("tool", e.Tool), event.F("status", string(effect.Indeterminate)), event.F("reason", closing),
			},
		})
		s.settleItself(e, t.rec.Trace)
	}
	s.lapse(t, closing, at)
	if end.Outcome == "" {
		end.Outcome = rule.Orphan(uncertain, t.unwanted)
	}
	t.rec.State, t.rec.Outcome, t.rec.Reason, t.rec.Reply = turn.State(end.Outcome), end.Outcome, end.Reason, end.Reply
	t.rec.Steps, t.rec.Usage, t.rec.Finished = end.Steps, end.Usage, at
	t.claim = lease.Claim{}
	s.sessions[t.rec.Session].held = nil
	return open
}

// lapse expires what a turn asks.
func (s *Store) lapse(t *running, why string, at time.Time) {
	for _, q := range t.questions {
		if q.State != approval.Pending {
			continue
		}
		q.State, q.Reason, q.Decided = approval.Expired, why, at
		s.audit(rule.Lapsed(event.Record{
			ID: s.ids.Event(), At: at, Session: t.rec.Session, Turn: t.rec.ID, Effect: q.Effect, Trace: t.rec.Trace,
		}, *q, why))
	}
}

// Window returns the newest messages of a session, oldest first; see [turn.Journal].
func (s *Store) Window(ctx context.Context, by principal.Scope, key id.Session, limit, maxBytes int) ([]turn.Message, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return nil, err
	}
	if err := rule.Window(limit, maxBytes); err != nil {
		return nil, fmt.Errorf("memory: read messages of %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reached(by, key) {
		s.denySession(by, key)
		return nil, nil
	}
	var out []turn.Message
	for _, m := range slices.Backward(s.sessions[key].messages) {
		if maxBytes -= len(m.Body); maxBytes < 0 || len(out) == limit {
			break
		}
		m.Body = slices.Clone(m.Body)
		out = append(out, m)
	}
	slices.Reverse(out)
	return out, nil
}

func (s *Store) denySession(by principal.Scope, key id.Session) {
	_, exists := s.sessions[key]
	s.deny(by, rule.Lookup{What: "session", ID: string(key)}, key, exists)
}

func (s *Store) denyTurn(by principal.Scope, key id.Turn) {
	var home id.Session
	t, exists := s.turns[key]
	if exists {
		home = t.rec.Session
	}
	s.deny(by, rule.Lookup{What: "turn", ID: string(key)}, home, exists)
}
