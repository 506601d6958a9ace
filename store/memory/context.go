package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// compacting is a session's summary and who writes the next one.
type compacting struct {
	revision int64
	summary  prompt.Summary
	claim    lease.Claim // zero: nobody
	rest     time.Time
}

// Context reads a session's summary and the newest messages after its cutoff; see [prompt.Journal].
func (s *Store) Context(ctx context.Context, by principal.Scope, key id.Session, since prompt.Mark, limit, maxBytes int) (prompt.Snapshot, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return prompt.Snapshot{}, err
	}
	if err := rule.Window(limit, maxBytes); err != nil {
		return prompt.Snapshot{}, fmt.Errorf("memory: read the context of %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reached(by, key) {
		s.denySession(by, key)
		return prompt.Snapshot{}, nil
	}
	one := s.sessions[key]
	got := prompt.Snapshot{Revision: one.compacting.revision, Summary: one.compacting.summary}
	end := got.Summary.Cutoff
	after := slices.IndexFunc(one.messages, func(m turn.Message) bool { return m.ID == since.Last })
	cut := slices.IndexFunc(one.messages, func(m turn.Message) bool { return m.ID == end })
	if got.Joins = since.Revision == got.Revision && after > cut; got.Joins {
		got.Summary, end = prompt.Summary{}, since.Last
	}
	for _, m := range slices.Backward(one.messages) {
		if m.ID == end {
			break
		}
		if maxBytes -= len(m.Body); maxBytes < 0 || len(got.Messages) == limit {
			got.Older = true
			break
		}
		got.Messages = append(got.Messages, prompt.Stored{ID: m.ID, Turn: m.Turn, Body: slices.Clone(m.Body)})
	}
	slices.Reverse(got.Messages)
	return got, nil
}

// LeaseCompaction asks for the right to write a summary; see [prompt.Journal].
func (s *Store) LeaseCompaction(ctx context.Context, key id.Session, c lease.Claim, revision int64) (prompt.LeaseAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	err := rule.Compaction(c, now)
	one, ok := s.sessions[key]
	if err == nil && !ok {
		err = errors.New("there is no such session")
	}
	if err != nil {
		return "", fmt.Errorf("memory: lease the compaction of %s: %w", key, err)
	}
	k := &one.compacting
	switch {
	case k.revision != revision:
		return prompt.Moved, nil
	case k.claim.Token != "" && !k.claim.Expired(now):
		return prompt.Held, nil
	case k.rest.After(now):
		return prompt.Resting, nil
	}
	c.Expires = rule.Millis(c.Expires)
	k.claim, k.rest = c, time.Time{}
	return prompt.Acquired, nil
}

// CommitSummary writes a summary with its cutoff and ends the lease; see [prompt.Journal].
func (s *Store) CommitSummary(ctx context.Context, key id.Session, c lease.Claim, revision int64, sum prompt.Summary) (bool, error) {
	if err := rule.Summary(sum); err != nil {
		return false, fmt.Errorf("memory: commit the summary of %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[key]
	if !ok || !one.compacting.held(c, s.clock()) {
		return false, nil
	}
	k := &one.compacting
	k.claim = lease.Claim{}
	at := func(m id.Message) int {
		return slices.IndexFunc(one.messages, func(o turn.Message) bool { return o.ID == m })
	}
	if k.revision != revision || at(sum.Cutoff) <= at(k.summary.Cutoff) {
		return false, nil
	}
	sum.At = rule.Millis(sum.At)
	k.revision, k.summary = revision+1, sum
	return true, nil
}

func (k *compacting) held(c lease.Claim, now time.Time) bool {
	return k.claim.Token == c.Token && k.claim.Epoch == c.Epoch && c.Token != "" && !k.claim.Expired(now)
}

// ReleaseCompaction ends a lease; see [prompt.Journal].
func (s *Store) ReleaseCompaction(ctx context.Context, key id.Session, c lease.Claim, rest time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.sessions[key]; ok && one.compacting.claim.Token == c.Token && one.compacting.claim.Epoch == c.Epoch && c.Token != "" {
		one.compacting.claim, one.compacting.rest = lease.Claim{}, rule.Millis(rest)
	}
	return nil
}

// Calibration reads what is known of a model; see [prompt.Journal].
func (s *Store) Calibration(ctx context.Context, model string) (prompt.Calibration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calibrations[model], nil
}

// Observe takes an observation for the turn's next write; see [prompt.Journal]. Here it is kept at once.
func (s *Store) Observe(ctx context.Context, o prompt.Observation) (prompt.Kept, error) {
	if err := rule.Observation(o); err != nil {
		return nil, fmt.Errorf("memory: keep the observation %s: %w", o.Decision, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := s.observe(o)
	if err != nil {
		err = fmt.Errorf("memory: keep the observation %s: %w", o.Decision, err)
		d := s.owed[o.Turn]
		d.report = fmt.Errorf("%w: %w", prompt.ErrReportLost, err)
		s.owed[o.Turn] = d
	}
	return func(context.Context) (prompt.Calibration, error) { return now, err }, nil
}

func (s *Store) observe(o prompt.Observation) (prompt.Calibration, error) {
	of := s.turns[o.Turn]
	if of == nil || of.rec.Session != o.Session {
		return prompt.Calibration{}, errors.New("there is no such turn of the session")
	}
	if !s.observed[o.Decision] {
		s.observed[o.Decision] = true
		of.steps = max(of.steps, o.Step)
		of.spent = rule.Spent(of.spent, o)
		if next := s.calibrations[o.Provider].Advance(o); next.Samples > 0 {
			s.calibrations[o.Provider] = next
		}
	}
	return s.calibrations[o.Provider], nil
}
