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
	for _, e := range slices.Backward(s.begun) {
		known := e.Resolution.Verdict == effect.NothingToDo || e.Resolution.Verdict != "" && e.Resolution.At.Before(before.Started)
		if e.Session != key || e.Turn == t || e.Status != effect.Indeterminate || known {
			continue
		}
		if left.More = len(left.Effects) == limit; left.More {
			break
		}
		left.Effects = append(left.Effects, rule.Unseen(copied(e)))
	}
	return left, nil
}
