package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Left reads what earlier turns of a session left; see [prompt.Journal].
func (s *Store) Left(ctx context.Context, by principal.Scope, key id.Session, t id.Turn, limit int) (prompt.Left, error) {
	err := rule.Accept(by, s.id)
	if err == nil {
		err = rule.Limit(limit, prompt.MaxLeft)
	}
	if err != nil {
		return prompt.Left{}, fmt.Errorf("memory: read what turns of %s left: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reached(by, key) {
		return prompt.Left{}, nil
	}
	turns := s.sessions[key].turns
	at := slices.IndexFunc(turns, func(one *running) bool { return one.rec.ID == t })
	if at < 1 {
		return prompt.Left{}, nil
	}
	before := turns[at-1].rec
	left := prompt.Left{CutOff: rule.CutOff(before.Reason)}
	unanswered := s.unanswered(key, turns[:at])
	for _, e := range slices.Backward(s.begun) {
		known := e.Resolution.Verdict == effect.NothingToDo || e.Resolution.Verdict != "" && e.Resolution.At.Before(before.Started)
		uncertain := e.Session == key && e.Turn != t && e.Status == effect.Indeterminate && !known
		if !uncertain && !unanswered[e.ID] {
			continue
		}
		if left.More = len(left.Effects) == limit; left.More {
			break
		}
		left.Effects = append(left.Effects, rule.Unseen(copied(e)))
	}
	return left, nil
}

// unanswered are the effects of the last of these turns that no message answers, back to one that ended with an answer.
func (s *Store) unanswered(key id.Session, turns []*running) map[id.Effect]bool {
	found, seen := map[id.Effect]bool{}, 0
	if last := turns[len(turns)-1].rec; rule.Answered(last.State, last.Steps) {
		return nil
	}
	for _, t := range slices.Backward(turns) {
		messages := s.sessions[key].messages
		i, oldest := len(messages)-1, max(0, len(messages)-rule.MaxBrokenMessages)
		for i >= oldest && messages[i].Turn != t.rec.ID {
			i--
		}
		if i < oldest {
			continue // a direct call, of which no model hears, or too long ago
		}
		if seen++; rule.Answered(t.rec.State, t.rec.Steps) || seen > rule.MaxBroken {
			break
		}
		var effects []effect.Record
		for _, e := range slices.Backward(t.effects) {
			effects = append(effects, *e)
		}
		for _, e := range rule.Unanswered(messages[i].Role, messages[i].Body, effects) {
			found[e.ID] = true
		}
	}
	return found
}
