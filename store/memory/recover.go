package memory

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Recover ends every running turn whose claim is of another epoch or over at now; see [turn.Journal].
func (s *Store) Recover(ctx context.Context, epoch id.Epoch, now time.Time) ([]turn.Recovered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var orphans []*running
	for _, one := range s.sessions {
		if t := one.held; t != nil && (t.claim.Epoch != epoch || t.claim.Expired(now)) {
			orphans = append(orphans, t)
		}
	}
	slices.SortFunc(orphans, func(a, b *running) int { return a.order - b.order })
	var done []turn.Recovered
	for _, t := range orphans {
		why := rule.ReasonLeaseExpired
		if t.claim.Epoch != epoch {
			why = rule.ReasonHostGone
		}
		done = append(done, s.orphan(t, why, now))
		if k := &s.sessions[t.rec.Session].compacting; k.claim.Epoch != epoch { // its turn wrote the summary, if anybody did
			k.claim = lease.Claim{}
		}
	}
	return done, nil
}

// orphan ends one turn that nobody will finish, with its record.
func (s *Store) orphan(t *running, why string, at time.Time) turn.Recovered {
	open := s.end(t, turn.Terminal{Reason: why, Steps: t.steps, Usage: t.spent, At: at}, why)
	got := turn.Recovered{Turn: t.rec.ID, Session: t.rec.Session, Outcome: t.rec.Outcome, Effects: open}
	s.audit(event.Record{
		ID: s.ids.Event(), At: at, Kind: event.TurnRecovered, Session: t.rec.Session, Turn: t.rec.ID, Trace: t.rec.Trace,
		Fields: []event.Field{
			event.F("outcome", string(got.Outcome)), event.F("reason", why), event.F("effects", strconv.Itoa(open)),
		},
	})
	return got
}
